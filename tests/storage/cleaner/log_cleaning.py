"""Compacted logs, and a cleaner that is run step by step."""

import random
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.record.compression import Codec
from moldau.record.header import BatchHeader, iter_headers
from moldau.record.records import BatchBuilder, Record, decode_records
from moldau.storage.cleaner.cleaning_work import PassWork
from moldau.storage.cleaner.log_cleaner import LogCleaner
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.log.batch_scan import iter_batches, iter_valid_batches
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.log_making import EPOCH, START_MS, data_of, new_log

COMPACT = LogConfig(
    cleanup_policy=("compact",),
    segment_bytes=400,
    index_interval_bytes=100,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1000,
)

Keyed = tuple[bytes | None, bytes | None]


class Threads:
    """An executor whose work waits, and the owner's thread to which results come back."""

    def __init__(self) -> None:
        self.works: deque[Callable[[], object]] = deque()
        self.posted: deque[Callable[[], None]] = deque()

    def submit(self, fn: Callable[..., object], /, *args: Any) -> None:
        self.works.append(lambda: fn(*args))

    def post(self, callback: Callable[[], None]) -> None:
        self.posted.append(callback)

    def step(self) -> bool:
        """Let a thread do one piece of work and its owner take the result; False if idle."""
        if not self.works and not self.posted:
            return False
        if self.works:
            self.works.popleft()()
        while self.posted:
            self.posted.popleft()()
        return True

    def finish(self) -> None:
        while self.step():
            pass


class Cleaner:
    """A log cleaner over ``logs``, with the settings of a broker."""

    def __init__(
        self,
        disk: Disk,
        clock: ManualClock,
        logs: Sequence[PartitionLog],
        map_bytes: int | None = None,
        work_for: Callable[[int], PassWork] | None = None,
        **settings: object,
    ) -> None:
        """``map_bytes`` makes the offset map smaller than any user may."""
        self.threads = Threads()
        self.clock = clock
        self.cleaned: list[PartitionLog] = []
        self.on_cleaned: Callable[[PartitionLog], object] = self.cleaned.append
        self.pauses: list[float] = []
        texts = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.config = BrokerConfig.from_properties({}).with_dynamic(texts, {})
        if map_bytes is not None:
            self.config = cast(BrokerConfig, _SmallMap(self.config, map_bytes))
        self.cleaner = LogCleaner(
            logs=lambda: logs,
            config=lambda: self.config,
            disk=disk,
            clock=clock,
            rng=random.Random(5),
            executor=self.threads,
            post=self.threads.post,
            on_cleaned=lambda log: self.on_cleaned(log),
            pause=self._pause,
            work_for=work_for,
        )

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(round(seconds * 1000))

    def run(self) -> None:
        """Clean until nothing is left to clean."""
        self.begin()
        self.threads.finish()

    def begin(self) -> None:
        self.cleaner.run(self.clock.wall_ms())


class _SmallMap:
    """A broker's settings, but for one of them."""

    def __init__(self, config: BrokerConfig, map_bytes: int) -> None:
        self._config = config
        self.log_cleaner_dedupe_buffer_size = map_bytes

    def __getattr__(self, name: str) -> object:
        return getattr(self._config, name)


def clean(log: PartitionLog, disk: Disk, clock: ManualClock, **settings: object) -> Cleaner:
    """Clean one log, as far as it goes."""
    cleaner = Cleaner(disk, clock, [log], None, **settings)
    cleaner.run()
    return cleaner


def compacted_log(
    disk: Disk,
    clock: ManualClock | None = None,
    config: LogConfig = COMPACT,
    executor: Executor | None = None,
) -> PartitionLog:
    return new_log(disk, config, clock=clock or ManualClock(START_MS), executor=executor)


def keyed_batch(
    *records: Keyed,
    timestamp: int = START_MS,
    codec: int = Codec.NONE,
    headers: Sequence[tuple[str, bytes | None]] = (),
    **fields: Any,
) -> bytes:
    """Record number n is n milliseconds later than the first."""
    builder = BatchBuilder(codec, **fields)
    for number, (key, value) in enumerate(records):
        builder.append(timestamp + number, key, value, headers)
    return builder.build()


def write(log: PartitionLog, *records: Keyed, **fields: Any) -> int:
    """Append a batch of keys and values; gives its first offset."""
    info = log.append_as_leader(keyed_batch(*records, **fields), EPOCH, log.wall_ms())
    log.update_high_watermark(log.log_end_offset)
    return info.first_offset


def roll(log: PartitionLog) -> None:
    """Begin a new segment, so that all that is in the log may be cleaned."""
    if log.segments.active.size:
        log.roll()


def batches_of(log: PartitionLog) -> list[tuple[BatchHeader, list[Record]]]:
    """Every batch, in the way a consumer comes through the log."""
    found: list[tuple[BatchHeader, list[Record]]] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = data_of(log.read(offset, 1 << 20, max_offset=log.log_end_offset))
        if not data:
            break
        for position, header in iter_headers(data):
            found.append((header, decode_records(data, position)))
            offset = header.next_offset
    return found


def records_of(log: PartitionLog) -> list[Record]:
    return [
        record
        for header, records in batches_of(log)
        if not header.is_control
        for record in records
        if record.offset >= log.log_start_offset
    ]


def last_values(log: PartitionLog) -> dict[bytes | None, bytes]:
    """What a reader that starts from nothing knows after the last record."""
    values: dict[bytes | None, bytes] = {}
    for record in records_of(log):
        if record.value is None:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value
    return values


def fill(log: PartitionLog, rounds: int = 5, keys: int = 4) -> None:
    """Write every key again and again, a batch for each, and begin a new segment."""
    for round_ in range(rounds):
        for key in range(keys):
            write(log, (b"key-%d" % key, b"value-%d-%d" % (round_, key)))
    roll(log)


def offsets_of(log: PartitionLog) -> list[int]:
    return [record.offset for record in records_of(log)]


def check_segments(log: PartitionLog) -> None:
    """Every batch is good, and every index entry points to the batch it should."""
    end = 0
    for segment in log.segments:
        assert segment.base_offset >= end
        positions: dict[int, int] = {}
        for position, header, _, _ in iter_valid_batches(
            segment.log, 0, segment.size, segment.base_offset
        ):
            positions[position] = header.last_offset
            end = header.next_offset
        for slot in range(segment.offset_index.entries):
            offset, position = segment.offset_index.entry(slot)
            assert positions[position] == offset
        entries = [segment.time_index.entry(slot) for slot in range(segment.time_index.entries)]
        assert all(one < other for one, other in pairwise(entries))
        stamps = [header.max_timestamp for _, header in iter_batches(segment.log, 0, segment.size)]
        assert segment.max_timestamp == max(stamps, default=-1)
