"""The two clocks of a node."""

import pytest

from moldau.clock import ManualClock, SystemClock


def test_time_passes_on_both_clocks_and_setting_the_wall_clock_takes_none() -> None:
    clock = ManualClock(wall_ms=1_000_000, monotonic_ms=50)
    clock.advance(7)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (1_000_007, 57)
    clock.step_wall(60_000)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (1_060_007, 57)
    clock.step_wall(-120_000)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (940_007, 57)
    with pytest.raises(AssertionError, match="time cannot move back by 1 ms"):
        clock.advance(-1)


def test_the_system_knows_what_year_it_is() -> None:
    clock = SystemClock()
    assert clock.wall_ms() > 1_700_000_000_000
    before = clock.monotonic_ms()
    assert clock.monotonic_ms() >= before
