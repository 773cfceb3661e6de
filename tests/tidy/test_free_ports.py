"""Runs of the tests that go on at the same time do not take ports from each other."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROCESSES, PORTS = 4, 200
PROGRAM = f"""
import sys
from tools.brokers import free_port
print(*(free_port() for _ in range({PORTS})), flush=True)
sys.stdin.read()
"""


def test_processes_that_live_at_the_same_time_are_given_different_ports() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(PROCESSES)
    ]
    given: list[str] = []
    for each in started:
        assert each.stdout is not None
        given += each.stdout.readline().split()
    for each in started:
        each.communicate("")
    assert len(given) == PROCESSES * PORTS
    assert len(set(given)) == len(given)
