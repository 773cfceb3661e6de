"""One broker for all tests of a module; topics have unique names."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.running import RunningBroker


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # No initial delay for further group members.
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with RunningBroker(tmp_path_factory.mktemp("broker") / "data", settings) as running:
        yield running.bootstrap


@pytest.fixture(scope="module")
def new_topic() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"topic-{next(numbers)}"
