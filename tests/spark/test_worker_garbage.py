"""The modules of a Python worker are not searched for garbage after each task."""

import gc
import subprocess
import sys

PROGRAM = """
import gc, sys
from types import SimpleNamespace
from moldau.spark.worker_garbage import freeze_modules

freeze_modules()
counts = [gc.get_freeze_count()]
sys.modules["__main__"].__spec__ = SimpleNamespace(name="pyspark.daemon")
freeze_modules()
counts.append(gc.get_freeze_count())
kept = [[] for _ in range(1000)]
freeze_modules()
counts.append(gc.get_freeze_count())
print(counts)
"""


def test_they_are_frozen_once_and_only_in_a_worker_of_spark() -> None:
    # The tests themselves freeze what is imported and collected (conftest).
    before = gc.get_freeze_count()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    elsewhere, first, second = map(int, done.stdout.strip("[]\n").split(","))
    assert elsewhere == 0
    assert first > 1000
    # Objects that are freed leave; none come.
    assert second <= first
    assert gc.get_freeze_count() <= before
