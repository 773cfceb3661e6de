"""Loads a partition of ``__consumer_offsets`` into a shard.

A busy partition has thousands of commits for every current offset, so the log is compacted while
it is read: only the last record of each committed offset is replayed. A shard must support that
anyway, because a cleaned log looks the same. All other records are replayed first, in the order of
the log, then the offsets.

Offsets committed in a transaction (KIP-98) are valid from its commit marker on, unless a later
record of the same partition is there: the offset of the record decides, not that of the marker, and
a tombstone takes pending offsets along. Those of transactions that are still open are replayed with
their producer, before or after the committed ones, as they were written.

Damage is skipped (``coordinator_loading``). So are records that contradict the state of their
group, and, as in Kafka, records of unknown types. As in Kafka, the partition is refused if a record
of a known type cannot be read: then this version is the wrong one for the whole log.
"""

import asyncio
import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau.broker.coordinator_loading import CHUNK_RECORDS, free, read_log
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.records import decode_record
from moldau.group_coordinator.shard import GroupCoordinatorShard
from moldau.protocol.records.offset_commit import OffsetCommitKey
from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import NO_PRODUCER_ID, BatchHeader
from moldau.record.records import Record

_OFFSET_COMMIT: Final = OffsetCommitKey.RECORD_KEY.to_bytes(2, "big")

logger = logging.getLogger(__name__)


class _Commit(NamedTuple):
    """A committed offset as it is in the log, and the offset of its record."""

    value: bytes
    offset: int


class GroupLoader:
    """Loads one log into one shard."""

    def __init__(self, partition: Partition, shard: GroupCoordinatorShard, max_bytes: int) -> None:
        self._partition = partition
        self._shard = shard
        self._max_bytes = max_bytes
        self._offsets: dict[bytes, _Commit] = {}
        # Producer id -> the last offset of each partition in its open transaction.
        self._open_transactions: dict[int, dict[bytes, _Commit]] = {}

    async def load(self) -> int:
        """Replay the log; returns the number of records read.

        Raises:
            ApiError: the disk fails, the log has a record that cannot be read, or this broker has
                stopped leading.
        """
        count = await read_log(
            self._partition, self._max_bytes, self._take, "groups may resume from earlier offsets"
        )
        await self._replay_offsets()
        return count

    async def _replay_offsets(self) -> None:
        for number, (commit, key, producer_id) in enumerate(self._in_order()):
            self._replay(key, commit.value, producer_id)
            if number % CHUNK_RECORDS == CHUNK_RECORDS - 1:
                await asyncio.sleep(0)
        # The shard keeps its loader.
        await free(self._offsets)
        await free(self._open_transactions)

    def _in_order(self) -> Iterator[tuple[_Commit, bytes, int]]:
        """Pending offsets that an offset was committed after, committed ones, the other pending."""
        offsets = self._offsets
        pending = [
            (commit, key, producer_id)
            for producer_id, commits in self._open_transactions.items()
            for key, commit in commits.items()
        ]
        pending.sort(key=_order)
        later: list[tuple[_Commit, bytes, int]] = []
        for each in pending:
            committed = offsets.get(each[1])
            if committed is None or committed.offset < each[0].offset:
                later.append(each)
            else:
                yield each
        for key, commit in offsets.items():
            yield commit, key, NO_PRODUCER_ID
        yield from later

    def _take(self, header: BatchHeader, records: list[Record]) -> None:
        if header.is_control:
            for record in records:
                self._end_transaction(header.producer_id, decode_control_key(record.key))
            return
        transaction: dict[bytes, _Commit] | None = None
        if header.is_transactional:
            transaction = self._open_transactions.setdefault(header.producer_id, {})
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
                self._remove(key)
            elif transaction is not None:
                transaction[key] = _Commit(value, record.offset)
            else:
                self._offsets[key] = _Commit(value, record.offset)

    def _remove(self, key: bytes) -> None:
        self._offsets.pop(key, None)
        for transaction in self._open_transactions.values():
            transaction.pop(key, None)

    def _end_transaction(self, producer_id: int, marker: int) -> None:
        pending = self._open_transactions.pop(producer_id, None)
        if pending is None or marker != ControlType.COMMIT:
            return
        offsets = self._offsets
        for key, commit in pending.items():
            committed = offsets.get(key)
            if committed is None or committed.offset < commit.offset:
                offsets[key] = commit

    def _replay(self, key: bytes, value: bytes | None, producer_id: int = NO_PRODUCER_ID) -> None:
        where = self._partition.topic_partition
        try:
            decoded = decode_record(key, value)
        except Exception as error:
            message = f"{where} holds a record that cannot be read: {error}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
        if decoded is None:
            logger.warning(
                "a record of the unknown type %d in %s is ignored: it may be of a newer version",
                int.from_bytes(key[:2], "big"),
                where,
            )
            return
        try:
            self._shard.replay(decoded.key, decoded.value, producer_id)
        except Exception:
            # One strange group must not take the others with it.
            logger.exception("a record in %s cannot be replayed and is skipped: %s", where, decoded)


def _order(pending: tuple[_Commit, bytes, int]) -> int:
    return pending[0].offset
