"""Only one run of an app at a time, and its process id can be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.spark.errors import PipelineError
from moldau.streams.run_lock import running_alone, running_process

HOLD = """
import sys
from pathlib import Path
from moldau.streams.run_lock import running_alone
with running_alone(Path(sys.argv[1]), "shop"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_refused_and_names_the_first(tmp_path: Path) -> None:
    with (
        running_alone(tmp_path, "shop"),
        pytest.raises(PipelineError, match=rf"shop is running already \(process {os.getpid()}\)"),
        running_alone(tmp_path, "shop"),
    ):
        pass
    with running_alone(tmp_path, "shop"):
        pass


def test_whoever_looks_sees_the_process(tmp_path: Path) -> None:
    assert running_process(tmp_path) is None
    with running_alone(tmp_path, "shop"):
        assert running_process(tmp_path) == os.getpid()
    assert running_process(tmp_path) is None


def test_the_lock_ends_with_the_process_however_that_ends(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert running_process(tmp_path) == holder.pid
        holder.kill()
    assert running_process(tmp_path) is None
    with running_alone(tmp_path, "shop"):
        pass
