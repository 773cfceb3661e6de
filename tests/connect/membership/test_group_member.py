"""Workers in a group on a real broker: one is active, and another takes over."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.connect.membership.group_member import GroupMember
from moldau.connect.stores.topic_log import ClientSettings
from tests.running import RunningBroker

PATIENCE_S = 120.0
SESSION_MS = 60_000


class Worker:
    """A member, with a record of what it was told."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        name: str,
        *,
        patience_ms: int = 60_000,
        session_ms: int = SESSION_MS,
    ) -> None:
        self.events: list[str] = []
        self.failure: Exception | None = None
        self.changed = threading.Condition()
        self.member = GroupMember(
            ClientSettings(bootstrap, name, timeout_s=30.0),
            group,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=patience_ms,
            heartbeat_interval_ms=200,
            on_change=lambda: self._note("change"),
            on_lost=lambda: self._note("lost"),
            on_failed=self._fail,
        )
        self.member.start(f"http://{name}/")

    def _note(self, event: str) -> None:
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def _fail(self, error: Exception) -> None:
        self.failure = error
        self._note("failed")

    def wait_for(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, PATIENCE_S), (self.events, self.standing)

    @property
    def standing(self) -> object:
        return self.member.standing

    @property
    def active_url(self) -> str | None:
        standing = self.member.standing
        return None if standing is None else standing.active_url


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    settings = {
        "group.min.session.timeout.ms": "100",
        "group.initial.rebalance.delay.ms": "0",
    }
    with RunningBroker(Path(tmp_path_factory.mktemp("broker")), settings) as running:
        yield running


def test_the_first_worker_is_active_and_stays_so_when_another_joins(
    broker: RunningBroker,
) -> None:
    first = Worker(broker.bootstrap, "stays", "first")
    first.wait_for(first.member.is_active)
    second = Worker(broker.bootstrap, "stays", "second")
    second.wait_for(lambda: second.standing is not None)
    assert second.active_url == "http://first/"
    assert not second.member.is_active()
    assert first.member.is_active()
    assert "lost" not in first.events
    second.member.close()
    first.member.close()


def test_a_worker_that_leaves_makes_room_at_once(broker: RunningBroker) -> None:
    first = Worker(broker.bootstrap, "leaves", "first")
    first.wait_for(first.member.is_active)
    second = Worker(broker.bootstrap, "leaves", "second")
    second.wait_for(lambda: second.standing is not None)
    first.member.close()
    second.wait_for(second.member.is_active)
    assert second.active_url == "http://second/"
    second.member.close()


def test_a_worker_that_is_silent_stops_before_another_is_active(
    broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Worker(broker.bootstrap, "silent", "first", session_ms=6000)
    first.wait_for(first.member.is_active)
    second = Worker(broker.bootstrap, "silent", "second", session_ms=6000)
    second.wait_for(lambda: second.standing is not None)
    lost_s: list[float] = []
    taken_s: list[float] = []
    monkeypatch.setattr(first.member, "_on_lost", lambda: lost_s.append(time.monotonic()))
    monkeypatch.setattr(second.member, "_on_change", lambda: taken_s.append(time.monotonic()))
    released = threading.Event()
    # Its thread hangs, as in a connection that leads nowhere.
    monkeypatch.setattr(first.member, "_heartbeat", lambda: released.wait(PATIENCE_S))
    deadline_s = time.monotonic() + PATIENCE_S
    while not second.member.is_active():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    assert not first.member.is_active()
    assert lost_s[0] < taken_s[-1]
    released.set()
    first.member.close()
    second.member.close()


def test_a_group_of_consumers_is_refused_by_name(broker: RunningBroker) -> None:
    with Producer(broker.bootstrap) as producer:
        producer.send("orders", b"x")
    with GroupConsumer(broker.bootstrap, "taken", ["orders"]) as consumer:
        consumer.poll(0.1)
        worker = Worker(broker.bootstrap, "taken", "first", patience_ms=500)
        worker.wait_for(lambda: worker.failure is not None)
        assert "group taken is in use by members that are not Moldau's workers" in str(
            worker.failure
        )
        worker.member.close()
