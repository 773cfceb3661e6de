"""Loads a partition of ``__transaction_state`` into a shard.

The log is compacted while it is read: only the last record of each transactional id is replayed. A
shard must support that anyway, because a cleaned log looks the same. Nothing in this topic is
itself transactional.

As in Kafka, records of unknown types are ignored, and the partition is refused if a record of a
known type cannot be read: then this version is the wrong one for the whole log. Damage is skipped
(``coordinator_loading``).
"""

import asyncio
import logging

from moldau.broker.coordinator_loading import CHUNK_RECORDS, free, read_log
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.record.header import BatchHeader
from moldau.record.records import Record
from moldau.transaction_coordinator.records import decode_record
from moldau.transaction_coordinator.shard import TransactionShard

logger = logging.getLogger(__name__)


class TransactionLoader:
    """Loads one log into one shard."""

    def __init__(self, partition: Partition, shard: TransactionShard, max_bytes: int) -> None:
        self._partition = partition
        self._shard = shard
        self._max_bytes = max_bytes
        # The last record of each transactional id, by its encoded key.
        self._last: dict[bytes, bytes] = {}

    async def load(self) -> int:
        """Replay the log; returns the number of records read.

        Raises:
            ApiError: the disk fails, the log has a record that cannot be read, or this broker has
                stopped leading.
        """
        count = await read_log(
            self._partition, self._max_bytes, self._take, "transactions may be in earlier states"
        )
        for number, (key, value) in enumerate(self._last.items()):
            self._replay(key, value)
            if number % CHUNK_RECORDS == CHUNK_RECORDS - 1:
                await asyncio.sleep(0)
        # The shard keeps its loader.
        await free(self._last)
        return count

    def _take(self, header: BatchHeader, records: list[Record]) -> None:
        if header.is_control:
            return
        for record in records:
            if record.key is None:
                where = self._partition.topic_partition
                logger.warning("a record of %s has no key: ignored", where)
            elif record.value is None:
                self._last.pop(record.key, None)
            else:
                self._last[record.key] = record.value

    def _replay(self, key: bytes, value: bytes) -> None:
        where = self._partition.topic_partition
        try:
            decoded = decode_record(key, value)
        except Exception as error:
            message = f"{where} holds a record that cannot be read: {error}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
        if decoded is None:
            logger.warning(
                "a record in %s of the unknown type %d or version %d is ignored: it may be of a "
                "newer release",
                where,
                int.from_bytes(key[:2], "big"),
                int.from_bytes(value[:2], "big"),
            )
            return
        try:
            self._shard.replay(decoded.key, decoded.value)
        except Exception:
            # One strange transaction must not take the others with it.
            logger.exception("a record in %s cannot be replayed and is skipped: %s", where, decoded)
