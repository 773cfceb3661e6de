"""One broker for all tests of a module; topics have names of their own."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from moldau.client.connection import Connection
from tests.running import RunningBroker

JOIN_GROUP = 11


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # Nobody waits for members of a group that might still come.
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with RunningBroker(tmp_path_factory.mktemp("broker") / "data", settings) as running:
        yield running.bootstrap


@pytest.fixture(scope="module")
def new_topic() -> Callable[[], str]:
    numbers = itertools.count()
    return lambda: f"topic-{next(numbers)}"


@pytest.fixture(scope="module")
def needs_groups(bootstrap: str) -> None:
    """Skips where the broker does not know consumer groups yet."""
    host, port = bootstrap.rsplit(":", 1)
    with Connection(host, int(port)) as connection:
        if not connection.supports(JOIN_GROUP):
            pytest.skip(
                "the broker does not advertise JoinGroup: consumer groups are a later issue"
            )
