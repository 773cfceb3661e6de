"""The connectors of a worker: configurations, target states, restarts, offsets, statuses.

Changes are decided by the active worker of a group, one at a time, on what the config topic says at
that moment: of two requests to create the same connector, one creates it and the other is refused.
They are acted upon when they are in the topic, by the supervisor; an answer does not wait for that.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from moldau.client.connection import ConnectionFailed
from moldau.connect import connector_offsets, connector_views
from moldau.connect.config_checks import ConfigChecks, Validate
from moldau.connect.connector import SinkConnector
from moldau.connect.connector_views import RestartPlan
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import Engine
from moldau.connect.herder_api import Json
from moldau.connect.membership.standing import Membership
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugins
from moldau.connect.providers import Providers
from moldau.connect.reporter import Reporter
from moldau.connect.request_time import in_time
from moldau.connect.rest_errors import (
    BadRequestError,
    ConflictError,
    ForbiddenError,
    Forward,
    InternalError,
    NotFoundError,
    RestError,
    UnavailableError,
)
from moldau.connect.stores import config_records
from moldau.connect.stores.config_records import Record, RestartRequest, TargetState
from moldau.connect.stores.config_state import ConfigState
from moldau.connect.stores.config_store import ConfigStore
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.stores.status_store import StatusStore
from moldau.connect.supervisor import Supervisor
from moldau.connect.worker_config import WorkerConfig
from moldau.errors import ApiError
from moldau.version import VERSION

# The release of Kafka whose Connect API this is, as clients look for features by it.
API_VERSION: Final = "4.3.1"
_STOP_S: Final = 10.0
# The first worker of a group waits for others for group.initial.rebalance.delay.ms of the broker
# (3 s), and a rebalance is short: a request waits that long instead of failing.
_JOINING_S: Final = 10.0
_LOOK_S: Final = 0.05
_CHANGING: Final = "{} has been changing its offsets"
_STATES: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


class ConnectHerder:
    """Answers for the connectors. Thread-safe."""

    def __init__(
        self,
        worker: WorkerConfig,
        *,
        engine: Engine,
        plugins: Plugins,
        configs: ConfigStore,
        statuses: StatusStore,
        offsets: OffsetStore,
        reporter: Reporter,
        supervisor: Supervisor,
        membership: Membership,
        validate: Validate,
    ) -> None:
        self._worker = worker
        self._engine = engine
        self._plugins = plugins
        self._configs = configs
        self._statuses = statuses
        self._offsets = offsets
        self._reporter = reporter
        self._supervisor = supervisor
        self._membership = membership
        self._providers = Providers.from_settings(worker.properties)
        self._checks = ConfigChecks(validate, self._providers, offsets.topic)
        self._changing = threading.RLock()
        self._cluster_id: str | None = None
        self._has_started = False
        self._starting = "it reads the internal topics"
        self._failure: str | None = None

    def waiting(self, reason: str) -> None:
        """The worker cannot start yet: what it waits for."""
        self._starting = reason

    def started(self, cluster_id: str | None) -> None:
        """The internal topics have been read: requests can be answered."""
        self._cluster_id = cluster_id
        self._has_started = True

    def failed(self, problem: str) -> None:
        """The worker cannot go on."""
        self._failure = problem

    def worker_info(self) -> Json:
        return {
            "version": f"{API_VERSION}-moldau-{VERSION}",
            "commit": "unknown",
            "kafka_cluster_id": self._cluster_id,
        }

    def health(self) -> tuple[bool, str]:
        if self._failure is not None:
            raise InternalError(f"This worker has failed: {self._failure}")
        if not self._has_started:
            return False, f"This worker is starting: {self._starting}"
        if self._membership.standing is None:
            if self._membership.has_joined:
                raise InternalError(
                    "This worker has lost its group, and runs no connectors until it has joined "
                    "again. Are its brokers reachable?"
                )
            return False, "This worker is starting: it joins its group"
        if not self._engine.is_ready:
            return False, "This worker is starting: Spark is not ready yet"
        return True, "This worker has started, and serves requests"

    # Questions: any worker answers, from what it has read.

    def connectors(self) -> list[str]:
        return sorted(self._state().connectors)

    def connector_info(self, name: str) -> Json:
        state = self._state()
        config = self._config_of(name, state)
        return connector_views.info(name, state, config, self._kind(config))

    def config(self, name: str) -> dict[str, str]:
        return dict(self._config_of(name, self._state()))

    def status(self, name: str) -> Json:
        state = self._state()
        statuses = self._statuses.snapshot()
        if name not in statuses.connectors:
            raise NotFoundError(f"There is no status of connector {name}")
        return connector_views.status(name, statuses, self._kind(state.connectors.get(name, {})))

    def task_status(self, name: str, task: int) -> Json:
        self._state()
        status = self._statuses.snapshot().tasks.get(name, {}).get(task)
        if status is None:
            raise NotFoundError(f"There is no status of task {name}-{task}")
        return connector_views.task_state(task, status)

    def tasks(self, name: str) -> list[Json]:
        state = self._state()
        self._config_of(name, state)
        return connector_views.tasks(name, state)

    def topics(self, name: str) -> Json:
        self._state()
        if not self._worker.values["topic.tracking.enable"]:
            raise ForbiddenError("topic.tracking.enable of this worker is false")
        return {name: {"topics": sorted(self._statuses.snapshot().topics.get(name, {}))}}

    def offsets(self, name: str) -> Json:
        config = self._config_of(name, self._state())
        with _broker_errors(f"The offsets of {name} cannot be read"):
            if self._kind(config) == PluginType.SOURCE.value:
                return connector_offsets.source_offsets(name, self._offsets)
            resolved = self._providers.resolve(config).config
            with connector_offsets.admin_of(self._worker, resolved) as admin:
                return connector_offsets.sink_offsets(name, resolved, admin)

    def validate(self, class_name: str, config: Mapping[str, str]) -> Json:
        return self._checks.validate(class_name, config)

    # Changes: the active worker makes them, one at a time.

    def create(
        self, name: str, config: Mapping[str, str], initial_state: str | None = None
    ) -> Json:
        target = self._initial(initial_state)
        _, info = self._put(name, config, target, may_replace=False)
        return info

    def put_config(self, name: str, config: Mapping[str, str]) -> tuple[bool, Json]:
        return self._put(name, config, None, may_replace=True)

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> Json:
        with self._change() as state:
            patched: dict[str, str | None] = {**self._config_of(name, state), **patch}
        config = {key: value for key, value in patched.items() if value is not None}
        _, info = self._put(name, config, None, may_replace=True)
        return info

    def delete(self, name: str) -> None:
        with self._change() as state:
            self._config_of(name, state)
            self._write(config_records.removal(name))

    def pause(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def stop(self, name: str) -> None:
        with self._change() as state:
            if name not in state.connectors:
                raise NotFoundError(f"There is no connector {name}")
            # The tasks first: running without tasks is a state that every worker understands.
            self._write(
                [
                    *config_records.task_configs(name, []),
                    config_records.target_state(name, TargetState.STOPPED),
                ]
            )

    def restart(self, name: str, *, include_tasks: bool, only_failed: bool) -> Json | None:
        with self._change() as state:
            if name not in state.connectors:
                raise NotFoundError(f"There is no connector {name}")
            statuses = self._statuses.snapshot()
            if name not in statuses.connectors:
                raise NotFoundError(f"There is no status of connector {name}")
            if not include_tasks and not only_failed:
                if statuses.connectors[name].state == "FAILED":
                    self._supervisor.restart_soon(name, [])
                return None
            request = RestartRequest(name, include_tasks, only_failed)
            plan = RestartPlan(request, statuses).as_json(self._kind(state.connectors[name]))
            self._write([config_records.restart_request(request)])
            return plan

    def restart_task(self, name: str, task: int) -> None:
        with self._change() as state:
            if name not in state.connectors:
                raise NotFoundError(f"There is no connector {name}")
            if task not in range(len(state.task_configs(name))):
                raise NotFoundError(f"There is no task {name}-{task}")
            self._supervisor.restart_soon(name, [task])

    def reset_topics(self, name: str) -> None:
        self._state()
        if not self._worker.values["topic.tracking.enable"]:
            raise ForbiddenError("topic.tracking.enable of this worker is false")
        if not self._worker.values["topic.tracking.allow.reset"]:
            raise ForbiddenError("topic.tracking.allow.reset of this worker is false")
        self._reporter.reset_topics(name)
        self._statuses.flush(self._worker.values["worker.sync.timeout.ms"] / 1000)

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        if not offsets:
            raise BadRequestError("There are no offsets: list each partition with its new offset")
        with self._stopped(name) as (config, connector):
            if issubclass(connector, SinkConnector):
                wanted = connector_offsets.parse_sink_offsets(offsets)
                is_all = in_time(
                    lambda: connector_offsets.alter_target(connector, config, wanted),
                    _CHANGING.format(name),
                )
                with connector_offsets.admin_of(self._worker, config) as admin:
                    connector_offsets.alter_sink(name, config, admin, wanted)
                return connector_offsets.done("altered", is_all=is_all)
            changes = connector_offsets.parse_source_offsets(offsets)
            is_all = in_time(
                lambda: connector_offsets.check_source_offsets(connector, config, changes),
                _CHANGING.format(name),
            )
            self._offsets.write(name, changes)
            return connector_offsets.done("altered", is_all=is_all)

    def reset_offsets(self, name: str) -> str:
        with self._stopped(name) as (config, connector):
            if issubclass(connector, SinkConnector):
                with connector_offsets.admin_of(self._worker, config) as admin:
                    committed = admin.groups.offsets(connector_offsets.group_of(name, config))
                    topics = connector_offsets.topics_of(config, admin)
                    is_all = in_time(
                        lambda: connector_offsets.reset_target(
                            connector, config, committed, topics
                        ),
                        _CHANGING.format(name),
                    )
                    connector_offsets.reset_sink(name, config, admin)
                return connector_offsets.done("reset", is_all=is_all)
            changes = [(partition, None) for partition, _ in self._offsets.read(name)]
            is_all = in_time(
                lambda: connector_offsets.check_source_offsets(connector, config, changes),
                _CHANGING.format(name),
            )
            if changes:
                self._offsets.write(name, changes)
            return connector_offsets.done("reset", is_all=is_all)

    def set_cluster_log_level(self, logger: str, level: str) -> None:
        with self._change():
            self._write([config_records.logger_level(logger, level)])

    # How it is done.

    def _state(self) -> ConfigState:
        if not self._has_started:
            raise UnavailableError(self.health()[1])
        return self._configs.snapshot()

    @contextmanager
    def _change(self) -> Iterator[ConfigState]:
        """The newest state, while no other change is made. Raises Forward elsewhere."""
        self._state()
        self._require_active()
        with self._changing, _broker_errors("The internal topics cannot be used now"):
            self._configs.refresh()
            yield self._configs.snapshot()

    def _require_active(self) -> None:
        """Raise Forward if another worker is the active one; wait while it is not clear who is."""
        deadline_s = time.monotonic() + _JOINING_S
        while not self._membership.is_active():
            standing = self._membership.standing
            if standing is not None and not standing.is_active:
                raise Forward(standing.active_url)
            if time.monotonic() > deadline_s:
                raise ConflictError(
                    "No worker of the group is active: it is changing, or its broker does not "
                    "answer. Try again in a moment"
                )
            time.sleep(_LOOK_S)

    def _write(self, records: Sequence[Record]) -> None:
        self._configs.write(records)
        self._supervisor.wake()

    def _put(
        self, name: str, config: Mapping[str, str], target: TargetState | None, *, may_replace: bool
    ) -> tuple[bool, Json]:
        self._state()
        self._require_active()
        named = {**config, "name": config.get("name", name)}
        if named["name"] != name:
            raise BadRequestError(
                f"The config is for {named['name']}, the URL for {name}: leave name out of the "
                "config"
            )
        # Not while others wait: a connector may ask a database.
        self._checks.require_valid(named)
        with self._change() as state:
            exists = name in state.connectors
            if exists and not may_replace:
                raise ConflictError(f"There is a connector {name} already: choose another name")
            records = [config_records.connector_config(name, named)]
            if target is not None:
                records.insert(0, config_records.target_state(name, target))
            info = connector_views.info(name, state, named, self._kind(named))
            self._write(records)
            return not exists, info

    def _set_target(self, name: str, target: TargetState) -> None:
        with self._change() as state:
            if name not in state.connectors:
                raise NotFoundError(f"There is no connector {name}")
            self._write([config_records.target_state(name, target)])

    @contextmanager
    def _stopped(self, name: str) -> Iterator[tuple[dict[str, str], type]]:
        """The resolved configuration and the class of a connector whose offsets may change."""
        with self._change() as state:
            config = self._config_of(name, state)
            if state.target(name) is not TargetState.STOPPED or state.task_configs(name):
                raise BadRequestError(
                    f"The offsets of {name} can change only while it is STOPPED: first PUT "
                    f"/connectors/{name}/stop"
                )
            # A batch that is still being written would overwrite them.
            if not self._supervisor.wait_until_stopped(name, _STOP_S):
                raise InternalError(
                    f"The offsets of {name} cannot change yet: its tasks are still stopping. Try "
                    "again"
                )
            resolved = self._providers.resolve(config)
            kind = self._plugins.connector(resolved.config.get("connector.class", ""))
            try:
                yield resolved.config, kind
            except RestError as error:
                error.message = resolved.hide(error.message)
                error.args = (error.message,)
                raise

    def _config_of(self, name: str, state: ConfigState) -> dict[str, str]:
        if name not in state.connectors:
            raise NotFoundError(f"There is no connector {name}")
        return state.connectors[name]

    def _kind(self, config: Mapping[str, str]) -> str:
        try:
            return str(self._plugins.find_connector(config.get("connector.class", "")).type.value)
        except ConnectError:
            return "unknown"

    def _initial(self, state: str | None) -> TargetState | None:
        if state is None:
            return None
        if state.upper() not in _STATES:
            known = ", ".join(_STATES)
            raise BadRequestError(f"initial_state {state!r} is unknown: choose from {known}")
        return _STATES[state.upper()]


@contextmanager
def _broker_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (ApiError, ConnectionFailed) as error:
        raise InternalError(f"{what}: {error}") from error
