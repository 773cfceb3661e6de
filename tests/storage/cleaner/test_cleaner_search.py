"""The cleaner finds its work among thousands of logs, without blocking others."""

from moldau.clock import ManualClock
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.cleaner.log_cleaning import COMPACT, Cleaner, roll, write
from tests.storage.log_making import reopened


def dirty_logs(disk: SimulatedDisk, clock: ManualClock, count: int) -> list[PartitionLog]:
    logs = []
    for number in range(count):
        log = reopened(disk, COMPACT, clock=clock, directory=f"/data/dirty-{number}")
        log.topic_partition = log.topic_partition._replace(partition=number)
        for value in range(4):
            write(log, (b"key", b"%d" % value))
        roll(log)
        logs.append(log)
    return logs


def test_a_search_is_a_log_at_a_step(disk: SimulatedDisk, clock: ManualClock) -> None:
    cleaner = Cleaner(disk, clock, dirty_logs(disk, clock, 3))
    steps = cleaner.cleaner.search(clock.wall_ms())
    for _ in range(3):
        next(steps)
        assert cleaner.cleaner.in_progress == []
    assert list(steps) == []
    assert len(cleaner.cleaner.in_progress) == 1


def test_one_search_is_enough_for_all_that_it_finds(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    logs = dirty_logs(disk, clock, 5)
    searches = 0
    cleaner = Cleaner(disk, clock, logs)

    def search_again(now_ms: int) -> None:
        nonlocal searches
        searches += 1

    cleaner.cleaner._search_soon = search_again
    cleaner.run()
    assert cleaner.cleaned == logs
    assert searches == 1, "when all that was found is clean"


def test_what_changed_since_the_search_is_not_cleaned(
    disk: SimulatedDisk, clock: ManualClock
) -> None:
    logs = dirty_logs(disk, clock, 4)
    here = list(logs)
    cleaner = Cleaner(disk, clock, here)
    cleaner.begin()
    logs[1].close_files()
    here.remove(logs[2])
    cleaner.threads.finish()
    assert cleaner.cleaned == [logs[0], logs[3]]
