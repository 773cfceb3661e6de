"""BrokerHeartbeat: every state with every wish, and when a broker may stop."""

from typing import NamedTuple

import pytest

from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.records.metadata import (
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    NoOpRecord,
    PartitionChangeRecord,
)
from tests.controller.cluster import Cluster


class Answer(NamedTuple):
    """The fields of a response, in the order of the table below."""

    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


def beat(
    cluster: Cluster,
    broker_id: int = 2,
    *,
    fence: bool = False,
    stop: bool = False,
    offset: int | None = None,
) -> Answer:
    request = BrokerHeartbeatRequest(
        broker_id=broker_id,
        broker_epoch=cluster.image.brokers[broker_id].epoch,
        current_metadata_offset=cluster.offset - 1 if offset is None else offset,
        want_fence=fence,
        want_shut_down=stop,
    )
    response = cluster.decide(request)
    assert isinstance(response, BrokerHeartbeatResponse)
    return Answer(response.is_caught_up, response.is_fenced, response.should_shut_down)


def in_state(name: str) -> Cluster:
    """Broker 2 is in this state and, unless it is fenced, leads a partition or not."""
    cluster = Cluster(2)
    if name == "fenced":
        cluster.heartbeat(2, fence=True)
        return cluster
    if name != "unfenced":
        cluster.must_create("river", 4, 1)
    if name == "stopping":
        cluster.heartbeat(2, shut_down=True)
        assert cluster.image.brokers[2].in_controlled_shutdown
    return cluster


@pytest.mark.parametrize(
    ("state", "fence", "stop", "expected"),
    [
        ("fenced", False, False, Answer(True, False, False)),
        ("fenced", True, False, Answer(True, True, False)),
        ("fenced", False, True, Answer(True, True, True)),
        ("fenced", True, True, Answer(True, True, True)),
        ("unfenced", False, False, Answer(True, False, False)),
        ("unfenced", True, False, Answer(True, True, False)),
        ("unfenced", False, True, Answer(True, True, True)),
        ("unfenced", True, True, Answer(True, True, True)),
        ("leading", False, False, Answer(True, False, False)),
        ("leading", True, False, Answer(True, True, False)),
        ("leading", False, True, Answer(True, False, False)),
        ("leading", True, True, Answer(True, True, True)),
        # Broker 1 has not reported the offset of the shutdown yet.
        ("stopping", False, False, Answer(True, False, False)),
        ("stopping", True, False, Answer(True, False, False)),
        ("stopping", False, True, Answer(True, False, False)),
        ("stopping", True, True, Answer(True, False, False)),
    ],
)
def test_the_answer_and_the_registration_follow_the_table(
    state: str, fence: bool, stop: bool, expected: Answer
) -> None:
    cluster = in_state(state)
    assert beat(cluster, fence=fence, stop=stop) == expected
    broker = cluster.image.brokers[2]
    assert broker.fenced == expected.is_fenced
    assert broker.in_controlled_shutdown == (
        state == "stopping" or (state == "leading" and stop and not fence)
    )


def test_a_broker_stops_when_every_active_one_has_seen_it() -> None:
    cluster = Cluster(3)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(2, shut_down=True)
    moved = cluster.offset - 1
    assert not beat(cluster, stop=True).should_shut_down
    beat(cluster, 1, offset=moved)
    beat(cluster, 3, offset=moved - 1)
    assert not beat(cluster, stop=True).should_shut_down
    beat(cluster, 3, offset=moved)
    assert beat(cluster, stop=True) == Answer(True, True, True)


def test_a_fenced_broker_does_not_hold_up_a_shutdown() -> None:
    cluster = Cluster(3)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(3, fence=True)
    cluster.heartbeat(2, shut_down=True)
    beat(cluster, 1, offset=cluster.offset - 1)
    assert beat(cluster, stop=True).should_shut_down


def test_after_a_failover_a_shutdown_waits_for_the_new_term() -> None:
    cluster = Cluster(2)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(2, shut_down=True)
    cluster.controller.activated(0, cluster.image)
    assert not beat(cluster, stop=True).should_shut_down
    beat(cluster, 1)
    assert beat(cluster, stop=True).should_shut_down


def test_leaderships_that_a_failover_left_are_moved_by_the_next_heartbeat() -> None:
    cluster = Cluster(2)
    topic_id = cluster.must_create("river", 1, 2)
    leader = cluster.image.topics_by_name["river"].partitions[0].leader
    epoch = cluster.image.brokers[leader].epoch
    # The first batch of a shutdown, without the changes of partitions that follow it.
    cluster.commit(
        [
            BrokerRegistrationChangeRecord(
                broker_id=leader, broker_epoch=epoch, in_controlled_shutdown=1
            )
        ]
    )
    [record] = cluster.heartbeat(leader, shut_down=True)
    assert isinstance(record, PartitionChangeRecord)
    assert (record.topic_id, record.leader) == (topic_id, 3 - leader)


def test_a_busy_log_does_not_keep_a_broker_fenced() -> None:
    """KAFKA-13959: it has to see its registration, not the end of the log."""
    cluster = Cluster(1)
    cluster.register(2)
    registered = cluster.offset - 1
    noise: list[Message] = [NoOpRecord()]
    cluster.commit(noise * 50)
    assert beat(cluster, offset=registered - 1) == Answer(False, True, False)
    cluster.commit(noise * 50)
    assert beat(cluster, offset=registered) == Answer(True, False, False)


def test_a_broker_sees_its_registration_after_the_records_before_it() -> None:
    """The changes after an unclean shutdown come first, so its epoch is not the offset."""
    cluster = Cluster(1)
    cluster.must_create("river", 3)
    epoch = cluster.offset
    cluster.register(1, incarnation=2)
    assert cluster.offset == epoch + 4
    assert cluster.image.brokers[1].epoch == epoch
    assert beat(cluster, 1, offset=epoch) == Answer(False, True, False)
    assert beat(cluster, 1, offset=epoch + 3) == Answer(True, False, False)


def test_a_heartbeat_that_overtook_another_does_not_take_back_its_offset() -> None:
    """KAFKA-15950: the earlier one is late, and reports less."""
    cluster = Cluster(2)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(2, shut_down=True)
    beat(cluster, 1, offset=cluster.offset - 1)
    beat(cluster, 1, offset=1)
    assert beat(cluster, stop=True).should_shut_down


def test_a_heartbeat_from_before_a_shutdown_does_not_bring_a_stopped_broker_back() -> None:
    cluster = Cluster(2)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(2, shut_down=True)
    beat(cluster, 1)
    assert beat(cluster, stop=True).should_shut_down
    assert beat(cluster) == Answer(True, True, False)
    assert not any(
        partition.leader == 2
        for partition in cluster.image.topics_by_name["river"].partitions.values()
    )


def test_a_broker_is_not_unfenced_with_the_report_of_a_failed_disk() -> None:
    """It would lead the replicas on that disk."""
    cluster = Cluster(2)
    cluster.must_create("river", 4, 1)
    cluster.heartbeat(2, fence=True)
    request = BrokerHeartbeatRequest(
        broker_id=2,
        broker_epoch=cluster.image.brokers[2].epoch,
        current_metadata_offset=cluster.offset,
        offline_log_dirs=list(cluster.image.brokers[2].log_dirs),
    )
    assert cluster.decide(request).is_fenced


def test_a_heartbeat_during_a_metadata_transaction_extends_the_session() -> None:
    """KAFKA-15441: a long transaction must not cost brokers their sessions."""
    cluster = Cluster(2)
    cluster.commit([BeginTransactionRecord(name="long")])
    cluster.now_ms = 9000
    assert beat(cluster, 2) == Answer(True, False, False)
    cluster.now_ms = 10_000
    assert cluster.controller.state.sessions.is_alive(cluster.image.brokers[2], 10_000)
    assert not cluster.controller.state.sessions.is_alive(cluster.image.brokers[1], 10_000)


def test_the_same_wish_twice_changes_nothing_the_second_time() -> None:
    cluster = Cluster(2)
    assert len(cluster.heartbeat(2, fence=True)) == 1
    assert cluster.heartbeat(2, fence=True) == []
    assert cluster.heartbeat(2, shut_down=True) == []
