"""Reassignments of replicas: started, completed by the ISR, replaced, cancelled (KIP-455)."""

import pytest

from moldau.errors import ErrorCode
from moldau.metadata.registrations import UNASSIGNED_DIRECTORY
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from moldau.protocol.records.metadata import PartitionChangeRecord
from tests.controller.cluster import Cluster
from tests.controller.test_alter_partition import alter, partition, placed, wanted_isr


def reassign(
    cluster: Cluster,
    replicas: list[int] | None,
    *,
    may_change_factor: bool = True,
    name: str = "river",
    index: int = 0,
) -> tuple[int, str]:
    wanted = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=name, partitions=[wanted])],
        allow_replication_factor_change=may_change_factor,
    )
    response = cluster.decide(request)
    assert response.allow_replication_factor_change == may_change_factor
    [answered] = response.responses
    [result] = answered.partitions
    assert (answered.name, result.partition_index) == (name, index)
    return result.error_code, result.error_message or ""


def moving(cluster: Cluster) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Replicas, those being added, those being removed."""
    current = partition(cluster)
    return current.replicas, current.adding_replicas, current.removing_replicas


def test_new_replicas_are_added_first_and_old_ones_removed_when_those_are_in_sync() -> None:
    cluster = placed([1, 2, 3], brokers=5)
    assert reassign(cluster, [1, 4, 5]) == (0, "")
    assert moving(cluster) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))
    assert (partition(cluster).isr, partition(cluster).leader_epoch) == ((1, 2, 3), 0)
    alter(cluster, wanted_isr(cluster, [1, 2, 3, 4]))
    assert moving(cluster) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))
    [done] = alter(cluster, wanted_isr(cluster, [1, 2, 3, 4, 5]))
    assert moving(cluster) == ((1, 4, 5), (), ())
    # A removed replica cannot fetch any more: the leader epoch is new.
    assert (done.error_code, done.isr, done.leader_epoch) == (0, [1, 4, 5], 1)


def test_an_old_leader_hears_that_another_one_leads() -> None:
    cluster = placed([1, 2], brokers=3)
    reassign(cluster, [3, 2])
    [answer] = alter(cluster, wanted_isr(cluster, [1, 2, 3]))
    assert answer.error_code == ErrorCode.NEW_LEADER_ELECTED
    after = partition(cluster)
    assert (after.replicas, after.leader, after.leader_epoch) == ((3, 2), 3, 1)
    assert after.isr == (2, 3)


def test_a_reassignment_whose_replicas_are_in_sync_is_complete_at_once() -> None:
    cluster = placed([1, 2, 3])
    assert reassign(cluster, [3, 2, 1]) == (0, "")
    assert moving(cluster) == ((3, 2, 1), (), ())
    assert (partition(cluster).leader, partition(cluster).leader_epoch) == (1, 0)
    assert reassign(cluster, [3, 2]) == (0, "")
    assert moving(cluster) == ((3, 2), (), ())
    assert partition(cluster).leader == 3


def test_what_is_so_already_needs_no_record() -> None:
    cluster = placed([1, 2, 3])
    end = cluster.offset
    assert reassign(cluster, [1, 2, 3]) == (0, "")
    assert cluster.offset == end


def test_fewer_replicas_wait_until_all_that_remain_are_in_sync() -> None:
    cluster = placed([1, 2, 3])
    alter(cluster, wanted_isr(cluster, [1, 2]))
    reassign(cluster, [1, 3])
    assert moving(cluster) == ((1, 3, 2), (), (2,))
    alter(cluster, wanted_isr(cluster, [1, 2, 3]))
    assert moving(cluster) == ((1, 3), (), ())


def test_a_sick_replica_that_stays_does_not_hold_up_the_others() -> None:
    """KAFKA-19975: only the new replicas must be in sync, if there are as many as before."""
    cluster = placed([1, 2, 3])
    alter(cluster, wanted_isr(cluster, [1, 3]))
    reassign(cluster, [1, 2, 4])
    alter(cluster, wanted_isr(cluster, [1, 3, 4]))
    assert moving(cluster) == ((1, 2, 4), (), ())
    assert partition(cluster).isr == (1, 4)


def test_another_target_replaces_the_one_under_way() -> None:
    cluster = placed([1, 2, 3], brokers=5)
    reassign(cluster, [1, 2, 4])
    assert moving(cluster) == ((1, 2, 4, 3), (4,), (3,))
    reassign(cluster, [1, 2, 5])
    assert moving(cluster) == ((1, 2, 5, 3, 4), (5,), (3, 4))


def test_a_target_without_some_that_are_being_added_does_not_wait_for_them() -> None:
    """Those that the first target was adding are in the list already, so none is new."""
    cluster = placed([1, 2, 3], brokers=6)
    reassign(cluster, [4, 5, 6])
    reassign(cluster, [1, 2, 4])
    assert moving(cluster) == ((1, 2, 4, 3, 5, 6), (4,), (3, 5, 6))
    alter(cluster, wanted_isr(cluster, [1, 2, 3, 4]))
    assert moving(cluster) == ((1, 2, 4), (), ())


def test_the_first_replicas_as_the_next_target_end_a_reassignment() -> None:
    cluster = placed([1, 2, 3], brokers=6)
    reassign(cluster, [4, 5, 6])
    reassign(cluster, [1, 2, 3])
    assert moving(cluster) == ((1, 2, 3), (), ())
    assert partition(cluster).isr == (1, 2, 3)


def test_a_target_with_some_that_are_being_removed_keeps_them() -> None:
    cluster = placed([1, 2, 3])
    reassign(cluster, [1, 2, 4])
    reassign(cluster, [1, 2, 3, 4])
    assert moving(cluster) == ((1, 2, 3, 4), (4,), ())
    alter(cluster, wanted_isr(cluster, [1, 2, 3, 4]))
    assert moving(cluster) == ((1, 2, 3, 4), (), ())
    assert partition(cluster).isr == (1, 2, 3, 4)


def test_the_same_target_again_changes_nothing() -> None:
    cluster = placed([1, 2, 3], brokers=5)
    reassign(cluster, [1, 4, 5])
    alter(cluster, wanted_isr(cluster, [1, 2, 3, 4]))
    end = cluster.offset
    reassign(cluster, [1, 4, 5])
    assert cluster.offset == end
    assert moving(cluster) == ((1, 4, 5, 2, 3), (4, 5), (2, 3))


def test_a_cancelled_reassignment_leaves_the_replicas_as_they_were() -> None:
    cluster = placed([1, 2, 3])
    reassign(cluster, [4, 2, 3])
    assert reassign(cluster, None) == (0, "")
    assert moving(cluster) == ((2, 3, 1), (), ())
    assert (partition(cluster).leader, partition(cluster).leader_epoch) == (1, 1)
    assert reassign(cluster, None) == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "")


@pytest.mark.parametrize("is_unclean", [False, True])
def test_cancelling_may_need_an_unclean_election(is_unclean: bool) -> None:
    cluster = placed([1, 2], brokers=4)
    reassign(cluster, [3, 4])
    topic_id = cluster.image.topics_by_name["river"].id
    cluster.commit([PartitionChangeRecord(topic_id=topic_id, partition_id=0, isr=[3], leader=3)])
    if is_unclean:
        cluster.configure("river", "unclean.leader.election.enable", "true")
        assert reassign(cluster, None) == (0, "")
        after = partition(cluster)
        assert (after.replicas, after.leader, after.isr) == ((1, 2), 1, (1,))
        assert after.leader_recovery_state == 1
        return
    code, message = reassign(cluster, None)
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert message == (
        "Unable to revert partition assignment for river:0 because it would require an unclean "
        "leader election."
    )


def test_cancelling_while_all_replicas_are_fenced_puts_none_of_them_into_the_isr() -> None:
    cluster = placed([1, 2], brokers=3)
    cluster.configure("river", "unclean.leader.election.enable", "true")
    reassign(cluster, [3, 2])
    for broker in (1, 2, 3):
        cluster.heartbeat(broker, fence=True)
    assert reassign(cluster, None) == (0, "")
    after = partition(cluster)
    assert (after.replicas, after.isr, after.leader) == ((2, 1), (), -1)


@pytest.mark.parametrize(
    ("replicas", "code", "message"),
    [
        ([9], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes broker 9, but no such broker is"),
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes an empty replica list."),
        ([2, 2], ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes the broker 2 more than once."),
    ],
)
def test_targets_that_cannot_be_say_why(replicas: list[int], code: int, message: str) -> None:
    actual = reassign(placed([1, 2, 3]), replicas)
    assert actual[0] == code
    assert message in actual[1]


def test_the_number_of_replicas_changes_only_if_that_is_allowed() -> None:
    """KIP-860: with a reassignment under way, the number that it leads to counts."""
    cluster = placed([1, 2, 3])
    code, message = reassign(cluster, [1, 2], may_change_factor=False)
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert message == "The replication factor is changed from 3 to 2"
    assert reassign(cluster, [1, 2, 4], may_change_factor=False) == (0, "")
    assert reassign(cluster, [1, 4, 3], may_change_factor=False) == (0, "")


def test_unknown_topics_and_partitions() -> None:
    cluster = placed([1, 2, 3])
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert reassign(cluster, [1], name="lake") == (code, "Unable to find a topic named lake.")
    assert reassign(cluster, [1], index=7) == (code, "Unable to find partition river:7.")


def test_a_new_replica_is_in_the_only_directory_of_its_broker() -> None:
    cluster = placed([1, 2, 3])
    reassign(cluster, [1, 2, 4])
    directories = partition(cluster).directories
    assert directories == tuple(bytes([100 + broker]) * 16 for broker in (1, 2, 4, 3))
    assert UNASSIGNED_DIRECTORY not in directories


def test_ongoing_reassignments_are_listed() -> None:
    cluster = placed([1, 2, 3])
    cluster.must_create("lake")
    everything = ListPartitionReassignmentsRequest(topics=None)
    assert cluster.decide(everything).topics == []
    reassign(cluster, [1, 2, 4])
    [listed] = cluster.decide(everything).topics
    [ongoing] = listed.partitions
    assert (listed.name, ongoing.replicas) == ("river", [1, 2, 4, 3])
    assert (ongoing.adding_replicas, ongoing.removing_replicas) == ([4], [3])
    named = ListPartitionReassignmentsRequest(
        topics=[
            ListPartitionReassignmentsTopics(name="pond", partition_indexes=[0]),
            ListPartitionReassignmentsTopics(name="river", partition_indexes=[0, 1]),
        ]
    )
    assert [each.name for each in cluster.decide(named).topics] == ["river"]
