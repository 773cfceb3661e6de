"""Logs and batches for the tests of the log."""

import random
from collections.abc import Callable
from typing import Any

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.ids import TopicPartition
from moldau.protocol.primitives import FileRegion
from moldau.record.header import iter_headers
from moldau.record.records import BatchBuilder, decode_records
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.log_results import FetchData
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.recovery import open_log

TOPIC_PARTITION = TopicPartition("orders", 0)
DIRECTORY = "/data/orders-0"
START_MS = 1_700_000_000_000
EPOCH = 3
SMALL_SEGMENTS = LogConfig(segment_bytes=500, index_interval_bytes=100)


class Later:
    """An executor whose work waits until the test wants it done."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], object]] = []

    def submit(self, fn: Callable[..., object], /, *arguments: Any) -> object:
        self.waiting.append(lambda: fn(*arguments))
        return None

    def run(self) -> None:
        works, self.waiting = self.waiting, []
        for work in works:
            work()


def batch(
    *values: bytes,
    timestamp: int = START_MS,
    producer_id: int = -1,
    producer_epoch: int = 0,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """A batch as a client sends it; record number n is n milliseconds later than the first."""
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=producer_epoch if producer_id >= 0 else -1,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    for number, value in enumerate(values):
        builder.append(timestamp + number, None, value)
    return builder.build()


def context(
    disk: Disk, clock: ManualClock | None = None, executor: Executor | None = None
) -> LogContext:
    return LogContext(disk, clock or ManualClock(START_MS), random.Random(7), executor)


def new_log(
    disk: Disk | None = None,
    config: LogConfig | None = None,
    *,
    clock: ManualClock | None = None,
    directory: str = DIRECTORY,
    executor: Executor | None = None,
) -> PartitionLog:
    """An empty log, on a simulated disk unless one is given."""
    return open_log(
        context(disk or SimulatedDisk(), clock, executor),
        directory,
        TOPIC_PARTITION,
        config or LogConfig(),
        clean_shutdown=True,
    )


def new_log_with(*values: bytes, config: LogConfig | None = None) -> PartitionLog:
    """A log with a batch for each value."""
    log = new_log(config=config)
    for value in values:
        append(log, value)
    return log


def reopened(
    disk: Disk,
    config: LogConfig | None = None,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    log_start_offset: int = 0,
    clock: ManualClock | None = None,
    directory: str = DIRECTORY,
    was_cleaned: bool = False,
    executor: Executor | None = None,
) -> PartitionLog:
    """The log that is on ``disk``, as the next start of the broker opens it."""
    return open_log(
        context(disk, clock, executor),
        directory,
        TOPIC_PARTITION,
        config or LogConfig(),
        clean_shutdown=clean,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        was_cleaned=was_cleaned,
    )


def append(log: PartitionLog, *values: bytes, timestamp: int = START_MS) -> int:
    """Append a batch, show it to consumers, return its first offset."""
    info = log.append_as_leader(batch(*values, timestamp=timestamp), EPOCH, START_MS)
    log.update_high_watermark(log.log_end_offset)
    return info.first_offset


def data_of(fetched: FetchData) -> bytes:
    records = fetched.records
    if isinstance(records, FileRegion):
        return bytes(records.file.pread(records.size, records.position))
    return bytes(records)


def read_all(log: PartitionLog, start_offset: int | None = None) -> list[tuple[int, bytes | None]]:
    """Offset and value of every record that is in the log."""
    offset = log.log_start_offset if start_offset is None else start_offset
    found: list[tuple[int, bytes | None]] = []
    while offset < log.log_end_offset:
        data = data_of(log.read(offset, 1 << 20, max_offset=log.log_end_offset))
        if not data:
            break
        for position, header in iter_headers(data):
            records = decode_records(data, position)
            found.extend((r.offset, r.value) for r in records if r.offset >= offset)
            offset = header.next_offset
    return found
