"""A worker for the tests of its herder; and no levels of loggers are left behind, which workers set
on request.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connect.herding import BROKER, Herding
from tests.running import RunningBroker


@pytest.fixture(autouse=True)
def levels_of_loggers() -> Iterator[None]:
    before = {each: each.level for each in _loggers()}
    yield
    for each in _loggers():
        each.setLevel(before.get(each, logging.NOTSET))


def _loggers() -> list[logging.Logger]:
    registered = list(logging.root.manager.loggerDict.values())
    return [logging.root, *(each for each in registered if isinstance(each, logging.Logger))]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(Path(tmp_path_factory.mktemp("broker")), BROKER) as running:
        yield running


@pytest.fixture(scope="module")
def herding(broker: RunningBroker) -> Iterator[Herding]:
    """One worker for many tests: each uses names of its own."""
    worker = Herding(broker.bootstrap, "shared").start()
    yield worker
    worker.stop()
