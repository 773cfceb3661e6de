"""The memory of a process that runs a connector: what happens at the limit."""

import resource
from collections.abc import Iterator

import pytest

from moldau.connect.engine.memory_limit import (
    allow_a_report,
    limit_memory,
    memory_limit,
    memory_mb,
)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    yield
    resource.setrlimit(resource.RLIMIT_DATA, before)


def soft_limit() -> int:
    return resource.getrlimit(resource.RLIMIT_DATA)[0]


def test_the_first_setting_counts_and_there_is_a_default() -> None:
    name = "moldau.task.memory.mb"
    assert memory_mb({name: "100"}, {name: "200"}) == 100
    assert memory_mb({}, {name: "200"}) == 200
    assert memory_mb({}, {}) == 2048


def test_what_needs_more_fails_with_the_setting_and_the_limit_is_taken_back() -> None:
    before = soft_limit()
    reason = "this connector needs more memory than moldau.task.memory.mb=20000"
    with pytest.raises(MemoryError, match=reason), memory_limit(20_000):
        # More than any limit: nothing is allocated.
        bytearray(1 << 40)
    assert soft_limit() == before


def test_a_report_has_a_little_room_beyond_the_limit() -> None:
    limit_memory(20_000)
    assert soft_limit() == 20_000 << 20
    allow_a_report()
    assert 20_000 << 20 < soft_limit() < 21_000 << 20


def test_without_a_limit_nothing_changes() -> None:
    before = soft_limit()
    with memory_limit(0):
        allow_a_report()
        assert soft_limit() == before
