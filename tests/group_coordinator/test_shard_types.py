"""A group is classic or consumer, one at a time, and may change."""

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.metadata.delta import MetadataDelta
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from moldau.protocol.messages.delete_groups import DeleteGroupsResponse
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.records.client_data import ConsumerProtocolAssignment, TopicPartition
from moldau.protocol.records.metadata import PartitionRecord, TopicRecord
from tests.group_coordinator.conversation import GROUP, Client, Conversation

CONTEXT = GroupRequestContext(1, "k", "/127.0.0.1")
RIVERS_ID = b"r" * 16
WEEK_MS = 7 * 24 * 3600 * 1000


def conversation(**settings: str) -> Conversation:
    talk = Conversation(**settings)
    delta = MetadataDelta(talk.image)
    delta.replay(TopicRecord("rivers", RIVERS_ID))
    for index in range(2):
        delta.replay(
            PartitionRecord(topic_id=RIVERS_ID, partition_id=index, replicas=[0], isr=[0], leader=0)
        )
    talk.change_metadata(delta.build(1, 1, 0), delta)
    return talk


def beat(
    talk: Conversation,
    epoch: int,
    member_id: str = "k-1",
    owned: list[TopicPartitions] | None = None,
    regex: str | None = None,
) -> ConsumerGroupHeartbeatResponse:
    is_joining = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if is_joining else -1,
        subscribed_topic_names=["rivers"] if is_joining else None,
        subscribed_topic_regex=regex,
        topic_partitions=[] if is_joining else owned,
    )
    token = talk.token(Client("k"))
    talk.apply(talk.shard.handle_consumer_group_heartbeat(token, request, CONTEXT, talk.now))
    response = talk.replies[token]
    assert isinstance(response, ConsumerGroupHeartbeatResponse)
    return response


def assigned(*partitions: int) -> bytes:
    topic = TopicPartition(topic="rivers", partitions=list(partitions))
    return b"\x00\x01" + ConsumerProtocolAssignment([topic]).encode(1)


def group_type(talk: Conversation) -> str:
    return talk.shard.list_groups([], [])[0].group_type


def test_a_consumer_group_is_listed_described_and_reloaded() -> None:
    talk = conversation()
    response = beat(talk, 0)
    assert response.error_code == 0
    talk.reload()
    listed = talk.shard.list_groups(["stable"], ["Consumer"])
    assert [(group.group_id, group.protocol_type) for group in listed] == [(GROUP, "consumer")]
    described = talk.shard.consumer_group_describe([GROUP])[0]
    assert [member.member_id for member in described.members] == ["k-1"]
    dead = talk.shard.describe_groups([GROUP], GroupRequestContext(6, "", ""))[0]
    assert (dead.group_state, dead.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert dead.error_message == f"Group {GROUP} is not a classic group."


def test_members_of_a_consumer_group_commit_with_their_epoch() -> None:
    talk = conversation()
    member = Client("k")
    member.member_id, member.generation_id = "k-1", beat(talk, 0).member_epoch
    assert talk.commit({("rivers", 0): 4}, member) == [ErrorCode.NONE]
    member.generation_id += 5
    assert talk.commit({("rivers", 0): 5}, member) == [ErrorCode.STALE_MEMBER_EPOCH]
    assert talk.committed() == 4


def test_an_empty_consumer_group_becomes_classic_when_a_classic_member_joins() -> None:
    talk = conversation()
    member = Client("k")
    member.member_id, member.generation_id = "k-1", beat(talk, 0).member_epoch
    assert talk.commit({("rivers", 0): 4}, member) == [ErrorCode.NONE]
    beat(talk, -1)
    assert (group_type(talk), len(talk.shard.list_groups([], []))) == ("consumer", 1)
    classic = Client("a")
    talk.form(classic)
    assert (group_type(talk), len(talk.shard.list_groups([], []))) == ("classic", 1)
    assert talk.committed() == 4
    talk.reload()
    assert (group_type(talk), len(talk.shard.list_groups([], []))) == ("classic", 1)
    assert talk.heartbeat(classic) is ErrorCode.NONE


def test_a_join_that_is_refused_does_not_delete_an_empty_consumer_group() -> None:
    """Its offsets would belong to no group: nobody could fetch them, and they would not expire."""
    talk = conversation()
    member = Client("k")
    member.member_id, member.generation_id = "k-1", beat(talk, 0).member_epoch
    assert talk.commit({("rivers", 0): 5}, member) == [ErrorCode.NONE]
    beat(talk, -1)
    client = Client("a")
    client.protocols = {}
    reply = talk.replies[talk.join(client)]
    assert isinstance(reply, JoinGroupResponse)
    assert reply.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert talk.committed() == 5
    assert group_type(talk) == "consumer"


def test_an_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets() -> None:
    talk = conversation()
    talk.commit({("rivers", 0): 4})
    beat(talk, 0)
    assert (group_type(talk), len(talk.shard.list_groups([], []))) == ("consumer", 1)
    talk.reload()
    assert (group_type(talk), len(talk.shard.list_groups([], []))) == ("consumer", 1)
    assert talk.committed() == 4


def test_a_classic_group_moves_to_the_new_protocol_and_back_with_its_members() -> None:
    talk = conversation()
    old = Client("a")
    talk.enter(old)
    talk.advance(3000)
    talk.sync(old, {old.member_id: assigned(0, 1)})
    response = beat(talk, 0)
    assert response.error_code == 0
    assert group_type(talk) == "consumer"
    assert talk.heartbeat(old) is ErrorCode.REBALANCE_IN_PROGRESS

    beat(talk, -1)
    assert group_type(talk) == "classic"
    talk.advance(1)
    # Its generation is the group's epoch, which has moved on meanwhile.
    assert talk.heartbeat(old) is ErrorCode.ILLEGAL_GENERATION
    talk.join(old)
    reply = [r for r in talk.replies.values() if isinstance(r, JoinGroupResponse)][-1]
    assert (reply.error_code, reply.leader) == (0, old.member_id)
    talk.finish(old)
    assert old.assignment == b"of a"
    talk.advance(20_000)
    assert talk.heartbeat(old) is ErrorCode.UNKNOWN_MEMBER_ID, "its session was watched"


def test_whoever_waits_in_a_classic_group_that_moves_is_told_to_rejoin() -> None:
    talk = conversation()
    a, b = Client("a"), Client("b")
    talk.enter(a)
    talk.enter(b)
    talk.advance(6000)
    talk.sync(a, {a.member_id: assigned(0), b.member_id: assigned(1)})
    talk.sync(b)
    waiting = talk.join(a)
    assert talk.is_waiting(waiting)
    assert beat(talk, 0).error_code == 0
    reply = talk.replies[waiting]
    assert isinstance(reply, JoinGroupResponse)
    assert reply.error_code == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("regex", "max_size", "code"),
    [
        ("(", "200", ErrorCode.INVALID_REGULAR_EXPRESSION),
        (None, "2", ErrorCode.GROUP_MAX_SIZE_REACHED),
    ],
)
def test_a_consumer_that_is_refused_does_not_move_a_classic_group(
    regex: str | None, max_size: str, code: ErrorCode
) -> None:
    """Those who wait in the group would never be answered, and be removed for being late."""
    talk = conversation(group_consumer_max_size=max_size)
    a, b = Client("a"), Client("b")
    talk.enter(a)
    talk.enter(b)
    talk.advance(6000)
    talk.sync(a, {a.member_id: assigned(0), b.member_id: assigned(1)})
    waiting = talk.join(a)
    assert talk.is_waiting(waiting)
    assert beat(talk, 0, regex=regex).error_code == code
    assert talk.is_waiting(waiting)
    assert group_type(talk) == "classic"
    talk.join(b)
    reply = talk.replies[waiting]
    assert isinstance(reply, JoinGroupResponse)
    assert (reply.error_code, reply.generation_id) == (0, 2)


def test_consumer_groups_are_deleted_when_they_are_empty() -> None:
    talk = conversation()
    beat(talk, 0)

    def delete() -> int:
        outcome = talk.shard.handle_delete_groups(1, [GROUP], CONTEXT, talk.now)
        response = outcome.replies.pop().response
        talk.apply(outcome)
        assert isinstance(response, DeleteGroupsResponse)
        return response.results[0].error_code

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    beat(talk, -1)
    assert delete() == 0
    assert talk.shard.list_groups([], []) == []
    talk.reload()
    assert talk.shard.list_groups([], []) == []


def test_offsets_and_groups_of_the_consumer_type_expire() -> None:
    talk = conversation()
    member = Client("k")
    member.member_id, member.generation_id = "k-1", beat(talk, 0).member_epoch
    talk.commit({("rivers", 0): 4}, member)
    talk.now_ms += WEEK_MS
    talk.apply(talk.shard.expire_offsets(talk.wall_ms))
    assert talk.committed() == 4, "it is subscribed to"
    beat(talk, -1)
    talk.apply(talk.shard.expire_offsets(talk.wall_ms))
    assert (talk.committed(), talk.shard.list_groups([], [])) == (-1, [])
