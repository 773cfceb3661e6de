"""Coordinators are imported in small steps, and completely."""

import subprocess
import sys

import pytest

from moldau.broker import late_imports

# In a new process: this one has imported everything.
PROGRAM = """
import sys
import moldau.broker.node
from moldau.broker import late_imports

def count():
    return sum(name.startswith("moldau.") for name in sys.modules)

before = count()
for _ in late_imports.importing(getattr(late_imports, sys.argv[1])):
    print(count() - before)
    before = count()
from moldau.broker import {needed}
print("after", count() - before)
"""


@pytest.mark.parametrize(
    ("modules", "needed"),
    [
        ("GROUP_COORDINATOR", "group_loading"),
        ("TRANSACTION_COORDINATOR", "transaction_loading, marker_sending"),
    ],
)
def test_each_step_imports_few_modules_and_nothing_is_left(modules: str, needed: str) -> None:
    program = PROGRAM.replace("{needed}", needed)
    command = [sys.executable, "-c", program, modules]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    *steps, (_, left) = [line.split() for line in output.splitlines()]
    counts = [int(count) for (count,) in steps]
    assert len(counts) == len(getattr(late_imports, modules))
    assert max(counts) <= 8
    # A module that another one brings along needs no step.
    assert min(counts) >= 1
    assert int(left) == 0
