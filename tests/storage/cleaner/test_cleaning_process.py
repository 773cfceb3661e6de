"""A cleaning in a separate process: the same bytes, the same errors, and no process left behind."""

import logging
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.clock import ManualClock
from moldau.record.compression import Codec
from moldau.record.control import ControlType, end_txn_batch
from moldau.storage.cleaner.cleaning import CleaningAborted
from moldau.storage.cleaner.cleaning_child import NICENESS, as_failed
from moldau.storage.cleaner.cleaning_process import CHILD_MODULE, CleaningProcessLost, ProcessWork
from moldau.storage.cleaner.cleaning_work import (
    CleanerMemory,
    DirtyPart,
    FillOrder,
    LocalWork,
)
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.batch_scan import CorruptSegment
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from tests.storage.cleaner.log_cleaning import (
    COMPACT,
    Cleaner,
    check_segments,
    fill,
    last_values,
    records_of,
    roll,
    write,
)
from tests.storage.log_making import EPOCH, START_MS, new_log

MEMORY = CleanerMemory(1 << 20, 0.9, 64 * 1024)
ALL_CODECS = (Codec.NONE, Codec.GZIP, Codec.LZ4)


class Heard:
    """Takes reports, and may give the cleaning up at the first."""

    def __init__(self, *, gives_up: bool = False) -> None:
        self.sizes: list[int] = []
        self._gives_up = gives_up

    def transferred(self, size_bytes: int) -> None:
        self.sizes.append(size_bytes)
        if self._gives_up:
            raise CleaningAborted


def lost() -> None:
    raise AssertionError("the process was lost")


def a_log(directory: Path) -> PartitionLog:
    """All that a pass may meet: codecs, tombstones, transactions of both ends, segments."""
    directory.mkdir(parents=True)
    log = new_log(RealDisk(), COMPACT, clock=ManualClock(START_MS), directory=str(directory))
    fill(log, rounds=6)
    for number, codec in enumerate(ALL_CODECS):
        records = [(b"key-%d" % key, b"packed-%d" % number) for key in range(3)]
        write(log, *records, codec=codec)
    for producer_id, end in ((7, ControlType.COMMIT), (8, ControlType.ABORT)):
        in_transaction = {
            "producer_id": producer_id,
            "producer_epoch": 0,
            "base_sequence": 0,
            "is_transactional": True,
        }
        write(log, (b"key-0", b"of %d" % producer_id), **in_transaction)
        marker = end_txn_batch(end, 0, producer_id, 0, START_MS)
        log.append_as_leader(marker, EPOCH, START_MS, origin=AppendOrigin.COORDINATOR)
    write(log, (b"key-3", None))
    log.update_high_watermark(log.log_end_offset)
    roll(log)
    return log


def cleaned_files(
    log: PartitionLog, directory: Path, work: LocalWork | ProcessWork
) -> dict[str, bytes]:
    cleaner = Cleaner(RealDisk(), ManualClock(START_MS + 10), [log], work_for=lambda _: work)
    cleaner.run()
    assert cleaner.cleaned == [log]
    assert cleaner.cleaner.uncleanable == {}
    check_segments(log)
    return {
        path.name: path.read_bytes()
        for path in sorted(directory.iterdir())
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex")
    }


def an_order(path: Path, size: int, *, copies: int = 1) -> FillOrder:
    """Read a file of one batch, or read it many times over as if it were as many segments."""
    parts = [DirtyPart(str(path), 0, size, 0, 1)] * copies
    return FillOrder(MEMORY, parts, [], 0, bytes(16))


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A log file with one batch of 64 KiB, at offset 0."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    log = new_log(RealDisk(), clock=ManualClock(START_MS), directory=str(directory))
    write(log, (b"key", bytes(64 * 1024)))
    log.close()
    return directory / f"{0:020d}.log"


def test_a_process_leaves_the_same_files_as_a_thread(tmp_path: Path) -> None:
    work = ProcessWork(on_lost=lost)
    logs = [a_log(tmp_path / name / "orders-0") for name in ("one", "other")]
    before = records_of(logs[0])
    one = cleaned_files(logs[0], tmp_path / "one" / "orders-0", LocalWork(RealDisk()))
    other = cleaned_files(logs[1], tmp_path / "other" / "orders-0", work)
    assert one == other
    assert last_values(logs[0]) == last_values(logs[1])
    assert len(records_of(logs[1])) < len(before)
    assert work.pid is None
    for log in logs:
        log.close()


def test_it_stands_back_from_those_who_serve_clients(segment: Path) -> None:
    work = ProcessWork(on_lost=lost)
    assert work.fill(an_order(segment, segment.stat().st_size), Heard()) == 1
    pid = work.pid
    assert pid is not None
    expected = min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, 19)
    assert os.getpriority(os.PRIO_PROCESS, pid) == expected
    work.close()
    assert work.pid is None


def test_what_it_transfers_is_reported_while_it_works(segment: Path) -> None:
    work, heard = ProcessWork(on_lost=lost), Heard()
    size = segment.stat().st_size
    copies = 200
    work.fill(an_order(segment, size, copies=copies), heard)
    work.close()
    assert len(heard.sizes) > 1
    assert sum(heard.sizes) <= size * copies


def test_a_cleaning_that_is_given_up_ends_the_process_first(segment: Path) -> None:
    work = ProcessWork(on_lost=lost)
    size = segment.stat().st_size
    work.fill(an_order(segment, size), Heard())
    pid = work.pid
    assert pid is not None
    with pytest.raises(CleaningAborted):
        work.fill(an_order(segment, size, copies=200), Heard(gives_up=True))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_damage_is_reported_as_if_it_had_been_found_here(segment: Path) -> None:
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    order = an_order(segment, len(data))
    with pytest.raises(CorruptSegment) as here:
        LocalWork(RealDisk()).fill(order, Heard())
    with pytest.raises(CorruptSegment) as there:
        ProcessWork(on_lost=lost).fill(order, Heard())
    assert str(there.value) == str(here.value)
    assert there.value.position == here.value.position


def test_an_error_of_the_disk_keeps_its_number(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        ProcessWork(on_lost=lost).fill(an_order(tmp_path / "gone.log", 100), Heard())
    assert raised.value.filename == str(tmp_path / "gone.log")


@pytest.mark.parametrize("error", [ValueError("bad"), OSError(28, "full", "a.log")])
def test_every_failure_can_be_sent(error: Exception) -> None:
    failed = pickle.loads(pickle.dumps(as_failed(error)))
    assert str(failed.kind(*failed.arguments)) == str(error)


def test_a_log_whose_process_is_lost_is_cleaned_in_a_thread(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = a_log(tmp_path / "orders-0")
    # But for what an aborted transaction wrote.
    expected = {**last_values(log), b"key-0": b"of 7"}
    works: list[LocalWork | ProcessWork] = []

    def work_for(size_bytes: int) -> LocalWork | ProcessWork:
        works.append(LocalWork(RealDisk()) if is_lost else ProcessWork(lambda: is_lost.append(1)))
        return works[-1]

    is_lost: list[int] = []
    cleaner = Cleaner(RealDisk(), ManualClock(START_MS + 10), [log], work_for=work_for)
    cleaner.begin()
    assert cleaner.threads.step()
    process = works[0]
    assert isinstance(process, ProcessWork)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    with caplog.at_level(logging.WARNING, "moldau.storage.cleaner.log_cleaner"):
        cleaner.threads.finish()
    assert cleaner.cleaned == []
    assert "is cleaned in a thread from now on" in caplog.text
    cleaner.run()
    assert cleaner.cleaned == [log]
    assert isinstance(works[1], LocalWork)
    assert last_values(log) == expected
    log.close()


def test_a_process_that_is_dead_before_it_gets_an_order_is_a_lost_process(segment: Path) -> None:
    calls: list[str] = []
    work = ProcessWork(lambda: calls.append("lost"))
    work.fill(an_order(segment, segment.stat().st_size), Heard())
    assert work.pid is not None
    os.kill(work.pid, signal.SIGKILL)
    os.waitid(os.P_PID, work.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(CleaningProcessLost):
        work.fill(an_order(segment, segment.stat().st_size), Heard())
    assert calls == ["lost"]
    assert work.pid is None


def test_an_interpreter_that_does_not_start_is_a_lost_process(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(sys, "executable", "no-such-python")
    with pytest.raises(CleaningProcessLost, match="no-such-python does not start"):
        ProcessWork(lambda: calls.append("lost")).fill(an_order(segment, 100), Heard())
    assert calls == ["lost"]


def test_files_where_the_broker_was_started_are_no_modules_of_it(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment.with_name("pickle.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(segment.parent)
    work = ProcessWork(on_lost=lost)
    assert work.fill(an_order(segment, segment.stat().st_size), Heard()) == 1
    work.close()


def test_it_ends_when_the_broker_does() -> None:
    command = [sys.executable, "-m", CHILD_MODULE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0
