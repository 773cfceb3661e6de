"""Fixtures for tests of logs: a manual clock, and a simulated disk."""

import pytest

from moldau.clock import ManualClock
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from tests.storage.cleaner.log_cleaning import compacted_log
from tests.storage.log_making import START_MS


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_MS)


@pytest.fixture
def disk(clock: ManualClock) -> SimulatedDisk:
    return SimulatedDisk(clock=clock)


@pytest.fixture
def log(disk: SimulatedDisk, clock: ManualClock) -> PartitionLog:
    """An empty compacted log."""
    return compacted_log(disk, clock)
