"""The API of connectors: what to write to move records between topics and another system.

A sink that needs no more than this is complete:

    class LineSink(SinkConnector):
        config = ConfigDef().define("path", Type.STRING, doc="The file to append to.")

        def open(self, config: Mapping[str, str], task: SinkTask) -> None:
            self.file = open(config["path"], "a")

        def put(self, records: list[SinkRecord]) -> None:
            self.file.writelines(f"{record.value}\n" for record in records)
            self.file.flush()

A connector has no threads and keeps no progress: the engine calls it, converts and transforms
records, stores progress and handles errors. It raises ``RetriableError`` for what may pass (tried
again within ``errors.retry.timeout``), and anything else to become FAILED, with the exception as
its trace. Configs are plain texts, as the user wrote them; ``cls.config.parse(config)`` gives
them as values.

Where the methods of a sink run:

* driver, once per start: ``start``, ``stored_offsets``, ``stop``; once per batch: ``commit``;
* tasks of Spark, in other processes, where the engine makes an object of the class again: ``open``
  once per process, ``write`` (or ``put``) for the records of each batch.

A source runs in one process of its own: ``start``, then ``poll`` again and again, ``stop``.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol

from moldau.ids import TopicPartition
from moldau.version import VERSION

if TYPE_CHECKING:
    import pyarrow as pa

    from moldau.connect.config.definition import ConfigDef
    from moldau.connect.converters.json_converter import JsonConverter
    from moldau.connect.data.columns import RecordColumns
    from moldau.connect.data.record import ConvertedRecord, SinkRecord, SourceRecord

AT_LEAST_ONCE: Final = "at least once"
EXACTLY_ONCE: Final = "exactly once"
# As many records as Kafka hands to a sink at a time (max.poll.records).
PUT_RECORDS: Final = 500

# A part of a source, such as {"filename": "a.txt"}, and how far it was read: {"position": 17}.
# Both are JSON objects of plain values, as in Kafka's offsets topic.
SourcePartition = Mapping[str, Any]
SourceOffset = Mapping[str, Any]


class ConfigProblem(NamedTuple):
    """What is wrong with the setting ``name``: the thing, the value and the remedy."""

    name: str
    message: str


class Connector:
    """What sources and sinks have in common."""

    # The connector's own settings, without those that every connector has.
    config: ClassVar["ConfigDef"]
    version: ClassVar[str] = VERSION
    # AT_LEAST_ONCE or EXACTLY_ONCE: what a crash at any moment leaves.
    delivery: ClassVar[str] = AT_LEAST_ONCE

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """All problems that only the outside world can tell: no such table, wrong password.

        Called when each setting by itself is already known to be valid. May open connections,
        must close them, and must not change anything.
        """
        return []

    def stop(self) -> None:
        """Close what ``start`` opened. Not called if the process is killed."""


class SinkTask(Protocol):
    """What a task knows about itself."""

    @property
    def connector(self) -> str:
        """The name of the connector."""

    @property
    def batch_id(self) -> int:
        """The number of the batch since the start of the connector."""

    @property
    def task_id(self) -> int:
        """The number of this task in the batch."""

    @property
    def attempt(self) -> int:
        """How often Spark has tried this task before: 0 at first. A cluster tries up to 4 times."""

    def report(self, record: "SinkRecord", error: Exception) -> None:
        """Treat ``record`` as failed, as ``errors.tolerance`` says.

        Tolerated, it is logged or written to the dead letters and the others go on; otherwise
        raises ``error``.
        """


class SinkBatch(Protocol):
    """Some records of a task, converted and transformed."""

    @property
    def columns(self) -> "RecordColumns | None":
        """The records as columns; None if they are only known one by one."""

    def records(self) -> Iterator["SinkRecord"]:
        """The records one by one."""


class SinkConnector(Connector):
    """Writes records to another system: overrides ``put``, or ``write`` and ``commit``."""

    # The settings of the worker's own clients (brokers, TLS, SASL), for a sink that talks to the
    # brokers as well. Set on the driver, before ``start``.
    clients: Mapping[str, str] = MappingProxyType({})
    # The topics that there are, of those that ``topics`` or ``topics.regex`` name. Set on the
    # driver, before ``start``.
    topics: Sequence[str] = ()
    # All records of a batch pass through one task, in the order of their partitions.
    is_single_writer: ClassVar[bool] = False
    # ``write_arrow`` is called instead of ``write`` where no record has to be looked at: key and
    # value are strings or bytes by their converters, and there are no transforms.
    takes_arrow: ClassVar[bool] = False
    # ``write_columns`` is called instead of ``write``.
    takes_columns: ClassVar[bool] = False
    # Set by ``start``: records of one partition may go to several parts of the target, such as
    # tables, which are committed one after the other. Each stores the offsets of its own records
    # and leaves out what it has, so reading starts at the group's offsets, which move last.
    has_parts: bool = False

    def start(self, config: Mapping[str, str]) -> None:
        """Open what the driver needs: called before the first batch."""

    def stored_offsets(self) -> dict[TopicPartition, int] | None:
        """The next offset of each partition, as stored in the target together with the data.

        They take precedence over those of the group ``connect-NAME``, unless ``has_parts``. None
        (the default) for a target that stores none. Called after ``start``.
        """
        return None

    def found_offsets(self, messages: list[Any]) -> dict[TopicPartition, int]:
        """The stored offsets that tasks have found, by their messages for ``commit``.

        For a target of which ``stored_offsets`` cannot know all parts: a topic that came since the
        start must not have any there.
        """
        return {}

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        """Open what writing needs: called in each process before its first ``write``."""

    def write(self, records: Iterator["SinkRecord"], task: SinkTask) -> Any:
        """Write one task's records of a batch, in order; return a small message for ``commit``.

        The message is pickled. If anything raises, no task's message reaches ``commit``, and the
        batch is written again, though not necessarily with the same bounds.
        """
        while batch := list(islice(records, PUT_RECORDS)):
            self.put(batch)
        return None

    def write_arrow(self, batches: Iterator["pa.RecordBatch"], task: SinkTask) -> Any:
        """As ``write``, with columns key, value, topic, partition, offset, timestamp, headers.

        Key and value are the bytes of the topic. Called only if ``takes_arrow``.
        """
        raise NotImplementedError(f"{type(self).__name__} takes no Arrow")

    def write_columns(self, batches: Iterator[SinkBatch], task: SinkTask) -> Any:
        """As ``write``, with columns where the records have the same schemas."""
        raise NotImplementedError(f"{type(self).__name__} takes no columns")

    def put(self, records: list["SinkRecord"]) -> None:
        """Write some records: they must be durable on return (the simple form of ``write``)."""
        raise NotImplementedError(f"{type(self).__name__} has neither put nor write")

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        """Make a batch visible: on the driver, when every task has written its records.

        ``offsets`` has the next offset of every partition of the batch. A target that stores them
        with the data, in one transaction, is written exactly once. Then the engine commits them
        to the group.
        """

    @classmethod
    def alter_offsets(
        cls, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
    ) -> bool:
        """Store other offsets in the target, where ``stored_offsets`` finds them; None forgets one.

        The connector is stopped. False (the default): the target's stay as they are.
        """
        return False


class OffsetReader(Protocol):
    """The stored progress of a source, as of its start."""

    def get(self, partition: SourcePartition) -> dict[str, Any] | None:
        """How far ``partition`` was read; None if never."""

    def items(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        """All partitions with their offsets."""


@dataclass(frozen=True)
class ArrowRecords:
    """Records of a source as columns: what ``poll_arrow`` returns.

    ``value`` and ``key`` are strings or binaries (no key: None), all for the ``topic``. ``offsets``
    has how far the partitions are read when these records are written. Where transforms or
    converters look at the records, strings have the schema STRING and binaries BYTES.
    """

    topic: str
    value: "pa.Array"
    offsets: Sequence[tuple[SourcePartition, SourceOffset]]
    key: "pa.Array | None" = None
    timestamp_ms: int | None = None


class SourceConnector(Connector):
    """Reads records from another system: overrides ``start`` and ``poll``."""

    # Whether its offsets describe exactly the records returned, so that a transaction of records
    # and offsets makes delivery exactly once (``exactly.once.support=required`` asks for it).
    exactly_once: ClassVar[bool] = True
    # ``poll_arrow`` is called instead of ``poll`` where no single record has to be looked at:
    # there are no transforms, or such as work on columns.
    gives_arrow: ClassVar[bool] = False

    def start(self, config: Mapping[str, str], offsets: OffsetReader) -> None:
        """Open the source and go to the stored offsets."""
        raise NotImplementedError(f"{type(self).__name__} has no start")

    def write_json(self, keys: "JsonConverter", values: "JsonConverter") -> None:
        """Called before ``start`` if these converters write the records, and nothing else looks at
        them: ``poll`` may return records that are converted already.
        """

    def poll(self) -> "Sequence[SourceRecord | ConvertedRecord] | None":
        """The next records; None or none if there are none now.

        Should return within about a second: the engine calls again. Each record carries the
        source offset from which to go on *after* it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no poll")

    def poll_arrow(self) -> ArrowRecords | None:
        """As ``poll``, called only if ``gives_arrow``."""
        raise NotImplementedError(f"{type(self).__name__} gives no Arrow")

    def commit(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        """Records up to ``offsets`` are durable in the topics: the source may forget them.

        Called between two polls, some time after it became true. Not called for every batch.
        """

    @classmethod
    def alter_offsets(
        cls,
        config: Mapping[str, str],
        offsets: Sequence[tuple[SourcePartition, SourceOffset | None]],
    ) -> bool:
        """Check offsets that a user wants to store (None resets a partition).

        Raise ConnectError for those that cannot be. False: this connector does not check them.
        """
        return False
