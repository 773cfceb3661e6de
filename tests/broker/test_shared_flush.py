"""One flush serves all writers that wrote before it began, and no others."""

import asyncio
import errno
from collections.abc import Coroutine
from typing import Any

import pytest

from moldau.broker.shared_flush import SharedFlush
from moldau.errors import ApiError, ErrorCode
from moldau.simulator.disk import SimulatedDisk
from tests.broker.by_hand import ByHand
from tests.storage.log_making import append, new_log

TIMEOUT_S = 120


class Flushing:
    """A log, and the notifications of its flushes."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.executor = ByHand()
        self.log = new_log(self.disk, executor=self.executor)
        self.flushed: list[int] = []
        self.failures: list[BaseException] = []
        self.shared = SharedFlush(self.log, self.flushed.append, self.failures.append)

    async def write(self) -> "asyncio.Task[None]":
        """Write a record, and start to wait for its flush."""
        append(self.log, b"x")
        waiting = asyncio.ensure_future(self.shared.wait())
        await turns()
        return waiting


async def turns() -> None:
    """Run all tasks that are ready."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, TIMEOUT_S))


def test_who_comes_while_a_flush_runs_waits_for_the_next() -> None:
    async def scenario() -> None:
        flushing = Flushing()
        first = await flushing.write()
        late, later = await flushing.write(), await flushing.write()
        assert len(flushing.executor.waiting) == 1
        flushing.executor.run_next()
        await turns()
        assert (first.done(), late.done(), later.done()) == (True, False, False)
        assert (flushing.flushed, len(flushing.executor.waiting)) == ([1], 1)
        flushing.executor.run_next()
        await asyncio.gather(late, later)
        assert flushing.flushed == [1, 3]
        # No further flush until the next write.
        assert not flushing.executor.waiting
        last = await flushing.write()
        flushing.executor.run_next()
        await last
        assert flushing.flushed == [1, 3, 4]

    run(scenario())


def test_a_failed_flush_is_told_to_all_who_wait_and_to_all_who_come_later() -> None:
    async def scenario() -> None:
        flushing = Flushing()
        first, second = await flushing.write(), await flushing.write()
        flushing.disk.fail_next("fsync", "*", errno.EIO)
        flushing.executor.run_next()
        third = flushing.shared.wait()
        for waiting in (first, second, third):
            with pytest.raises(ApiError) as refused:
                await waiting
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert flushing.shared.has_failed
        assert (flushing.flushed, len(flushing.failures)) == ([], 1)
        assert not flushing.executor.waiting

    run(scenario())


def test_a_flush_that_never_ran_is_a_failed_one() -> None:
    async def scenario() -> None:
        flushing = Flushing()
        waiting = await flushing.write()
        future, _ = flushing.executor.waiting.pop()
        future.cancel()
        with pytest.raises(ApiError, match="the flush was cancelled"):
            await waiting
        assert flushing.flushed == []

    run(scenario())


def test_nobody_waits_for_ever_if_what_follows_a_flush_goes_wrong() -> None:
    async def scenario() -> None:
        reported: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))
        flushing = Flushing()
        mistake = RuntimeError("a mistake")

        def fail(end_offset: int) -> None:
            raise mistake

        flushing.shared = SharedFlush(flushing.log, fail, flushing.failures.append)
        waiting = await flushing.write()
        flushing.executor.run_next()
        with pytest.raises(RuntimeError, match="a mistake"):
            await waiting
        assert flushing.failures == reported == [mistake]
        assert flushing.shared.has_failed

    run(scenario())


def test_a_flush_does_not_count_for_what_took_the_place_of_truncated_records() -> None:
    async def scenario() -> None:
        flushing = Flushing()
        first, second = await flushing.write(), await flushing.write()
        await flushing.write()
        assert len(flushing.executor.waiting) == 1
        flushing.executor.run_next()
        await first
        await turns()
        # Under way now, for the second and third record.
        assert len(flushing.executor.waiting) == 1
        flushing.log.truncate_to(2)
        flushing.shared.truncated(2)
        replacing = await flushing.write()
        flushing.executor.run_next()
        await turns()
        assert flushing.flushed == [1, 2]
        assert (second.done(), replacing.done()) == (True, False)
        # That of the segment that was cut, and the next one of all.
        while flushing.executor.waiting:
            flushing.executor.run_next()
        await replacing
        assert flushing.flushed == [1, 2, 3]
        assert flushing.log.recovery_point == 3

    run(scenario())
