"""Timers for deadlines: never late, and moved only when they would be."""

import asyncio

from moldau.clock import ManualClock
from moldau.timers import DeadlineTimer, call_after


def set_and_check(timer: DeadlineTimer, deadline_ms: int, *, delay_ms: int) -> None:
    """Set the timer and check its delay, however long a busy machine takes for this."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    timer.set(deadline_ms)
    end = loop.time()
    handle = timer._handle
    assert handle is not None
    assert begin + delay_ms / 1000 <= handle.when() <= end + delay_ms / 1000


def test_a_call_comes_once_after_its_delay() -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        called: asyncio.Future[float] = loop.create_future()
        begin = loop.time()
        call_after(2, lambda: called.set_result(loop.time()))
        assert await called - begin >= 0.002

    asyncio.run(scenario())


def test_a_deadline_is_as_far_away_as_the_monotonic_clock_says() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        timer = DeadlineTimer(clock, lambda: None)
        clock.step_wall(60_000)
        set_and_check(timer, clock.monotonic_ms() + 5_000, delay_ms=5_001)
        timer.cancel()
        clock.step_wall(-120_000)
        set_and_check(timer, clock.monotonic_ms() + 5_000, delay_ms=5_001)
        timer.cancel()

    asyncio.run(scenario())


def test_an_earlier_deadline_moves_the_timer_and_a_later_one_does_not() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        timer = DeadlineTimer(clock, lambda: None)
        timer.set(clock.monotonic_ms() + 5_000)
        first = timer._handle
        timer.set(clock.monotonic_ms() + 9_000)
        timer.set(None)
        assert timer._handle is first
        set_and_check(timer, clock.monotonic_ms() + 1_000, delay_ms=1_001)
        assert first is not None
        assert first.cancelled()
        timer.cancel()

    asyncio.run(scenario())


def test_the_owner_sets_the_next_deadline_when_it_is_woken() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        woken = 0
        done = asyncio.Event()

        def wake() -> None:
            nonlocal woken
            woken += 1
            if woken == 3:
                done.set()
            else:
                timer.set(clock.monotonic_ms())

        timer = DeadlineTimer(clock, wake)
        # Long past: woken at once.
        timer.set(0)
        await done.wait()
        assert woken == 3
        assert timer._handle is None

    asyncio.run(scenario())


def test_a_cancelled_timer_wakes_nobody_and_can_be_set_again() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        woken = asyncio.Event()
        timer = DeadlineTimer(clock, woken.set)
        timer.set(0)
        timer.cancel()
        timer.cancel()
        assert timer._handle is None
        timer.set(0)
        await woken.wait()

    asyncio.run(scenario())
