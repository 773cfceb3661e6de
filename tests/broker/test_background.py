"""Periodic jobs, long ones in slices."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from moldau.broker.background import NEVER_MS, STEPS_PER_TURN, Background

STEPS = 3 * STEPS_PER_TURN


async def turns_until(done: asyncio.Event) -> int:
    """The number of turns of the loop before ``done``."""
    turns = 0
    while not done.is_set():
        turns += 1
        await asyncio.sleep(0)
    return turns


def test_a_short_job_is_called_again_and_again() -> None:
    async def scenario() -> None:
        background = Background()
        times: list[float] = []
        twice = asyncio.Event()
        loop = asyncio.get_running_loop()
        start = loop.time()

        def note() -> None:
            times.append(loop.time())
            if len(times) == 2:
                twice.set()

        background.every(1, note)
        await twice.wait()
        background.stop()
        assert start + 0.001 <= times[0] <= times[1] - 0.001

    asyncio.run(scenario())


def test_others_get_turns_between_the_steps_of_a_long_job() -> None:
    async def scenario() -> None:
        background = Background()
        begun, done = asyncio.Event(), asyncio.Event()

        def long_job() -> Iterator[int]:
            begun.set()
            yield from range(STEPS)
            done.set()

        background.every(1, long_job)
        await begun.wait()
        assert await turns_until(done) >= STEPS // STEPS_PER_TURN - 1
        background.stop()

    asyncio.run(scenario())


def test_a_stop_in_the_middle_of_a_long_job_is_the_end_of_it() -> None:
    async def scenario() -> None:
        background = Background()
        begun = asyncio.Event()
        taken: list[int] = []

        def long_job() -> Iterator[None]:
            begun.set()
            for number in range(STEPS):
                taken.append(number)
                yield

        background.every(1, long_job)
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

        def failing() -> Iterator[None]:
            starts.append(len(starts))
            if len(starts) == 2:
                again.set()
            yield
            raise OSError("the disk is on fire")

        background.every(1, failing)
        with caplog.at_level(logging.ERROR):
            await again.wait()
        background.stop()
        assert "background job failing failed; it runs again in 0.001 s" in caplog.text

    asyncio.run(scenario())


def test_an_interval_of_never_is_never() -> None:
    async def scenario() -> None:
        background = Background()
        background.every(NEVER_MS, lambda: pytest.fail("it came"))
        background.every(0, lambda: pytest.fail("it came"))
        assert not background._timers

    asyncio.run(scenario())
