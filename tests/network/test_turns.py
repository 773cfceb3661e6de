"""Large work is done in time slices, and other requests are served in between."""

import asyncio
from collections.abc import Awaitable
from itertools import count

import pytest

from moldau.network.turns import Steps, Turns, dropping


def turns_of(steps_per_share: int) -> Turns:
    """The clock advances by a second with every reading."""
    clock = count()
    return Turns(share_ms=1000 * steps_per_share, now=lambda: next(clock))


def counted(name: str, number: int, taken: list[str]) -> Steps[str]:
    for _ in range(number):
        taken.append(name)
        yield
    return f"{name} is done"


def test_work_that_fits_one_share_is_done_at_once() -> None:
    assert turns_of(5).run(counted("small", 4, [])) == "small is done"


def test_others_get_a_turn_after_every_share() -> None:
    async def scenario() -> None:
        taken: list[str] = []
        working = turns_of(5).run(counted("large", 50, taken))
        assert isinstance(working, Awaitable)
        assert len(taken) == 5, "the first share is taken at once"
        task = asyncio.ensure_future(working)
        most = before = len(taken)
        while not task.done():
            await asyncio.sleep(0)
            most = max(most, len(taken) - before)
            before = len(taken)
        assert most == 5
        assert await task == "large is done"

    asyncio.run(scenario())


def test_a_hundred_that_work_hold_up_others_no_longer_than_one() -> None:
    async def scenario() -> None:
        taken: list[str] = []
        turns = turns_of(5)
        names = [f"work {number}" for number in range(100)]
        tasks = [asyncio.create_task(turns.complete(counted(name, 20, taken))) for name in names]
        await asyncio.sleep(0)
        most, before = 0, len(taken)
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            most = max(most, len(taken) - before)
            before = len(taken)
        assert most == 5
        assert [await task for task in tasks] == [f"{name} is done" for name in names]
        assert taken[500:505] == ["work 0"] * 5, "who waits longest comes next"

    asyncio.run(scenario())


def test_work_that_is_given_up_is_closed_and_does_not_hold_up_the_rest() -> None:
    async def scenario() -> None:
        turns = turns_of(5)
        closed: list[bool] = []

        def endless() -> Steps[None]:
            try:
                while True:
                    yield
            finally:
                closed.append(True)

        given_up = asyncio.create_task(turns.complete(endless()))
        other = asyncio.create_task(turns.complete(counted("other", 30, [])))
        await asyncio.sleep(0)
        given_up.cancel()
        assert await other == "other is done"
        assert given_up.cancelled()
        assert closed == [True]

    asyncio.run(scenario())


def test_what_a_step_raises_reaches_whoever_waits() -> None:
    async def scenario() -> None:
        def failing() -> Steps[None]:
            for _ in range(20):
                yield
            raise ValueError("the last straw")

        with pytest.raises(ValueError, match="the last straw"):
            await turns_of(5).complete(failing())

    asyncio.run(scenario())


def test_many_things_are_let_go_in_steps() -> None:
    for items in (list(range(1000)), dict.fromkeys(range(1000))):
        left = [len(items) for _ in dropping(items)]
        assert left == [800, 600, 400, 200, 0]
