"""Workers with an engine that only notes what it is asked, on a real broker."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from moldau.connect.config.definition import ConfigDef, Type
from moldau.connect.connector import SinkConnector, SourceConnector
from moldau.connect.engine_api import ConnectorSpec, Listener, State
from moldau.connect.herder import ConnectHerder
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugin, Plugins
from moldau.connect.rest_errors import InternalError
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.worker import MakeRest, Worker
from moldau.connect.worker_config import WorkerConfig
from moldau.ids import TopicPartition

PATIENCE_S = 120.0
SINK = "org.example.NullSinkConnector"
STORING_SINK = "org.example.StoringSinkConnector"
SOURCE = "org.example.NullSourceConnector"
BROKER = {
    "group.min.session.timeout.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}
# For tests in which a session ends: a worker stops after two thirds of it, and still has two
# seconds for that on a machine that is busy with something else.
SHORT_SESSION = {"session.timeout.ms": "6000"}


class NullSink(SinkConnector):
    """Writes nowhere."""

    config: ClassVar[ConfigDef] = ConfigDef().define("password", Type.PASSWORD, None)


class StoringSink(NullSink):
    """Has offsets in its target, which is this class. It knows them by the topics that it is told,
    unless the config names them.
    """

    stored: ClassVar[dict[TopicPartition, int]] = {}

    def start(self, config: Mapping[str, str]) -> None:
        self.has_pattern = "topics.regex" in config

    def stored_offsets(self) -> dict[TopicPartition, int]:
        return {
            each: offset
            for each, offset in self.stored.items()
            if each.topic in self.topics or not self.has_pattern
        }

    @classmethod
    def alter_offsets(
        cls, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
    ) -> bool:
        for partition, offset in offsets.items():
            cls.stored.pop(partition, None)
            if offset is not None:
                cls.stored[partition] = offset
        return True


class NullSource(SourceConnector):
    """Reads nothing."""

    config: ClassVar[ConfigDef] = ConfigDef()

    @classmethod
    def alter_offsets(cls, config: Mapping[str, str], offsets: Any) -> bool:
        return True


def plugins() -> Plugins:
    return Plugins(
        [
            Plugin(SINK, PluginType.SINK, "tests.connect.herding:NullSink", "1.2"),
            Plugin(STORING_SINK, PluginType.SINK, "tests.connect.herding:StoringSink", "1.4"),
            Plugin(SOURCE, PluginType.SOURCE, "tests.connect.herding:NullSource", "1.3"),
        ]
    )


class NotingEngine:
    """Runs nothing, and reports what an engine would."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.calls: list[str] = []
        self.specs: dict[str, ConnectorSpec] = {}
        self.is_ready = True
        self.failing: dict[str, str] = {}
        # Connectors take as long to stop as this is not set.
        self.may_stop = threading.Event()
        self.may_stop.set()
        self.stopping: set[str] = set()

    def start(self) -> None:
        self.calls.append("start")

    def run(self, spec: ConnectorSpec) -> None:
        self.calls.append(f"run {spec.name}")
        self.specs[spec.name] = spec
        trace = self.failing.get(spec.name)
        state = State.RUNNING if trace is None else State.FAILED
        self.listener.on_status(spec.name, None, State.RUNNING)
        self.listener.on_status(spec.name, 0, state, trace)

    def pause(self, name: str, timeout_s: float = 5.0) -> None:
        self.calls.append(f"pause {name}")
        self.listener.on_status(name, None, State.PAUSED)
        self.listener.on_status(name, 0, State.PAUSED)

    def stop(self, name: str, timeout_s: float = 5.0) -> None:
        self.stopping.add(name)
        assert self.may_stop.wait(PATIENCE_S)
        self.stopping.discard(name)
        self.calls.append(f"stop {name}")
        self.specs.pop(name, None)

    def restart(self, name: str) -> None:
        raise AssertionError("the herder stops and runs again")

    def running(self) -> list[str]:
        return list(self.specs)

    def close(self) -> None:
        self.calls.append("close")


class NoRest:
    """Listens nowhere."""

    def __init__(self, port: int) -> None:
        self.ports = [port]

    def close(self) -> None:
        pass


def valid(class_name: str, config: Mapping[str, str]) -> dict[str, Any]:
    """Every configuration is valid, but for an option called wrong."""
    errors = [f"wrong is wrong: {config['wrong']}"] if "wrong" in config else []
    values = [
        {
            "definition": {},
            "value": {"name": name, "value": value, "errors": errors if name == "wrong" else []},
        }
        for name, value in config.items()
    ]
    return {"name": class_name, "error_count": len(errors), "groups": [], "configs": values}


class Herding:
    """A worker to give orders to."""

    def __init__(
        self,
        bootstrap: str,
        prefix: str,
        port: int = 8083,
        settings: Mapping[str, str] = {},
        make_rest: MakeRest | None = None,
    ) -> None:
        properties = {
            "bootstrap.servers": bootstrap,
            "group.id": f"{prefix}-group",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "session.timeout.ms": "60000",
            "heartbeat.interval.ms": "200",
            "rebalance.timeout.ms": "60000",
            "default.api.timeout.ms": "60000",
            **{
                name: value
                for each in ("config", "offset", "status")
                for name, value in (
                    (f"{each}.storage.topic", f"{prefix}-{each}"),
                    (f"{each}.storage.replication.factor", "1"),
                )
            },
            "offset.storage.partitions": "2",
            "status.storage.partitions": "1",
            **settings,
        }
        self.engine: NotingEngine
        self.levels: list[tuple[str, str]] = []
        self.worker = Worker(
            WorkerConfig.from_properties(properties, distributed=True),
            plugins=plugins(),
            make_engine=self._make_engine,
            make_rest=make_rest or (lambda herder, config: NoRest(port)),
            validate=valid,
            on_logger_level=lambda name, level: self.levels.append((name, level)),
        )

    def _make_engine(
        self, config: WorkerConfig, listener: Listener, offsets: OffsetStore
    ) -> NotingEngine:
        self.engine = NotingEngine(listener)
        return self.engine

    @property
    def herder(self) -> ConnectHerder:
        return self.worker.herder

    def start(self) -> "Herding":
        self.worker.start()
        self.wait(self.is_healthy)
        return self

    def is_healthy(self) -> bool:
        try:
            return self.herder.health()[0]
        except InternalError:
            # It has lost its group.
            return False

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline_s, self.engine.calls
            time.sleep(0.01)

    def wait_for_state(self, name: str, state: str, tasks: list[str] | None = None) -> None:
        def is_there() -> bool:
            statuses = self.worker._statuses.snapshot()
            found = statuses.connectors.get(name)
            running = [each.state for _, each in sorted(statuses.tasks.get(name, {}).items())]
            wanted = [state] if tasks is None else tasks
            return found is not None and found.state == state and running == wanted

        self.wait(is_there)

    def fall_silent(self) -> threading.Event:
        """Send no heartbeats, as over a connection that leads nowhere, until the event is set."""
        released = threading.Event()
        member = self.worker._member
        assert member is not None
        heartbeat = member._heartbeat

        def hang() -> None:
            released.wait(PATIENCE_S)
            heartbeat()

        member._heartbeat = hang  # type: ignore[method-assign]
        return released

    def stop(self) -> None:
        self.worker.stop()


def config(name: str, class_name: str = SINK, **more: str) -> dict[str, str]:
    return {"connector.class": class_name, "name": name, **more}


def running(herding: Herding, name: str, class_name: str = SINK, **more: str) -> None:
    herding.herder.create(name, config(name, class_name, **more))
    herding.wait_for_state(name, "RUNNING")
