"""Offsets committed in transactions: who may commit, what waits, and what deletion takes along."""

import pytest

from moldau.clock import Now
from moldau.coordinator.outcome import Outcome
from moldau.errors import ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.delete_groups import DeleteGroupsResponse
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from tests.group_coordinator.consumer.cluster import GROUP as CONSUMER_GROUP
from tests.group_coordinator.consumer.cluster import Cluster
from tests.group_coordinator.consumer.test_offset_checks import stable_pair
from tests.group_coordinator.conversation import GROUP, Client, Conversation
from tests.group_coordinator.test_offsets import (
    RIVERS,
    WEEK_MS,
    expire,
    fetch,
    with_topic,
    without_topic,
)

PRODUCER = 77
CONTEXT = GroupRequestContext(5, "producer", "/127.0.0.1")
TOPIC_ID = bytes(15) + b"\x07"


def request(
    offset: int = 5,
    *,
    group: str = GROUP,
    generation_id: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
    metadata: str = "",
) -> TxnOffsetCommitRequest:
    partition = TxnOffsetCommitRequestPartition(0, offset, -1, metadata)
    topics = [TxnOffsetCommitRequestTopic("rivers", [partition])]
    return TxnOffsetCommitRequest(
        "id", group, PRODUCER, 0, generation_id, member_id, instance_id, topics
    )


def decide(talk: Conversation, asked: TxnOffsetCommitRequest) -> tuple[Outcome, ErrorCode]:
    outcome = talk.shard.handle_txn_offset_commit(1, asked, CONTEXT, talk.now)
    response = outcome.replies[0].response
    assert isinstance(response, TxnOffsetCommitResponse)
    return outcome, ErrorCode(response.topics[0].partitions[0].error_code)


def commit(talk: Conversation, asked: TxnOffsetCommitRequest) -> ErrorCode:
    """Commit in the transaction of ``PRODUCER``, as the runtime would."""
    outcome, code = decide(talk, asked)
    for record in outcome.records:
        talk.shard.replay(record.key, record.value, PRODUCER)
    return code


def end(talk: Conversation, *, is_commit: bool) -> None:
    talk.shard.replay_end_transaction(PRODUCER, is_commit=is_commit)


def groups(talk: Conversation) -> list[str]:
    return [group.group_id for group in talk.shard.list_groups([], [])]


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 5), (False, -1)])
def test_an_offset_waits_for_the_end_of_its_transaction(is_commit: bool, offset: int) -> None:
    talk = Conversation()
    assert commit(talk, request(5)) == ErrorCode.NONE
    assert talk.committed() == -1
    unstable = fetch(talk, require_stable=True).topics[0].partitions[0]
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    end(talk, is_commit=is_commit)
    assert talk.committed() == offset
    assert fetch(talk, require_stable=True).topics[0].partitions[0].error_code == 0


def test_the_record_is_that_of_kafka() -> None:
    talk = Conversation()
    outcome, _ = decide(talk, request(5, metadata="m"))
    (record,) = outcome.records
    assert record.key == OffsetCommitKey(GROUP, "rivers", 0)
    assert record.value == OffsetCommitValue(5, -1, "m", talk.now.wall_ms)


def test_a_group_without_an_id_is_refused() -> None:
    assert commit(Conversation(), request(group="")) == ErrorCode.INVALID_GROUP_ID


def test_a_group_that_does_not_exist_has_no_generation() -> None:
    asked = request(generation_id=1, member_id="a")
    assert commit(Conversation(), asked) == ErrorCode.ILLEGAL_GENERATION


def test_metadata_that_is_too_large_is_refused() -> None:
    asked = request(metadata="x" * 4097)
    outcome, code = decide(Conversation(), asked)
    assert (code, outcome.records) == (ErrorCode.OFFSET_METADATA_TOO_LARGE, [])


# -- classic groups (KIP-447)


def test_a_member_of_the_generation_may_commit() -> None:
    talk, member = Conversation(), Client("a", instance_id="i")
    talk.form(member)
    asked = request(generation_id=member.generation_id, member_id=member.member_id, instance_id="i")
    assert commit(talk, asked) == ErrorCode.NONE


def test_a_zombie_may_not_commit() -> None:
    talk, member = Conversation(), Client("a", instance_id="i")
    talk.form(member)
    generation, member_id = member.generation_id, member.member_id
    assert (
        commit(talk, request(generation_id=generation - 1, member_id=member_id))
        == ErrorCode.ILLEGAL_GENERATION
    )
    assert (
        commit(talk, request(generation_id=generation, member_id="other"))
        == ErrorCode.UNKNOWN_MEMBER_ID
    )
    assert (
        commit(talk, request(generation_id=generation, member_id="other", instance_id="i"))
        == ErrorCode.FENCED_INSTANCE_ID
    )
    assert commit(talk, request(member_id=member_id)) == ErrorCode.ILLEGAL_GENERATION


def test_an_old_client_that_names_nobody_may_commit_while_there_are_members() -> None:
    talk = Conversation()
    talk.form(Client("a"))
    assert commit(talk, request()) == ErrorCode.NONE


def test_a_member_may_commit_while_the_group_rebalances() -> None:
    talk, member = Conversation(), Client("a")
    talk.enter(member)
    talk.advance(talk.config.group_initial_rebalance_delay_ms)
    assert member.generation_id == 1
    asked = request(generation_id=member.generation_id, member_id=member.member_id)
    assert commit(talk, asked) == ErrorCode.NONE, "it has joined, and not synced"


# -- consumer groups (KIP-848)


def consumer_commit(cluster: Cluster, member_id: str, epoch: int, index: int = 0) -> ErrorCode:
    partition = TxnOffsetCommitRequestPartition(index, 5)
    asked = TxnOffsetCommitRequest(
        "id",
        CONSUMER_GROUP,
        PRODUCER,
        0,
        epoch,
        member_id,
        None,
        [TxnOffsetCommitRequestTopic("foo", [partition])],
    )
    outcome = cluster.shard.handle_txn_offset_commit(1, asked, CONTEXT, Now(0, 0))
    response = outcome.replies[0].response
    assert isinstance(response, TxnOffsetCommitResponse)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def test_a_member_of_a_consumer_group_commits_at_its_epoch() -> None:
    cluster, a, _ = stable_pair()
    assert consumer_commit(cluster, "a", a.epoch) == ErrorCode.NONE
    assert consumer_commit(cluster, "x", a.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert consumer_commit(cluster, "", -1) == ErrorCode.NONE, "an old client names nobody"


def test_a_stale_member_epoch_is_an_illegal_generation() -> None:
    cluster, a, b = stable_pair()
    illegal = ErrorCode.ILLEGAL_GENERATION
    assert consumer_commit(cluster, "a", a.epoch + 1) == illegal
    epoch = a.epoch
    b.leave()
    a.beat()
    assert consumer_commit(cluster, "a", epoch, index=0) == ErrorCode.NONE, "it has it since then"
    assert consumer_commit(cluster, "a", epoch, index=2) == illegal


# -- plain commits, tombstones, expiry and deletion


def test_a_tombstone_drops_what_is_pending() -> None:
    talk = Conversation()
    with_topic(talk, "rivers", TOPIC_ID)
    commit(talk, request(5))
    without_topic(talk, TOPIC_ID)
    end(talk, is_commit=True)
    assert talk.committed() == -1


def test_19163_a_group_with_only_pending_offsets_survives_expiry() -> None:
    talk = Conversation()
    commit(talk, request(5))
    talk.advance(2 * WEEK_MS)
    expire(talk)
    assert groups(talk) == [GROUP]
    end(talk, is_commit=True)
    assert talk.committed() == 5


def test_an_expired_offset_stays_while_a_transaction_may_change_it() -> None:
    talk = Conversation()
    talk.commit({RIVERS: 1})
    commit(talk, request(5))
    talk.advance(2 * WEEK_MS)
    expire(talk)
    assert talk.committed() == 1
    end(talk, is_commit=False)
    expire(talk)
    assert (talk.committed(), groups(talk)) == (-1, [])


def test_two_transactions_may_have_an_offset_of_the_same_partition() -> None:
    talk = Conversation()
    commit(talk, request(5))
    key = OffsetCommitKey(GROUP, *RIVERS)
    talk.shard.replay(key, OffsetCommitValue(6, commit_timestamp=1), PRODUCER + 1)
    end(talk, is_commit=True)
    unstable = fetch(talk, require_stable=True).topics[0].partitions[0]
    assert unstable.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    talk.shard.replay_end_transaction(PRODUCER + 1, is_commit=True)
    assert talk.committed() == 6


def test_a_deleted_group_takes_its_pending_offsets_along() -> None:
    talk = Conversation()
    commit(talk, request(5))
    outcome = talk.shard.handle_delete_groups(1, [GROUP], CONTEXT, talk.now)
    response = outcome.replies[0].response
    assert isinstance(response, DeleteGroupsResponse)
    assert response.results[0].error_code == 0
    outcome.replies.clear()
    talk.apply(outcome)
    end(talk, is_commit=True)
    assert (talk.committed(), groups(talk)) == (-1, [])
