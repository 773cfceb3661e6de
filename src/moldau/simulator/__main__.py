"""Runs simulations: one seed with its story, or many seeds at once.

python -m moldau.simulator --seed 7 --trace
python -m moldau.simulator --seeds 500
python -m moldau.simulator --seeds 500 --transactions
python -m moldau.simulator --large
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from moldau.simulator.cluster import TOPOLOGIES
from moldau.simulator.shrinking import shrink
from moldau.simulator.simulation import (
    ANY_CLUSTER,
    DEFAULT_CLUSTER,
    Plan,
    Result,
)
from moldau.simulator.swarm import Progress, make_plan, make_simulation, run_seeds
from moldau.simulator.world import US_PER_S, Told

_LAST_LINES = 30


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.large:
        return _run_large(options)
    if options.seed is not None:
        return _run_one(options)
    return _run_many(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m moldau.simulator",
        description="Runs whole clusters in virtual time, with faults, and checks what clients see",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="run one seed")
    what.add_argument("--seeds", type=int, help="run so many seeds")
    what.add_argument("--large", action="store_true", help="the life of a large cluster")
    parser.add_argument("--brokers", type=int, default=100, help="of a large cluster")
    parser.add_argument("--racks", type=int, default=5, help="of its brokers")
    parser.add_argument("--partitions", type=int, default=100_000, help="of a large cluster")
    parser.add_argument("--replicas", type=int, default=3, help="of each of its partitions")
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds")
    parser.add_argument(
        "--cluster",
        choices=[*TOPOLOGIES, ANY_CLUSTER],
        default=DEFAULT_CLUSTER,
        help="which nodes it has; %(default)s by default",
    )
    parser.add_argument(
        "--transactions", action="store_true", help="clients write, copy and read transactions"
    )
    parser.add_argument("--jobs", type=int, help="processes; one per core by default")
    parser.add_argument("--trace", action="store_true", help="print the story as it happens")
    parser.add_argument("--logs", action="store_true", help="with what the nodes log")
    parser.add_argument(
        "--stop-at-failure",
        action="store_true",
        help="run no more seeds after the first that fails",
    )
    parser.add_argument(
        "--no-shrink", action="store_true", help="do not look for the fewest faults that fail"
    )
    return parser


def _run_large(options: argparse.Namespace) -> int:
    # Imported here: nothing else needs it.
    from moldau.simulator.large import LargeCluster

    print("| step | virtual time | real time | memory, MB at most |", flush=True)
    print("| --- | --- | --- | --- |", flush=True)
    racks = min(options.racks, options.brokers)
    large = LargeCluster(options.brokers, options.partitions, options.replicas, racks)
    large.run(lambda step: print(step, flush=True))
    return 0


def _run_one(options: argparse.Namespace) -> int:
    planned = _plan(options.seed, options)
    result = _simulate(planned, options)
    print(_summary(result))
    if not result.problems:
        return 0
    if not options.trace:
        _print_story(result)
    _print_problems(result)
    if not options.no_shrink:
        _shrink(planned, options)
    return 1


def _plan(seed: int, options: argparse.Namespace) -> Plan:
    return make_plan(seed, options.cluster, options.transactions)


def _run_many(options: argparse.Namespace) -> int:
    def show(progress: Progress) -> None:
        if sys.stderr.isatty():
            print(f"\r{progress}", end="", file=sys.stderr, flush=True)
        elif progress.done % 50 == 0 or progress.done == progress.wanted:
            print(progress, file=sys.stderr, flush=True)

    results = run_seeds(
        options.first,
        options.seeds,
        cluster=options.cluster,
        with_transactions=options.transactions,
        jobs=options.jobs,
        on_progress=show,
        stop_at_failure=options.stop_at_failure,
    )
    if sys.stderr.isatty():
        print(file=sys.stderr)
    failed = [result for result in results if result.problems]
    for result in failed:
        _print_problems(result)
        more = "" if options.cluster == DEFAULT_CLUSTER else f" --cluster {options.cluster}"
        more += " --transactions" if options.transactions else ""
        print(f"  replay: python -m moldau.simulator --seed {result.seed}{more} --trace")
    if failed and not options.no_shrink:
        _shrink(_plan(failed[0].seed, options), options)
    return 1 if failed else 0


def _simulate(planned: Plan, options: argparse.Namespace) -> Result:
    tell_from = logging.INFO if options.logs else None
    simulation = make_simulation(planned, options.transactions, tell_from)
    if options.trace:
        for fault in planned.faults:
            print(f"  planned: at {fault.at_ms / 1000:.3f} s {fault}")
        simulation.world.listener = lambda told: print(_line(told))
    return simulation.run()


def _shrink(planned: Plan, options: argparse.Namespace) -> None:
    def run(each: Plan) -> Result:
        return make_simulation(each, options.transactions).run()

    print(f"seed {planned.seed}: looking for the fewest faults that fail ...", flush=True)
    smallest = shrink(planned, lambda each: bool(run(each).problems))
    result = run(smallest)
    print(f"seed {planned.seed} fails with {len(smallest.faults)} of {len(planned.faults)} faults:")
    for fault in smallest.faults:
        print(f"  at {fault.at_ms / 1000:.3f} s {fault}")
    _print_story(result)
    _print_problems(result)


def _print_story(result: Result) -> None:
    skipped = len(result.story) - _LAST_LINES
    if skipped > 0:
        print(f"  ... {skipped} lines before; --trace shows all")
    for told in result.story[-_LAST_LINES:]:
        print(_line(told))


def _print_problems(result: Result) -> None:
    print(f"seed {result.seed} failed:")
    for problem in result.problems:
        print(f"  {problem}")


def _line(told: Told) -> str:
    return f"{told.at_us / US_PER_S:12.6f}  {told.who:<12} {told.what}"


def _summary(result: Result) -> str:
    return (
        f"seed {result.seed}: {'failed' if result.problems else 'all is well'} after "
        f"{result.virtual_us / US_PER_S:.1f} s, {result.faults} faults, {result.records} records "
        f"acknowledged, {result.events} events, trace {result.digest}"
    )


if __name__ == "__main__":
    sys.exit(main())
