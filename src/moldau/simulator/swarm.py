"""Many seeds, on all cores."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from moldau.simulator.operated_simulation import OperatedSimulation
from moldau.simulator.simulation import DEFAULT_CLUSTER, Plan, Result, Simulation, plan
from moldau.simulator.transaction_simulation import TransactionSimulation, plan_transactions


class Progress(NamedTuple):
    """How far a swarm has come."""

    done: int
    wanted: int
    failed: int
    virtual_s: int
    elapsed_s: float

    def __str__(self) -> str:
        return (
            f"{self.done} of {self.wanted} seeds, {self.failed} failed, "
            f"{self.virtual_s / 3600:.1f} hours simulated in {self.elapsed_s:.0f} s"
        )


def make_plan(seed: int, cluster: str, with_transactions: bool) -> Plan:
    return (plan_transactions if with_transactions else plan)(seed, cluster)


def make_simulation(
    planned: Plan, with_transactions: bool, tell_from: int | None = None
) -> Simulation:
    """The simulation that runs such a plan."""
    if with_transactions:
        return TransactionSimulation(planned, tell_from)
    if planned.topology.is_operated:
        return OperatedSimulation(planned, tell_from)
    return Simulation(planned, tell_from)


def run_seed(seed: int, cluster: str = DEFAULT_CLUSTER, with_transactions: bool = False) -> Result:
    """One seed; its story is kept only if it failed."""
    planned = make_plan(seed, cluster, with_transactions)
    result = make_simulation(planned, with_transactions).run()
    return result if result.problems else result._replace(story=())


def run_seeds(
    first: int,
    count: int,
    *,
    cluster: str = DEFAULT_CLUSTER,
    with_transactions: bool = False,
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    stop_at_failure: bool = False,
) -> list[Result]:
    """The results of ``count`` seeds from ``first`` on, in order."""
    begin_s = time.monotonic()
    results: list[Result] = []
    failed = virtual_us = 0
    jobs = jobs or os.cpu_count() or 1
    for result in _results(first, count, cluster, with_transactions, jobs):
        results.append(result)
        failed += bool(result.problems)
        virtual_us += result.virtual_us
        elapsed_s = time.monotonic() - begin_s
        on_progress(Progress(len(results), count, failed, virtual_us // 1_000_000, elapsed_s))
        if failed and stop_at_failure:
            break
    return results


def _results(
    first: int, count: int, cluster: str, with_transactions: bool, jobs: int
) -> Iterator[Result]:
    seeds = range(first, first + count)
    if jobs == 1:
        for seed in seeds:
            yield run_seed(seed, cluster, with_transactions)
        return
    pool = ProcessPoolExecutor(jobs)
    try:
        yield from pool.map(run_seed, seeds, [cluster] * count, [with_transactions] * count)
    finally:
        pool.shutdown(cancel_futures=True)
