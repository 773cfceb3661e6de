"""Periodic jobs, long ones in slices."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from moldau.broker.background import NEVER_MS, STEPS_PER_TURN, Background
from moldau.clock import ManualClock

STEPS = 3 * STEPS_PER_TURN


async def turns_until(done: asyncio.Event) -> int:
    """The number of turns of the loop before ``done``."""
    turns = 0
    while not done.is_set():
        turns += 1
        await asyncio.sleep(0)
    return turns


def test_a_short_job_gets_the_time_again_and_again() -> None:
    async def scenario() -> None:
        background, clock = Background(), ManualClock(5)
        times: list[int] = []
        twice = asyncio.Event()

        def note(now_ms: int) -> None:
            times.append(now_ms)
            clock.advance(10)
            if len(times) == 2:
                twice.set()

        background.every(1, note, clock)
        await twice.wait()
        background.stop()
        assert times == [5, 15]

    asyncio.run(scenario())


def test_others_get_turns_between_the_steps_of_a_long_job() -> None:
    async def scenario() -> None:
        background = Background()
        begun, done = asyncio.Event(), asyncio.Event()

        def long_job(now_ms: int) -> Iterator[int]:
            begun.set()
            yield from range(STEPS)
            done.set()

        background.every(1, long_job, ManualClock())
        await begun.wait()
        assert await turns_until(done) >= STEPS // STEPS_PER_TURN - 1
        background.stop()

    asyncio.run(scenario())


def test_a_stop_in_the_middle_of_a_long_job_is_the_end_of_it() -> None:
    async def scenario() -> None:
        background = Background()
        begun = asyncio.Event()
        taken: list[int] = []

        def long_job(now_ms: int) -> Iterator[None]:
            begun.set()
            for number in range(STEPS):
                taken.append(number)
                yield

        background.every(1, long_job, ManualClock())
        await begun.wait()
        background.stop()
        before = len(taken)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(taken) == before < STEPS

    asyncio.run(scenario())


def test_a_job_that_fails_in_any_step_is_logged_and_comes_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        background = Background()
        starts: list[int] = []
        again = asyncio.Event()

        def failing(now_ms: int) -> Iterator[None]:
            starts.append(now_ms)
            if len(starts) == 2:
                again.set()
            yield
            raise OSError("the disk is on fire")

        background.every(1, failing, ManualClock())
        with caplog.at_level(logging.ERROR):
            await again.wait()
        background.stop()
        assert "background job failing failed; it runs again in 0.001 s" in caplog.text

    asyncio.run(scenario())


def test_an_interval_of_never_is_never() -> None:
    async def scenario() -> None:
        background = Background()
        background.every(NEVER_MS, lambda now_ms: pytest.fail("it came"), ManualClock())
        background.every(0, lambda now_ms: pytest.fail("it came"), ManualClock())
        assert not background._timers

    asyncio.run(scenario())
