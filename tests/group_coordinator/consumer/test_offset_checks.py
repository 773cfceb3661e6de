"""Who may commit and fetch, with which epoch."""

import pytest

from moldau.errors import ApiError, ErrorCode
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, Consumer, settle, topic_id

FOO = topic_id("foo")


def stable_pair() -> tuple[Cluster, Consumer, Consumer]:
    cluster = Cluster()
    cluster.create_topic("foo", 4)
    a = Consumer(cluster, "a").join()
    b = Consumer(cluster, "b").join()
    settle([a, b])
    return cluster, a, b


def commit_error(cluster: Cluster, member_id: str, epoch: int, version: int = 9) -> ErrorCode:
    try:
        cluster.shard._consumer.validate_offset_commit(GROUP, member_id, None, epoch, version)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def test_a_commit_needs_a_member_and_an_epoch_not_from_the_future() -> None:
    cluster, a, _ = stable_pair()
    assert commit_error(cluster, "a", a.epoch) == ErrorCode.NONE
    assert commit_error(cluster, "a", a.epoch + 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert commit_error(cluster, "x", a.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_error(cluster, "", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_error(cluster, "a", a.epoch, version=8) == ErrorCode.UNSUPPORTED_VERSION


def test_tools_may_commit_while_the_group_is_empty() -> None:
    cluster, a, b = stable_pair()
    a.leave()
    b.leave()
    assert commit_error(cluster, "", -1, version=2) == ErrorCode.NONE


def test_an_older_epoch_is_good_for_partitions_the_member_has_had_since() -> None:
    cluster, a, _ = stable_pair()
    epoch = a.epoch
    Consumer(cluster, "c").join()
    a.beat()
    a.beat()
    assert a.epoch == epoch + 1
    check = cluster.shard._consumer.validate_offset_commit(GROUP, "a", None, epoch, 9)
    assert check is not None
    check("foo", FOO, 0)
    with pytest.raises(ApiError) as caught:
        check("foo", FOO, 3)
    assert caught.value.code == ErrorCode.STALE_MEMBER_EPOCH


def test_an_epoch_older_than_the_assignment_of_the_partition_is_stale() -> None:
    cluster, a, b = stable_pair()
    epoch = a.epoch
    b.leave()
    a.beat()
    check = cluster.shard._consumer.validate_offset_commit(GROUP, "a", None, epoch, 9)
    assert check is not None
    check("foo", FOO, 0)
    with pytest.raises(ApiError):
        check("foo", FOO, 2)


def test_a_fetch_is_for_members_at_their_epoch_and_for_tools() -> None:
    cluster, a, _ = stable_pair()
    groups = cluster.shard._consumer
    groups.validate_offset_fetch(GROUP, None, -1)
    groups.validate_offset_fetch(GROUP, "a", a.epoch)
    for member_id, epoch, code in (
        ("a", a.epoch - 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("x", a.epoch, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(ApiError) as caught:
            groups.validate_offset_fetch(GROUP, member_id, epoch)
        assert caught.value.code == code


def test_a_group_with_members_is_not_deleted_and_an_empty_one_leaves_nothing() -> None:
    cluster, a, b = stable_pair()
    groups = cluster.shard._consumer
    with pytest.raises(ApiError) as caught:
        groups.validate_delete(GROUP)
    assert caught.value.code == ErrorCode.NON_EMPTY_GROUP
    a.leave()
    b.leave()
    groups.validate_delete(GROUP)
    for record in groups.tombstones(GROUP):
        assert record.value is None
        cluster.shard.replay(record.key, record.value)
    assert not groups.has_group(GROUP)
