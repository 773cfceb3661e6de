"""What the herder asks of the engine, and what the engine tells it.

The engine runs connectors that are described to it completely; which ones, the herder decides. The
engine keeps no state between two processes: progress is in the group of a sink and in the offsets
of a source, so a connector goes on where it was in whichever worker it runs next.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from moldau.connect.connector import SourceOffset, SourcePartition


class State(StrEnum):
    """States of connectors and tasks, with Kafka's names."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"


@dataclass(frozen=True)
class ConnectorSpec:
    """A connector to run.

    ``config`` is the connector's config and ``worker`` the properties of the worker's file, both
    with config providers resolved: they have secrets, and are not shown. ``secrets`` are the values
    that were found, with the references to show instead, for logs of other processes.
    """

    name: str
    config: Mapping[str, str] = field(repr=False)
    worker: Mapping[str, str] = field(repr=False)
    generation: int = 0
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class Listener(Protocol):
    """Called by the engine, from any of its threads. Must return soon and not raise."""

    def on_status(
        self, name: str, task_id: int | None, state: State, trace: str | None = None
    ) -> None:
        """The connector (``task_id`` None) or one of its tasks has a new state."""

    def on_topic(self, name: str, topic: str) -> None:
        """The connector has read from or written to ``topic``: once per topic and start."""


class SourceOffsets(Protocol):
    """Where progress of sources is stored. Kafka's offsets topic, or a standalone worker's file."""

    @property
    def topic(self) -> str | None:
        """The offsets topic, so that a transaction can write to it; None for a file."""

    def read(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """All stored partitions of ``connector`` with their offsets, up to the end of the topic."""

    def write(
        self, connector: str, offsets: Sequence[tuple[SourcePartition, SourceOffset]]
    ) -> None:
        """Store offsets: they are durable on return."""

    def encode(
        self, connector: str, partition: SourcePartition, offset: SourceOffset
    ) -> tuple[bytes, bytes]:
        """The key and value of a record in the offsets topic."""


class Engine(Protocol):
    """Runs connectors. Thread-safe; no method waits for a connector longer than it says."""

    @property
    def is_ready(self) -> bool:
        """Whether connectors can run: Spark is up."""

    def start(self) -> None:
        """Begin to bring Spark up, in the background. Connectors run as soon as it is there."""

    def run(self, spec: ConnectorSpec) -> None:
        """Start a connector, or replace the running one of the same name. Returns at once.

        States are reported: RUNNING for the connector and task 0, or FAILED with a trace.
        """

    def pause(self, name: str, timeout_s: float = 5.0) -> None:
        """Stop moving records; reports PAUSED. ``run`` resumes."""

    def stop(self, name: str, timeout_s: float = 5.0) -> None:
        """Stop a connector and forget it; reports nothing. Unknown names are ignored.

        On return it writes no more, even if its code blocks: its processes are killed in time.
        """

    def restart(self, name: str) -> None:
        """Stop and run again with the same spec; reports RESTARTING, then as ``run``."""

    def running(self) -> Iterable[str]:
        """The names of the connectors that were started and not stopped."""

    def close(self) -> None:
        """Stop all connectors and Spark."""
