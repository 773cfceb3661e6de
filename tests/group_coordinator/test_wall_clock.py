"""The wall clock is set while groups have members: only what is stored follows it."""

import pytest

from moldau.errors import ErrorCode
from tests.group_coordinator.consumer.cluster import Cluster, Consumer
from tests.group_coordinator.conversation import Client, Conversation

MINUTE_MS = 60_000
STEPS_MS = (MINUTE_MS, -MINUTE_MS)


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_members_that_heartbeat_stay_in_a_classic_group(step_ms: int) -> None:
    talk = Conversation()
    leader, follower = Client("a", session_ms=10_000), Client("b", session_ms=10_000)
    talk.form(leader, follower)
    for _ in range(3):
        talk.wall_ahead_ms += step_ms
        talk.advance(3_000)
        assert talk.heartbeat(leader) is ErrorCode.NONE
        assert talk.heartbeat(follower) is ErrorCode.NONE


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_a_member_that_is_silent_expires_when_its_session_ends(step_ms: int) -> None:
    talk = Conversation()
    leader, silent = Client("a", session_ms=30_000), Client("b", session_ms=10_000)
    talk.form(leader, silent)
    talk.heartbeat(silent)
    talk.wall_ahead_ms += step_ms
    talk.advance(9_999)
    assert talk.heartbeat(leader) is ErrorCode.NONE
    talk.advance(1)
    assert talk.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_a_rebalance_waits_as_long_as_without_the_step(step_ms: int) -> None:
    talk = Conversation()
    leader = Client("a", session_ms=1_000_000, rebalance_ms=20_000)
    late = Client("b", session_ms=1_000_000, rebalance_ms=20_000)
    talk.form(leader, late)
    token = talk.join(leader)
    talk.wall_ahead_ms += step_ms
    talk.advance(19_999)
    assert talk.is_waiting(token)
    talk.advance(1)
    assert not talk.is_waiting(token)


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_members_that_heartbeat_stay_in_a_consumer_group(step_ms: int) -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    members = [Consumer(cluster, name).join() for name in ("a", "b")]
    for _ in range(10):
        cluster.wall_ahead_ms += step_ms
        cluster.pass_time(5_000)
        for member in members:
            member.beat()
            assert member.error == 0
    assert sorted(cluster.group.members) == ["a", "b"]
    assert [member.has for member in members] == ["foo:0", "foo:1"]


def test_a_member_may_be_assigned_after_the_wall_clock_was_set_back() -> None:
    cluster = Cluster({"group.consumer.assignment.interval.ms": "1000"})
    cluster.create_topic("foo", 2)
    first = Consumer(cluster, "a").join()
    cluster.wall_ahead_ms -= MINUTE_MS
    second = Consumer(cluster, "b").join()
    for _ in range(3):
        first.beat()
        second.beat()
    assert (first.has, second.has) == ("foo:0", "foo:1")


def test_offsets_expire_by_the_timestamps_of_their_commits() -> None:
    talk = Conversation()
    talk.commit({("rivers", 0): 5})
    talk.wall_ahead_ms += 8 * 24 * 60 * MINUTE_MS
    talk.apply(talk.shard.expire_offsets(talk.wall_ms))
    assert talk.committed() == -1
