"""Which records of a topic count: a ledger of the micro-batches that one query has written to it.

Without transactions a micro-batch that failed half-way leaves records behind, and is written again.
Where a topic has one writer and readers that know of it, those records can be told from the others:
the writer learns from the brokers at which offsets its records are, and when a batch is written it
appends one record to the ledger, a topic of its own. That record says where each partition ended
then, and which offsets below hold records that do not count. It is the commit of the batch: a
single append, which happens or does not.

Each record of the ledger says everything that those before it said, so only the last one is read.

Rules kept here:

* Readers read up to where the ledger says that a partition ends, and pass over what is dead. So
  they see every batch once and as a whole, however often parts of it were written.
* A record counts only if the batch that it belongs to has reported its offset. What a task of a
  run that was killed writes later is dead too, wherever it lands.
* A batch that is in the ledger is not written again. What is dead stays dead.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster
from moldau.client.offsets import LATEST, list_offsets
from moldau.client.producer import Producer
from moldau.client.range_reader import FetchSettings, RangeReader
from moldau.ids import TopicPartition
from moldau.record.header import iter_headers
from moldau.record.records import decode_records
from moldau.spark.errors import PipelineError
from moldau.spark.offsets import OffsetRange

# The first offset and the one behind the last.
Span = tuple[int, int]

# Of the ledger's topic: only its last record is ever read.
LEDGER_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20)}
_KEY: Final = b"batches"
# A crash leaves one span in each partition that it wrote to. The oldest are forgotten at last: they
# matter only to a reader that begins anew.
_KEPT_SPANS: Final = 10_000


class Ledger(NamedTuple):
    """What the last record of a ledger says."""

    # By partition.
    ends: Mapping[int, int]
    dead: Mapping[int, Sequence[Span]]
    # Whose batches these are, and the last one that is written; None before the first.
    query_id: str | None = None
    batch_id: int | None = None

    def after(
        self, query_id: str, batch_id: int, ends: Mapping[int, int], written: "Written"
    ) -> "Ledger":
        """The ledger when a batch is done that has ``written``, and partitions end at ``ends``."""
        dead = dict(self.dead)
        for partition, end in ends.items():
            begin = self.ends.get(partition, 0)
            new = _gaps(begin, end, written.get(partition, ()))
            if new:
                dead[partition] = merged([*dead.get(partition, ()), *new])
        return Ledger(ends, _newest(dead), query_id, batch_id)

    def alive(self, wanted: Iterable[OffsetRange]) -> list[OffsetRange]:
        """The parts of ``wanted`` that count."""
        found: list[OffsetRange] = []
        for each in wanted:
            partition = each.partition.partition
            end = min(each.end, self.ends.get(partition, 0))
            spans = _gaps(each.start, end, self.dead.get(partition, ()))
            found += [OffsetRange(each.partition, first, last) for first, last in spans]
        return found

    def dumps(self) -> bytes:
        fields = {
            "query": self.query_id,
            "batch": self.batch_id,
            "ends": self.ends,
            "dead": self.dead,
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @staticmethod
    def loads(data: bytes) -> "Ledger":
        fields = json.loads(data)
        return Ledger(
            {int(partition): end for partition, end in fields["ends"].items()},
            {
                int(partition): [(first, last) for first, last in spans]
                for partition, spans in fields["dead"].items()
            },
            fields["query"],
            fields["batch"],
        )


# The spans of the records that count, by partition.
Written = Mapping[int, Sequence[Span]]


class Step(Enum):
    """What is to be done with a micro-batch."""

    WRITE = "write"
    SKIP = "skip"
    # The ledger is about other batches: what is in the topic counts, and these follow.
    BEGIN = "begin"


def next_step(ledger: Ledger, query_id: str, batch_id: int) -> Step:
    """What to do with batch ``batch_id`` of a query.

    Raises:
        PipelineError: more batches are written than the query's checkpoint knows of.
    """
    if ledger.query_id is None:
        return Step.WRITE
    if ledger.query_id != query_id or ledger.batch_id is None:
        return Step.BEGIN
    if batch_id == ledger.batch_id:
        return Step.SKIP
    if batch_id < ledger.batch_id:
        raise PipelineError(
            f"the checkpoint goes on with batch {batch_id}, but {ledger.batch_id} is written: it "
            "is an older state of the query, and its rows would count twice. moldau stream reset "
            "lets the app begin anew"
        )
    return Step.WRITE if batch_id == ledger.batch_id + 1 else Step.BEGIN


class LedgerTopic:
    """The topic in which a ledger is; asks for its last record only when there is a new one."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._partition = TopicPartition(topic, 0)
        self._end = 0
        self._last: Ledger | None = None

    def read(self) -> Ledger | None:
        """What the ledger says now; None if nothing was ever written to it.

        Raises:
            ApiError, ConnectionFailed: it cannot be read.
        """
        partition = self._partition
        end = list_offsets(self._cluster, {partition: LATEST})[partition].offset
        if end == 0 or end == self._end:
            return self._last if end else None
        reader = RangeReader(self._cluster, FetchSettings(read_committed=False))
        for fetched in reader.read(partition, end - 1, end):
            for position, _ in iter_headers(fetched.batches):
                for record in decode_records(fetched.batches, position):
                    if record.offset < end and record.value is not None:
                        self._last = Ledger.loads(record.value)
        self._end = end
        return self._last

    def append(self, producer: Producer, ledger: Ledger) -> None:
        """Make ``ledger`` what is true from now on.

        Raises:
            ApiError: it is not known to be written.
        """
        topic, number = self._partition
        delivery = producer.send(topic, ledger.dumps(), _KEY, partition=number)
        producer.flush()
        if delivery.error is not None:
            raise delivery.error
        self._last, self._end = ledger, delivery.offset + 1


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same offsets in as few spans as possible, in order."""
    found: list[Span] = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found


def _gaps(begin: int, end: int, spans: Iterable[Span]) -> list[Span]:
    """What of ``begin`` to ``end`` is in none of ``spans``."""
    found: list[Span] = []
    for first, last in merged(spans):
        if begin < min(first, end):
            found.append((begin, min(first, end)))
        begin = max(begin, last)
    if begin < end:
        found.append((begin, end))
    return found


def _newest(dead: Mapping[int, Sequence[Span]]) -> Mapping[int, Sequence[Span]]:
    too_many = sum(map(len, dead.values())) - _KEPT_SPANS
    if too_many <= 0:
        return dead
    share = max(1, _KEPT_SPANS // len(dead))
    return {partition: spans[-share:] for partition, spans in dead.items()}
