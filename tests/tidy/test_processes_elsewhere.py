"""Brokers and workers of tests and benchmarks start in a folder of their own."""

import os
from pathlib import Path

import pytest
from tools.brokers import MoldauBroker
from tools.connect_workers import WorkerProcess


def test_a_relative_python_path_is_that_of_whoever_starts_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise ``PYTHONPATH=src`` would measure and test the installed sources."""
    monkeypatch.chdir(tmp_path)
    broker, worker = MoldauBroker(tmp_path / "data", port=1), WorkerProcess(tmp_path / "log")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("src", "", "/elsewhere")))
    expected = os.pathsep.join((str(tmp_path / "src"), str(tmp_path), "/elsewhere"))
    assert broker.environment()["PYTHONPATH"] == worker.environment()["PYTHONPATH"] == expected
    monkeypatch.delenv("PYTHONPATH")
    assert "PYTHONPATH" not in broker.environment()
