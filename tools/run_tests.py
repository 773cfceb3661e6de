"""Runs pytest; tests of real processes that fail run once more, alone.

These tests start brokers, JVMs and databases, several at a time on every core. On a busy machine
one of them may miss a timeout that belongs to somebody else's program, which says nothing about
Moldau; most faults of ours fail again when nothing else runs. The first failure stays in the
output, and what passed only the second time is listed after it: a rare fault may hide there.

All other tests are deterministic, and get no second chance; neither do many failures at once.

Several of these may go on at the same time. What failed waits for all others to end.
"""

import fcntl
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FAILED_TESTS = "v/cache/lastfailed"
RUNNING = Path(".pytest_cache/running")
REAL_PROCESSES = ("cli", "cluster", "compat", "connect_spark", "spark", "sql", "streams")
AT_MOST = 3
TESTS_FAILED = 1
ALONE = ("-n", "0", "--last-failed", "--last-failed-no-failures", "none")


def main(arguments: list[str]) -> int:
    RUNNING.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as cache, RUNNING.open("w") as lock:
        # Others that go on in the same folder have a cache of their own.
        return run_twice([*arguments, "-o", f"cache_dir={cache}"], Path(cache), lock.fileno())


def run_twice(arguments: list[str], cache: Path, lock: int) -> int:
    fcntl.flock(lock, fcntl.LOCK_SH)
    status = run(arguments)
    if status != TESTS_FAILED:
        return status
    failed = sorted(json.loads((cache / FAILED_TESTS).read_text()))
    if not may_run_again(failed):
        return status
    print(f"\nruns once more, alone: {', '.join(failed)}", flush=True)
    # Nobody who waits here keeps others waiting: what is shared is given up first.
    fcntl.flock(lock, fcntl.LOCK_EX)
    status = run([*arguments, *ALONE])
    if status == 0:
        print(f"passed only when run alone: {', '.join(failed)}", flush=True)
    return status


def may_run_again(failed: list[str]) -> bool:
    """Whether these tests, by their ids, can have failed because the machine was busy."""
    folders = tuple(f"tests/{name}/" for name in REAL_PROCESSES)
    return 0 < len(failed) <= AT_MOST and all(each.startswith(folders) for each in failed)


def run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
