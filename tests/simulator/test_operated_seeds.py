"""Whole simulations with an operator: a few seeds, and that each seed is one run."""

import os
import subprocess
import sys

import pytest

from moldau.simulator.faults import FAILED_DIRECTORY, REPLACED_DIRECTORY
from moldau.simulator.simulation import plan
from moldau.simulator.swarm import run_seed

CLUSTER = "operated"
# 56: a directory that went offline on a full disk was not restarted. 11: one is replaced.
SEEDS = (56, 11)
# In this one, log directories fail.
RUN_TWICE = 33


@pytest.mark.parametrize("seed", SEEDS)
def test_all_is_well_in_the_end(seed: int) -> None:
    result = run_seed(seed, CLUSTER)
    assert result.problems == ()
    assert result.records > 100


def test_a_seed_is_one_run_whatever_python_hashes() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "moldau.simulator", "--seed", str(RUN_TWICE), "--cluster", CLUSTER],
        # That of this process is another one.
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.split("trace ")[1].strip() == run_seed(RUN_TWICE, CLUSTER).digest


def test_log_directories_fail_and_are_replaced_in_these_seeds() -> None:
    kinds = [{each.kind for each in plan(seed, CLUSTER).faults} for seed in (SEEDS[-1], RUN_TWICE)]
    assert REPLACED_DIRECTORY in kinds[0]
    assert FAILED_DIRECTORY in kinds[1]
