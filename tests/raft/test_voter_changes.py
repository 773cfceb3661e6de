"""Adding, removing and updating voters, as transcripts (KIP-853)."""

import pytest

from moldau.errors import ApiError, ErrorCode
from moldau.raft.effects import AppendVoters, Committed, Effect, LeaderChanged, Reply
from moldau.raft.log_view import LogEnd
from moldau.raft.messages import (
    AddVoterRequest,
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    KraftVersionChange,
    LogTruncated,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoteRequest,
    VoteResponse,
    VotersChange,
)
from moldau.raft.quorum_state import QuorumState
from moldau.raft.roles import Prospective, Resigned
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from tests.raft.cluster import directory, endpoint, voter
from tests.raft.model_log import Entry
from tests.raft.transcripts import (
    EPOCH,
    OK,
    Subject,
    fetch,
    follower,
    key,
    leader,
    leader_of,
    nobody,
    others,
    sends,
)

FOUR = VoterSet.of(*(voter(number) for number in (1, 2, 3, 4)))
ADD = AddVoterRequest(key(4), (endpoint(4),))


def committed_leader(voters: int = 3) -> Subject:
    """Node 1 leads, and the first record of its epoch is committed."""
    subject = leader(voters, is_dynamic=True)
    if voters > 1:
        for node_id in range(2, voters + 1):
            subject.receive(fetch(node_id, 11, max_wait_ms=0))
    assert subject.raft.high_watermark == 11
    return subject


def append_voters(subject: Subject, voters: VoterSet) -> list[Effect]:
    """The driver performs AppendVoters."""
    offset = subject.log.append(Entry(subject.raft.leader_epoch, voters=voters))
    return subject.append(0, VotersChange(offset, voters))


def replies(effects: list[Effect]) -> list[Effect]:
    return [each for each in effects if isinstance(each, Reply) and each.reply_to == 7]


# Add


def test_a_voter_is_added_when_it_has_caught_up_and_answered_for_its_versions() -> None:
    subject = committed_leader()
    subject.receive(fetch(4, 11, max_wait_ms=0), reply_to=8)
    assert sends(subject.receive(ADD)) == [(4, ApiVersionsRequest())]
    effects = subject.answer(4, ApiVersionsResponse(OK, 0, 1))
    assert effects == [AppendVoters(EPOCH + 1, FOUR)]
    assert replies(append_voters(subject, FOUR)) == []
    # It counts at once: two of four are not a majority.
    subject.flush()
    subject.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    assert subject.raft.high_watermark == 11
    effects = subject.receive(fetch(4, 12, max_wait_ms=0), reply_to=8)
    assert Committed(12) in effects
    assert replies(effects) == [Reply(7, AddVoterResponse(OK))]
    assert subject.raft.voters == FOUR


def test_an_answer_before_the_commit_can_be_asked_for() -> None:
    subject = committed_leader()
    subject.receive(fetch(4, 11, max_wait_ms=0), reply_to=8)
    subject.receive(ADD._replace(ack_when_committed=False))
    effects = subject.answer(4, ApiVersionsResponse(OK, 0, 1))
    assert effects == [AppendVoters(EPOCH + 1, FOUR), Reply(7, AddVoterResponse(OK))]
    append_voters(subject, FOUR)
    subject.flush()
    subject.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    assert replies(subject.receive(fetch(3, 12, max_wait_ms=0), reply_to=8)) == []


def test_a_leader_that_was_alone_has_time_to_be_followed_by_its_second_voter() -> None:
    subject = committed_leader(voters=1)
    subject.tick(60_000)
    subject.receive(fetch(4, 11, max_wait_ms=0), reply_to=8)
    subject.receive(ADD)
    two = VoterSet.of(voter(1), voter(4))
    assert subject.answer(4, ApiVersionsResponse(OK, 0, 1)) == [AppendVoters(EPOCH + 1, two)]
    assert replies(append_voters(subject, two)) == []
    assert subject.raft.is_leader
    subject.flush()
    effects = subject.receive(fetch(4, 12, max_wait_ms=0), reply_to=8)
    assert replies(effects) == [Reply(7, AddVoterResponse(OK))]
    # From now on it must be followed.
    subject.tick(3_000)
    assert isinstance(subject.raft.role, Resigned)


def test_a_voter_that_lags_behind_is_not_added() -> None:
    subject = committed_leader()
    subject.receive(fetch(4, 5, last_epoch=EPOCH, max_wait_ms=0), reply_to=8)
    subject.receive(ADD)
    message = (
        "Aborted add voter operation for ReplicaKey(id=4, directoryId=AAAAAAAAAAAAAAAAAAAAaA) "
        "since it is lagging behind"
    )
    expected = Reply(7, AddVoterResponse(ErrorCode.REQUEST_TIMED_OUT, message))
    assert others(subject.answer(4, ApiVersionsResponse(OK, 0, 1))) == [expected]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ApiVersionsResponse(OK), ErrorCode.INVALID_REQUEST),
        (ApiVersionsResponse(OK, 0, 0), ErrorCode.INVALID_REQUEST),
        (ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION), ErrorCode.REQUEST_TIMED_OUT),
    ],
)
def test_a_voter_without_the_version_is_not_added(
    answer: ApiVersionsResponse, error: ErrorCode
) -> None:
    subject = committed_leader()
    subject.receive(fetch(4, 11, max_wait_ms=0), reply_to=8)
    subject.receive(ADD)
    [reply] = replies(subject.answer(4, answer))
    assert isinstance(reply, Reply)
    assert reply.response[0] is error


def test_a_voter_that_cannot_be_reached_is_not_added() -> None:
    subject = committed_leader()
    subject.receive(ADD)
    message = "Aborted add voter operation for since API_VERSIONS returned an error "
    message += "BROKER_NOT_AVAILABLE"
    expected = Reply(7, AddVoterResponse(ErrorCode.REQUEST_TIMED_OUT, message))
    assert others(subject.fail(4)) == [expected]
    silent = committed_leader()
    silent.receive(ADD)
    timed_out = AddVoterResponse(ErrorCode.REQUEST_TIMED_OUT, "The request timed out.")
    assert Reply(7, timed_out) in silent.tick(2_000)


def add_error(subject: Subject, request: AddVoterRequest = ADD) -> ErrorCode:
    [reply] = replies(subject.receive(request))
    assert isinstance(reply, Reply)
    assert isinstance(reply.response, AddVoterResponse)
    return reply.response.error


def test_what_cannot_be_added_is_refused() -> None:
    assert add_error(follower()) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert add_error(leader(is_dynamic=True)) is ErrorCode.REQUEST_TIMED_OUT
    static = leader()
    static.receive(fetch(2, 11, max_wait_ms=0), reply_to=8)
    assert add_error(static) is ErrorCode.UNSUPPORTED_VERSION
    subject = committed_leader()
    no_directory = ADD._replace(voter=ReplicaKey(4))
    assert add_error(subject, no_directory) is ErrorCode.INVALID_REQUEST
    elsewhere = ADD._replace(endpoints=(VoterEndpoint("OTHER", "host4", 9093),))
    assert add_error(subject, elsewhere) is ErrorCode.INVALID_REQUEST
    known = AddVoterRequest(ReplicaKey(2, directory(9)), (endpoint(2),))
    assert add_error(subject, known) is ErrorCode.DUPLICATE_VOTER


def test_one_change_at_a_time() -> None:
    subject = committed_leader()
    subject.receive(ADD, reply_to=8)
    assert add_error(subject) is ErrorCode.REQUEST_TIMED_OUT
    subject = committed_leader()
    append_voters(subject, FOUR)
    # The record of another leader, or of an update, is not committed yet.
    assert add_error(subject) is ErrorCode.REQUEST_TIMED_OUT


def test_a_deposed_leader_answers_who_asked_for_a_change() -> None:
    subject = committed_leader()
    subject.receive(ADD)
    effects = subject.receive(BeginQuorumEpochRequest(leader_of(2, EPOCH + 2)), reply_to=8)
    [reply] = replies(effects)
    assert isinstance(reply, Reply)
    assert isinstance(reply.response, AddVoterResponse)
    assert reply.response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


# Remove


def test_a_removed_voter_counts_no_more() -> None:
    subject = committed_leader(5)
    four = subject.voters.without_voter(5)
    effects = subject.receive(RemoveVoterRequest(key(5)))
    assert effects == [AppendVoters(EPOCH + 1, four)]
    append_voters(subject, four)
    subject.flush()
    subject.receive(fetch(5, 12, max_wait_ms=0), reply_to=8)
    subject.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    assert subject.raft.high_watermark == 11
    effects = subject.receive(fetch(3, 12, max_wait_ms=0), reply_to=8)
    assert replies(effects) == [Reply(7, RemoveVoterResponse(OK))]
    assert subject.raft.is_leader


def test_a_leader_that_removes_itself_leads_until_that_is_committed() -> None:
    # KAFKA-17608, and KAFKA-16530: it does not count itself meanwhile.
    subject = committed_leader()
    two = subject.voters.without_voter(1)
    subject.receive(RemoveVoterRequest(key(1)))
    append_voters(subject, two)
    subject.flush()
    subject.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    assert subject.raft.high_watermark == 11
    assert subject.raft.is_leader
    effects = subject.receive(fetch(3, 12, max_wait_ms=0), reply_to=8)
    assert Committed(12) in effects
    assert replies(effects) == [Reply(7, RemoveVoterResponse(OK))]
    assert LeaderChanged(-1, EPOCH + 1) in effects
    assert isinstance(subject.raft.role, Resigned)
    assert sorted(node_id for node_id, _ in sends(effects)) == [2, 3]


def test_a_leader_that_removed_itself_resigns_without_a_majority_of_the_others() -> None:
    # KAFKA-16531: of two remaining voters one is not enough.
    subject = committed_leader()
    subject.receive(RemoveVoterRequest(key(1)))
    append_voters(subject, subject.voters.without_voter(1))
    for _ in range(3):
        subject.tick(1_100)
        subject.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    assert not subject.raft.is_leader


def test_a_leader_whose_removal_is_not_committed_stands_once_more() -> None:
    # Otherwise a quorum of two would be stuck: the other one has a shorter log.
    subject = committed_leader(2)
    subject.receive(RemoveVoterRequest(key(1)))
    append_voters(subject, subject.voters.without_voter(1))
    subject.flush()
    subject.tick(3_000)
    assert isinstance(subject.raft.role, Resigned)
    subject.tick(2_000)
    assert isinstance(subject.raft.role, Prospective)
    # After the commit it stands no more.
    removed = committed_leader(2)
    removed.receive(RemoveVoterRequest(key(1)))
    append_voters(removed, removed.voters.without_voter(1))
    removed.flush()
    removed.receive(fetch(2, 12, max_wait_ms=0), reply_to=8)
    for _ in range(30):
        removed.tick()
        assert not isinstance(removed.raft.role, Prospective)
    assert removed.now_ms > 5_000


def test_what_is_not_a_voter_cannot_be_removed() -> None:
    for replica in (key(4), ReplicaKey(2, directory(9))):
        [reply] = replies(committed_leader().receive(RemoveVoterRequest(replica)))
        assert isinstance(reply, Reply)
        assert reply.response[0] is ErrorCode.VOTER_NOT_FOUND
    alone = committed_leader(1)
    [reply] = replies(alone.receive(RemoveVoterRequest(key(1))))
    assert isinstance(reply, Reply)
    assert reply.response[0] is ErrorCode.VOTER_NOT_FOUND
    [reply] = replies(committed_leader().receive(RemoveVoterRequest(ReplicaKey(2))))
    assert isinstance(reply, Reply)
    message = "Remove voter request didn't include a valid voter"
    assert reply.response == RemoveVoterResponse(ErrorCode.INVALID_REQUEST, message)


# The history


def test_a_truncation_brings_the_previous_voters_back() -> None:
    subject = Subject(state=QuorumState(EPOCH, leader_id=2), is_dynamic=True)
    subject.start()
    before = subject.raft.voters
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), records=b"voters"))
    append_voters(subject, FOUR)
    subject.flush()
    assert subject.raft.voters == FOUR
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), diverging=LogEnd(EPOCH, 10)))
    assert subject.raft.voters == before
    subject.log.truncate(10)
    [(_, request)] = sends(subject.step(LogTruncated()))
    assert isinstance(request, FetchRequest)
    assert request.fetch_offset == 10


def test_a_voter_unknown_to_the_others_gets_their_votes() -> None:
    # KAFKA-17030: they may not have the record that added it, but it has it.
    subject = Subject(is_dynamic=True)
    subject.start()
    request = VoteRequest(key(4), EPOCH + 1, LogEnd(EPOCH, 11), key(1))
    [reply] = replies(subject.receive(request))
    assert isinstance(reply, Reply)
    assert reply.response == VoteResponse(OK, nobody(EPOCH + 1), is_granted=True)


# Update


def update(subject: Subject, port: int = 9093, versions: tuple[int, int] = (0, 1)) -> list[Effect]:
    where = (VoterEndpoint("CONTROLLER", "host2", port),)
    request = UpdateVoterRequest(EPOCH + 1, key(2), where, *versions)
    return subject.receive(request)


def test_a_voter_with_a_new_address_tells_the_leader() -> None:
    subject = committed_leader()
    moved = Voter(2, directory(2), (VoterEndpoint("CONTROLLER", "host2", 9999),))
    assert update(subject, 9999) == [
        AppendVoters(EPOCH + 1, subject.voters.with_voter(moved)),
        Reply(7, UpdateVoterResponse(OK, leader_of(1, EPOCH + 1))),
    ]


def test_a_wrong_update_is_refused() -> None:
    def error(effects: list[Effect]) -> ErrorCode:
        [reply] = replies(effects)
        assert isinstance(reply, Reply)
        assert isinstance(reply.response, UpdateVoterResponse)
        return reply.response.error

    where = (endpoint(2),)
    subject = committed_leader()
    right = UpdateVoterRequest(EPOCH + 1, key(2), where, 0, 1)
    assert error(subject.receive(right._replace(leader_epoch=EPOCH))) is (
        ErrorCode.FENCED_LEADER_EPOCH
    )
    for wrong in (
        right._replace(voter=ReplicaKey(2)),
        right._replace(voter=ReplicaKey(-1, directory(2))),
        right._replace(endpoints=()),
        right._replace(min_kraft_version=-1),
        right._replace(min_kraft_version=2),
        right._replace(max_kraft_version=0),
    ):
        assert error(subject.receive(wrong)) is ErrorCode.INVALID_REQUEST
    stranger = right._replace(voter=ReplicaKey(2, directory(9)))
    assert error(subject.receive(stranger)) is ErrorCode.VOTER_NOT_FOUND
    assert error(update(leader(is_dynamic=True))) is ErrorCode.REQUEST_TIMED_OUT
    append_voters(subject, FOUR)
    assert error(update(subject)) is ErrorCode.REQUEST_TIMED_OUT


def test_a_follower_sends_an_update_if_its_entry_is_not_right() -> None:
    subject = Subject(state=QuorumState(EPOCH, leader_id=2), is_dynamic=True)
    old = Voter(1, directory(1), (VoterEndpoint("CONTROLLER", "old", 1),))
    subject.raft.history.reset(0, 1, subject.voters.with_voter(old))
    subject.start()
    subject.tick(1_900)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert isinstance(request, FetchRequest)
    subject.tick(100)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert request == UpdateVoterRequest(EPOCH, key(1), (endpoint(1),), 0, 1)
    effects = subject.answer(2, UpdateVoterResponse(OK, leader_of(2, EPOCH)))
    assert [type(each) for _, each in sends(effects)] == [FetchRequest]


# kraft.version


def test_the_version_is_raised_when_all_voters_have_told_that_they_support_it() -> None:
    subject = leader()
    subject.receive(fetch(2, 11, max_wait_ms=0), reply_to=8)
    update(subject)
    with pytest.raises(ApiError) as raised:
        subject.raft.upgrade_kraft_version(EPOCH + 1, 1, subject.now_ms)
    assert raised.value.code is ErrorCode.INVALID_UPDATE_VERSION
    subject.receive(UpdateVoterRequest(EPOCH + 1, key(3), (endpoint(3),), 0, 1))
    checked = subject.raft.upgrade_kraft_version(EPOCH + 1, 1, subject.now_ms, validate_only=True)
    assert checked == []
    effects = subject.raft.upgrade_kraft_version(EPOCH + 1, 1, subject.now_ms)
    three = VoterSet.of(*(voter(number) for number in (1, 2, 3)))
    assert effects == [AppendVoters(EPOCH + 1, three, kraft_version=1)]
    subject.log.append(Entry(EPOCH + 1, kraft_version=1))
    subject.log.append(Entry(EPOCH + 1, voters=three))
    subject.append(0, KraftVersionChange(11, 1), VotersChange(12, three))
    assert subject.raft.history.kraft_version == 1
    assert subject.raft.voters == three
    assert subject.raft.upgrade_kraft_version(EPOCH + 1, 1, subject.now_ms) == []


def test_the_version_is_never_lowered_and_only_by_the_leader() -> None:
    subject = committed_leader()
    for version, epoch, code in (
        (0, EPOCH + 1, ErrorCode.INVALID_UPDATE_VERSION),
        (2, EPOCH + 1, ErrorCode.INVALID_UPDATE_VERSION),
        (1, EPOCH, ErrorCode.NOT_CONTROLLER),
    ):
        with pytest.raises(ApiError) as raised:
            subject.raft.upgrade_kraft_version(epoch, version, subject.now_ms)
        assert raised.value.code is code


def test_a_static_voter_tells_every_new_leader_about_itself() -> None:
    subject = follower()
    subject.tick(1_990)
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH)))
    subject.tick(10)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert isinstance(request, UpdateVoterRequest)
    # An old leader does not know the request.
    subject.fail(2, ErrorCode.UNSUPPORTED_VERSION)
    subject.tick(1_990)
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH)))
    subject.tick(100)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert isinstance(request, FetchRequest)


# Auto-join


def observer(node_id: int, *, auto_join: bool = True) -> Subject:
    subject = Subject(
        node_id=node_id,
        state=QuorumState(EPOCH, leader_id=2),
        is_dynamic=True,
        auto_join=auto_join,
    )
    if node_id == 1:
        old = Voter(1, directory(9), (endpoint(1),))
        subject.raft.history.reset(0, 1, subject.voters.with_voter(old))
    subject.start()
    subject.tick(1_990)
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH)))
    subject.tick(10)
    return subject


def test_an_observer_adds_itself_if_it_may() -> None:
    subject = observer(4)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert request == AddVoterRequest(key(4), (endpoint(4),), ack_when_committed=False)
    effects = subject.answer(2, AddVoterResponse(OK))
    assert [type(each) for _, each in sends(effects)] == [FetchRequest]
    subject = observer(4, auto_join=False)
    [(_, other)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert isinstance(other, FetchRequest)


def test_an_observer_removes_the_voter_that_had_another_disk() -> None:
    subject = observer(1)
    [(_, request)] = sends(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH))))
    assert request == RemoveVoterRequest(ReplicaKey(1, directory(9)))
