"""The controller hears in which directory every replica is, however long it is away."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moldau.broker import directory_assignments
from moldau.broker.directory_assignments import DirectoryAssignments
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import UNASSIGNED_DIRECTORY
from moldau.protocol.message import Message
from tests.broker.test_log_dirs import ONE, RIVER, TWO, Disks

ABSENT = ErrorCode.REQUEST_TIMED_OUT


class Controller:
    """Passes requests on to the real one, after some errors."""

    def __init__(self, disks: Disks, *errors: ErrorCode) -> None:
        self.channel = disks.broker.node.metadata.forwarding_channel
        self.errors = list(errors)
        self.requests = 0
        self.on_error: Callable[[], None] = lambda: None

    async def send(self, request: Message, version: int | None = None) -> Any:
        self.requests += 1
        await asyncio.sleep(0)
        if self.errors:
            self.on_error()
            raise ApiError(self.errors.pop(0))
        return await self.channel.send(request, version)


def assignments(disks: Disks, controller: Controller) -> DirectoryAssignments:
    node = disks.broker.node
    metadata = node.metadata
    return DirectoryAssignments(1, node.logs, metadata.publisher, metadata.lifecycle, controller)


def run(scenario: Callable[[Disks], Awaitable[None]]) -> None:
    """Run the scenario on a broker whose topic ``river`` is in one directory, and said to be."""

    async def whole() -> None:
        disks = await Disks().start()
        assert await disks.alter(ONE) == ErrorCode.REPLICA_NOT_AVAILABLE
        await disks.broker.create("river")
        await disks.broker.node.broker.assignments.settled()
        assert disks.directory_of() == ONE
        await scenario(disks)

    asyncio.run(asyncio.wait_for(whole(), 60))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_assignments, "RETRY_PAUSE_S", 0.0)


def river(disks: Disks) -> tuple[bytes, int]:
    return disks.broker.node.broker.image.topics_by_name["river"].id, RIVER.partition


def test_a_report_is_repeated_until_a_controller_takes_it() -> None:
    async def scenario(disks: Disks) -> None:
        errors = (ABSENT, ErrorCode.STALE_BROKER_EPOCH, ABSENT)
        controller = Controller(disks, *errors)
        reporting = assignments(disks, controller)
        # Metadata that arrives meanwhile causes the same report.
        controller.on_error = lambda: reporting.note(*river(disks), TWO)
        reporting.note(*river(disks), TWO)
        await reporting.settled()
        assert (disks.directory_of(), controller.requests) == (TWO, 4)

    run(scenario)


def test_a_report_that_is_repeated_does_not_undo_a_newer_one() -> None:
    async def scenario(disks: Disks) -> None:
        controller = Controller(disks, ABSENT)
        reporting = assignments(disks, controller)
        controller.on_error = lambda: reporting.note(*river(disks), ONE)
        reporting.note(*river(disks), TWO)
        await reporting.settled()
        assert disks.directory_of() == ONE

    run(scenario)


def test_what_can_never_be_reported_is_not_repeated_nor_anything_by_a_broker_that_stops() -> None:
    async def scenario(disks: Disks) -> None:
        controller = Controller(disks, ErrorCode.UNSUPPORTED_VERSION, ABSENT, ABSENT)
        reporting = assignments(disks, controller)
        reporting.note(*river(disks), TWO)
        await reporting.settled()
        reporting.stop()
        reporting.note(*river(disks), TWO)
        await reporting.settled()
        assert (controller.requests, disks.directory_of()) == (2, ONE)

    run(scenario)


def test_a_replica_whose_directory_the_metadata_has_lost_is_reported_again() -> None:
    """It was moved away and back in one change, so that it has kept its log."""

    async def scenario(disks: Disks) -> None:
        topic_id, index = river(disks)
        reporting = assignments(disks, Controller(disks))
        await reporting.assign(topic_id, index, UNASSIGNED_DIRECTORY)
        for _ in range(10):
            await asyncio.sleep(0)
        await disks.broker.node.broker.assignments.settled()
        assert disks.directory_of() == ONE

    run(scenario)


def test_a_move_waits_for_a_controller() -> None:
    async def scenario(disks: Disks) -> None:
        await disks.fill()
        mover = disks.broker.node.broker.mover
        controller = Controller(disks, ABSENT, ErrorCode.STALE_BROKER_EPOCH)
        mover._assignments = assignments(disks, controller)
        assert await disks.alter(TWO) == 0
        await disks.moved()
        assert (disks.log_dir(), disks.directory_of()) == (TWO, TWO)
        assert controller.errors == []

    run(scenario)
