"""Virtual time: loops, clocks and threads of simulated machines."""

import asyncio
import gc
import random
import sys
import threading
import warnings
import weakref

import pytest

from moldau.simulator.clock import EPOCH_MS, SimulatedClock
from moldau.simulator.disk_faults import PowerCut
from moldau.simulator.executor import SimulatedExecutor
from moldau.simulator.world import US_PER_MS, US_PER_S, World
from tests.simulator.machines import loop_of, run, start


def test_a_day_passes_at_once() -> None:
    world = World(1)
    loop = loop_of(world)

    async def sleep() -> float:
        begin = loop.time()
        await asyncio.sleep(86_400)
        return loop.time() - begin

    assert run(loop, sleep(), seconds=90_000) == pytest.approx(86_400, abs=0.001)


def test_what_a_dead_loop_begins_while_it_is_buried_is_buried_too() -> None:
    loop = loop_of(World(1))
    begun: list[str] = []

    async def begin_later(number: int) -> None:
        begun.append(f"begins {number}")
        try:
            await asyncio.Event().wait()
        finally:
            loop.create_task(begin_later(number + 1))

    start(loop, begin_later(1))
    loop.world.run_until(US_PER_S)
    loop.die()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unraisable: list[object] = []
        before, sys.unraisablehook = (
            sys.unraisablehook,
            lambda each: unraisable.append(each.exc_value),
        )
        try:
            loop.bury()
            gc.collect()
        finally:
            sys.unraisablehook = before
    assert begun == ["begins 1"]
    assert unraisable == []
    assert not loop._tasks


def test_events_of_one_time_happen_in_the_order_of_their_plans() -> None:
    world = World(1)
    seen: list[int] = []
    for number in (3, 1, 2):
        world.at(5, seen.append, number)
    world.at(4, seen.append, 0)
    world.at(5, seen.append, 9).cancel()
    world.run_until(5)
    assert seen == [0, 3, 1, 2]


def test_what_is_planned_for_later_waits() -> None:
    world = World(1)
    seen: list[int] = []
    world.at(5, seen.append, 5)
    world.at(6, seen.append, 6)
    assert not world.run_until(5)
    assert (seen, world.now_us) == ([5], 5)


def test_time_outs_and_tasks_work_as_on_any_loop() -> None:
    loop = loop_of(World(1))

    async def never() -> None:
        await asyncio.Event().wait()

    async def work() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await never()
        tasks = [asyncio.create_task(asyncio.sleep(delay, delay)) for delay in (3, 1, 2)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert [each.result() for each in done] == [1]
        return ",".join(map(str, await asyncio.gather(*tasks)))

    assert run(loop, work()) == "3,1,2"


def test_a_timer_that_is_cancelled_is_no_event_and_leaves_no_garbage() -> None:
    world = World(1)
    loop = loop_of(world)
    called: list[str] = []
    cancelled = loop.call_later(1, called.append, "cancelled")
    fired = loop.call_later(2, called.append, "fired")
    cancelled.cancel()
    world.run_for(3 * US_PER_S)
    assert called == ["fired"]
    assert world.events == 2, "the timer, and the turn in which it is called"
    # Neither belongs to a cycle: the collector is off while a simulation runs.
    alive = [weakref.ref(cancelled), weakref.ref(fired)]
    gc.disable()
    try:
        del cancelled, fired
        assert [each() for each in alive] == [None, None]
    finally:
        gc.enable()


def test_each_loop_is_the_running_one_in_its_own_turns() -> None:
    world = World(1)
    loops = [loop_of(world, f"node-{number}") for number in (1, 2)]
    seen: list[object] = []

    async def look() -> None:
        for _ in range(3):
            seen.append(asyncio.get_running_loop())
            await asyncio.sleep(1)

    for loop in loops:
        start(loop, look())
    world.run_for(10 * US_PER_S)
    assert seen == loops * 3
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_a_fast_clock_has_its_timers_early() -> None:
    world = World(1)
    fast, slow = (loop_of(world, name, drift) for name, drift in (("a", 100_000), ("b", -100_000)))
    ends: list[tuple[str, int]] = []

    async def sleep(name: str) -> None:
        await asyncio.sleep(10)
        ends.append((name, world.now_us // US_PER_MS))

    start(slow, sleep("slow"))
    start(fast, sleep("fast"))
    world.run_for(20 * US_PER_S)
    assert ends == [("fast", 9_090), ("slow", 11_111)]


def test_a_timer_is_never_early_on_its_own_clock() -> None:
    world = World(1)
    clock = SimulatedClock(world, begin_us=123_457, drift_ppm=-333)
    for seconds in (0.2, 1.0000007, 17.3333333, 3600.1):
        world.now_us = clock.world_us(seconds)
        assert clock.monotonic_us() / US_PER_S >= seconds
        world.now_us -= 1
        assert clock.monotonic_us() / US_PER_S < seconds
        world.now_us = 0


def test_a_step_of_the_wall_clock_leaves_the_other_alone() -> None:
    world = World(1)
    clock = SimulatedClock(world, begin_us=5 * US_PER_S)
    world.run_for(US_PER_S)
    clock.step_wall(-60_000)
    assert (clock.monotonic_ms(), clock.wall_ms()) == (6_000, EPOCH_MS - 59_000)
    clock.correct_wall()
    assert clock.wall_ms() == EPOCH_MS + 1_000


def test_a_paused_loop_goes_on_where_it_was() -> None:
    world = World(1)
    loop = loop_of(world)
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(world.now_us // US_PER_S)

    start(loop, tick())
    world.run_for(3 * US_PER_S + 500_000)
    loop.pause()
    world.run_for(10 * US_PER_S)
    loop.resume()
    world.run_for(2 * US_PER_S)
    assert ticks == [1, 2, 3, 13, 14, 15][: len(ticks)]
    assert len(ticks) >= 5


def test_nothing_runs_on_a_dead_loop_not_even_finally() -> None:
    world = World(1)
    loop = loop_of(world)
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("finally")

    task = start(loop, work())
    world.run_for(US_PER_S)
    loop.die()
    del task
    world.run_for(10 * US_PER_S)
    assert seen == []
    loop.bury()
    assert seen == ["finally"]


def test_what_goes_wrong_unseen_is_a_surprise() -> None:
    world = World(1)
    loop = loop_of(world)
    loop.run_turn(lambda: loop.call_soon(int, "x"))
    world.run_for(US_PER_S)
    assert "invalid literal" in world.surprises[0]


def test_jobs_of_threads_take_time_and_no_threads() -> None:
    world = World(1)
    loop = loop_of(world)
    before = threading.active_count()

    def note(number: int) -> tuple[int, int]:
        return number, world.now_us

    async def work() -> list[int]:
        begin = world.now_us
        jobs = [loop.run_in_executor(None, note, each) for each in range(30)]
        done = [await job for job in jobs]
        assert [number for number, _ in done] == list(range(30))
        assert world.now_us > begin
        return [at_us for _, at_us in done]

    times = run(loop, work())
    assert len(set(times)) == 30
    assert times != sorted(times)
    assert threading.active_count() == before


def test_who_waits_for_a_job_as_a_thread_has_it_done_at_once() -> None:
    world = World(1)
    loop = loop_of(world)

    async def work() -> int:
        executor = loop._executor
        assert executor is not None
        return executor.submit(lambda: 7).result()

    assert run(loop, work()) == 7


def test_a_killed_machine_finishes_no_job() -> None:
    world = World(1)
    loop = loop_of(world)
    done: list[int] = []

    async def work() -> None:
        for number in range(20):
            await loop.run_in_executor(None, done.append, number)

    start(loop, work())
    world.run_for(8_000)
    loop.die()
    loop._executor.die()  # type: ignore[union-attr]
    count = len(done)
    assert 0 < count < 20
    world.run_for(US_PER_S)
    assert len(done) == count


def test_a_callback_that_goes_on_when_its_machine_has_stopped_begins_no_job() -> None:
    """It has caught the loss of power for one partition, and tries the next: that is no bug."""
    executor = SimulatedExecutor(World(1), random.Random(1))
    executor.die()
    with pytest.raises(PowerCut):
        executor.submit(lambda: 7)


def test_the_trace_tells_two_runs_apart() -> None:
    digests = []
    for delay in (1, 1, 2):
        world = World(1)
        world.at(delay, world.tell, "node-1", "something")
        world.run_until(10)
        digests.append(world.digest)
    assert digests[0] == digests[1] != digests[2]
