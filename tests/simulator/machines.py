"""Loops and hosts for the tests of the simulator."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from moldau.simulator.clock import SimulatedClock
from moldau.simulator.executor import SimulatedExecutor
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.world import US_PER_S, World

T = TypeVar("T")


def loop_of(world: World, name: str = "node-1", drift_ppm: int = 0) -> SimulatedLoop:
    clock = SimulatedClock(world, begin_us=7 * US_PER_S, drift_ppm=drift_ppm)
    return SimulatedLoop(world, clock, name, SimulatedExecutor(world, world.random(name)))


def run(loop: SimulatedLoop, work: Coroutine[Any, Any, T], seconds: int = 3600) -> T:
    """The result of ``work`` on ``loop``, after as much virtual time as it needs."""
    task = start(loop, work)
    assert loop.world.run_for(seconds * US_PER_S, task.done), f"not done after {seconds} s"
    return task.result()


def start(loop: SimulatedLoop, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    return loop.run_turn(lambda: loop.create_task(work))
