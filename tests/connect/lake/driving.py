"""Drives a sink without Spark: a driver, and a task that writes what it is given."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from moldau.connect.connector import SinkConnector
from moldau.connect.data import schema as schemas
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct
from moldau.ids import TopicPartition

ORDER = struct("order", {"id": schemas.INT64, "item": schemas.OPTIONAL_STRING})
WIDER = struct(
    "order",
    {"id": schemas.INT64, "item": schemas.OPTIONAL_STRING, "price": schemas.OPTIONAL_FLOAT64},
)


class Task:
    """A task of Spark, as the engine describes it. Errors are tolerated if ``bad`` is a list."""

    batch_id = 0
    task_id = 0
    attempt = 0

    def __init__(self, connector: str = "sink", bad: list[str] | None = None) -> None:
        self.connector = connector
        self.bad = bad

    def report(self, record: SinkRecord, error: Exception) -> None:
        if self.bad is None:
            raise error
        self.bad.append(str(error))


def order(number: int, *, topic: str = "orders", partition: int = 0, **values: Any) -> SinkRecord:
    """The record at offset ``number``, which is also its id."""
    schema = WIDER if "price" in values else ORDER
    value = Struct(schema, {"id": number, "item": f"item {number}", **values})
    return record(value, schema, offset=number, topic=topic, partition=partition)


def record(
    value: Any,
    schema: Schema | None = None,
    *,
    offset: int = 0,
    topic: str = "orders",
    partition: int = 0,
    **more: Any,
) -> SinkRecord:
    return SinkRecord(topic, partition, value_schema=schema, value=value, offset=offset, **more)


def ends(records: list[SinkRecord]) -> dict[TopicPartition, int]:
    """The next offsets after these records."""
    return {
        TopicPartition(each.original_topic, each.original_partition): each.offset + 1
        for each in records
    }


class Driven:
    """One start of a connector."""

    def __init__(
        self, kind: type[SinkConnector], config: Mapping[str, str], topics: Sequence[str] = ()
    ) -> None:
        self.config = {"name": "sink", **config}
        self.driver = kind()
        self.driver.topics = topics
        self.driver.start(self.config)
        self._kind = kind
        self._tasks: SinkConnector | None = None
        self._batches = itertools.count()

    @property
    def offsets(self) -> dict[TopicPartition, int] | None:
        return self.driver.stored_offsets()

    def stage(self, records: list[SinkRecord], bad: list[str] | None = None) -> Any:
        """What the task of a batch does, without the driver's commit."""
        task = Task(self.config["name"], bad)
        if self._tasks is None:
            self._tasks = self._kind()
            self._tasks.open(self.config, task)
        return self._tasks.write(iter(records), task)

    def write(self, *records: SinkRecord, bad: list[str] | None = None) -> None:
        message = self.stage(list(records), bad)
        self.driver.commit([message], ends(list(records)), next(self._batches))
