"""Compiled and plain modules do the same."""

import subprocess
import sys
from pathlib import Path

import pytest

import moldau
from moldau.protocol import reading
from tests.protocol.vectors import digest

ROOT = Path(__file__).parents[2]
is_compiled = not str(reading.__file__).endswith(".py")
needs_compiled = pytest.mark.skipif(
    not is_compiled, reason="the protocol is not compiled here (no C compiler, or MOLDAU_PLAIN)"
)


def run_vectors(**environment: str) -> list[str]:
    command = [sys.executable, "-m", "tests.protocol.vectors"]
    source = str(Path(str(moldau.__file__)).parents[1])
    environment["PYTHONPATH"] = source
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


@needs_compiled
def test_compiled_and_plain_modules_give_the_same_results() -> None:
    found, kind = run_vectors(MOLDAU_PLAIN="1")
    assert kind == "plain"
    assert found == digest()


def test_the_vectors_are_the_same_in_every_run() -> None:
    assert run_vectors()[0] == digest()
