"""What the REST layer asks of a worker.

A herder looks after the connectors of a worker or of a group of workers: it stores their
configurations, decides what runs, and answers questions about them. All methods are synchronous and
may be called from several threads. They return plain JSON values in Kafka's shapes, so that a route
only has to choose the status code.

Errors are ``RestError(status, message)`` of ``rest_errors``: 404 for a connector that does not
exist, 409 for a name that is taken or a group that is rebalancing, 400 for a request that cannot be
carried out, 500 for what went wrong inside. A herder that is not the active one of its group raises
``rest_errors.Forward`` for everything that changes something: the caller sends the request on to
its ``url``.
Answers never contain a secret: references such as ``${file:path:key}`` are returned as they are.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Json = dict[str, Any]


class Herder(Protocol):
    """The connectors of a worker."""

    def worker_info(self) -> Json:
        """``version``, ``commit`` and ``kafka_cluster_id``, as ``GET /`` answers."""

    def health(self) -> tuple[bool, str]:
        """Whether the worker has started and can serve requests, and why not (KIP-1017).

        Raises:
            InternalError: it had started, and is of no use now.
        """

    def connectors(self) -> list[str]:
        """The names of all connectors."""

    def connector_info(self, name: str) -> Json:
        """``name``, ``config``, ``tasks`` (``[{"connector", "task"}]``) and ``type``."""

    def config(self, name: str) -> dict[str, str]:
        """The configuration as it was given, with the name in it."""

    def create(
        self, name: str, config: Mapping[str, str], initial_state: str | None = None
    ) -> Json:
        """Create a connector that is RUNNING, PAUSED or STOPPED; the result of ``connector_info``.

        Raises:
            RestError: 409 if the name is taken, 400 if the configuration is not valid.
        """

    def put_config(self, name: str, config: Mapping[str, str]) -> tuple[bool, Json]:
        """Create or reconfigure; whether it was created, and the result of ``connector_info``."""

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Json:
        """Change some settings; None removes one (KIP-477)."""

    def delete(self, name: str) -> None:
        """Stop and remove a connector; its offsets stay."""

    def status(self, name: str) -> Json:
        """``name``, ``connector`` and ``tasks`` with their ``state``, and ``type``."""

    def task_status(self, name: str, task: int) -> Json:
        """``id``, ``state``, ``worker_id``, and ``trace`` if it failed."""

    def tasks(self, name: str) -> list[Json]:
        """``{"id": {"connector", "task"}, "config"}`` of each task."""

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Json | None:
        """Restart the connector: the status to answer with, or None without ``include_tasks``
        and ``only_failed`` (KIP-745)."""

    def restart_task(self, name: str, task: int) -> None:
        """Restart one task."""

    def pause(self, name: str) -> None:
        """Stop processing, keep what is assigned."""

    def resume(self, name: str) -> None:
        """Process again, after ``pause`` or ``stop``."""

    def stop(self, name: str) -> None:
        """Shut the connector down and keep its configuration (KIP-875)."""

    def topics(self, name: str) -> Json:
        """``{name: {"topics": [...]}}``: the topics used since the last reset (KIP-558)."""

    def reset_topics(self, name: str) -> None:
        """Forget the topics that were used."""

    def offsets(self, name: str) -> Json:
        """``{"offsets": [{"partition", "offset"}]}`` (KIP-875)."""

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        """Set offsets of a stopped connector, given as ``offsets`` returns them; a None offset
        removes one. The message to answer with."""

    def reset_offsets(self, name: str) -> str:
        """Remove all offsets of a stopped connector. The message to answer with."""

    def validate(self, class_name: str, config: Mapping[str, str]) -> Json:
        """All settings with their values and errors, as ``PUT .../config/validate`` answers."""

    def set_cluster_log_level(self, logger: str, level: str) -> None:
        """Set the level of a logger on all workers of the group (KIP-976)."""
