"""One term of the active controller: what it has decided, and who waits for it to be committed.

A decision counts for the next one as soon as its records are written. Everybody else learns of it
when it is committed. If the term ends before, the object is dropped with everything in it: the
next active controller, here or elsewhere, starts from what is committed.

Rules this module keeps:

* Records are replayed in the order and in the batches in which they are written.
* Records that belong together but do not fit one batch go into a metadata transaction.
* Whoever waits gets an answer: when the records are published here, or an error when the term
  ends.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from moldau.broker.background import STEPS_PER_TURN, in_turns
from moldau.broker.metadata_change import PreparedChange
from moldau.broker.metadata_publisher import MetadataPublisher, OwnChange
from moldau.broker.metadata_snapshot import batches_of
from moldau.broker.raft_driver import RaftDriver
from moldau.clock import Clock
from moldau.controller.controller import Controller
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import METADATA_3_6_IV1
from moldau.metadata.framing import encode_record
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

logger = logging.getLogger(__name__)

# The limit of Kafka's controller for a batch, and for the records of a request.
MAX_RECORDS_PER_BATCH: Final = 10_000
_LARGE_BYTES: Final = 7 * 1024 * 1024
# Records that need not be atomic, as those of a broker that is fenced, go into batches of this
# size, so that each is published within a few milliseconds.
_RECORDS_PER_PART: Final = 1000


class ControllerTerm:
    """The term of one leader epoch."""

    def __init__(
        self, controller: Controller, raft: RaftDriver, publisher: MetadataPublisher, clock: Clock
    ) -> None:
        self.controller = controller
        self.epoch = raft.leader_epoch
        self._raft = raft
        self._publisher = publisher
        self._clock = clock
        # The offset of the last record of this term that is written.
        self.decided_offset = publisher.offset
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._end: BaseException | None = None

    # Waiting

    async def committed(self) -> None:
        """Return when everything decided so far is committed and published here.

        Raises:
            ApiError: NOT_CONTROLLER if the term ended before: the records may be lost.
        """
        if self._end is not None:
            raise self._end
        if self.decided_offset > self._publisher.offset:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self.decided_offset, done))
            await done

    def on_advanced(self) -> None:
        """More is published: answer those who waited for it."""
        offset = self._publisher.offset
        while self._waiting and self._waiting[0][0] <= offset:
            _, done = self._waiting.popleft()
            if not done.done():
                done.set_result(None)

    def end(self, error: BaseException) -> None:
        """The term is over: ``error`` goes to all who wait."""
        self._end = error
        while self._waiting:
            _, done = self._waiting.popleft()
            if not done.done():
                done.set_exception(error)
                # Whoever waited may be gone; that is no reason to complain.
                done.exception()

    # Writing

    async def write_in_turns(self, records: Sequence[Message], is_atomic: bool = True) -> None:
        """Write the records; a large number is processed in several turns of the loop.

        Nothing else may be written meanwhile.
        """
        if not is_atomic and len(records) > _RECORDS_PER_PART:
            await self._write_parts(records)
            return
        in_transaction = self.controller.state.transaction_offset >= 0
        if not STEPS_PER_TURN < len(records) <= MAX_RECORDS_PER_BATCH or in_transaction:
            self.write(records)
            return
        change = PreparedChange(
            records,
            self.controller.image,
            base_offset=self._raft.log_end_offset,
            epoch=self.epoch,
            timestamp_ms=self._clock.wall_ms(),
        )
        await in_turns(change.steps())
        if change.size_bytes > _LARGE_BYTES or change.base_offset != self._raft.log_end_offset:
            # Too large for a batch, or the quorum appended a control record in the meantime.
            self.write(records)
            return
        self._append(change.batch())
        image, delta = self.controller.state.adopt(
            change.delta, change.last_offset, change.epoch, change.timestamp_ms
        )
        self._written(image, delta)

    async def _write_parts(self, records: Sequence[Message]) -> None:
        """Write the records in parts. Once the first is written, so are the others.

        Whoever asked may be gone by then, and would not ask again for what is missing: the
        leaders of the partitions of a broker that is already unfenced.
        """
        parts = deque(
            records[first : first + _RECORDS_PER_PART]
            for first in range(0, len(records), _RECORDS_PER_PART)
        )
        await self.write_in_turns(parts.popleft())
        try:
            while parts:
                await self.write_in_turns(parts[0])
                parts.popleft()
        except asyncio.CancelledError:
            # An error must not hide that whoever asked is to stop; a new leader finds out itself.
            with suppress(ApiError):
                for part in parts:
                    self.write(part)
            raise

    def write(self, records: Sequence[Message]) -> None:
        """Append records to the log, and apply them to the controller.

        Raises:
            ApiError: NOT_CONTROLLER if this node no longer leads the epoch; KAFKA_STORAGE_ERROR.
        """
        self._raft.check_leader(self.epoch)
        if not records:
            return
        is_abort = isinstance(records[0], AbortTransactionRecord)
        if self.controller.state.transaction_offset >= 0 and not is_abort:
            # Left from an append that failed half-way.
            self._write_batches([AbortTransactionRecord(reason="Append failed")])
        self._write_batches(records)

    def _write_batches(self, records: Sequence[Message]) -> None:
        records, values = self._encoded(records)
        timestamp_ms = self._clock.wall_ms()
        batches = batches_of(
            values,
            base_offset=self._raft.log_end_offset,
            epoch=self.epoch,
            timestamp_ms=timestamp_ms,
            max_records=MAX_RECORDS_PER_BATCH,
        )
        first = 0
        for batch, count in batches:
            contents = records[first : first + count]
            offset = self._append(batch)
            self._written(*self.controller.replay(offset, self.epoch, timestamp_ms, contents))
            first += count

    def _encoded(self, records: Sequence[Message]) -> tuple[Sequence[Message], list[bytes]]:
        """The encoded records: in a transaction if they do not fit into one batch."""
        version = self.controller.image.metadata_version
        values = [encode_record(record, version) for record in records]
        is_large = len(values) > MAX_RECORDS_PER_BATCH or sum(map(len, values)) > _LARGE_BYTES
        if is_large and version >= METADATA_3_6_IV1:
            begin = BeginTransactionRecord(name="Large change")
            end = EndTransactionRecord()
            records = [begin, *records, end]
            values = [encode_record(begin, version), *values, encode_record(end, version)]
        return records, values

    def _append(self, batch: bytes) -> int:
        raft = self._raft
        try:
            offset = raft.append(batch, self.epoch)
        except ApiError as error:
            if error.code != ErrorCode.KAFKA_STORAGE_ERROR or raft.is_alone:
                raise
            # A controller that cannot write is of no use: another voter may have room.
            logger.error("node gives up leading epoch %d: %s", self.epoch, error)
            raft.resign(self.epoch)
            raise self._end or ApiError(ErrorCode.NOT_CONTROLLER, error.message) from error
        if self._end is not None:
            # The append made the quorum notice that this node no longer leads.
            raise self._end
        return offset

    def _written(self, image: MetadataImage, delta: MetadataDelta) -> None:
        if self._end is not None:
            # Appending has shown that this node was silent for too long, and leads no longer.
            raise self._end
        self.decided_offset = image.offset
        transaction_offset = self.controller.state.transaction_offset
        self._publisher.expect(OwnChange(image, delta, transaction_offset))
