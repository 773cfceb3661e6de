"""A broker registers, sends heartbeats one at a time, and says goodbye."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moldau.broker import broker_lifecycle
from moldau.broker.broker_lifecycle import BrokerLifecycle
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from moldau.protocol.records.metadata import FeatureLevelRecord, RegisterBrokerRecord
from tests.broker.test_metadata_publisher import Publishing, ids

EPOCH = 7
Answer = Message | ApiError


class Controller:
    """A controller that answers as it is told, by default as the broker wishes."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answers: list[Answer] = []
        self.leads = 1
        self.gate: asyncio.Event | None = None
        self.under_way = 0

    async def send(self, request: Message, version: int | None = None) -> Any:
        self.requests.append(request)
        self.under_way += 1
        assert self.under_way == 1, "there is one request at a time"
        if self.gate is not None:
            await self.gate.wait()
        await asyncio.sleep(0)
        self.under_way -= 1
        answer = self.answers.pop(0) if self.answers else self._answer(request)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    def _answer(self, request: Message) -> Message:
        if isinstance(request, BrokerRegistrationRequest):
            return BrokerRegistrationResponse(broker_epoch=EPOCH)
        assert isinstance(request, BrokerHeartbeatRequest)
        is_gone = request.want_shut_down and self.leads == 0
        if request.want_shut_down:
            self.leads = max(0, self.leads - 1)
        is_behind = request.current_metadata_offset < EPOCH
        return BrokerHeartbeatResponse(
            is_caught_up=not is_behind, is_fenced=is_behind or is_gone, should_shut_down=is_gone
        )

    @property
    def heartbeats(self) -> list[BrokerHeartbeatRequest]:
        return [each for each in self.requests if isinstance(each, BrokerHeartbeatRequest)]

    @property
    def registrations(self) -> int:
        return sum(isinstance(each, BrokerRegistrationRequest) for each in self.requests)


class Living:
    def __init__(self, **settings: str) -> None:
        properties = {"node.id": "1", "broker.heartbeat.interval.ms": "60000"}
        properties.update({name.replace("_", "."): value for name, value in settings.items()})
        self.controller = Controller()
        self.publishing = Publishing()
        self.lifecycle = BrokerLifecycle(
            BrokerConfig.from_properties(properties),
            self.controller,
            self.publishing.publisher,
            random.Random(1),
        )

    def publish_up_to(self, offset: int) -> None:
        while self.publishing.end_offset <= offset:
            self.publishing.write(ids(1000 + self.publishing.end_offset))
        self.publishing.commit()

    async def start(self) -> None:
        self.publish_up_to(EPOCH)
        await self.lifecycle.start(BrokerRegistrationRequest(broker_id=1))


def run(body: Callable[[Living], Awaitable[object]], **settings: str) -> None:
    async def live() -> None:
        living = Living(**settings)
        try:
            await asyncio.wait_for(body(living), 120)
        finally:
            living.lifecycle.abandon()

    asyncio.run(live())


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_lifecycle, "FIRST_BACKOFF_S", 0.0)
    monkeypatch.setattr(broker_lifecycle, "SHUT_DOWN_CHECK_S", 0.0)


def test_a_lone_broker_is_unfenced_by_its_first_heartbeat() -> None:
    async def body(it: Living) -> None:
        await it.start()
        assert it.lifecycle.broker_epoch == EPOCH
        [_, beat] = it.controller.requests
        assert (beat.broker_epoch, beat.current_metadata_offset) == (EPOCH, EPOCH)

    run(body)


def test_it_is_not_unfenced_before_it_has_seen_its_registration() -> None:
    async def body(it: Living) -> None:
        it.publish_up_to(EPOCH - 1)
        starting = asyncio.ensure_future(it.lifecycle.start(BrokerRegistrationRequest(broker_id=1)))
        for _ in range(20):
            await asyncio.sleep(0)
        assert it.controller.heartbeats == []
        it.publish_up_to(EPOCH)
        await starting
        assert it.controller.heartbeats[0].current_metadata_offset == EPOCH

    run(body)


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_CONTROLLER, ErrorCode.DUPLICATE_BROKER_REGISTRATION]
)
def test_a_registration_is_tried_again_while_the_error_may_pass(code: ErrorCode) -> None:
    async def body(it: Living) -> None:
        it.controller.answers = [ApiError(code), ApiError(code)]
        await it.start()
        assert it.controller.registrations == 3

    run(body)


def test_a_registration_that_is_gone_before_the_first_heartbeat_is_repeated() -> None:
    async def body(it: Living) -> None:
        first = BrokerRegistrationResponse(broker_epoch=EPOCH - 1)
        it.controller.answers = [first, ApiError(ErrorCode.STALE_BROKER_EPOCH)]
        await it.start()
        assert it.controller.registrations == 2
        assert [beat.broker_epoch for beat in it.controller.heartbeats] == [EPOCH - 1, EPOCH]

    run(body)


def test_a_registration_that_is_refused_stops_the_start() -> None:
    async def body(it: Living) -> None:
        it.controller.answers = [ApiError(ErrorCode.INCONSISTENT_CLUSTER_ID, "another")]
        with pytest.raises(ApiError, match="another"):
            await it.start()

    run(body)


def test_a_registration_without_an_answer_stops_the_start() -> None:
    async def body(it: Living) -> None:
        it.controller.gate = asyncio.Event()
        with pytest.raises(ApiError, match="could not be registered in 10 ms"):
            await it.start()

    run(body, initial_broker_registration_timeout_ms="10")


def test_heartbeats_come_at_their_interval() -> None:
    async def body(it: Living) -> None:
        await it.start()
        for _ in range(1000):
            if len(it.controller.heartbeats) >= 4:
                return
            await asyncio.sleep(0.001)
        raise AssertionError(it.controller.heartbeats)

    run(body, broker_heartbeat_interval_ms="1")


def test_a_failed_directory_is_reported_at_once_and_until_it_is_answered() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.answers = [ApiError(ErrorCode.NOT_CONTROLLER)]
        await it.lifecycle.report_offline([b"a" * 16])
        assert [each.offline_log_dirs for each in it.controller.heartbeats] == [
            [],
            [b"a" * 16],
            [b"a" * 16],
        ]
        await it.lifecycle.report_cordoned([b"b" * 16])
        last = it.controller.heartbeats[-1]
        assert (last.offline_log_dirs, last.cordoned_log_dirs) == ([], [b"b" * 16])

    run(body)


def test_a_report_waits_for_a_heartbeat_that_has_it() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.gate = asyncio.Event()
        first = asyncio.ensure_future(it.lifecycle.report_cordoned([]))
        for _ in range(5):
            await asyncio.sleep(0)
        assert it.controller.under_way == 1
        second = asyncio.ensure_future(it.lifecycle.report_offline([b"a" * 16]))
        await asyncio.sleep(0)
        it.controller.gate.set()
        await first
        assert not second.done()
        await second
        assert it.controller.heartbeats[-1].offline_log_dirs == [b"a" * 16]

    run(body)


def test_a_broker_that_is_unknown_registers_again() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.answers = [
            ApiError(ErrorCode.STALE_BROKER_EPOCH),
            BrokerRegistrationResponse(broker_epoch=EPOCH + 3),
        ]
        await it.lifecycle.report_cordoned([])
        again = it.controller.requests[-2]
        assert isinstance(again, BrokerRegistrationRequest)
        assert again.previous_broker_epoch == EPOCH
        assert it.controller.heartbeats[-1].broker_epoch == EPOCH + 3

    run(body)


def test_a_failed_directory_is_not_registered_again() -> None:
    """The partitions in it would count as online, and the broker would be elected."""

    async def body(it: Living) -> None:
        it.publish_up_to(EPOCH)
        directories = [b"a" * 16, b"b" * 16]
        await it.lifecycle.start(BrokerRegistrationRequest(broker_id=1, log_dirs=directories))
        await it.lifecycle.report_offline([b"a" * 16])
        it.controller.answers = [ApiError(ErrorCode.STALE_BROKER_EPOCH)]
        await it.lifecycle.report_cordoned([])
        again = it.controller.requests[-2]
        assert isinstance(again, BrokerRegistrationRequest)
        assert again.log_dirs == [b"b" * 16]

    run(body)


def test_a_broker_registers_again_when_the_metadata_version_has_directories() -> None:
    """Without them in its registration, the controller would ignore that a disk fails."""

    def registration(*log_dirs: bytes) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(broker_id=1, broker_epoch=EPOCH, log_dirs=list(log_dirs))

    async def body(it: Living) -> None:
        write = it.publishing.write
        write(FeatureLevelRecord(name="metadata.version", feature_level=16), registration())
        it.publish_up_to(EPOCH)
        await it.lifecycle.start(BrokerRegistrationRequest(broker_id=1, log_dirs=[b"a" * 16]))
        await it.lifecycle.report_cordoned([])
        assert it.controller.registrations == 1
        it.controller.answers = [ApiError(ErrorCode.INVALID_REGISTRATION)]
        beats = len(it.controller.heartbeats)
        write(FeatureLevelRecord(name="metadata.version", feature_level=30))
        it.publishing.commit()
        for _ in range(20):
            await asyncio.sleep(0)
        # A heartbeat follows, whatever becomes of the registration, and the next one tries again.
        assert (it.controller.registrations, len(it.controller.heartbeats)) == (2, beats + 1)
        await it.lifecycle.report_cordoned([])
        assert it.controller.registrations == 3
        write(registration(b"a" * 16))
        it.publishing.commit()
        await it.lifecycle.report_cordoned([])
        assert it.controller.registrations == 3
        assert it.lifecycle.broker_epoch == EPOCH

    run(body)


def test_an_error_that_does_not_pass_is_told_to_who_reports() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.answers = [ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "no disk")]
        with pytest.raises(ApiError, match="no disk"):
            await it.lifecycle.report_offline([b"a" * 16])

    run(body)


def test_a_shutdown_is_asked_for_until_no_leadership_is_left() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.leads = 3
        await it.lifecycle.shut_down()
        assert [each.want_shut_down for each in it.controller.heartbeats[-4:]] == [True] * 4

    run(body)


def test_a_shutdown_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_lifecycle, "SHUT_DOWN_TIMEOUT_S", 0.01)

    async def body(it: Living) -> None:
        await it.start()
        it.controller.gate = asyncio.Event()
        await it.lifecycle.shut_down()

    run(body)


def test_a_shutdown_without_a_controller_is_only_logged() -> None:
    async def body(it: Living) -> None:
        await it.start()
        it.controller.answers = [ApiError(ErrorCode.KAFKA_STORAGE_ERROR)]
        await it.lifecycle.shut_down()

    run(body)
