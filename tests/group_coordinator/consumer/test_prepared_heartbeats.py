"""A heartbeat that is decided in steps, while other requests are served."""

from collections.abc import Callable

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.consumer.group_update import MOST_NAMES_AT_ONCE, all_steps
from moldau.group_coordinator.consumer.heartbeats import PreparedHeartbeat
from moldau.group_coordinator.consumer.settings import REGEX_REFRESH_MIN_INTERVAL_MS
from moldau.group_coordinator.consumer.subscription import NAMES_PER_STEP
from moldau.group_coordinator.records import encode_record
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, Consumer

VERSION = 1
TOKEN = 1


def cluster_with_topics() -> Cluster:
    cluster = Cluster()
    for name in ("bar", "foo"):
        cluster.create_topic(name, 3)
    return cluster


def joining(**changes: object) -> ConsumerGroupHeartbeatRequest:
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="late",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["foo"],
        subscribed_topic_regex="b.*",
        topic_partitions=[],
    )
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def prepare(cluster: Cluster, request: ConsumerGroupHeartbeatRequest) -> PreparedHeartbeat | None:
    context = cluster.context(VERSION)
    return all_steps(cluster.shard.preparing_heartbeat(request, context, cluster.now))


def finish(
    cluster: Cluster, request: ConsumerGroupHeartbeatRequest, prepared: PreparedHeartbeat | None
) -> ConsumerGroupHeartbeatResponse:
    context = cluster.context(VERSION)
    cluster.take(
        cluster.shard.handle_consumer_group_heartbeat(
            TOKEN, request, context, cluster.now, prepared
        )
    )
    response = cluster.answers.pop(TOKEN)
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    return response


def create_topic(cluster: Cluster) -> None:
    cluster.create_topic("baz", 2)


def join_as_another(cluster: Cluster) -> None:
    Consumer(cluster, "other", ["foo"]).join()


def nothing(cluster: Cluster) -> None:
    pass


@pytest.mark.parametrize("happens", [nothing, create_topic, join_as_another])
@pytest.mark.parametrize("has_group", [False, True])
def test_the_records_are_those_of_a_decision_in_one_step(
    happens: Callable[[Cluster], None], has_group: bool
) -> None:
    clusters = [cluster_with_topics(), cluster_with_topics()]
    if has_group:
        for cluster in clusters:
            Consumer(cluster, "early", ["foo", "bar"]).join()
    stepwise, at_once = clusters
    prepared = prepare(stepwise, joining())
    assert prepared is not None
    for cluster in clusters:
        happens(cluster)
    response = finish(stepwise, joining(), prepared)
    assert response == finish(at_once, joining(), None)
    assert response.error_code == 0
    assert stepwise.last_records == at_once.last_records
    assert stepwise.log == at_once.log
    assert stepwise.shard.next_deadline_ms() == at_once.shard.next_deadline_ms()
    # What was prepared is used exactly if nothing has changed.
    is_prepared = {record.encoded is not None for record in stepwise.last_records}
    assert is_prepared == {happens is nothing}


def test_it_is_decided_again_if_the_group_changes_between_two_steps() -> None:
    cluster = cluster_with_topics()
    steps = cluster.shard.preparing_heartbeat(joining(), cluster.context(VERSION), cluster.now)
    for _ in range(8):
        next(steps)
    join_as_another(cluster)
    prepared = all_steps(steps)
    assert prepared is not None
    assert prepared.group is cluster.group
    assert prepared.revision == cluster.group.revision
    assert finish(cluster, joining(), prepared).error_code == 0
    assert sorted(cluster.group.members) == ["late", "other"]


def test_the_patterns_of_all_members_are_resolved_in_steps() -> None:
    """After a topic was created, the next heartbeat of any member resolves them.

    A new coordinator does not know what they matched before.
    """
    cluster = Cluster()
    for number in range(3 * NAMES_PER_STEP):
        cluster.create_topic(f"topic-{number:03}", 1)
    patterns = [f"topic-{number}.." for number in range(3)]
    for pattern in patterns:
        Consumer(cluster, f"member-{pattern}", None, pattern).join()
    cluster.reload()
    assert cluster.shard.is_large(GROUP, 3 * NAMES_PER_STEP), "it has patterns"
    cluster.pass_time(REGEX_REFRESH_MIN_INTERVAL_MS + 1)
    cluster.create_topic("topic-0-new", 1)
    request = joining(subscribed_topic_names=["topic-000"], subscribed_topic_regex=None)
    steps = cluster.shard.preparing_heartbeat(request, cluster.context(VERSION), cluster.now)
    assert len(list(steps)) >= len(patterns) * 3


def resolved_at(cluster: Cluster) -> set[int]:
    """The offsets of the images with which the patterns were resolved."""
    return {found.version for found in cluster.group.resolved.values()}


def test_a_decision_in_one_step_leaves_patterns_that_take_long_to_the_next_one() -> None:
    """It is made in one step because the group, or the metadata, has changed all the time."""
    cluster = Cluster()
    for number in range(100):
        cluster.create_topic(f"topic-{number:02}", 1)
    count = MOST_NAMES_AT_ONCE // 100 + 1
    patterns = [f"topic-.{{1,{number + 2}}}" for number in range(count)]
    for pattern in patterns:
        Consumer(cluster, f"member-{pattern}", None, pattern).join()
    before = resolved_at(cluster)
    cluster.reload()
    cluster.pass_time(REGEX_REFRESH_MIN_INTERVAL_MS + 1)
    cluster.create_topic("topic-xx", 1)
    request = joining(subscribed_topic_names=["topic-00"], subscribed_topic_regex="topic-xx")
    finish(cluster, request, None)
    # Only the new one.
    assert cluster.group.resolved["topic-xx"].topics == ("topic-xx",)
    assert resolved_at(cluster) == {*before, cluster.image.offset}
    cluster.pass_time(REGEX_REFRESH_MIN_INTERVAL_MS + 1)
    request.member_id = "later"
    finish(cluster, request, prepare(cluster, request))
    assert resolved_at(cluster) == {cluster.image.offset}
    assert all("topic-xx" in cluster.group.resolved[pattern].topics for pattern in patterns)


def test_a_group_that_changes_all_the_time_is_not_prepared_for_ever() -> None:
    cluster = cluster_with_topics()
    prepared: PreparedHeartbeat | None = None
    steps = cluster.shard.preparing_heartbeat(joining(), cluster.context(VERSION), cluster.now)
    for number in range(1000):
        try:
            next(steps)
        except StopIteration as end:
            prepared = end.value
            break
        Consumer(cluster, f"other-{number}", ["foo"]).join()
    else:
        pytest.fail("it is still being prepared")
    assert prepared is None
    assert finish(cluster, joining(), prepared).error_code == 0
    assert "late" in cluster.group.members


def test_preparing_changes_nothing() -> None:
    cluster = cluster_with_topics()
    assert prepare(cluster, joining()) is not None
    assert cluster.log == []
    assert cluster.shard.next_deadline_ms() is None
    assert cluster.shard._consumer.groups == {}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"member_epoch": 3}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_errors_are_left_to_the_request_itself(changes: dict[str, object], code: ErrorCode) -> None:
    cluster = cluster_with_topics()
    prepared = prepare(cluster, joining(**changes))
    assert prepared is None
    assert finish(cluster, joining(**changes), prepared).error_code == code


def test_large_records_are_encoded_before_they_are_appended() -> None:
    cluster = cluster_with_topics()
    prepared = prepare(cluster, joining())
    assert prepared is not None
    for record in prepared.decision.records:
        encoded = record.encoded
        record.encoded = None
        assert encoded == encode_record(record)
