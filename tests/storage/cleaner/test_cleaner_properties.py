"""Whatever happens to a compacted log, its readers end up with the same map.

A random history of keyed writes, tombstones, rolls, cleanings, clean restarts, and process crashes
and power failures between any two disk operations is compared with a list of everything that was
written. Segments may be flushed long after they were rolled, as by a busy broker. After every step
a reader that starts at the beginning of the log must get exactly the content of a dict, and each
record it reads must be one that was written, with its offset, timestamp and headers, in order,
once. A power failure may lose records that were never flushed; these are removed from the list.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.clock import ManualClock
from moldau.ids import TopicPartition
from moldau.record.compression import Codec
from moldau.record.records import Record
from moldau.simulator.disk import PowerCut, SimulatedDisk
from moldau.storage.disk.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    read_offsets,
    write_offsets,
)
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.cleaner.log_cleaning import (
    COMPACT,
    Cleaner,
    compacted_log,
    keyed_batch,
    last_values,
    records_of,
    roll,
)
from tests.storage.log_making import EPOCH, START_MS, TOPIC_PARTITION, Later, reopened

CONFIG = replace(COMPACT, segment_bytes=700, delete_retention_ms=500)
CLEANER_CHECKPOINT = f"/data/{CLEANER_OFFSET_CHECKPOINT}"
RECOVERY_CHECKPOINT = f"/data/{RECOVERY_POINT_CHECKPOINT}"
PRODUCER_ID = 77


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """A power cut in the middle of a pass is reported at length, some thousand times here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"key-%d" % 5])
VALUES = st.one_of(st.none(), st.binary(max_size=12))


class Write(NamedTuple):
    records: list[tuple[bytes, bytes | None]]
    codec: int
    is_idempotent: bool


class Clean(NamedTuple):
    map_bytes: int
    # After so many operations of the disk the power goes; None: it stays.
    power_cut_after: int | None
    # Whether the machine died, or only the process.
    is_power_cut: bool


class Stop(Enum):
    CLEAN = auto()
    KILL = auto()
    POWER_CUT = auto()


class Restart(NamedTuple):
    stop: Stop


class Flush(NamedTuple):
    """What was to be flushed in the background is."""


class Wait(NamedTuple):
    ms: int


class Roll(NamedTuple):
    pass


Step = Write | Clean | Restart | Flush | Wait | Roll

STEPS = st.lists(
    st.one_of(
        st.builds(
            Write,
            st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6),
            st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP]),
            st.booleans(),
        ),
        st.builds(
            Clean,
            st.sampled_from([72, 96, 1 << 16]),
            st.none() | st.integers(0, 60),
            st.booleans(),
        ),
        st.builds(Restart, st.sampled_from(Stop)),
        st.just(Flush()),
        st.builds(Wait, st.sampled_from([1, 400, 1000])),
        st.just(Roll()),
    ),
    max_size=40,
)


class History:
    """A log, and the list of all that was written to it."""

    def __init__(self, seed: int) -> None:
        self.clock = ManualClock(START_MS)
        self.disk = SimulatedDisk(seed, self.clock)
        self.disk.make_dirs("/data")
        self.disk.sync_dir("/")
        self.flushes = Later()
        self.log: PartitionLog = compacted_log(self.disk, self.clock, CONFIG, self.flushes)
        self.disk.sync_dir("/data")
        self.written: list[Record] = []
        self.next_sequence = 0
        # Whether the last power cut that was asked for came before the end of its cleaning.
        self.was_cut = False

    def do(self, step: Step) -> None:
        if isinstance(step, Write):
            self.write(step)
        elif isinstance(step, Clean):
            self.clean(step)
        elif isinstance(step, Restart):
            self.restart(step.stop)
        elif isinstance(step, Flush):
            self.flushes.run()
        elif isinstance(step, Wait):
            self.clock.advance(step.ms)
        else:
            roll(self.log)
        self.check()

    def write(self, step: Write) -> None:
        now_ms = self.clock.wall_ms()
        headers = (("n", b"%d" % len(self.written)),)
        fields: dict[str, int] = {}
        if step.is_idempotent:
            fields = {
                "producer_id": PRODUCER_ID,
                "producer_epoch": 0,
                "base_sequence": self.next_sequence,
            }
        batch = keyed_batch(
            *step.records, timestamp=now_ms, codec=step.codec, headers=headers, **fields
        )
        info = self.log.append_as_leader(batch, EPOCH, now_ms)
        self.log.update_high_watermark(self.log.log_end_offset)
        assert not info.is_duplicate
        if step.is_idempotent:
            self.next_sequence += len(step.records)
        for number, (key, value) in enumerate(step.records):
            record = Record(info.first_offset + number, now_ms + number, key, value, headers)
            self.written.append(record)

    def clean(self, step: Clean) -> None:
        cleaner = Cleaner(self.disk, self.clock, [self.log], map_bytes=step.map_bytes)
        cleaner.on_cleaned = self.checkpoint
        if step.power_cut_after is None:
            cleaner.run()
            assert not cleaner.cleaner.uncleanable
            return
        self.disk.cut_power_after(step.power_cut_after)
        with suppress(PowerCut):
            cleaner.run()
        self.was_cut = self.disk.is_cut
        self.restart(Stop.POWER_CUT if step.is_power_cut else Stop.KILL)

    def checkpoint(self, log: PartitionLog) -> None:
        write_offsets(self.disk, CLEANER_CHECKPOINT, {TOPIC_PARTITION: log.cleaner_checkpoint})
        write_offsets(self.disk, RECOVERY_CHECKPOINT, {TOPIC_PARTITION: log.recovery_point})

    def restart(self, stop: Stop) -> None:
        kept_to = self.log.log_end_offset
        if stop is Stop.POWER_CUT:
            kept_to = self.log.recovery_point
            self.disk.crash(lose_names=True)
        else:
            if stop is Stop.CLEAN:
                self.log.flush()
                self.log.close()
            self.disk.kill()
        self.open(kept_to, is_clean=stop is Stop.CLEAN)

    def open(self, kept_to: int, *, is_clean: bool) -> None:
        """Nothing below ``kept_to`` may be missing, but for what a cleaning took."""
        self.flushes = Later()
        self.log = reopened(
            self.disk,
            CONFIG,
            clean=is_clean,
            clock=self.clock,
            executor=self.flushes,
            recovery_point=offset_in(self.disk, RECOVERY_CHECKPOINT, 0),
        )
        self.log.cleaner_checkpoint = offset_in(self.disk, CLEANER_CHECKPOINT, -1)
        assert self.log.log_end_offset >= kept_to
        self.log.update_high_watermark(self.log.log_end_offset)
        # What had not reached the device may be gone, and nobody had cleaned it.
        found = {record.offset for record in records_of(self.log)}
        self.written = [
            each for each in self.written if each.offset < kept_to or each.offset in found
        ]
        entry = self.log.producers.entry(PRODUCER_ID)
        self.next_sequence = entry.next_sequence if entry is not None else 0

    def check(self) -> None:
        expected: dict[bytes | None, bytes] = {}
        by_offset = {record.offset: record for record in self.written}
        for record in self.written:
            if record.value is None:
                expected.pop(record.key, None)
            else:
                expected[record.key] = record.value
        found = records_of(self.log)
        assert last_values(self.log) == expected
        assert all(by_offset[record.offset] == record for record in found)
        offsets = [record.offset for record in found]
        assert offsets == sorted(set(offsets))
        names = self.disk.list_dir(self.log.directory)
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]


def offset_in(disk: SimulatedDisk, path: str, default: int) -> int:
    offsets: dict[TopicPartition, int] = read_offsets(disk, path)
    return offsets.get(TOPIC_PARTITION, default)


@settings(max_examples=150)
@given(STEPS, st.integers(0, 2**32))
def test_any_history_leaves_the_map_a_dict_would_hold(steps: list[Step], seed: int) -> None:
    history = History(seed)
    for step in steps:
        history.do(step)
    history.do(Roll())
    history.do(Clean(1 << 16, None, False))
    history.do(Restart(Stop.KILL))


def busy_history(seed: int) -> History:
    """A log of some segments, once cleaned, with something new to clean in it."""
    history = History(seed)
    for round_ in range(3):
        for number in range(8):
            value = None if number == 5 else b"%d-%d" % (round_, number)
            keys = [b"a", b"b", b"only-%d" % number]
            history.do(Write([(key, value) for key in keys], Codec.NONE, number % 2 == 0))
        history.do(Roll())
        if round_ == 1:
            history.do(Clean(1 << 16, None, False))
            history.do(Wait(600))
    return history


@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_cleaning_can_be_interrupted_between_any_two_operations(is_power_cut: bool) -> None:
    operations = 0
    while True:
        history = busy_history(seed=operations)
        history.do(Clean(1 << 16, operations, is_power_cut))
        if not history.was_cut:
            break
        # What is found afterwards can be cleaned, and restarted, as if nothing had been.
        history.do(Clean(1 << 16, None, False))
        history.do(Restart(Stop.CLEAN))
        operations += 1
    assert operations > 50
