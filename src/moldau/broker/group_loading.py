"""Loads a partition of ``__consumer_offsets`` into a shard.

A busy partition has thousands of commits for every current offset, so the log is compacted while
it is read: only the last record of each committed offset is replayed. A shard must support that
anyway, because a cleaned log looks the same. All other records are replayed first, in the order of
the log, then the offsets.

Offsets committed in a transaction (KIP-98) are valid from its commit marker on; those of open
transactions are replayed last, with their producer.

Corrupt batches are skipped and logged: groups whose last commits were in them continue from
earlier ones. Refusing the whole partition would be worse, because of its other groups.

The loader yields to the event loop after every chunk, so the broker serves requests while loading.
"""

import asyncio
import logging
from typing import Final

from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.records import decode_record
from moldau.group_coordinator.shard import GroupCoordinatorShard
from moldau.protocol.primitives import FileRegion
from moldau.protocol.records.offset_commit import OffsetCommitKey
from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import NO_PRODUCER_ID, BatchHeader
from moldau.record.records import Record, decode_all
from moldau.storage.batch_scan import CorruptSegment

# A few milliseconds of work: how long other requests wait at most.
CHUNK_BYTES: Final = 64 * 1024
CHUNK_RECORDS: Final = 500
_OFFSET_COMMIT: Final = OffsetCommitKey.RECORD_KEY.to_bytes(2, "big")

logger = logging.getLogger(__name__)


class GroupLoader:
    """Loads one log into one shard."""

    def __init__(self, partition: Partition, shard: GroupCoordinatorShard, max_bytes: int) -> None:
        self._partition = partition
        self._shard = shard
        self._max_bytes = min(max_bytes, CHUNK_BYTES)
        self._offsets: dict[bytes, bytes] = {}
        self._open_transactions: dict[int, list[Record]] = {}

    async def load(self) -> int:
        """Replay the log; returns the number of records read.

        Raises:
            ApiError: the disk fails, or the log has a record that cannot be replayed.
        """
        offset = self._partition.log.log_start_offset
        count = 0
        # Looked up each time: the replica may move to another log directory.
        while offset < (log := self._partition.log).log_end_offset:
            try:
                fetched = log.read(
                    offset, self._max_bytes, max_offset=log.log_end_offset, min_one_message=True
                )
            except CorruptSegment as error:
                following = log.offset_after_damage(error, offset)
                logger.error(
                    "offsets %d to %d of %s are damaged and skipped, groups may resume from "
                    "earlier offsets: %s",
                    offset,
                    following - 1,
                    self._partition.topic_partition,
                    error,
                )
                offset = following
                continue
            if not fetched.size_bytes:
                break
            found = fetched.records
            for header, records in decode_all(
                found.read() if isinstance(found, FileRegion) else found
            ):
                self._take(header, records)
                offset = header.next_offset
                count += len(records)
            await asyncio.sleep(0)
        for number, (key, value) in enumerate(self._offsets.items()):
            self._replay(key, value)
            if number % CHUNK_RECORDS == CHUNK_RECORDS - 1:
                await asyncio.sleep(0)
        for producer_id, records in self._open_transactions.items():
            for record in records:
                if record.key is not None:
                    self._replay(record.key, record.value, producer_id)
        return count

    def _take(self, header: BatchHeader, records: list[Record]) -> None:
        if header.is_control:
            for record in records:
                self._end_transaction(header.producer_id, decode_control_key(record.key))
        elif header.is_transactional:
            self._open_transactions.setdefault(header.producer_id, []).extend(records)
        else:
            self._take_committed(records)

    def _end_transaction(self, producer_id: int, marker: int) -> None:
        records = self._open_transactions.pop(producer_id, [])
        if marker == ControlType.COMMIT:
            self._take_committed(records)

    def _take_committed(self, records: list[Record]) -> None:
        offsets = self._offsets
        for record in records:
            key = record.key
            value = record.value
            if key is None:
                logger.warning(
                    "offset %d of %s has no key: ignored",
                    record.offset,
                    self._partition.topic_partition,
                )
            elif not key.startswith(_OFFSET_COMMIT):
                self._replay(key, value)
            elif value is None:
                offsets.pop(key, None)
            else:
                offsets[key] = value

    def _replay(self, key: bytes, value: bytes | None, producer_id: int = NO_PRODUCER_ID) -> None:
        try:
            decoded = decode_record(key, value)
            if decoded is not None:
                self._shard.replay(decoded.key, decoded.value, producer_id)
        except Exception as error:
            where = self._partition.topic_partition
            message = f"{where} holds a record that cannot be replayed: {error}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
