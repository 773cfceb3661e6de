"""Fixtures that every folder may use."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.running import RunningBroker, WireClient

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("moldau", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moldau")

# Sessions of Spark start in half the time if `make classes` has been run. They do not create it
# themselves: no test may leave a process behind that goes on when it is over.
os.environ["MOLDAU_CLASS_ARCHIVE"] = "existing"

# Nothing that is imported or collected becomes garbage. Looking for it again and again is half the
# work of collecting thousands of tests, and an eighth of running them.
gc.disable()


# Workers of pytest-xdist take whole modules in this order. What needs Spark takes longest, and
# comes first, lest one worker be busy with it when the others have nothing left to do.
SLOW_FOLDERS = ("streams", "spark")


def pytest_configure(config: pytest.Config) -> None:
    """Let the processes that tests start take SIGHUP and SIGINT, under nohup and in scripts too.

    A process inherits that a signal is ignored, but not a handler that does nothing. Workers of
    pytest-xdist are started by a process that keeps ignoring it, and so do they until this is run.
    """
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        # Only its workers collect.
        gc.enable()
        return
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in SLOW_FOLDERS)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    # Libraries that count their objects when the process ends complain about those that are kept.
    gc.unfreeze()


@pytest.fixture
def broker(tmp_path: Path) -> "Iterator[RunningBroker]":
    """A broker with default settings and an empty data directory."""
    # Most tests need no broker, and should not pay for importing one.
    from tests.running import RunningBroker

    with RunningBroker(tmp_path / "data") as running:
        yield running


@pytest.fixture
def client(broker: "RunningBroker") -> "Iterator[WireClient]":
    with broker.connect() as connected:
        yield connected
