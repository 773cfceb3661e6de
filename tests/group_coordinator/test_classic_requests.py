"""Classic groups: what is refused, with which code, and that a refusal changes nothing."""

import pytest

from moldau.coordinator.outcome import Outcome
from moldau.errors import ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.describe_groups import DescribedGroup
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.group_coordinator.conversation import (
    GROUP,
    SESSION_MS,
    Client,
    Conversation,
    subscription,
)

NEWEST = GroupRequestContext(6, "admin", "/127.0.0.1")


def described(talk: Conversation) -> DescribedGroup:
    return talk.shard.describe_groups([GROUP], NEWEST)[0]


def join_error(talk: Conversation, client: Client) -> ErrorCode:
    reply = talk.replies[talk.join(client)]
    assert isinstance(reply, JoinGroupResponse)
    return ErrorCode(reply.error_code)


def sync_error(talk: Conversation, client: Client) -> ErrorCode:
    reply = talk.replies[talk.sync(client)]
    assert isinstance(reply, SyncGroupResponse)
    return ErrorCode(reply.error_code)


def stable_pair(**settings: str) -> tuple[Conversation, Client, Client]:
    talk = Conversation(**settings)
    leader, follower = Client("a"), Client("b", "two")
    talk.form(leader, follower)
    return talk, leader, follower


@pytest.mark.parametrize("session_ms", [5999, 1_800_001])
def test_a_session_timeout_out_of_bounds_is_refused(session_ms: int) -> None:
    talk = Conversation()
    client = Client("a", session_ms=session_ms)
    assert join_error(talk, client) is ErrorCode.INVALID_SESSION_TIMEOUT
    assert talk.log == []


def test_a_join_without_protocols_leaves_no_group_behind() -> None:
    talk = Conversation()
    client = Client("a")
    client.protocols = {}
    assert join_error(talk, client) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert talk.log == []
    assert talk.shard.list_groups([], []) == []


@pytest.mark.parametrize(
    ("protocol_type", "protocols"), [("connect", ["range"]), ("consumer", ["sticky"])]
)
def test_a_member_that_shares_no_protocol_is_refused(
    protocol_type: str, protocols: list[str]
) -> None:
    talk, _, _ = stable_pair()
    before = described(talk)
    stranger = Client("c")
    stranger.protocol_type = protocol_type
    stranger.protocols = dict.fromkeys(protocols, b"")
    assert join_error(talk, stranger) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert described(talk) == before


def test_an_unknown_id_cannot_join() -> None:
    talk, _, _ = stable_pair()
    stranger = Client("c")
    stranger.member_id = "c-unheard-of"
    assert join_error(talk, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    elsewhere = Conversation()
    assert join_error(elsewhere, stranger) is ErrorCode.UNKNOWN_MEMBER_ID
    assert elsewhere.shard.list_groups([], []) == []


def test_an_instance_id_belongs_to_one_member() -> None:
    talk, leader, follower = stable_pair()
    leader.instance_id = follower.instance_id
    assert join_error(talk, leader) is ErrorCode.FENCED_INSTANCE_ID
    assert sync_error(talk, leader) is ErrorCode.FENCED_INSTANCE_ID
    assert talk.heartbeat(leader) is ErrorCode.FENCED_INSTANCE_ID
    assert talk.leave(leader).members[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert talk.commit({("rivers", 0): 1}, leader) == [ErrorCode.FENCED_INSTANCE_ID]
    leader.instance_id = "three"
    assert talk.heartbeat(leader) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_stale_generation_is_refused() -> None:
    talk, leader, _ = stable_pair()
    leader.generation_id -= 1
    assert talk.heartbeat(leader) is ErrorCode.ILLEGAL_GENERATION
    assert sync_error(talk, leader) is ErrorCode.ILLEGAL_GENERATION
    assert talk.commit({("rivers", 0): 1}, leader) == [ErrorCode.ILLEGAL_GENERATION]
    assert described(talk).group_state == "Stable"


def test_a_sync_names_the_protocol_that_was_agreed_on() -> None:
    talk, leader, _ = stable_pair()
    leader.protocol_name = "sticky"
    assert sync_error(talk, leader) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    leader.protocol_name = None
    assert sync_error(talk, leader) is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_before_version_5_a_sync_does_not_name_the_protocol() -> None:
    talk, leader, _ = stable_pair()
    request = SyncGroupRequest(GROUP, leader.generation_id, leader.member_id)
    context = GroupRequestContext(4, "a", "/127.0.0.1")
    reply = talk.shard.handle_sync_group(1, request, context, talk.now).replies[0]
    assert isinstance(reply.response, SyncGroupResponse)
    assert reply.response.assignment == b"of a"


def test_nobody_syncs_with_a_group_that_is_joining() -> None:
    talk, leader, follower = stable_pair()
    talk.join(leader)
    assert sync_error(talk, follower) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_that_is_full_takes_nobody_else() -> None:
    talk, leader, _ = stable_pair(group_max_size="2")
    assert join_error(talk, Client("c")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert talk.heartbeat(leader) is ErrorCode.NONE


def test_a_group_over_a_lowered_limit_loses_those_who_come_last() -> None:
    talk, leader, follower = stable_pair()
    talk.config = Conversation(group_max_size="1").config
    talk.reload()
    assert talk.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    first = talk.join(follower)
    assert join_error(talk, leader) is ErrorCode.GROUP_MAX_SIZE_REACHED
    talk.advance(60_000)
    reply = talk.replies[first]
    assert isinstance(reply, JoinGroupResponse)
    assert [member.member_id for member in reply.members] == [follower.member_id]


def test_groups_of_other_protocol_types_work_alike() -> None:
    talk = Conversation()
    workers = [Client("w1"), Client("w2")]
    for worker in workers:
        worker.protocol_type = "connect"
        worker.protocols = {"sessioned": b"any bytes", "compatible": b""}
    talk.form(*workers)
    group = described(talk)
    assert (group.protocol_type, group.protocol_data) == ("connect", "sessioned")
    assert [member.member_metadata for member in group.members] == [b"any bytes"] * 2
    assert [member.member_assignment for member in group.members] == [b"of w1", b"of w2"]


def test_the_protocol_that_most_members_prefer_is_chosen() -> None:
    talk = Conversation()
    data = subscription("rivers")
    clients = [Client("a"), Client("b"), Client("c")]
    clients[0].protocols = {"range": data, "sticky": data, "own": data}
    clients[1].protocols = {"sticky": data, "range": data}
    clients[2].protocols = {"sticky": data, "range": data}
    talk.form(*clients)
    assert {client.protocol_name for client in clients} == {"sticky"}


def test_a_join_that_changes_the_subscription_starts_a_rebalance() -> None:
    talk, leader, follower = stable_pair()
    follower.protocols = {"range": subscription("rivers", "lakes")}
    token = talk.join(follower)
    assert talk.is_waiting(token)
    assert talk.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_missed_its_answer_gets_it_again() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b")
    for client in (a, b):
        talk.enter(client)
    talk.advance(6000)
    reply = talk.replies[talk.join(a)]
    assert isinstance(reply, JoinGroupResponse)
    assert reply.generation_id == 1
    assert len(reply.members) == 2


def test_versions_before_7_have_no_null_protocol() -> None:
    talk = Conversation()
    old, new = Client("a", version=6), Client("b", version=7)
    for client, expected in ((old, ""), (new, None)):
        reply = talk.replies[talk.join(client)]
        assert isinstance(reply, JoinGroupResponse)
        assert reply.protocol_name == expected
        assert reply.encode(client.version)


def test_everybody_who_waits_is_sent_away_when_the_shard_is_unloaded() -> None:
    talk, leader, _ = stable_pair()
    joining = talk.join(leader)
    replies = {reply.token: reply.response for reply in talk.shard.unload()}
    assert list(replies) == [joining]
    join = replies[joining]
    assert isinstance(join, JoinGroupResponse)
    assert join.error_code == ErrorCode.NOT_COORDINATOR

    talk = Conversation()
    a, b = Client("a"), Client("b")
    for client in (a, b):
        talk.enter(client)
    talk.advance(6000)
    syncing = talk.sync(b)
    (response,) = [reply.response for reply in talk.shard.unload() if reply.token == syncing]
    assert isinstance(response, SyncGroupResponse)
    assert response.error_code == ErrorCode.NOT_COORDINATOR


def test_a_member_that_is_removed_while_it_waits_for_its_assignment_is_told() -> None:
    talk = Conversation()
    a, b = Client("a"), Client("b", instance_id="b")
    for client in (a, b):
        talk.enter(client)
    talk.advance(6000)
    syncing = talk.sync(b)
    assert talk.is_waiting(syncing)
    # An administrator removes the instance, over another connection.
    talk.leave(Client("admin", instance_id="b"))
    response = talk.replies[syncing]
    assert isinstance(response, SyncGroupResponse)
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_request_that_is_sent_again_is_answered_once_more() -> None:
    """The first one would be kept as waiting for as long as the coordinator stays here."""
    talk, leader, _ = stable_pair()
    first = talk.join(leader)
    second = talk.join(leader)
    reply = talk.replies[first]
    assert isinstance(reply, JoinGroupResponse)
    assert reply.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert talk.is_waiting(second)

    talk = Conversation()
    a, b = Client("a"), Client("b")
    for client in (a, b):
        talk.enter(client)
    talk.advance(6000)
    first = talk.sync(b)
    second = talk.sync(b)
    response = talk.replies[first]
    assert isinstance(response, SyncGroupResponse)
    assert response.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    talk.sync(a, {a.member_id: b"a", b.member_id: b"b"})
    response = talk.replies[second]
    assert isinstance(response, SyncGroupResponse)
    assert response.assignment == b"b"


def test_static_members_without_time_to_join_do_not_keep_the_coordinator_busy() -> None:
    talk = Conversation()
    a, b = Client("a", instance_id="a"), Client("b", instance_id="b")
    talk.form(a, b)
    for client in (a, b):
        # They restart, with a rebalance timeout that is over at once.
        client.member_id, client.rebalance_ms = "", 0
        talk.join(client)
    talk.leave(b)
    # What a tick would repeat for as long as something is due.
    classic = talk.shard._classic
    classic._rebalance.on_join_timer(classic.groups[GROUP], talk.now, Outcome())
    deadline_ms = talk.shard.next_deadline_ms()
    assert deadline_ms is not None
    assert deadline_ms > talk.now_ms
    talk.advance(SESSION_MS)
    assert described(talk).group_state == "Empty"


def test_a_new_member_that_is_not_heard_of_for_five_minutes_is_dropped() -> None:
    talk = Conversation()
    slow, new = Client("a", session_ms=900_000, rebalance_ms=900_000), Client("b")
    talk.form(slow)
    token = talk.enter(new)
    talk.advance(5 * 60 * 1000 - 1)
    assert talk.is_waiting(token)
    talk.advance(1)
    reply = talk.replies[token]
    assert isinstance(reply, JoinGroupResponse)
    assert reply.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert len(described(talk).members) == 1


def test_an_empty_group_id_is_refused() -> None:
    talk = Conversation()
    request = SyncGroupRequest("", 1, "a")
    reply = talk.shard.handle_sync_group(1, request, NEWEST, talk.now).replies[0]
    assert isinstance(reply.response, SyncGroupResponse)
    assert reply.response.error_code == ErrorCode.INVALID_GROUP_ID
