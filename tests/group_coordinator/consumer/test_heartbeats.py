"""What a heartbeat may say, who is believed, and which records follow."""

from collections.abc import Callable

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from moldau.protocol.records.group_coordinator import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from tests.group_coordinator.consumer.cluster import (
    GROUP,
    Cluster,
    Consumer,
    settle,
    topic_id,
)

FOO = topic_id("foo")


def cluster_with_foo(partitions: int = 4, settings: dict[str, str] | None = None) -> Cluster:
    cluster = Cluster(settings)
    cluster.create_topic("foo", partitions)
    return cluster


def joining(**changes: object) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="a",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["foo"],
        topic_partitions=[],
    )
    for name, value in changes.items():
        setattr(request, name, value)
    return request


@pytest.mark.parametrize(
    "changes",
    [
        {"member_id": ""},
        {"group_id": " "},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": [TopicPartitions(topic_id=FOO, partitions=[0])]},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_an_invalid_request(
    changes: dict[str, object],
) -> None:
    cluster = cluster_with_foo()
    response = cluster.heartbeat(joining(**changes))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert cluster.log == []


def test_only_version_zero_lets_the_broker_choose_the_member_id() -> None:
    response = cluster_with_foo().heartbeat(joining(member_id=""), version=0)
    assert response.error_code == 0
    assert response.member_id is not None
    assert len(response.member_id) == 22


def test_an_assignor_must_be_one_of_the_brokers() -> None:
    cluster = cluster_with_foo(settings={"group.consumer.assignors": "range"})
    response = cluster.heartbeat(joining(server_assignor="uniform"))
    assert response.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert cluster.heartbeat(joining(server_assignor="range")).error_code == 0


def test_the_assignor_that_most_members_ask_for_is_used_and_shown() -> None:
    cluster = cluster_with_foo()
    cluster.create_topic("bar", 1)
    topics = ("foo", "bar")
    members = [
        Consumer(cluster, "a", topics).join(),
        Consumer(cluster, "b", topics, assignor="range").join(),
        Consumer(cluster, "c", topics, assignor="range").join(),
    ]
    settle(members)
    described = cluster.shard.consumer_group_describe([GROUP])[0]
    assert described.assignor_name == "range"
    assert [member.has for member in members] == ["bar:0 foo:0,1", "foo:2", "foo:3"]


def test_an_unknown_group_is_not_found_and_an_unknown_member_not_known() -> None:
    cluster = cluster_with_foo()
    assert cluster.heartbeat(joining(member_epoch=1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert cluster.heartbeat(joining(member_epoch=-1)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    Consumer(cluster, "a").join()
    for epoch in (1, -1):
        response = cluster.heartbeat(joining(member_id="x", member_epoch=epoch))
        assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_epochs_from_the_future_and_the_distant_past_are_fenced() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    b = Consumer(cluster, "b").join()
    settle([a, b])
    for epoch in (a.epoch + 1, 1):
        a.epoch = epoch
        a.beat_as_is()
        assert a.error == ErrorCode.FENCED_MEMBER_EPOCH
    a.join()
    assert a.error == 0


def test_the_previous_epoch_is_accepted_when_the_answer_may_have_been_lost() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    Consumer(cluster, "b").join()
    a.beat()
    before = a.epoch
    a.beat()
    assert a.epoch == before + 1
    after = a.epoch
    a.epoch = before
    a.beat_as_is()
    assert (a.error, a.epoch) == (0, after)
    # But not from a member that has what it was told to give up.
    a.epoch = before
    a.owned[FOO] = {0, 1, 2, 3}
    a.beat_as_is()
    assert a.error == ErrorCode.FENCED_MEMBER_EPOCH


def test_the_group_size_is_limited() -> None:
    cluster = cluster_with_foo(settings={"group.consumer.max.size": "2"})
    a = Consumer(cluster, "a").join()
    Consumer(cluster, "b").join()
    c = Consumer(cluster, "c").join()
    assert c.error == ErrorCode.GROUP_MAX_SIZE_REACHED
    a.join()
    assert a.error == 0
    a.leave()
    c.join()
    assert c.error == 0


def test_a_stable_member_writes_nothing_and_hears_nothing_new() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    a.beat()
    request = a._heartbeat()
    request.topic_partitions = None
    response = cluster.heartbeat(request)
    assert cluster.last_records == []
    assert response.assignment is None
    assert response.heartbeat_interval_ms == 5000


def test_a_full_request_is_answered_with_the_assignment() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    a.beat()
    request = a._heartbeat(subscribed_topic_names=["foo"])
    request.rebalance_timeout_ms = 30_000
    assert cluster.heartbeat(request).assignment is not None
    assert cluster.last_records == []


def test_the_settings_of_the_group_win_over_the_brokers() -> None:
    cluster = cluster_with_foo()
    cluster.configure_group(
        {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "50000"}
    )
    assert cluster.heartbeat(joining()).heartbeat_interval_ms == 7000
    cluster.pass_time(49_000)
    assert list(cluster.group.members) == ["a"]
    cluster.pass_time(2_000)
    assert list(cluster.group.members) == []


def test_a_groups_own_settings_count_within_the_brokers_bounds() -> None:
    """The bounds may have moved since the group's setting was checked against them."""
    bounds = {
        "group.consumer.max.heartbeat.interval.ms": "6000",
        "group.consumer.min.session.timeout.ms": "40000",
        "group.consumer.max.assignment.interval.ms": "2000",
    }
    cluster = Cluster(bounds)
    cluster.create_topic("foo", 3)
    cluster.configure_group(
        {
            "consumer.heartbeat.interval.ms": "7000",
            "consumer.session.timeout.ms": "10000",
            "consumer.assignment.interval.ms": "60000",
        }
    )
    assert cluster.heartbeat(joining()).heartbeat_interval_ms == 6000
    cluster.pass_time(39_000)
    assert list(cluster.group.members) == ["a"]
    cluster.heartbeat(joining(member_id="b"))
    assert cluster.group.assignment_epoch == cluster.group.group_epoch
    cluster.pass_time(1_000)
    assert list(cluster.group.members) == ["b"]


def test_members_that_expire_together_cost_one_epoch() -> None:
    cluster = cluster_with_foo()
    members = [Consumer(cluster, name).join() for name in "abc"]
    settle(members)
    cluster.pass_time(1_000)
    members[2].beat()
    epoch = cluster.group.group_epoch
    cluster.pass_time(44_500)
    assert list(cluster.group.members) == ["c"]
    assert cluster.group.group_epoch == epoch + 1


def test_the_last_to_leave_leaves_an_empty_group_that_can_be_joined_again() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    a.leave()
    assert cluster.state == "Empty"
    assert cluster.group.metadata_hash == 0
    b = Consumer(cluster, "b").join()
    assert b.has == "foo:0,1,2,3"
    assert cluster.state == "Stable"


def test_topics_that_do_not_exist_yet_are_assigned_when_they_do() -> None:
    cluster = Cluster()
    a = Consumer(cluster, "a", ("later",)).join()
    assert (a.has, cluster.state) == ("", "Stable")
    cluster.create_topic("later", 2)
    a.beat()
    assert a.has == "later:0,1"


def test_a_deleted_topic_leaves_the_assignment() -> None:
    cluster = cluster_with_foo()
    cluster.create_topic("bar", 1)
    a = Consumer(cluster, "a", ("foo", "bar")).join()
    a.beat()
    cluster.delete_topic("foo")
    a.beat()
    a.beat()
    assert (a.has, cluster.state) == ("bar:0", "Stable")


def test_a_topic_that_is_created_anew_is_another_topic() -> None:
    cluster = cluster_with_foo(2)
    a = Consumer(cluster, "a").join()
    a.beat()
    epoch = a.epoch
    cluster.delete_topic("foo")
    cluster.create_topic("foo", 2)
    # The test's topics keep their id by name; a new partition makes the difference here.
    cluster.add_partitions("foo", 1)
    a.beat()
    assert a.epoch > epoch
    assert a.has == "foo:0,1,2"


def test_a_state_that_only_a_newer_version_knows_makes_the_member_begin_anew() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    a.beat()
    member = cluster.group.members["a"]._replace(state=55)
    record = records.current_record(GROUP, member)
    cluster.shard.replay(record.key, record.value)
    Consumer(cluster, "b").join()
    a.beat_as_is()
    assert a.error == ErrorCode.FENCED_MEMBER_EPOCH
    a.join()
    assert a.error == 0


def test_partition_metadata_of_older_versions_is_deleted() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    key = ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    cluster.shard.replay(key, ConsumerGroupPartitionMetadataValue())
    cluster.add_partitions("foo", 1)
    a.beat()
    assert records.partition_metadata_tombstone(GROUP) in cluster.last_records


def test_the_first_join_writes_member_epoch_target_and_assignment_in_this_order() -> None:
    cluster = cluster_with_foo(2)
    Consumer(cluster, "a", rack_id="east").join()
    assert [type(record.key).__name__ for record in cluster.last_records] == [
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMetadataKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
    ]
    member = cluster.last_records[0]
    assert member.key == ConsumerGroupMemberMetadataKey(group_id=GROUP, member_id="a")
    assert member.value == ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id="east",
        client_id="client",
        client_host="/127.0.0.1",
        subscribed_topic_names=["foo"],
        subscribed_topic_regex="",
        rebalance_timeout_ms=30_000,
        server_assignor=None,
        classic_member_metadata=None,
    )


def test_describe_shows_what_members_have_and_should_have() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a", instance_id="one", rack_id="east").join()
    a.beat()
    Consumer(cluster, "b").join()
    a.beat_as_is()
    group, missing = cluster.shard.consumer_group_describe([GROUP, "other"])
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    member = group.members[0]
    assert (member.member_id, member.instance_id, member.rack_id) == ("a", "one", "east")
    assert (member.member_epoch, member.member_type) == (2, 1)
    # What it is asked to give up is still its own.
    assert [topic.partitions for topic in member.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert [topic.partitions for topic in member.target_assignment.topic_partitions] == [[0, 1]]
    assert member.target_assignment.topic_partitions[0].topic_name == "foo"
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("compact", [False, True])
def test_another_broker_goes_on_where_this_one_stopped(compact: bool) -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a", instance_id="one").join()
    b = Consumer(cluster, "b", None, regex="f.*").join()
    a.beat()
    before = cluster.shard.consumer_group_describe([GROUP])
    cluster.reload(compact)
    assert cluster.shard.consumer_group_describe([GROUP]) == before
    settle([a, b])
    assert (a.has, b.has) == ("foo:0,1", "foo:2,3")


def test_after_a_reload_members_have_a_whole_session_and_then_go() -> None:
    cluster = cluster_with_foo()
    a = Consumer(cluster, "a").join()
    a.beat()
    Consumer(cluster, "b").join()
    a.beat_as_is()
    cluster.pass_time(29_000)
    cluster.reload()
    cluster.pass_time(29_000)
    assert list(cluster.group.members) == ["a", "b"]
    # a has to revoke partitions within its rebalance timeout.
    cluster.pass_time(2_000)
    assert list(cluster.group.members) == ["b"]
    cluster.pass_time(15_000)
    assert list(cluster.group.members) == []


def _tell_nobody(_: Consumer) -> None: ...


@pytest.mark.parametrize("meanwhile", [_tell_nobody, Consumer.beat_in_silence])
def test_a_member_that_says_nothing_about_its_partitions_has_not_given_them_up(
    meanwhile: Callable[[Consumer], None],
) -> None:
    cluster = cluster_with_foo(2)
    a = Consumer(cluster, "a").join()
    a.beat()
    b = Consumer(cluster, "b").join()
    a.beat_in_silence()
    meanwhile(a)
    b.beat()
    assert (a.has, b.has) == ("foo:0", "")
