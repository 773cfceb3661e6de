"""Sessions of brokers, in monotonic time."""

from collections.abc import Sequence

import pytest

from moldau.controller.sessions import BrokerSessions
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.records.metadata import BrokerRegistrationChangeRecord
from tests.controller.cluster import Cluster, registration

SESSION_MS = 9000
LOOK_MS = SESSION_MS // 8


def upkeep(cluster: Cluster, until_ms: int) -> list[Message]:
    """Let time pass, with an upkeep at every deadline."""
    records: list[Message] = []
    while (deadline_ms := cluster.controller.deadline_ms) is not None and deadline_ms <= until_ms:
        cluster.now_ms = deadline_ms
        records += cluster.upkeep()
    cluster.now_ms = until_ms
    return records


def fenced(records: Sequence[Message]) -> list[int]:
    return [
        record.broker_id
        for record in records
        if isinstance(record, BrokerRegistrationChangeRecord) and record.fenced > 0
    ]


def test_a_broker_without_heartbeats_is_fenced_within_a_session_and_an_eighth() -> None:
    cluster = Cluster(2)
    assert fenced(upkeep(cluster, SESSION_MS)) == []
    cluster.heartbeat(1)
    assert fenced(upkeep(cluster, SESSION_MS + LOOK_MS)) == [2]
    assert cluster.image.brokers[2].fenced
    assert fenced(upkeep(cluster, 2 * SESSION_MS)) == []
    assert fenced(upkeep(cluster, 2 * SESSION_MS + LOOK_MS)) == [1]


def test_stale_brokers_are_fenced_one_per_decision() -> None:
    cluster = Cluster(3)
    cluster.must_create("river", 1, 3)
    upkeep(cluster, SESSION_MS)
    cluster.now_ms += LOOK_MS
    leaders = []
    for _ in range(3):
        assert len(fenced(cluster.upkeep())) == 1
        leaders.append(cluster.image.topics_by_name["river"].partitions[0].leader)
    assert leaders[-1] == -1
    assert len(set(leaders)) == 3
    assert cluster.upkeep() == []


def test_a_broker_that_dies_during_a_failover_is_fenced() -> None:
    """KAFKA-18138: the new controller has never heard of it."""
    cluster = Cluster(2)
    image = cluster.image
    cluster.controller.resigned()
    cluster.now_ms = 1_000_000
    cluster.controller.activated(cluster.now_ms, image)
    cluster.now_ms += SESSION_MS
    cluster.heartbeat(1)
    assert fenced(upkeep(cluster, cluster.now_ms + LOOK_MS)) == [2]


def test_a_new_controller_gives_everyone_a_whole_session() -> None:
    cluster = Cluster(2)
    image = cluster.image
    cluster.controller.resigned()
    cluster.controller.activated(1_000_000, image)
    assert fenced(upkeep(cluster, 1_000_000 + SESSION_MS)) == []


def test_a_controller_that_was_stopped_fences_nobody_for_its_own_delay() -> None:
    """KAFKA-15019: the heartbeats of that time are still in the sockets."""
    cluster = Cluster(2)
    assert fenced(upkeep(cluster, 2000)) == []
    cluster.now_ms = 60_000
    assert cluster.upkeep() == []
    cluster.heartbeat(1)
    assert fenced(upkeep(cluster, 60_000 + SESSION_MS)) == [2]


def test_a_heartbeat_counts_from_its_arrival_even_if_its_decision_waits() -> None:
    cluster = Cluster(2)
    cluster.heartbeat(1)
    upkeep(cluster, 8000)
    for broker_id in (1, 2):
        epoch = cluster.image.brokers[broker_id].epoch
        request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch)
        cluster.controller.heard(request, 8000)
    assert fenced(upkeep(cluster, 8000 + SESSION_MS)) == []


def test_an_earlier_incarnation_does_not_keep_a_session_alive() -> None:
    cluster = Cluster(2)
    epoch = cluster.image.brokers[2].epoch
    zombie = BrokerHeartbeatRequest(broker_id=2, broker_epoch=epoch - 1)
    upkeep(cluster, 8000)
    cluster.heartbeat(1)
    cluster.controller.heard(zombie, 8000)
    with pytest.raises(ApiError) as caught:
        cluster.controller.broker_heartbeat(zombie, 8000)
    assert caught.value.code == ErrorCode.STALE_BROKER_EPOCH
    assert fenced(upkeep(cluster, SESSION_MS + LOOK_MS)) == [2]


def test_a_second_broker_with_the_same_id_waits_for_the_end_of_the_session() -> None:
    cluster = Cluster(2)
    request = registration(2, incarnation=9)
    with pytest.raises(ApiError, match="Another broker is registered with that") as caught:
        cluster.controller.register_broker(request, cluster.offset, SESSION_MS)
    assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    outcome = cluster.controller.register_broker(request, cluster.offset, SESSION_MS + 1)
    assert outcome.response.broker_epoch == cluster.offset


def test_a_controller_knows_that_its_own_broker_ended_with_its_process() -> None:
    cluster = Cluster(1)
    request = registration(1, incarnation=9)
    with pytest.raises(ApiError):
        cluster.controller.register_broker(request, cluster.offset)
    cluster.controller.register_broker(request, cluster.offset, is_local=True)


def test_a_broker_that_said_goodbye_may_return_at_once() -> None:
    cluster = Cluster(2)
    for _ in range(3):
        cluster.heartbeat(2, shut_down=True)
    epoch = cluster.image.brokers[2].epoch
    assert cluster.register(2, incarnation=9, previous_epoch=epoch)


def test_a_fenced_broker_that_is_alive_keeps_others_from_its_id() -> None:
    cluster = Cluster(2)
    cluster.heartbeat(2, fence=True)
    cluster.heartbeat(2, fence=True)
    with pytest.raises(ApiError) as caught:
        cluster.register(2, incarnation=9)
    assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    # Its session ends without a record.
    assert fenced(upkeep(cluster, 2 * SESSION_MS)) == [1]


def test_the_sessions_of_an_earlier_term_are_forgotten() -> None:
    cluster = Cluster(2)
    image = cluster.image
    cluster.controller.resigned()
    assert cluster.controller.deadline_ms is None
    assert not cluster.image.brokers
    cluster.controller.activated(5000, image)
    assert cluster.controller.deadline_ms == 5000 + LOOK_MS


def test_a_very_short_session_is_looked_at_every_millisecond() -> None:
    assert BrokerSessions(timeout_ms=3, now_ms=10).next_look_ms == 11


def test_a_dead_broker_is_fenced_at_once_with_the_records_of_an_expired_session() -> None:
    expired, died = Cluster(3), Cluster(3)
    for cluster in (expired, died):
        cluster.must_create("river", 4, 3)
    upkeep(expired, SESSION_MS)
    expired.heartbeat(1)
    expired.heartbeat(3)
    died.controller.died(2, died.image.brokers[2].epoch, 100)
    assert died.controller.deadline_ms == 100
    died.now_ms = 100
    records = died.upkeep()
    assert fenced(records) == [2]
    assert records == upkeep(expired, SESSION_MS + LOOK_MS)
    assert fenced(upkeep(died, 5_000)) == []


def test_a_heartbeat_shows_that_a_broker_lives() -> None:
    cluster = Cluster(2)
    cluster.controller.died(2, cluster.image.brokers[2].epoch, 100)
    cluster.now_ms = 101
    cluster.heartbeat(2)
    assert fenced(upkeep(cluster, 5_000)) == []


def test_the_death_of_an_earlier_incarnation_ends_no_session() -> None:
    cluster = Cluster(2)
    cluster.controller.died(2, cluster.image.brokers[2].epoch - 1, 100)
    assert fenced(upkeep(cluster, 5_000)) == []


def test_a_death_does_not_hide_that_the_controller_was_stopped() -> None:
    cluster = Cluster(3)
    late_ms = 30_000
    cluster.controller.died(2, cluster.image.brokers[2].epoch, late_ms)
    cluster.now_ms = late_ms
    assert fenced(cluster.upkeep()) == [2]
    assert fenced(cluster.upkeep()) == []
