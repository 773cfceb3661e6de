"""Directories of runs: what two processes leave for each other, and what dead ones left."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from moldau.connect.engine.runs import RunDirectory, remove_abandoned
from moldau.connect.engine_api import ConnectorSpec


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_directory_is_private_and_gone_after_the_run() -> None:
    directory = RunDirectory.make()
    assert directory.path.stat().st_mode & 0o777 == 0o700
    directory.remove()
    assert not directory.path.exists()


def test_what_one_process_puts_the_other_finds() -> None:
    directory = RunDirectory.make()
    spec = ConnectorSpec("c", {"password": "x"}, {})
    directory.put_spec(spec, [({"f": 1}, {"p": 2})])
    other = RunDirectory(directory.path)
    assert other.spec() == (spec, [({"f": 1}, {"p": 2})])
    assert "password" not in repr(spec)
    assert (other.failure(), other.process(), other.take_durable()) == (None, None, None)
    directory.put_failure("trace")
    directory.put_process()
    directory.put_durable([({"f": 1}, {"p": 3})])
    assert (other.failure(), other.process()) == ("trace", os.getpid())
    assert other.take_durable() == [({"f": 1}, {"p": 3})]
    assert other.take_durable() is None
    directory.remove()


def test_a_slow_reader_finds_the_last_durable_offset_of_every_partition() -> None:
    """Several batches may be written while a source polls."""
    directory = RunDirectory.make()
    directory.put_durable([({"f": 1, "g": 1}, {"p": 1}), ({"f": 2}, {"p": 1})])
    directory.put_durable([({"f": 3}, {"p": 1})])
    directory.put_durable([({"g": 1, "f": 1}, {"p": 2})])
    found = RunDirectory(directory.path).take_durable()
    assert found is not None
    assert sorted((each["f"], at["p"]) for each, at in found) == [(1, 2), (2, 1), (3, 1)]
    directory.put_durable([({"f": 2}, {"p": 4})])
    assert directory.take_durable() == [({"f": 2}, {"p": 4})]
    directory.remove()


def test_only_directories_of_dead_workers_are_removed(tmp_path: Path) -> None:
    alive, young = RunDirectory.make(), tmp_path / "moldau-connect-run-young"
    dead, other = tmp_path / "moldau-connect-run-dead", tmp_path / "moldau-connect-other"
    for each in (young, dead, other):
        each.mkdir()
        (each / "spec").touch()
    long_ago_s = time.time() - 3600
    for each in (alive.path, dead, other):
        os.utime(each, (long_ago_s, long_ago_s))
    remove_abandoned(time.time())
    assert alive.path.exists()
    assert (young.exists(), dead.exists(), other.exists()) == (True, False, True)
    alive.remove()
