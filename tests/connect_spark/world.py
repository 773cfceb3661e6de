"""An engine over a real broker, and what tests ask of it."""

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.producer import Producer
from moldau.connect.engine.spark_engine import SparkEngine
from moldau.connect.engine_api import ConnectorSpec, State
from moldau.connect.stores import offset_records
from moldau.ids import TopicPartition
from tests.running import RunningBroker

STRING = "org.apache.kafka.connect.storage.StringConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PATIENCE_S = 240.0


class Seen:
    """What the engine has reported (a listener)."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.states: dict[tuple[str, int | None], tuple[State, str | None]] = {}
        self.history: list[tuple[str, int | None, State]] = []
        self.topics: set[tuple[str, str]] = set()
        # How much of the history earlier calls of ``wait`` have seen, by connector.
        self._waited: dict[str, int] = {}

    def on_status(
        self, name: str, task_id: int | None, state: State, trace: str | None = None
    ) -> None:
        with self._changed:
            self.states[name, task_id] = (state, trace)
            self.history.append((name, task_id, state))
            self._changed.notify_all()

    def on_topic(self, name: str, topic: str) -> None:
        self.topics.add((name, topic))

    def wait(self, name: str, wanted: State) -> str | None:
        """Wait until task 0 is in this state; returns the trace.

        A state in which it was since the last call for this connector counts as well: some last
        for less time than this thread may need to look.
        """
        with self._changed:
            found = self._changed.wait_for(lambda: self._seen_to(name, wanted), PATIENCE_S)
            assert found, f"{name} is {self.states.get((name, 0))}, not {wanted}"
            self._waited[name] = found
            return self.states[name, 0][1]

    def forget(self, name: str) -> None:
        """What task 0 was so far does not count for the next ``wait``."""
        with self._changed:
            self.states.pop((name, 0), None)
            self._waited[name] = len(self.history)

    def _seen_to(self, name: str, wanted: State) -> int:
        """Where in the history the wait for a state ends; 0 if it goes on."""
        if self.states.get((name, 0), (None,))[0] == wanted:
            return len(self.history)
        begin = self._waited.get(name, 0)
        later = enumerate(self.history[begin:], begin + 1)
        return next((place for place, each in later if each == (name, 0, wanted)), 0)


class Offsets:
    """Source offsets in a topic, as the worker stores them; read as committed."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self.topic = topic

    def read(self, connector: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        found = {}
        for record in records_of(self._bootstrap, self.topic):
            decoded = offset_records.decode(record.key, record.value)
            if decoded is not None and decoded.connector == connector:
                assert decoded.partition is not None
                found[record.key] = (decoded.partition, decoded.offset)
        return [(partition, offset) for partition, offset in found.values() if offset is not None]

    def write(
        self, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
    ) -> None:
        with Producer(self._bootstrap) as producer:
            for partition, offset in offsets:
                key, value = self.encode(connector, partition, offset)
                producer.send(self.topic, value, key)

    def encode(
        self, connector: str, partition: Mapping[str, Any], offset: Mapping[str, Any]
    ) -> tuple[bytes, bytes]:
        key, value = offset_records.encode(connector, partition, offset)
        assert value is not None
        return key, value


def records_of(bootstrap: str, topic: str) -> list[ConsumerRecord]:
    """All committed records of a topic, partition by partition."""
    with Consumer(bootstrap, read_committed=True) as consumer:
        partitions = consumer.partitions_of(topic)
        ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        starts = consumer.offsets_at(dict.fromkeys(partitions, EARLIEST))
        consumer.assign(starts)
        found: list[ConsumerRecord] = []
        deadline_s = time.monotonic() + PATIENCE_S
        while any(consumer.positions[each] < ends[each] for each in partitions):
            assert time.monotonic() < deadline_s, consumer.positions
            found += consumer.poll(0.2)
    return sorted(found, key=lambda record: (record.partition, record.offset))


class World:
    """The engine and its broker."""

    def __init__(self, broker: RunningBroker, folder: Path) -> None:
        self.broker = broker
        self.bootstrap = broker.bootstrap
        self.folder = folder
        self.seen = Seen()
        self.worker = {
            "bootstrap.servers": self.bootstrap,
            "group.id": "workers",
            "key.converter": STRING,
            "value.converter": STRING,
            "moldau.trigger.ms": "200",
        }
        self.offsets = Offsets(self.bootstrap, "connect-offsets")
        self.engine = SparkEngine(self.worker, self.seen, self.offsets)
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        self.new_topic("connect-offsets", configs={"cleanup.policy": "compact"})
        self.engine.start()
        self.until("Spark is up", lambda: self.engine.is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def name(self, what: str) -> str:
        return f"{what}-{next(self._numbers)}"

    def file(self, name: str, text: str = "") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def new_topic(
        self, name: str | None = None, partitions: int = 1, configs: dict[str, str] | None = None
    ) -> str:
        name = name or self.name("topic")
        with Admin(self.bootstrap) as admin:
            admin.create_topic(name, partitions, configs=configs)
        return name

    def produce(self, topic: str, *values: bytes | None, key: bytes | None = None) -> None:
        with Producer(self.bootstrap) as producer:
            for value in values:
                producer.send(topic, value, key)

    def values(self, topic: str) -> list[bytes | None]:
        return [record.value for record in records_of(self.bootstrap, topic)]

    def run(
        self,
        name: str,
        config: Mapping[str, str],
        secrets: Mapping[str, str] | None = None,
        **worker: str,
    ) -> None:
        settings = {
            **self.worker,
            **{key.replace("_", "."): value for key, value in worker.items()},
        }
        spec = ConnectorSpec(name, {"name": name, **config}, settings, secrets=secrets or {})
        self.engine.run(spec)

    def committed(self, name: str) -> dict[TopicPartition, int]:
        with Admin(self.bootstrap) as admin:
            found = admin.groups.offsets(f"connect-{name}")
        return {partition: each.offset for partition, each in found.items()}

    def until(self, what: str, is_so: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline_s, f"{what}: {json.dumps(self._states())}"
            time.sleep(0.1)

    def _states(self) -> dict[str, Any]:
        return {
            f"{name} {task}": (state, (trace or "")[:400])
            for (name, task), (state, trace) in self.seen.states.items()
            if state is not State.RUNNING
        }
