"""ElectLeaders, and reassignments."""

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.records.metadata import PartitionChangeRecord
from tests.controller.cluster import Cluster

PREFERRED, UNCLEAN = 0, 1


def elect(
    cluster: Cluster, election: int, topic: str = "river", partition: int = 0
) -> tuple[int, str | None]:
    request = ElectLeadersRequest(
        election_type=election,
        topic_partitions=[TopicPartitions(topic=topic, partitions=[partition])],
    )
    outcome = cluster.controller.elect_leaders(request)
    cluster.commit(outcome.records)
    result = outcome.response.replica_election_results[0].partition_result[0]
    return result.error_code, result.error_message


def three_replicas() -> Cluster:
    cluster = Cluster(3)
    cluster.must_create("river", 1, 3)
    return cluster


def reassign(
    cluster: Cluster, replicas: list[int] | None, *, may_change_factor: bool = True
) -> tuple[int, str]:
    partition = ReassignablePartition(partition_index=0, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="river", partitions=[partition])],
        allow_replication_factor_change=may_change_factor,
    )
    outcome = cluster.controller.alter_partition_reassignments(request)
    cluster.commit(outcome.records)
    result = outcome.response.responses[0].partitions[0]
    return result.error_code, result.error_message or ""


def test_the_preferred_replica_gets_its_leadership_back() -> None:
    cluster = three_replicas()
    before = cluster.image.partition("river", 0)
    assert before is not None
    preferred, other = before.replicas[:2]
    topic_id = cluster.image.topics_by_name["river"].id
    cluster.commit([PartitionChangeRecord(topic_id=topic_id, partition_id=0, leader=other)])
    assert elect(cluster, PREFERRED) == (0, None)
    after = cluster.image.partition("river", 0)
    assert after is not None
    assert after.leader == preferred


def test_a_single_node_needs_no_election() -> None:
    cluster = Cluster()
    cluster.must_create("river")
    assert elect(cluster, PREFERRED)[0] == ErrorCode.ELECTION_NOT_NEEDED
    assert elect(cluster, UNCLEAN)[0] == ErrorCode.ELECTION_NOT_NEEDED
    assert elect(cluster, PREFERRED, "lake") == (3, "No such topic as lake")
    assert elect(cluster, PREFERRED, partition=7) == (3, "No such partition as river-7")
    everything = cluster.controller.elect_leaders(ElectLeadersRequest(topic_partitions=None))
    assert [each.partition_result for each in everything.response.replica_election_results] == [[]]


def test_nobody_can_be_elected_while_all_replicas_are_fenced() -> None:
    cluster = Cluster()
    cluster.must_create("river")
    cluster.heartbeat(fence=True)
    assert elect(cluster, PREFERRED)[0] == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert elect(cluster, UNCLEAN)[0] == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


def test_an_unknown_election_is_refused() -> None:
    expected = (ErrorCode.INVALID_REQUEST, "Unknown election type 5")
    assert elect(Cluster(), 5) == expected
    everything = ElectLeadersRequest(election_type=5, topic_partitions=None)
    response = Cluster().controller.elect_leaders(everything).response
    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_a_reassignment_adds_first_and_removes_when_the_new_ones_are_in_sync() -> None:
    cluster = Cluster(3)
    cluster.must_create("river", 1, 1)
    before = cluster.image.partition("river", 0)
    assert before is not None
    [old] = before.replicas
    new = old % 3 + 1
    assert reassign(cluster, [new]) == (0, "")
    moving = cluster.image.partition("river", 0)
    assert moving is not None
    assert moving.replicas == (new, old)
    assert (moving.adding_replicas, moving.removing_replicas) == ((new,), (old,))
    request = ListPartitionReassignmentsRequest(topics=None)
    [listed] = cluster.decide(request).topics
    assert (listed.name, listed.partitions[0].adding_replicas) == ("river", [new])
    assert reassign(cluster, None) == (0, "")
    reverted = cluster.image.partition("river", 0)
    assert reverted is not None
    assert (reverted.replicas, reverted.is_reassigning) == ((old,), False)


def test_a_new_order_of_the_same_replicas_is_done_at_once() -> None:
    cluster = three_replicas()
    before = cluster.image.partition("river", 0)
    assert before is not None
    assert reassign(cluster, list(reversed(before.replicas))) == (0, "")
    after = cluster.image.partition("river", 0)
    assert after is not None
    assert after.replicas == tuple(reversed(before.replicas))
    assert not after.is_reassigning


@pytest.mark.parametrize(
    ("replicas", "may_change_factor", "code"),
    [
        (None, True, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ([9], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([], True, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 2], False, ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_what_cannot_be_moved_says_why(
    replicas: list[int] | None, may_change_factor: bool, code: int
) -> None:
    assert reassign(three_replicas(), replicas, may_change_factor=may_change_factor)[0] == code


def test_unknown_topics_have_nothing_on_the_move() -> None:
    wanted = [ListPartitionReassignmentsTopics(name="lake", partition_indexes=[0])]
    request = ListPartitionReassignmentsRequest(topics=wanted)
    assert Cluster().decide(request).topics == []
