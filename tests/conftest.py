"""Fixtures that every folder may use."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.running import RunningBroker, WireClient


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
