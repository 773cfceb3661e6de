"""Elections, as transcripts of inputs and effects."""

import pytest

from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.raft.config import RaftConfig
from moldau.raft.effects import (
    AppendLeaderChange,
    Committed,
    LeaderChanged,
    Persist,
    Reply,
)
from moldau.raft.log_view import LogEnd
from moldau.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    LeaderGone,
    ReplicaKey,
    Resign,
    ShutDown,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.quorum_state import QuorumState
from moldau.raft.roles import Candidate, Follower, Prospective, Resigned, Unattached
from tests.raft.cluster import directory
from tests.raft.transcripts import (
    END,
    EPOCH,
    OK,
    Subject,
    candidate,
    fetch,
    follower,
    key,
    leader,
    leader_of,
    nobody,
    others,
    sends,
    started,
)

VOTED_FOR_ITSELF = QuorumState(EPOCH + 1, voted_id=1, voted_directory_id=directory(1))


def vote_request(
    node_id: int = 2,
    epoch: int = EPOCH + 1,
    end: LogEnd = END,
    *,
    is_pre_vote: bool = False,
) -> VoteRequest:
    return VoteRequest(key(node_id), epoch, end, ReplicaKey(1), is_pre_vote)


def reply(response: object) -> Reply:
    return Reply(7, response)  # type: ignore[arg-type]


def refused(epoch: int) -> Reply:
    return reply(VoteResponse(OK, nobody(epoch)))


def granted(epoch: int) -> Reply:
    return reply(VoteResponse(OK, nobody(epoch), is_granted=True))


# A quorum of one


def test_a_quorum_of_one_elects_itself_at_once_with_one_write() -> None:
    alone = Subject(voters=1)
    assert alone.start() == [
        LeaderChanged(-1, EPOCH),
        LeaderChanged(-1, EPOCH + 1),
        Persist(QuorumState(EPOCH + 1, leader_id=1)),
        AppendLeaderChange(EPOCH + 1, (1,), (1,)),
        LeaderChanged(1, EPOCH + 1),
    ]
    assert alone.append() == []
    assert alone.flush() == [Committed(11)]
    assert alone.append(4) == []
    assert alone.flush() == [Committed(15)]
    assert alone.flush() == []


def test_a_lone_voter_has_no_timer() -> None:
    alone = Subject(voters=1)
    alone.start()
    assert alone.raft.deadline_ms > 1 << 60


def test_a_dynamic_quorum_of_one_writes_its_voters_with_the_first_epoch() -> None:
    alone = Subject(voters=1, is_dynamic=True)
    alone.raft.history.reset(-1, 1, alone.voters)
    change = next(each for each in alone.start() if isinstance(each, AppendLeaderChange))
    assert change == AppendLeaderChange(EPOCH + 1, (1,), (1,), 1, alone.voters)


@pytest.mark.parametrize("voters", [1, 3])
def test_a_former_leader_does_not_lead_its_old_epoch_again(voters: int) -> None:
    # KAFKA-10527: others may have seen records that this node lost.
    restarted = Subject(voters, QuorumState(EPOCH, leader_id=1))
    restarted.start()
    if voters == 1:
        assert (restarted.raft.leader_id, restarted.raft.leader_epoch) == (1, EPOCH + 1)
    else:
        assert isinstance(restarted.raft.role, Resigned)
        assert restarted.raft.leader_id == -1
        known = reply(VoteResponse(OK, leader_of(1, EPOCH)))
        assert known in restarted.receive(vote_request(epoch=EPOCH, end=LogEnd(EPOCH - 1, 99)))
        restarted.tick(2_000)
        assert restarted.raft.leader_epoch == EPOCH + 1
        assert restarted.raft.state.leader_id == -1


@pytest.mark.parametrize("directory_id", [directory(1), NO_UUID])
def test_a_candidate_goes_on_with_its_election_after_a_restart(directory_id: bytes) -> None:
    # With kraft.version 0 the file has no directory.
    restarted = Subject(state=VOTED_FOR_ITSELF._replace(voted_directory_id=directory_id))
    request = VoteRequest(key(1), EPOCH + 1, END, ReplicaKey(2))
    assert sends(restarted.start())[0] == (2, request)
    assert isinstance(restarted.raft.role, Candidate)


def test_the_epoch_of_the_log_is_not_used_again_if_the_file_is_older() -> None:
    restarted = Subject(state=QuorumState(EPOCH - 1, leader_id=2))
    assert Persist(QuorumState(EPOCH)) in restarted.start()


# Standing for election


def test_a_voter_looks_for_the_leader_while_it_waits_for_its_time_out() -> None:
    waiting = Subject()
    effects = waiting.start()
    assert others(effects) == [LeaderChanged(-1, EPOCH)]
    [(node_id, request)] = sends(effects)
    assert node_id in (2, 3)
    assert request == FetchRequest(key(1), EPOCH, 10, EPOCH, -1, 500)
    assert others(waiting.tick(999)) == []
    assert isinstance(waiting.raft.role, Unattached)


def test_a_pre_vote_comes_before_the_epoch_is_raised() -> None:
    # KIP-996: nothing is written, nothing changes for the others.
    subject = started()
    effects = subject.tick(2_000)
    request = VoteRequest(key(1), EPOCH, END, ReplicaKey(2), is_pre_vote=True)
    assert sends(effects) == [(2, request), (3, request._replace(voter=ReplicaKey(3)))]
    assert others(effects) == []
    assert isinstance(subject.raft.role, Prospective)
    assert subject.raft.state == QuorumState(EPOCH)


def test_with_a_majority_of_pre_votes_it_votes_for_itself_and_asks_for_votes() -> None:
    subject = started()
    subject.tick(2_000)
    request = VoteRequest(key(1), EPOCH + 1, END, ReplicaKey(2))
    effects = subject.answer(2, VoteResponse(OK, nobody(EPOCH), is_granted=True))
    assert others(effects) == [Persist(VOTED_FOR_ITSELF), LeaderChanged(-1, EPOCH + 1)]
    assert effects[0] == Persist(VOTED_FOR_ITSELF)
    assert sends(effects) == [(2, request), (3, request._replace(voter=ReplicaKey(3)))]


def test_a_majority_of_votes_makes_a_leader() -> None:
    subject = candidate(voters=5)
    assert subject.answer(2, VoteResponse(OK, nobody(EPOCH + 1), is_granted=True)) == []
    assert subject.answer(3, VoteResponse(OK, nobody(EPOCH + 1))) == []
    assert subject.answer(4, VoteResponse(OK, nobody(EPOCH), is_granted=True)) != []
    effects = subject.answer(5, VoteResponse(OK, nobody(EPOCH + 1), is_granted=True))
    assert others(effects) == [
        Persist(QuorumState(EPOCH + 1, leader_id=1)),
        AppendLeaderChange(EPOCH + 1, (1, 2, 3, 4, 5), (1, 2, 5)),
        LeaderChanged(1, EPOCH + 1),
    ]
    begin = BeginQuorumEpochRequest(leader_of(1, EPOCH + 1))
    assert sends(effects) == [
        (number, begin._replace(voter=ReplicaKey(number))) for number in (2, 3, 4, 5)
    ]


def test_a_voter_with_unflushed_records_does_not_stand() -> None:
    # After a crash its voters would have compared their logs with one that no longer exists.
    subject = follower()
    subject.append()
    assert others(subject.tick(5_000)) == []
    assert isinstance(subject.raft.role, Follower)
    subject.flush()
    assert isinstance(subject.raft.role, Prospective)


def test_a_deposed_leader_with_unflushed_records_does_not_stand() -> None:
    deposed = leader()
    deposed.append()
    deposed.receive(vote_request(epoch=EPOCH + 2))
    deposed.tick(5_000)
    assert isinstance(deposed.raft.role, Unattached)
    deposed.flush()
    assert isinstance(deposed.raft.role, Prospective)


def following_2(node_id: int) -> Subject:
    subject = Subject(5, QuorumState(EPOCH, leader_id=2), node_id=node_id)
    subject.start()
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), high_watermark=8))
    return subject


def test_when_the_leader_has_gone_the_first_voter_stands_at_once() -> None:
    subject = following_2(1)
    effects = subject.step(LeaderGone(2, EPOCH))
    assert isinstance(subject.raft.role, Prospective)
    request = VoteRequest(key(1), EPOCH, END, ReplicaKey(3), is_pre_vote=True)
    assert (3, request) in sends(effects)


@pytest.mark.parametrize(("node_id", "wait_ms"), [(3, 150), (5, 450)])
def test_when_the_leader_has_gone_the_others_stand_in_turn(node_id: int, wait_ms: int) -> None:
    subject = following_2(node_id)
    subject.step(LeaderGone(2, EPOCH))
    subject.tick(wait_ms - 1)
    assert isinstance(subject.raft.role, Follower)
    subject.tick(1)
    assert isinstance(subject.raft.role, Prospective)


def test_who_waits_for_its_turn_grants_pre_votes() -> None:
    subject = following_2(3)
    request = vote_request(1, EPOCH, is_pre_vote=True)._replace(voter=ReplicaKey(3))
    known = VoteResponse(OK, leader_of(2, EPOCH))
    assert others(subject.receive(request)) == [reply(known)]
    subject.step(LeaderGone(2, EPOCH))
    assert others(subject.receive(request)) == [reply(known._replace(is_granted=True))]


def test_a_leader_that_answers_has_not_gone() -> None:
    subject = following_2(3)
    subject.step(LeaderGone(2, EPOCH))
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), high_watermark=8))
    subject.tick(1_000)
    assert isinstance(subject.raft.role, Follower)


@pytest.mark.parametrize("report", [LeaderGone(2, EPOCH - 1), LeaderGone(4, EPOCH)])
def test_that_another_leader_has_gone_changes_nothing(report: LeaderGone) -> None:
    subject = following_2(1)
    assert subject.step(report) == []
    assert isinstance(subject.raft.role, Follower)


def test_an_observer_does_not_stand_when_the_leader_has_gone() -> None:
    subject = Subject(3, QuorumState(EPOCH, leader_id=2), node_id=9)
    subject.start()
    subject.step(LeaderGone(2, EPOCH))
    subject.tick(1_000)
    assert isinstance(subject.raft.role, Follower)


def test_a_lost_pre_vote_leads_back_to_the_known_leader() -> None:
    subject = follower(has_fetched=False)
    subject.tick(2_000)
    assert isinstance(subject.raft.role, Prospective)
    subject.answer(2, VoteResponse(OK, leader_of(2, EPOCH)))
    subject.answer(3, VoteResponse(OK, leader_of(2, EPOCH)))
    assert isinstance(subject.raft.role, Follower)
    assert subject.raft.leader_id == 2


def test_a_lost_pre_vote_without_a_leader_waits_for_another_random_time() -> None:
    # KAFKA-18345: voters that wait equally long would compete for ever.
    times = []
    for _ in range(2):
        subject = Subject()
        subject.start()
        subject.tick(2_000)
        for node_id in (2, 3):
            subject.answer(node_id, VoteResponse(OK, nobody(EPOCH)))
        role = subject.raft.role
        assert isinstance(role, Unattached)
        times.append(role.election_ms - subject.now_ms)
        assert 1_000 <= times[-1] < 2_000
    assert isinstance(subject.raft.role, Unattached)


def test_a_candidate_that_is_not_elected_becomes_prospective_in_its_epoch() -> None:
    subject = candidate()
    subject.tick(2_000)
    assert isinstance(subject.raft.role, Prospective)
    assert subject.raft.state == VOTED_FOR_ITSELF


def test_a_voter_without_pre_votes_is_asked_for_its_vote() -> None:
    subject = started()
    subject.tick(2_000)
    subject.fail(2, ErrorCode.UNSUPPORTED_VERSION)
    assert isinstance(subject.raft.role, Candidate)


def test_an_unanswered_vote_request_is_repeated_after_the_back_off() -> None:
    subject = candidate()
    subject.fail(3)
    assert subject.tick(19) == []
    assert [node_id for node_id, _ in sends(subject.tick(1))] == [3]


# Voting


def test_the_vote_is_persisted_before_it_is_sent() -> None:
    voted = QuorumState(EPOCH + 1, voted_id=2, voted_directory_id=directory(2))
    effects = started().receive(vote_request())
    assert others(effects) == [
        Persist(QuorumState(EPOCH + 1)),
        LeaderChanged(-1, EPOCH + 1),
        Persist(voted),
        granted(EPOCH + 1),
    ]


def test_a_voter_votes_once_in_an_epoch() -> None:
    subject = started()
    subject.receive(vote_request(2))
    assert others(subject.receive(vote_request(3))) == [refused(EPOCH + 1)]
    assert others(subject.receive(vote_request(2))) == [granted(EPOCH + 1)]


def test_a_restarted_voter_does_not_vote_again() -> None:
    voted = QuorumState(EPOCH + 1, voted_id=2, voted_directory_id=directory(2))
    subject = Subject(state=voted)
    subject.start()
    assert others(subject.receive(vote_request(3))) == [refused(EPOCH + 1)]
    assert others(subject.receive(vote_request(2))) == [granted(EPOCH + 1)]


def test_a_candidate_with_another_disk_is_another_candidate() -> None:
    subject = started()
    subject.receive(vote_request(2))
    wiped = vote_request(2)._replace(candidate=ReplicaKey(2, directory(9)))
    assert others(subject.receive(wiped)) == [refused(EPOCH + 1)]


@pytest.mark.parametrize("is_pre_vote", [False, True])
@pytest.mark.parametrize("end", [LogEnd(EPOCH, 9), LogEnd(EPOCH - 1, 99)])
def test_a_log_that_lacks_records_gets_no_vote(end: LogEnd, is_pre_vote: bool) -> None:
    effects = started().receive(vote_request(end=end, is_pre_vote=is_pre_vote))
    # Its epoch counts nevertheless.
    assert others(effects) == [
        Persist(QuorumState(EPOCH + 1)),
        LeaderChanged(-1, EPOCH + 1),
        refused(EPOCH + 1),
    ]


def test_a_vote_request_of_an_older_epoch_is_fenced() -> None:
    request = vote_request(epoch=EPOCH - 1, end=LogEnd(EPOCH - 2, 10))
    fenced = reply(VoteResponse(ErrorCode.FENCED_LEADER_EPOCH, nobody(EPOCH)))
    assert others(started().receive(request)) == [fenced]


@pytest.mark.parametrize(
    "request_",
    [
        vote_request(epoch=EPOCH),
        vote_request(end=LogEnd(EPOCH + 2, 10), is_pre_vote=True),
        vote_request(end=LogEnd(EPOCH, -1)),
        vote_request(end=LogEnd(-1, 0)),
        vote_request(-1),
    ],
)
def test_an_impossible_vote_request_is_invalid(request_: VoteRequest) -> None:
    invalid = reply(VoteResponse(ErrorCode.INVALID_REQUEST, nobody(EPOCH)))
    assert others(started().receive(request_)) == [invalid]


def test_a_request_for_another_replica_of_the_same_address_is_not_answered_with_a_vote() -> None:
    request = vote_request()._replace(voter=ReplicaKey(1, directory(9)))
    effects = started().receive(request)
    assert effects[-1] != granted(EPOCH + 1)
    wrong = VoteResponse(ErrorCode.INVALID_VOTER_KEY, nobody(EPOCH + 1))
    assert reply(wrong) in effects


def test_a_replica_that_was_not_meant_is_not_asked_again_at_once() -> None:
    # A voter lost its disk, and the third one is down: nobody is elected for a long time.
    subject = Subject(is_dynamic=True)
    subject.start()
    assert [node_id for node_id, _ in sends(subject.tick())] == [2, 3]
    effects = subject.answer(2, VoteResponse(ErrorCode.INVALID_VOTER_KEY, nobody(EPOCH)))
    assert sends(effects) == []
    assert subject.raft.deadline_ms == subject.now_ms + RaftConfig(1).retry_backoff_ms
    assert [node_id for node_id, _ in sends(subject.tick())] == [2]


def test_a_pre_vote_is_granted_without_writing_anything() -> None:
    request = vote_request(epoch=EPOCH, is_pre_vote=True)
    subject = started()
    assert others(subject.receive(request)) == [granted(EPOCH)]
    # It is not a vote: another one gets it as well.
    assert others(subject.receive(request._replace(candidate=key(3)))) == [granted(EPOCH)]


def test_a_voter_that_hears_from_the_leader_refuses_pre_votes() -> None:
    request = vote_request(3, EPOCH, is_pre_vote=True)
    known = VoteResponse(OK, leader_of(2, EPOCH))
    assert others(follower().receive(request)) == [reply(known)]
    silent = follower(has_fetched=False)
    assert others(silent.receive(request)) == [reply(known._replace(is_granted=True))]


def test_a_follower_and_a_leader_refuse_votes_of_their_epoch() -> None:
    request = vote_request(3, EPOCH, LogEnd(EPOCH - 1, 99))
    assert others(follower().receive(request)) == [reply(VoteResponse(OK, leader_of(2, EPOCH)))]
    request = vote_request(3, EPOCH + 1)
    assert others(leader().receive(request)) == [reply(VoteResponse(OK, leader_of(1, EPOCH + 1)))]


def test_a_former_leader_may_grant_a_pre_vote() -> None:
    subject = leader()
    subject.step(Resign(EPOCH + 1))
    request = vote_request(2, EPOCH + 1, LogEnd(EPOCH + 1, 11), is_pre_vote=True)
    known = VoteResponse(OK, leader_of(1, EPOCH + 1), is_granted=True)
    assert others(subject.receive(request)) == [reply(known)]


# The beginning and the end of an epoch


def test_a_new_leader_announces_itself() -> None:
    subject = started()
    effects = subject.receive(BeginQuorumEpochRequest(leader_of(3, EPOCH + 1), ReplicaKey(1)))
    assert others(effects) == [
        Persist(QuorumState(EPOCH + 1, leader_id=3)),
        LeaderChanged(3, EPOCH + 1),
        reply(BeginQuorumEpochResponse(OK, leader_of(3, EPOCH + 1))),
    ]
    assert sends(effects) == [(3, FetchRequest(key(1), EPOCH + 1, 10, EPOCH, -1, 500))]


def test_the_vote_of_an_epoch_is_kept_when_its_leader_is_known() -> None:
    subject = started()
    subject.receive(vote_request(2))
    effects = subject.receive(BeginQuorumEpochRequest(leader_of(3, EPOCH + 1)))
    assert effects[0] == Persist(QuorumState(EPOCH + 1, 3, 2, directory(2)))


def test_a_leader_that_hears_of_a_higher_epoch_steps_down() -> None:
    deposed = leader()
    effects = deposed.receive(BeginQuorumEpochRequest(leader_of(3, EPOCH + 2)))
    assert others(effects)[:2] == [
        Persist(QuorumState(EPOCH + 2, leader_id=3)),
        LeaderChanged(3, EPOCH + 2),
    ]
    assert isinstance(deposed.raft.role, Follower)


def test_an_old_leader_is_fenced() -> None:
    fenced = BeginQuorumEpochResponse(ErrorCode.FENCED_LEADER_EPOCH, nobody(EPOCH))
    effects = started().receive(BeginQuorumEpochRequest(leader_of(2, EPOCH - 1)))
    assert others(effects) == [reply(fenced)]


def test_begin_quorum_epoch_is_repeated_to_voters_that_do_not_fetch() -> None:
    subject = leader()
    subject.answer(2, BeginQuorumEpochResponse(OK, leader_of(1, EPOCH + 1)))
    subject.fail(3)
    subject.tick(600)
    subject.receive(fetch(2, 11))
    begin = BeginQuorumEpochRequest(leader_of(1, EPOCH + 1), ReplicaKey(3))
    assert sends(subject.tick(399)) == []
    assert sends(subject.tick(1)) == [(3, begin)]
    assert sends(subject.tick(999)) == []
    assert sends(subject.tick(1)) != []


def test_the_successor_with_the_longest_log_stands_first() -> None:
    subject = leader()
    subject.receive(fetch(3, 11))
    effects = subject.step(Resign(EPOCH + 1))
    end = EndQuorumEpochRequest(leader_of(1, EPOCH + 1), (ReplicaKey(3), ReplicaKey(2)))
    assert sends(effects) == [(2, end), (3, end)]
    assert LeaderChanged(-1, EPOCH + 1) in effects
    first = follower()
    request = EndQuorumEpochRequest(leader_of(2, EPOCH), (ReplicaKey(1), ReplicaKey(3)))
    effects = first.receive(request)
    assert isinstance(first.raft.role, Prospective)
    assert reply(EndQuorumEpochResponse(OK, leader_of(2, EPOCH))) in effects


@pytest.mark.parametrize(
    ("successors", "wait_ms"),
    [((3, 1), 500), ((3, 4, 1), 500), ((3, 4, 5, 1), 500), ((3, 1, 4), 250), ((3, 4), 1_000)],
)
def test_later_successors_wait_exponentially_longer(
    successors: tuple[int, ...], wait_ms: int
) -> None:
    subject = follower()
    keys = tuple(map(ReplicaKey, successors))
    subject.receive(EndQuorumEpochRequest(leader_of(2, EPOCH), keys))
    role = subject.raft.role
    assert isinstance(role, Follower)
    assert role.fetch_expires_ms == wait_ms


def test_a_resigned_leader_tells_every_voter_until_it_has_heard() -> None:
    subject = leader()
    subject.step(Resign(EPOCH + 1))
    subject.answer(2, EndQuorumEpochResponse(OK, leader_of(1, EPOCH + 1)))
    subject.fail(3)
    assert [node_id for node_id, _ in sends(subject.tick(20))] == [3]


def test_a_resigned_leader_raises_the_epoch_before_it_stands_again() -> None:
    subject = leader()
    subject.step(Resign(EPOCH + 1))
    assert subject.step(Resign(EPOCH + 1)) == []
    effects = subject.tick(2_000)
    assert effects[0] == Persist(QuorumState(EPOCH + 2))


def test_a_resignation_from_an_older_epoch_is_ignored() -> None:
    subject = leader()
    assert subject.step(Resign(EPOCH)) == []
    assert subject.raft.is_leader


def test_a_shut_down_leader_hands_over_and_stands_no_more() -> None:
    subject = leader()
    subject.step(ShutDown())
    assert isinstance(subject.raft.role, Resigned)
    assert not subject.raft.is_shut_down
    for node_id in (2, 3):
        subject.answer(node_id, EndQuorumEpochResponse(OK, leader_of(1, EPOCH + 1)))
    assert others(subject.tick(60_000)) == []
    subject.receive(BeginQuorumEpochRequest(leader_of(2, EPOCH + 2)))
    assert subject.raft.is_shut_down


# Check-quorum


def test_a_leader_that_is_cut_off_resigns() -> None:
    # KAFKA-15489: after one and a half fetch timeouts without a majority.
    subject = leader()
    subject.tick(1_000)
    subject.receive(fetch(2, 11))
    subject.tick(2_999)
    assert subject.raft.is_leader
    assert LeaderChanged(-1, EPOCH + 1) in subject.tick(1)
    assert isinstance(subject.raft.role, Resigned)


def test_check_quorum_counts_a_majority_of_voters_only() -> None:
    subject = leader(voters=5)
    for _ in range(4):
        subject.tick(700)
        subject.receive(fetch(2, 11))
        subject.receive(fetch(9, 11))
    assert subject.raft.is_leader
    subject.tick(500)
    assert not subject.raft.is_leader


# Who leads


def test_an_observer_finds_the_leader_through_a_bootstrap_server() -> None:
    # KAFKA-17030: the leader need not know the node.
    servers = (("somewhere", 9000),)
    subject = Subject(node_id=9, bootstrap_servers=servers)
    [(server, request)] = sends(subject.start())
    assert server == -2
    assert isinstance(request, FetchRequest)
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    effects = subject.answer(-2, FetchResponse(error, leader_of(3, EPOCH + 1)))
    assert others(effects) == [
        Persist(QuorumState(EPOCH + 1, leader_id=3)),
        LeaderChanged(3, EPOCH + 1),
    ]
    assert [node_id for node_id, _ in sends(effects)] == [3]


def test_a_server_that_has_not_heard_of_the_epoch_is_not_asked_again_at_once() -> None:
    # It was cut off when the leader was elected that has died since, and cannot be elected alone.
    subject = Subject(node_id=9, bootstrap_servers=(("somewhere", 9000),))
    subject.start()
    behind = FetchResponse(ErrorCode.UNKNOWN_LEADER_EPOCH, nobody(EPOCH - 1))
    assert sends(subject.answer(-2, behind)) == []
    assert subject.raft.deadline_ms == subject.now_ms + RaftConfig(9).retry_backoff_ms
    assert [node_id for node_id, _ in sends(subject.tick())] == [-2]


def test_a_leader_whose_address_was_unknown_is_followed_when_it_answers() -> None:
    # After a restart the file names a leader that is not among the voters of the log.
    subject = Subject(state=QuorumState(EPOCH, leader_id=7), bootstrap_servers=(("b", 1),))
    subject.start()
    assert isinstance(subject.raft.role, Unattached)
    assert subject.raft.leader_id == 7
    effects = subject.answer(-2, FetchResponse(OK, leader_of(7, EPOCH), 10))
    assert others(effects) == [Committed(10)]
    assert isinstance(subject.raft.role, Follower)
    assert [node_id for node_id, _ in sends(effects)] == [7]


def test_an_observer_never_stands() -> None:
    subject = Subject(node_id=9)
    subject.start()
    for _ in range(20):
        subject.tick()
    assert subject.now_ms > 5_000
    assert isinstance(subject.raft.role, Unattached)


def test_a_voter_that_cannot_reach_the_leader_asks_the_others() -> None:
    subject = follower()
    subject.fail(2)
    assert 3 in subject.sent


def test_a_wiped_leader_is_not_talked_into_leading() -> None:
    wiped = Subject(state=QuorumState(), records=0)
    wiped.start()
    asked = next(node_id for node_id in wiped.sent if node_id > 0)
    error = ErrorCode.FENCED_LEADER_EPOCH
    assert others(wiped.answer(asked, FetchResponse(error, leader_of(1, EPOCH)))) == []
    assert isinstance(wiped.raft.role, Unattached)
    assert wiped.raft.leader_epoch == 0


def test_two_leaders_of_one_epoch_are_a_bug() -> None:
    with pytest.raises(AssertionError, match="epoch 4 has two leaders: 2 and 3"):
        follower().receive(BeginQuorumEpochRequest(leader_of(3, EPOCH)))
