"""Polls a source on a thread of its own, one batch ahead of the query.

The thread does all that is the connector's: start, poll, convert, commit, stop. So the query never
waits for a connector that blocks, and while Spark writes a batch the next one is being read.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from moldau.connect.connector import ArrowRecords, SourceConnector, SourcePartition
from moldau.connect.data.errors import RetriableError
from moldau.connect.data.record import ConvertedRecord, SourceRecord
from moldau.connect.engine.runs import RunDirectory, StoredOffsets
from moldau.connect.engine.source_rows import Offsets, arrow_rows, identity

_log = logging.getLogger(__name__)

# What is read ahead of the query, at most.
MAX_ROWS: Final = 500_000
MAX_BYTES: Final = 64 << 20
# After so many rows at a time, more are waited for: see ``Poller``.
MANY_ROWS: Final = 10_000
# A source that has nothing returns at once or waits itself; this is for the former.
_IDLE_S: Final = 0.1
_RETRY_S: Final = 1.0
_STOP_S: Final = 2.0

# What a source returns.
Polling = SourceRecord | ConvertedRecord


class StoredReader:
    """The stored offsets, as of the start (see ``connector.OffsetReader``)."""

    def __init__(self, offsets: StoredOffsets) -> None:
        self._offsets = {identity(partition): (partition, at) for partition, at in offsets}

    def get(self, partition: SourcePartition) -> dict[str, Any] | None:
        found = self._offsets.get(identity(partition))
        return None if found is None else found[1]

    def items(self) -> StoredOffsets:
        return list(self._offsets.values())

    def as_stored(self, partition: SourcePartition) -> dict[str, Any]:
        """``partition`` with its fields in the order in which it is stored.

        In the offsets topic the order is part of the key: another one is another partition.
        """
        found = self._offsets.get(identity(partition))
        return dict(partition) if found is None else found[0]


class Polled(NamedTuple):
    """Rows that were read, and how far the source is read with them."""

    batches: list[pa.RecordBatch]
    offsets: Offsets


class Poller:
    """The thread of one source, in its reader process.

    Each batch of the query costs a tenth of a second of CPU time, whatever is in it. So after one
    of ``MANY_ROWS``, the rows of the next one are collected for ``linger_s``, or until the source
    has no more at the moment. Where there are fewer, nobody waits.
    """

    def __init__(
        self,
        source: SourceConnector,
        begin: Callable[[], object],
        make_rows: Callable[[Sequence[Polling]], pa.RecordBatch] | None,
        prepare: Callable[[pa.RecordBatch], None],
        directory: RunDirectory,
        stored: StoredReader,
        *,
        make_arrow_rows: Callable[[ArrowRecords], pa.RecordBatch] = arrow_rows,
        interval_s: float = 0.0,
        linger_s: float = 0.0,
        retry_s: float = _RETRY_S,
    ) -> None:
        """``begin`` starts the source. ``make_rows`` is None to poll for Arrow, and then rows are
        made by ``make_arrow_rows``. ``prepare`` sees rows before anybody writes them, again after
        ``retry_s`` if it raises RetriableError. With ``interval_s`` they are handed over so often
        only.
        """
        self._source = source
        self._begin = begin
        self._make_rows = make_rows
        self._make_arrow_rows = make_arrow_rows
        self._prepare = prepare
        self._directory = directory
        self._stored = stored
        self._interval_s = interval_s
        self._linger_s = linger_s
        self._retry_s = retry_s
        self._changed = threading.Condition()
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0
        self._bytes = 0
        self._offsets: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._last_taken_s = time.monotonic()
        # Whether many rows were taken last, and whether the last poll gave nothing.
        self._took_many = False
        self._is_idle = False
        self._error: BaseException | None = None
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="poll", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def take(self, timeout_s: float) -> Polled | None:
        """What was read since the last call; None if nothing comes within ``timeout_s``.

        Raises:
            Exception: what the connector raised, once everything it returned before is taken.
        """
        deadline_s = time.monotonic() + timeout_s
        with self._changed:
            while not self._is_due():
                if self._error is not None and not self._batches:
                    raise self._error
                left_s = deadline_s - time.monotonic()
                if left_s <= 0:
                    return None
                self._changed.wait(left_s)
            polled = Polled(self._batches, list(self._offsets.values()))
            self._took_many = self._rows >= MANY_ROWS
            self._batches, self._rows, self._bytes, self._offsets = [], 0, 0, {}
            self._last_taken_s = time.monotonic()
            self._changed.notify_all()
            return polled

    def stop(self) -> None:
        """End the thread, unless the connector blocks: it ends with the process."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        self._thread.join(_STOP_S)

    def _is_due(self) -> bool:
        if not self._batches:
            return False
        if self._is_full() or self._error is not None:
            return True
        may_wait = self._took_many and not self._is_idle
        wait_s = max(self._interval_s, self._linger_s) if may_wait else self._interval_s
        return time.monotonic() - self._last_taken_s >= wait_s

    def _is_full(self) -> bool:
        return self._rows >= MAX_ROWS or self._bytes >= MAX_BYTES

    def _run(self) -> None:
        try:
            self._begin()
            try:
                while not self._is_stopping:
                    self._once()
            finally:
                self._source.stop()
        except BaseException as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _once(self) -> None:
        durable = self._directory.take_durable()
        if durable is not None:
            self._source.commit(durable)
        try:
            rows, offsets = self._poll()
        except RetriableError as error:
            _log.warning("polled again in %.0f s: %s", self._retry_s, error)
            self._wait(self._retry_s)
            return
        if not offsets:
            with self._changed:
                self._is_idle = True
                self._changed.notify_all()
            self._wait(_IDLE_S)
            return
        if rows.num_rows and not self._is_prepared(rows):
            return
        with self._changed:
            self._is_idle = False
            # Records that were all left out move the source forward too.
            self._batches.append(rows)
            self._rows += rows.num_rows
            self._bytes += rows.nbytes
            for partition, offset in offsets:
                place = (self._stored.as_stored(partition), dict(offset))
                self._offsets[identity(partition)] = place
            self._changed.notify_all()
            while self._is_full() and not self._is_stopping:
                self._changed.wait()

    def _is_prepared(self, rows: pa.RecordBatch) -> bool:
        """Prepare for ``rows``, as often as it takes; False if the source is to stop before."""
        while not self._is_stopping:
            try:
                self._prepare(rows)
            except RetriableError as error:
                _log.warning("tried again in %.0f s: %s", self._retry_s, error)
                self._wait(self._retry_s)
            else:
                return True
        return False

    def _poll(self) -> tuple[pa.RecordBatch, Offsets]:
        if self._make_rows is None:
            columns = self._source.poll_arrow()
            if columns is None or len(columns.value) == 0:
                return None, ()
            return self._make_arrow_rows(columns), columns.offsets
        records = self._source.poll()
        if not records:
            return None, ()
        return self._make_rows(records), last_offsets(records)

    def _wait(self, seconds: float) -> None:
        with self._changed:
            if not self._is_stopping:
                self._changed.wait(seconds)


def last_offsets(records: Sequence[Polling]) -> Offsets:
    """The offset of the last record of each partition."""
    last: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    previous = records[0]
    for each in records:
        # Most records have the partition of the one before: that is cheap to see.
        if each.source_partition != previous.source_partition:
            last[identity(previous.source_partition)] = _place(previous)
        previous = each
    last[identity(previous.source_partition)] = _place(previous)
    return list(last.values())


def _place(record: Polling) -> tuple[dict[str, Any], dict[str, Any]]:
    return record.source_partition, record.source_offset
