"""Committed offsets: who may commit, what is kept, and when it goes."""

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.records import decode_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.ids import NO_UUID
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from moldau.protocol.records.metadata import PartitionRecord, RemoveTopicRecord, TopicRecord
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from tests.group_coordinator.conversation import GROUP, Client, Conversation

RIVERS = ("rivers", 0)
WEEK_MS = 7 * 24 * 3600 * 1000
CONTEXT = GroupRequestContext(0, "admin", "/127.0.0.1")


def fetch(
    talk: Conversation, *, topic_id: bytes = NO_UUID, require_stable: bool = False
) -> OffsetFetchResponseGroup:
    topics = [OffsetFetchRequestTopics("rivers", topic_id, [0])]
    request = OffsetFetchRequestGroup(GROUP, topics=topics)
    return talk.shard.handle_offset_fetch(request, require_stable)


def fetch_all(talk: Conversation, group: str = GROUP) -> dict[tuple[str, int], int]:
    request = OffsetFetchRequestGroup(group, topics=None)
    response = talk.shard.handle_offset_fetch(request, False)
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in response.topics
        for partition in topic.partitions
    }


def delete_offsets(talk: Conversation, *topics: str) -> OffsetDeleteResponse:
    request = OffsetDeleteRequest(
        GROUP,
        [OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)]) for name in topics],
    )
    outcome = talk.shard.handle_offset_delete(1, request, CONTEXT, talk.now)
    response = outcome.replies[0].response
    outcome.replies.clear()
    talk.apply(outcome)
    assert isinstance(response, OffsetDeleteResponse)
    return response


def with_topic(talk: Conversation, name: str, topic_id: bytes) -> None:
    delta = MetadataDelta(talk.image)
    delta.replay(TopicRecord(name, topic_id))
    delta.replay(
        PartitionRecord(topic_id=topic_id, partition_id=0, replicas=[0], isr=[0], leader=0)
    )
    talk.change_metadata(delta.build(talk.image.offset + 1, 1, 0), delta)


def without_topic(talk: Conversation, topic_id: bytes) -> None:
    delta = MetadataDelta(talk.image)
    delta.replay(RemoveTopicRecord(topic_id))
    talk.change_metadata(delta.build(talk.image.offset + 1, 1, 0), delta)


def expire(talk: Conversation) -> None:
    talk.apply(talk.shard.expire_offsets(talk.wall_ms))


def test_anybody_may_commit_to_a_group_without_members() -> None:
    talk = Conversation()
    assert talk.commit({RIVERS: 42}, metadata="where I was") == [ErrorCode.NONE]
    partition = fetch(talk).topics[0].partitions[0]
    assert partition.committed_offset == 42
    assert partition.committed_leader_epoch == 3
    assert partition.metadata == "where I was"
    listed = talk.shard.list_groups([], [])[0]
    assert (listed.group_id, listed.protocol_type, listed.group_state) == (GROUP, "", "Empty")


def test_offsets_survive_a_reload() -> None:
    talk = Conversation()
    talk.commit({RIVERS: 1, ("lakes", 3): 7})
    talk.commit({RIVERS: 2})
    talk.reload()
    assert fetch_all(talk) == {RIVERS: 2, ("lakes", 3): 7}


def test_what_was_never_committed_is_minus_one() -> None:
    talk = Conversation()
    assert talk.committed() == -1
    talk.commit({("lakes", 0): 7})
    partition = fetch(talk).topics[0].partitions[0]
    fields = (partition.committed_offset, partition.committed_leader_epoch, partition.metadata)
    assert fields == (-1, -1, "")
    assert partition.error_code == 0
    assert fetch_all(talk, "no such group") == {}


def test_only_members_commit_to_a_group_that_has_some() -> None:
    talk = Conversation()
    member = Client("a")
    talk.form(member)
    assert talk.commit({RIVERS: 1}) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert talk.commit({RIVERS: 1}, member) == [ErrorCode.NONE]
    stranger = Client("b")
    stranger.member_id, stranger.generation_id = "b-1", 1
    assert talk.commit({RIVERS: 2}, stranger) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert talk.committed() == 1


def test_a_member_commits_while_it_is_asked_to_rejoin_but_not_before_its_assignment() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.join(b)
    talk.join(a)
    assert talk.commit({RIVERS: 5}, b) == [ErrorCode.NONE]
    talk.join(b)
    assert talk.commit({RIVERS: 6}, b) == [ErrorCode.REBALANCE_IN_PROGRESS]
    assert talk.committed() == 5


@pytest.mark.parametrize(
    ("version", "error"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
def test_a_member_of_a_group_that_does_not_exist_is_told_so(version: int, error: ErrorCode) -> None:
    talk = Conversation()
    ghost = Client("a")
    ghost.generation_id = 4
    assert talk.commit({RIVERS: 1, ("lakes", 0): 2}, ghost, version=version) == [error, error]
    assert talk.log == []


def test_a_commit_is_a_sign_of_life() -> None:
    talk = Conversation()
    member = Client("a")
    talk.form(member)
    for offset in range(4):
        talk.advance(9000)
        assert talk.commit({RIVERS: offset}, member) == [ErrorCode.NONE]
    assert talk.heartbeat(member) is ErrorCode.NONE


def test_metadata_that_is_too_long_is_refused_for_its_partition() -> None:
    talk = Conversation(offset_metadata_max_bytes="4")
    assert talk.commit({RIVERS: 1}, metadata="12345") == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    # Kafka counts UTF-16 code units.
    assert talk.commit({RIVERS: 1}, metadata="🌊🌊") == [ErrorCode.NONE]
    assert talk.commit({RIVERS: 2}, metadata="🌊🌊1") == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert talk.committed() == 1


def test_the_topic_id_is_written_and_a_new_topic_of_the_name_has_no_offset() -> None:
    talk = Conversation()
    with_topic(talk, "rivers", b"1" * 16)
    talk.commit({RIVERS: 9})
    record = decode_record(*talk.log[-1])
    assert record is not None
    assert isinstance(record.value, OffsetCommitValue)
    assert record.value.topic_id == b"1" * 16
    assert fetch(talk, topic_id=b"1" * 16).topics[0].partitions[0].committed_offset == 9
    assert fetch(talk, topic_id=b"2" * 16).topics[0].partitions[0].committed_offset == -1


def test_offsets_of_a_deleted_topic_go_and_those_of_its_successor_stay() -> None:
    talk = Conversation()
    talk.commit({("old", 0): 1}, group="other")
    with_topic(talk, "rivers", b"1" * 16)
    with_topic(talk, "lakes", b"2" * 16)
    talk.commit({RIVERS: 9, ("lakes", 0): 3})
    without_topic(talk, b"1" * 16)
    assert fetch_all(talk) == {("lakes", 0): 3}
    with_topic(talk, "rivers", b"3" * 16)
    talk.commit({RIVERS: 1})
    # The news of the first topic's end may come late.
    late = MetadataDelta(MetadataImage())
    late.replay(TopicRecord("rivers", b"1" * 16))
    base = late.build(0, 1, 0)
    late = MetadataDelta(base)
    late.replay(RemoveTopicRecord(b"1" * 16))
    talk.apply(talk.shard.on_metadata(talk.image, late))
    assert fetch_all(talk) == {RIVERS: 1, ("lakes", 0): 3}
    assert fetch_all(talk, "other") == {("old", 0): 1}


def test_offsets_of_topics_in_use_cannot_be_deleted() -> None:
    talk = Conversation()
    member = Client("a")
    talk.form(member)
    talk.commit({RIVERS: 1, ("lakes", 0): 2}, member)
    response = delete_offsets(talk, "rivers", "lakes", "seas")
    errors = [topic.partitions[0].error_code for topic in response.topics]
    assert errors == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 0, 0]
    assert fetch_all(talk) == {RIVERS: 1}
    talk.leave(member)
    delete_offsets(talk, "rivers")
    assert fetch_all(talk) == {}


def test_offsets_of_a_group_that_is_no_consumer_group_are_deleted_when_it_is_empty() -> None:
    talk = Conversation()
    worker = Client("w")
    worker.protocol_type = "connect"
    talk.form(worker)
    assert delete_offsets(talk, "lakes").error_code == ErrorCode.NON_EMPTY_GROUP
    assert delete_offsets(Conversation(), "x").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_a_simple_group_expire_after_their_last_commit() -> None:
    talk = Conversation()
    talk.commit({RIVERS: 1})
    talk.advance(WEEK_MS // 2)
    talk.commit({("lakes", 0): 1})
    talk.advance(WEEK_MS // 2)
    expire(talk)
    assert fetch_all(talk) == {("lakes", 0): 1}
    talk.advance(WEEK_MS // 2)
    expire(talk)
    assert fetch_all(talk) == {}
    assert talk.shard.list_groups([], []) == []
    talk.reload()
    assert talk.shard.list_groups([], []) == []


def test_offsets_of_a_group_that_lost_its_members_expire_from_then_on() -> None:
    talk = Conversation()
    member = Client("a", session_ms=1_800_000)
    talk.form(member)
    talk.commit({RIVERS: 1, ("lakes", 0): 2}, member)
    for _ in range(400):
        talk.advance(1_700_000)
        talk.heartbeat(member)
    expire(talk)
    assert fetch_all(talk) == {RIVERS: 1}, "a live group keeps what it subscribes to"
    talk.leave(member)
    talk.advance(WEEK_MS - 1)
    expire(talk)
    assert fetch_all(talk) == {RIVERS: 1}
    talk.advance(1)
    expire(talk)
    assert fetch_all(talk) == {}
    assert talk.shard.list_groups([], []) == []


def test_an_old_client_says_itself_how_long_an_offset_is_kept() -> None:
    talk = Conversation()
    talk.commit({RIVERS: 1}, retention_ms=1000, version=4)
    talk.commit({("lakes", 0): 1}, retention_ms=2 * WEEK_MS, version=4)
    talk.reload()
    talk.advance(WEEK_MS + 1)
    expire(talk)
    assert fetch_all(talk) == {("lakes", 0): 1}


def test_an_old_client_may_keep_an_offset_for_ever() -> None:
    """No record can hold the time at which it would expire: the shard would be loaded again."""
    talk = Conversation()
    assert talk.commit({RIVERS: 1}, retention_ms=2**63 - 1, version=4) == [ErrorCode.NONE]
    talk.reload()
    talk.advance(2 * WEEK_MS)
    expire(talk)
    assert fetch_all(talk) == {RIVERS: 1}


def test_an_offset_of_an_open_transaction_is_not_stable() -> None:
    talk = Conversation()
    talk.commit({RIVERS: 1})
    key = OffsetCommitKey(GROUP, *RIVERS)
    talk.shard.replay(key, OffsetCommitValue(5, commit_timestamp=1), producer_id=77)
    unstable = fetch(talk, require_stable=True).topics[0].partitions[0]
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert talk.committed() == 1
    talk.shard.replay_end_transaction(77, is_commit=True)
    assert fetch(talk, require_stable=True).topics[0].partitions[0].committed_offset == 5


@pytest.mark.parametrize(("is_commit", "expected"), [(True, 2), (False, 2)])
def test_a_later_commit_outlasts_a_transaction(is_commit: bool, expected: int) -> None:
    talk = Conversation()
    key = OffsetCommitKey(GROUP, *RIVERS)
    talk.shard.replay(key, OffsetCommitValue(5, commit_timestamp=1), producer_id=77)
    talk.commit({RIVERS: 2})
    talk.shard.replay_end_transaction(77, is_commit=is_commit)
    assert talk.committed() == expected
    assert fetch(talk, require_stable=True).topics[0].partitions[0].error_code == 0


def test_a_deleted_offset_takes_its_open_transactions_along() -> None:
    talk = Conversation()
    key = OffsetCommitKey(GROUP, *RIVERS)
    talk.shard.replay(key, OffsetCommitValue(5, commit_timestamp=1), producer_id=77)
    expire(talk)
    assert [group.group_id for group in talk.shard.list_groups([], [])] == [GROUP]
    delete_offsets(talk, "rivers")
    talk.shard.replay_end_transaction(77, is_commit=True)
    assert talk.committed() == -1
