"""Static members: a restart within the session moves nothing (KIP-345, KIP-848)."""

from moldau.errors import ErrorCode
from tests.group_coordinator.consumer.cluster import Cluster, Consumer, settle


def two_static_members() -> tuple[Cluster, Consumer, Consumer]:
    cluster = Cluster()
    cluster.create_topic("foo", 4)
    a = Consumer(cluster, "a1", instance_id="a").join()
    b = Consumer(cluster, "b1", instance_id="b").join()
    settle([a, b])
    return cluster, a, b


def test_an_instance_that_comes_back_has_its_partitions_and_nobody_notices() -> None:
    cluster, a, b = two_static_members()
    epoch = cluster.group.group_epoch
    had = a.has
    a.leave(epoch=-2)
    assert cluster.group.members["a1"].member_epoch == -2
    again = Consumer(cluster, "a2", instance_id="a").join()
    assert (again.error, again.has) == (0, had)
    assert cluster.group.group_epoch == epoch
    assert sorted(cluster.group.members) == ["a2", "b1"]
    b.beat()
    assert (b.error, b.epoch, cluster.state) == (0, epoch, "Stable")


def test_it_may_come_back_under_the_same_member_id() -> None:
    cluster, a, _ = two_static_members()
    had = a.has
    a.leave(epoch=-2)
    a.join()
    assert (a.error, a.has) == (0, had)
    cluster.pass_time(44_000)
    assert "a1" in cluster.group.members


def test_an_instance_that_is_still_there_is_not_released() -> None:
    cluster, _, _ = two_static_members()
    log_size = len(cluster.log)
    other = Consumer(cluster, "a2", instance_id="a").join()
    assert other.error == ErrorCode.UNRELEASED_INSTANCE_ID
    assert len(cluster.log) == log_size


def test_the_old_self_is_fenced_once_it_is_replaced() -> None:
    cluster, a, _ = two_static_members()
    owned, epoch = a.owned, a.epoch
    a.leave(epoch=-2)
    Consumer(cluster, "a2", instance_id="a").join()
    a.owned, a.epoch = owned, epoch
    a.beat_as_is()
    assert a.error == ErrorCode.FENCED_INSTANCE_ID
    a.leave()
    assert a.error == ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_nobody_knows_is_no_member() -> None:
    cluster, a, _ = two_static_members()
    a.instance_id = "z"
    a.beat()
    assert a.error == ErrorCode.UNKNOWN_MEMBER_ID
    assert sorted(cluster.group.members) == ["a1", "b1"]


def test_who_does_not_come_back_within_its_session_is_out() -> None:
    cluster, a, b = two_static_members()
    a.leave(epoch=-2)
    cluster.pass_time(40_000)
    b.beat()
    assert b.count == 2
    cluster.pass_time(6_000)
    b.beat()
    assert b.count == 4
    assert list(cluster.group.members) == ["b1"]


def test_a_static_member_that_leaves_for_good_is_out_at_once() -> None:
    cluster, a, b = two_static_members()
    a.leave(epoch=-1)
    settle([b])
    assert b.count == 4
    assert cluster.group.static_members == {"b": "b1"}


def test_a_changed_subscription_of_the_returning_instance_is_a_rebalance() -> None:
    cluster, a, b = two_static_members()
    cluster.create_topic("bar", 2)
    a.leave(epoch=-2)
    again = Consumer(cluster, "a2", ("bar",), instance_id="a").join()
    settle([again, b])
    assert (again.has, b.has) == ("bar:0,1", "foo:0,1,2,3")


def test_a_full_group_lets_an_instance_return() -> None:
    cluster = Cluster({"group.consumer.max.size": "1"})
    cluster.create_topic("foo", 1)
    a = Consumer(cluster, "a1", instance_id="a").join()
    a.leave(epoch=-2)
    assert Consumer(cluster, "a2", instance_id="a").join().error == 0


def test_the_absent_instance_keeps_its_partitions_through_a_reload() -> None:
    cluster, a, b = two_static_members()
    had = a.has
    a.leave(epoch=-2)
    cluster.reload(compact=True)
    b.beat()
    assert b.count == 2
    assert Consumer(cluster, "a2", instance_id="a").join().has == had
