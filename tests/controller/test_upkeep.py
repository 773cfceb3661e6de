"""Elections of the controller itself, and when they are due."""

import pytest

from moldau.controller import upkeep as upkeep_module
from moldau.controller.outcome import decided
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.records.metadata import PartitionChangeRecord
from tests.controller.cluster import Cluster
from tests.controller.test_alter_partition import partition, placed

FIVE_MINUTES_MS = 300_000


def alive(cluster: Cluster, until_ms: int, *brokers: int) -> list[Message]:
    """Let time pass while these brokers send heartbeats; returns what the controller did."""
    records: list[Message] = []
    while cluster.now_ms < until_ms:
        cluster.now_ms = min(cluster.now_ms + 1000, until_ms)
        for broker in brokers:
            cluster.heartbeat(broker)
        for _ in range(4):
            records += cluster.upkeep()
    return records


def led_by_another(brokers: int = 3, **settings: str) -> Cluster:
    """Broker 1 is preferred and in the ISR, but broker 2 leads."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    cluster = Cluster(brokers, settings=named)
    topic_id = cluster.must_create("river", 1, brokers)
    preferred, other = cluster.image.topics_by_name["river"].partitions[0].replicas[:2]
    assert preferred != other
    cluster.commit([PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=other)])
    return cluster


def test_leadership_goes_back_to_the_preferred_replica_every_five_minutes() -> None:
    cluster = led_by_another()
    assert alive(cluster, FIVE_MINUTES_MS - 1, 1, 2, 3) == []
    [record] = alive(cluster, FIVE_MINUTES_MS, 1, 2, 3)
    assert isinstance(record, PartitionChangeRecord)
    current = partition(cluster)
    assert (record.leader, record.isr) == (current.replicas[0], None)
    assert current.leader == current.preferred_leader
    assert alive(cluster, 3 * FIVE_MINUTES_MS, 1, 2, 3) == []


def test_the_interval_and_the_switch_are_settings() -> None:
    cluster = led_by_another(leader_imbalance_check_interval_seconds="10")
    assert len(alive(cluster, 10_000, 1, 2, 3)) == 1
    cluster = led_by_another(auto_leader_rebalance_enable="false")
    assert alive(cluster, 2 * FIVE_MINUTES_MS, 1, 2, 3) == []


def test_a_preferred_replica_that_is_not_in_sync_waits() -> None:
    cluster = led_by_another()
    preferred = partition(cluster).replicas[0]
    cluster.heartbeat(preferred, fence=True)
    rest = [broker for broker in (1, 2, 3) if broker != preferred]
    assert alive(cluster, FIVE_MINUTES_MS, *rest) == []


def test_many_elections_take_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep_module, "MAX_ELECTIONS_PER_ROUND", 4)
    cluster = Cluster(2)
    topic_id = cluster.must_create("river", 10, 2)
    cluster.commit(
        [
            PartitionChangeRecord(
                topic_id=topic_id, partition_id=index, leader=registration.replicas[1]
            )
            for index, registration in cluster.image.topics_by_name["river"].partitions.items()
        ]
    )
    alive(cluster, FIVE_MINUTES_MS - 1000, 1, 2)
    cluster.now_ms = FIVE_MINUTES_MS
    cluster.heartbeat(1)
    cluster.heartbeat(2)
    counts = [len(cluster.upkeep()) for _ in range(4)]
    assert counts == [4, 4, 2, 0]
    assert cluster.controller.deadline_ms is not None
    assert cluster.controller.deadline_ms > FIVE_MINUTES_MS


def lost() -> Cluster:
    """Broker 1 led with broker 2 out of sync, and disappeared."""
    cluster = placed([1, 2], brokers=3, level=25)
    topic_id = cluster.image.topics_by_name["river"].id
    cluster.commit([PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=[1])])
    cluster.heartbeat(1, fence=True)
    assert partition(cluster).leader == -1
    return cluster


def test_an_unclean_leader_is_elected_once_its_topic_allows_it() -> None:
    cluster = lost()
    assert alive(cluster, 2 * FIVE_MINUTES_MS, 2, 3) == []
    cluster.configure("river", "unclean.leader.election.enable", "true")
    [record] = alive(cluster, 3 * FIVE_MINUTES_MS, 2, 3)
    assert isinstance(record, PartitionChangeRecord)
    after = partition(cluster)
    assert (after.leader, after.isr, after.leader_recovery_state) == (2, (2,), 1)


def test_other_topics_are_not_elected_uncleanly() -> None:
    cluster = lost()
    cluster.must_create("lake")
    cluster.configure("lake", "unclean.leader.election.enable", "true")
    assert alive(cluster, 2 * FIVE_MINUTES_MS, 2, 3) == []


def test_a_term_begins_with_whole_intervals() -> None:
    cluster = led_by_another()
    alive(cluster, FIVE_MINUTES_MS - 1000, 1, 2, 3)
    cluster.controller.activated(cluster.now_ms, cluster.image)
    assert alive(cluster, 2 * FIVE_MINUTES_MS - 2000, 1, 2, 3) == []
    assert len(alive(cluster, 2 * FIVE_MINUTES_MS, 1, 2, 3)) == 1


def test_a_new_controller_elects_the_leaders_that_its_predecessor_did_not() -> None:
    """A broker is unfenced before its partitions get it as their leader; the rest may be lost."""
    cluster = Cluster(2, settings={"auto.leader.rebalance.enable": "false"})
    cluster.must_create("river", 10, 1)
    led = [
        index
        for index, each in cluster.image.topics_by_name["river"].partitions.items()
        if each.leader == 2
    ]
    assert len(led) > 1
    cluster.heartbeat(2, fence=True)
    request = BrokerHeartbeatRequest(
        broker_id=2,
        broker_epoch=cluster.image.brokers[2].epoch,
        current_metadata_offset=cluster.offset,
    )
    unfenced, first, *_ = cluster.controller.broker_heartbeat(request, cluster.now_ms).records
    cluster.commit([unfenced, first])
    cluster.controller.activated(cluster.now_ms, cluster.image)
    deadline_ms = cluster.controller.deadline_ms
    assert deadline_ms is not None
    cluster.now_ms = deadline_ms
    assert len(cluster.upkeep()) == len(led) - 1
    assert cluster.upkeep() == []
    partitions = cluster.image.topics_by_name["river"].partitions
    assert [partitions[index].leader for index in led] == [2] * len(led)


def test_what_was_due_is_described_for_the_log_of_the_node() -> None:
    cluster = led_by_another()
    alive(cluster, FIVE_MINUTES_MS - 1000, 1, 2, 3)
    cluster.now_ms = FIVE_MINUTES_MS
    outcome = decided(cluster.controller.upkeep(cluster.now_ms))
    assert outcome.response == "1 partition(s) get their preferred leaders back"
    cluster = led_by_another()
    alive(cluster, 9000, 1, 2)
    cluster.now_ms += 1000
    epoch = cluster.image.brokers[3].epoch
    outcome = decided(cluster.controller.upkeep(cluster.now_ms))
    assert outcome.response == (
        f"broker 3 at epoch {epoch} is fenced because its session has timed out; it leaves the "
        "ISR of 1 partition(s)"
    )
    assert decided(Cluster(1).controller.upkeep(0)).response is None
