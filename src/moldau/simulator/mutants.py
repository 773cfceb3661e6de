"""Proof that simulations find bugs: each mutant is one, and must be caught.

A mutant is a small change of the sources that breaks a promise: something is not flushed, an answer
comes too early, the wrong clock is read. It is made in a copy of the sources, and seeds are run
until one fails, or the scenario that it names, which must fail. A mutant that survives shows a
promise that no simulation watches.

    python -m moldau.simulator.mutants            # all of them
    python -m moldau.simulator.mutants NAME...    # some
    python -m moldau.simulator.mutants --by-transactions NAME...   # by seeds with transactions
    python -m moldau.simulator.mutants --by-operator NAME...       # by seeds with an operator
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from moldau.simulator.failover_guards import FAILOVER_GUARDS
from moldau.simulator.follower_guards import FOLLOWER_GUARDS
from moldau.simulator.guards import GUARDS
from moldau.simulator.isr_guards import ISR_GUARDS
from moldau.simulator.leader_guards import LEADER_GUARDS
from moldau.simulator.mutations import MUTANTS, Mutant
from moldau.simulator.operator_guards import OPERATOR_GUARDS
from moldau.simulator.transaction_guards import TRANSACTION_GUARDS
from moldau.simulator.transaction_offset_guards import TRANSACTION_OFFSET_GUARDS
from moldau.simulator.transaction_write_guards import TRANSACTION_WRITE_GUARDS
from moldau.simulator.unclean_guards import UNCLEAN_GUARDS

PACKAGE: Final = Path(__file__).parents[1]
PROJECT: Final = Path(__file__).parents[3]
ALL: Final = (
    *MUTANTS,
    *GUARDS,
    *FAILOVER_GUARDS,
    *LEADER_GUARDS,
    *ISR_GUARDS,
    *FOLLOWER_GUARDS,
    *UNCLEAN_GUARDS,
    *OPERATOR_GUARDS,
    *TRANSACTION_GUARDS,
    *TRANSACTION_OFFSET_GUARDS,
    *TRANSACTION_WRITE_GUARDS,
)
MOST_SEEDS: Final = 200
_TESTS_FAILED: Final = 1
# The options of the seeds that a mutant is run with on demand.
_TRANSACTIONS: Final = ("--transactions",)
_OPERATED: Final = ("--cluster", "operated")


def mutate(mutant: Mutant, package: Path) -> None:
    """Change the sources of a copy. Raises ValueError if they have changed too much."""
    for edit in mutant.edits:
        path = package / edit.file
        text = path.read_text()
        if text.count(edit.old) != 1:
            raise ValueError(f"{mutant.name}: {edit.file} has not once {edit.old!r}")
        path.write_text(text.replace(edit.old, edit.new))


def caught_by(mutant: Mutant, most_seeds: int, jobs: int, *, by: Sequence[str] = ()) -> str | None:
    """How many seeds, or which scenario, it takes to catch the mutant; None if it survives.

    With ``by`` it is seeds with these options, also if the mutant names a scenario.
    """
    with tempfile.TemporaryDirectory(prefix="moldau-mutant-") as folder:
        package = Path(folder, "moldau")
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        mutate(mutant, package)
        if by:
            return _seeds(mutant, folder, most_seeds, jobs, *by)
        if mutant.scenario:
            return mutant.scenario.split("::")[1] if _fails(mutant, folder) else None
        return _seeds(mutant, folder, most_seeds, jobs)


def _seeds(mutant: Mutant, folder: str, most_seeds: int, jobs: int, *more: str) -> str | None:
    ended = _run(
        ["moldau.simulator", "--seeds", str(most_seeds), "--jobs", str(jobs)]
        + ["--stop-at-failure", "--no-shrink", *more],
        folder,
    )
    found = re.search(r"^seed (\d+) failed:\n  (.*)", ended.stdout, re.MULTILINE)
    if found is None:
        if ended.returncode:
            raise RuntimeError(f"{mutant.name}: {ended.stderr}")
        return None
    print(f"  seed {found.group(1)}: {found.group(2)}", flush=True)
    return found.group(1)


def _fails(mutant: Mutant, folder: str) -> bool:
    """Whether the scenario of a mutant fails, as it must."""
    ended = _run(["pytest", "-x", "-p", "no:cacheprovider", mutant.scenario], folder)
    if ended.returncode not in (0, _TESTS_FAILED):
        raise RuntimeError(f"{mutant.name}: {ended.stdout}{ended.stderr}")
    reasons = re.findall(r"^E  +(.*)", ended.stdout, re.MULTILINE)
    print(f"  {reasons[0] if reasons else 'nothing fails'}", flush=True)
    return ended.returncode == _TESTS_FAILED


def _run(module: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *module],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": folder, "MOLDAU_PLAIN": "1"},
        capture_output=True,
        text=True,
    )


def table(rows: Sequence[tuple[Mutant, str | None]]) -> str:
    """The table of docs/simulation.md."""
    lines = ["| mutation | caught by |", "| --- | --- |"]
    for mutant, catcher in rows:
        shown = "nothing: it survives" if catcher is None else catcher
        if catcher is not None and catcher.isdigit():
            shown = f"seed {catcher}"
        lines.append(f"| {mutant.name} | {shown} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m moldau.simulator.mutants")
    parser.add_argument("names", nargs="*", help="all by default")
    parser.add_argument("--scenarios", action="store_true", help="only those that scenarios catch")
    parser.add_argument(
        "--by-transactions",
        dest="by",
        action="store_const",
        const=_TRANSACTIONS,
        default=(),
        help="run seeds with transactions, and no scenarios",
    )
    parser.add_argument(
        "--by-operator",
        dest="by",
        action="store_const",
        const=_OPERATED,
        help="run seeds with an operator, and no scenarios",
    )
    parser.add_argument("--seeds", type=int, default=MOST_SEEDS, help="of each, at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    chosen = [
        each
        for each in ALL
        if (not options.names or each.name in options.names)
        and (each.scenario or not options.scenarios)
    ]
    rows = []
    for mutant in chosen:
        print(f"{mutant.name} ...", flush=True)
        catcher = caught_by(mutant, options.seeds, options.jobs, by=options.by)
        rows.append((mutant, catcher))
    print(table(rows))
    return 1 if any(catcher is None for _, catcher in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
