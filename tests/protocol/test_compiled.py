"""Compiled and plain modules do the same."""

import subprocess
import sys
from pathlib import Path

import pytest

from moldau.protocol import reading
from tests.protocol.vectors import digest

ROOT = Path(__file__).parents[2]
is_compiled = not str(reading.__file__).endswith(".py")
needs_compiled = pytest.mark.skipif(
    not is_compiled, reason="the protocol is not compiled here (no C compiler, or MOLDAU_PURE)"
)


def run_vectors(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "tests.protocol.vectors", *arguments]
    source = str(Path(str(reading.__file__)).parents[2])
    run = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


@needs_compiled
def test_compiled_and_plain_modules_give_the_same_results() -> None:
    found, kind = run_vectors("--plain")
    assert kind == "plain"
    assert found == digest()


@needs_compiled
def test_compiled_modules_are_no_older_than_their_sources() -> None:
    folder = Path(str(reading.__file__)).parent
    if "site-packages" in folder.parts:
        pytest.skip("installed from a wheel, where nobody edits sources")
    stale = [
        source.name
        for binary in folder.rglob("*.so")
        for source in [binary.with_name(binary.name.split(".")[0] + ".py")]
        if source.stat().st_mtime > binary.stat().st_mtime
    ]
    assert stale == [], "edited since they were compiled: make build"


def test_the_vectors_are_the_same_in_every_run() -> None:
    assert run_vectors()[0] == digest()
