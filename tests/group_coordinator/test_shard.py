"""Groups as administrators see them, and records as Apache Kafka writes them."""

import pytest

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ErrorCode
from moldau.group_coordinator.records import decode_record, encode_record
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.group_coordinator.timers import Timers
from moldau.protocol.messages.delete_groups import DeleteGroupsResponse
from moldau.protocol.reading import MalformedMessage
from moldau.protocol.records.group_coordinator import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from moldau.protocol.records.offset_commit import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tests.group_coordinator.conversation import GROUP, Client, Conversation, subscription


def context(version: int = 6) -> GroupRequestContext:
    return GroupRequestContext(version, "admin", "/127.0.0.1")


def delete_groups(talk: Conversation, *group_ids: str) -> list[ErrorCode]:
    outcome = talk.shard.handle_delete_groups(1, group_ids, context(), talk.now)
    response = outcome.replies.pop().response
    talk.apply(outcome)
    assert isinstance(response, DeleteGroupsResponse)
    return [ErrorCode(result.error_code) for result in response.results]


def listed(talk: Conversation, states: list[str], types: list[str]) -> list[str]:
    return [group.group_id for group in talk.shard.list_groups(states, types)]


def test_a_stable_group_is_described_with_its_members() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b", "two")
    talk.form(a, b)
    group = talk.shard.describe_groups([GROUP], context())[0]
    assert (group.error_code, group.group_state) == (0, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    first, second = group.members
    assert (first.member_id, first.client_id, first.client_host) == (a.member_id, "a", "/127.0.0.1")
    assert first.member_metadata == subscription("rivers")
    assert (second.group_instance_id, second.member_assignment) == ("two", b"of b")


def test_a_group_that_is_rebalancing_is_described_without_subscriptions() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    talk.form(a, b)
    talk.join(a)
    group = talk.shard.describe_groups([GROUP], context())[0]
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in group.members] == [b"", b""]


def test_a_group_that_is_not_there_is_dead() -> None:
    talk = Conversation()
    old = talk.shard.describe_groups(["ghost"], context(5))[0]
    new = talk.shard.describe_groups(["ghost"], context(6))[0]
    assert (old.group_state, old.error_code) == ("Dead", 0)
    assert (new.group_state, new.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert new.error_message == "Group ghost not found."


def test_groups_are_listed_by_state_and_type() -> None:
    talk = Conversation()
    talk.form(Client("a"))
    talk.commit({("rivers", 0): 1}, group="simple")
    assert listed(talk, [], []) == [GROUP, "simple"]
    assert listed(talk, [" stable "], []) == [GROUP]
    assert listed(talk, ["Empty", "Dead"], ["Classic"]) == ["simple"]
    assert listed(talk, [], ["consumer"]) == []
    assert listed(talk, [], ["nonsense"]) == []
    group = talk.shard.list_groups([], [])[0]
    assert (group.protocol_type, group.group_type) == ("consumer", "classic")


def test_empty_groups_are_deleted_with_their_offsets() -> None:
    talk = Conversation()
    member = Client("a")
    talk.form(member)
    talk.commit({("rivers", 0): 1}, member)
    talk.commit({("rivers", 0): 1}, group="simple")
    assert delete_groups(talk, GROUP, "ghost", "simple") == [
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.NONE,
    ]
    assert listed(talk, [], []) == [GROUP]
    assert talk.committed() == 1
    talk.leave(member)
    assert delete_groups(talk, GROUP) == [ErrorCode.NONE]
    assert (listed(talk, [], []), talk.committed()) == ([], -1)
    talk.reload()
    assert (listed(talk, [], []), talk.committed()) == ([], -1)


def test_a_deleted_group_begins_anew() -> None:
    talk = Conversation()
    member = Client("a")
    talk.form(member)
    talk.leave(member)
    delete_groups(talk, GROUP)
    assert talk.heartbeat(member) is ErrorCode.UNKNOWN_MEMBER_ID
    again = Client("a")
    talk.form(again)
    assert again.generation_id == 1


def test_offsets_are_written_as_apache_kafka_writes_them() -> None:
    record = CoordinatorRecord(
        OffsetCommitKey("g", "t", 7), OffsetCommitValue(258, 3, "m", 1024, topic_id=b"i" * 16)
    )
    key, value = encode_record(record)
    assert key.hex(" ") == "00 01 00 01 67 00 01 74 00 00 00 07"
    assert value is not None
    assert value.hex(" ") == (
        "00 04 00 00 00 00 00 00 01 02 00 00 00 03 02 6d 00 00 00 00 00 00 04 00 01 00 10 "
        + " ".join(["69"] * 16)
    )
    assert decode_record(key, value) == record
    assert decode_record(key, None) == CoordinatorRecord(record.key, None)


def test_an_offset_with_its_own_expiry_is_written_in_the_version_that_has_it() -> None:
    value = OffsetCommitValue(1, -1, "", 5, expire_timestamp=9)
    encoded = encode_record(CoordinatorRecord(OffsetCommitKey("g", "t", 0), value))[1]
    assert encoded is not None
    assert encoded.hex(" ") == (
        "00 01 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00 09"
    )


def test_groups_are_written_as_apache_kafka_writes_them() -> None:
    member = MemberMetadata("m", None, "c", "/h", 2, 1, b"s", b"as")
    record = CoordinatorRecord(
        GroupMetadataKey("g"), GroupMetadataValue("consumer", 4, "range", "m", 16, [member])
    )
    key, value = encode_record(record)
    assert key.hex(" ") == "00 02 00 01 67"
    assert value is not None
    assert value.hex(" ") == (
        "00 03 00 08 63 6f 6e 73 75 6d 65 72 00 00 00 04 00 05 72 61 6e 67 65 00 01 6d "
        "00 00 00 00 00 00 00 10 00 00 00 01 00 01 6d ff ff 00 01 63 00 02 2f 68 "
        "00 00 00 02 00 00 00 01 00 00 00 01 73 00 00 00 02 61 73"
    )
    assert decode_record(key, value) == record


def test_records_of_unknown_types_are_passed_over_and_broken_ones_are_not() -> None:
    assert decode_record(b"\x7f\x00rest", b"\x00\x00") is None
    with pytest.raises(MalformedMessage):
        decode_record(b"\x00\x02\x00\x01g", b"\x00\x03\x00")


def test_offsets_of_the_oldest_format_are_read() -> None:
    talk = Conversation()
    talk.shard.replay(
        LegacyOffsetCommitKey(GROUP, "rivers", 0), LegacyOffsetCommitValue(11, "m", 1)
    )
    assert talk.committed() == 11


def test_a_deadline_that_moves_rings_once_at_its_last_time() -> None:
    timers = Timers()
    slow, fast = ("session", "g", "slow"), ("session", "g", "fast")
    timers.schedule(slow, 10)
    timers.schedule(slow, 30)
    timers.schedule(fast, 40)
    timers.schedule(fast, 20)
    assert timers.next_deadline_ms() == 20
    assert timers.pop_due(19) is None
    assert [timers.pop_due(100), timers.pop_due(100), timers.pop_due(100)] == [fast, slow, None]
    timers.schedule(slow, 5)
    timers.cancel(slow)
    assert timers.next_deadline_ms() is None
