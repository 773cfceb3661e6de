"""Reads a partition of a coordinator's topic, batch by batch, while other requests are served.

Corrupt batches are skipped and logged: what was last written in them continues from earlier
records. Refusing the whole partition would be worse, because of all else that is in it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from moldau.broker.partition import NO_EPOCH, Partition
from moldau.network.turns import dropping
from moldau.protocol.primitives import FileRegion
from moldau.record.header import BatchHeader
from moldau.record.records import Record, decode_all
from moldau.storage.log.batch_scan import CorruptSegment

# A few milliseconds of work: how long other requests wait at most.
CHUNK_BYTES: Final = 64 * 1024
CHUNK_RECORDS: Final = 500

logger = logging.getLogger(__name__)


async def read_log(
    partition: Partition,
    max_bytes: int,
    take: Callable[[BatchHeader, list[Record]], None],
    loss: str,
) -> int:
    """Pass every batch to ``take``; returns the number of records.

    ``loss`` says in the log what damage means.

    Raises:
        ApiError: the disk fails, or this broker has stopped leading.
    """
    max_bytes = min(max_bytes, CHUNK_BYTES)
    offset = partition.log.log_start_offset
    count = 0
    # Looked up each time: the replica may move to another log directory.
    while offset < (log := partition.log).log_end_offset:
        partition.check_leader(NO_EPOCH)
        try:
            fetched = log.read(
                offset, max_bytes, max_offset=log.log_end_offset, min_one_message=True
            )
        except CorruptSegment as error:
            following = log.offset_after_damage(error, offset)
            logger.error(
                "offsets %d to %d of %s are damaged and skipped, %s: %s",
                offset,
                following - 1,
                partition.topic_partition,
                loss,
                error,
            )
            offset = following
            continue
        if not fetched.size_bytes:
            # Compaction has removed the end of the log.
            break
        found = fetched.records
        data = found.read() if isinstance(found, FileRegion) else found
        for header, records in decode_all(data):
            take(header, records)
            offset = header.next_offset
            count += len(records)
        await asyncio.sleep(0)
    return count


async def free(held: dict[Any, Any]) -> None:
    """Empty a dictionary of what was read, while other requests are served."""
    for _ in dropping(held):
        await asyncio.sleep(0)
