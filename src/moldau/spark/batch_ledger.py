"""A ledger of the micro-batches that a query has written to a topic: which of its records count.

Without transactions a micro-batch that fails halfway leaves records in the topic, and is written
again. If the topic has a single writer, and readers that use the ledger, these records can be
skipped: the produce responses tell the writer the offsets of its records, and after each batch it
appends one record to the ledger, a separate topic. That record has the end offset of each
partition, and the offset spans below it that are dead, that is, whose records do not count. It is
the commit of the batch: a single append is atomic.

Each ledger record includes the content of those before it, so only the last one is read.

Rules this module keeps:

* Readers read up to the ledger's end offsets and skip dead spans. So they see every batch once and
  completely, however often parts of it were written.
* A record counts only if its batch has reported its offset. Records that a task of a killed run
  writes later are dead too, wherever they are appended.
* A batch that is in the ledger is not written again. A dead span stays dead.
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

# The first offset, and the last one plus 1.
Span = tuple[int, int]

# For the topic of the ledger: only its last record is ever read.
LEDGER_CONFIGS: Final = {"cleanup.policy": "compact", "segment.bytes": str(1 << 20)}
_KEY: Final = b"batches"
# A crash leaves one dead span in each partition that it wrote to. The oldest are dropped in the
# end: they matter only to a reader that starts from the beginning.
_KEPT_SPANS: Final = 10_000


class Ledger(NamedTuple):
    """The content of a ledger's last record."""

    # By partition.
    ends: Mapping[int, int]
    dead: Mapping[int, Sequence[Span]]
    # The query that writes the batches, and its last written one; None before the first.
    query_id: str | None = None
    batch_id: int | None = None

    def after(
        self, query_id: str, batch_id: int, ends: Mapping[int, int], written: "Written"
    ) -> "Ledger":
        """The ledger after a batch that wrote the spans ``written``; ``ends`` are the new ends."""
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
    """What to do with a micro-batch."""

    WRITE = "write"
    SKIP = "skip"
    # The ledger is about other batches: all records in the topic count, and this batch follows.
    BEGIN = "begin"


def next_step(ledger: Ledger, query_id: str, batch_id: int) -> Step:
    """What to do with batch ``batch_id`` of a query.

    Raises:
        PipelineError: the ledger is ahead of the query's checkpoint.
    """
    if ledger.query_id is None:
        return Step.WRITE
    if ledger.query_id != query_id or ledger.batch_id is None:
        return Step.BEGIN
    if batch_id == ledger.batch_id:
        return Step.SKIP
    if batch_id < ledger.batch_id:
        raise PipelineError(
            f"the checkpoint continues with batch {batch_id}, but {ledger.batch_id} is written: it "
            "is an older state of the query, and its rows would count twice. moldau stream reset "
            "lets the app start over"
        )
    return Step.WRITE if batch_id == ledger.batch_id + 1 else Step.BEGIN


class LedgerTopic:
    """The topic of a ledger; fetches the last record only if there is a new one."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._partition = TopicPartition(topic, 0)
        self._end = 0
        self._last: Ledger | None = None

    def read(self) -> Ledger | None:
        """Return the current ledger; None if nothing was ever written to it.

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
        """Append ``ledger``, which is the current one from now on.

        Raises:
            ApiError: the append was not acknowledged.
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
    """The parts of ``begin`` to ``end`` that are in none of ``spans``."""
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
