"""Elections and commitment, as transcripts of inputs and effects."""

import random

from hypothesis import given
from hypothesis import strategies as st

from moldau.raft.node import (
    AppendLeaderChange,
    BeginQuorumEpoch,
    Committed,
    Effect,
    LogEnd,
    LogFlushed,
    Message,
    Persist,
    RaftNode,
    ReplicaFetched,
    Role,
    Send,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.quorum_state import QuorumState
from moldau.raft.voters import Voter, VoterSet

EPOCH = 4
END = LogEnd(EPOCH, 10)
LATER = 10_000


def node(
    voters: int = 3, state: QuorumState | None = None, log_end: LogEnd = END, node_id: int = 1
) -> RaftNode:
    voter_set = VoterSet.of(*(Voter(number) for number in range(1, voters + 1)))
    state = QuorumState(EPOCH) if state is None else state
    return RaftNode(node_id, voter_set, state, log_end, random.Random(1))


def leader() -> RaftNode:
    """Node 1 of three, elected at offset 10 in epoch 5 by node 2."""
    candidate = node()
    candidate.start(0)
    candidate.tick(LATER)
    candidate.step(VoteResponse(2, -1, EPOCH + 1, True), LATER)
    assert candidate.is_leader
    return candidate


def test_a_quorum_of_one_elects_itself_at_once_with_one_write() -> None:
    alone = node(voters=1)
    assert alone.start(0) == [
        Persist(QuorumState(EPOCH + 1, leader_id=1)),
        AppendLeaderChange(EPOCH + 1, granting_voters=(1,)),
    ]
    alone.appended(11)
    assert alone.step(LogFlushed(11), 0) == [Committed(11)]
    alone.appended(15)
    assert alone.step(LogFlushed(15), 0) == [Committed(15)]
    assert alone.step(LogFlushed(15), 0) == []


def test_a_former_leader_does_not_lead_its_old_epoch_again() -> None:
    alone = node(voters=1, state=QuorumState(EPOCH, leader_id=1))
    alone.start(0)
    assert (alone.leader_id, alone.leader_epoch) == (1, EPOCH + 1)


def test_a_voter_waits_its_time_out_before_it_stands() -> None:
    waiting = node()
    assert waiting.start(0) == []
    assert waiting.tick(999) == []
    request = VoteRequest(1, EPOCH + 1, END)
    assert waiting.tick(LATER) == [
        Persist(QuorumState(EPOCH + 1, voted_id=1)),
        Send(2, request),
        Send(3, request),
    ]
    assert waiting.role is Role.CANDIDATE


def test_a_majority_of_votes_makes_a_leader() -> None:
    candidate = node(voters=5)
    candidate.start(0)
    candidate.tick(LATER)
    begin = BeginQuorumEpoch(1, EPOCH + 1)
    assert candidate.step(VoteResponse(2, -1, EPOCH + 1, True), LATER) == []
    assert candidate.step(VoteResponse(3, -1, EPOCH + 1, False), LATER) == []
    assert candidate.step(VoteResponse(4, -1, EPOCH, True), LATER) == []
    assert candidate.step(VoteResponse(5, -1, EPOCH + 1, True), LATER) == [
        Persist(QuorumState(EPOCH + 1, leader_id=1)),
        AppendLeaderChange(EPOCH + 1, granting_voters=(1, 2, 5)),
        *(Send(number, begin) for number in (2, 3, 4, 5)),
    ]


def test_the_vote_is_persisted_before_it_is_sent() -> None:
    assert node().step(VoteRequest(2, EPOCH + 1, END), 0) == [
        Persist(QuorumState(EPOCH + 1, voted_id=2)),
        Send(2, VoteResponse(1, -1, EPOCH + 1, vote_granted=True)),
    ]


def test_a_voter_votes_once_in_an_epoch() -> None:
    voter = node()
    voter.step(VoteRequest(2, EPOCH + 1, END), 0)
    refused = Send(3, VoteResponse(1, -1, EPOCH + 1, vote_granted=False))
    assert voter.step(VoteRequest(3, EPOCH + 1, END), 0) == [refused]
    granted = voter.step(VoteRequest(2, EPOCH + 1, END), 0)
    assert granted[-1] == Send(2, VoteResponse(1, -1, EPOCH + 1, vote_granted=True))


def test_a_log_that_lacks_records_gets_no_vote_but_its_epoch_counts() -> None:
    assert node().step(VoteRequest(2, EPOCH + 1, LogEnd(EPOCH, 9)), 0) == [
        Persist(QuorumState(EPOCH + 1)),
        Send(2, VoteResponse(1, -1, EPOCH + 1, vote_granted=False)),
    ]


def test_a_longer_log_of_an_older_epoch_lacks_records() -> None:
    effects = node().step(VoteRequest(2, EPOCH + 1, LogEnd(EPOCH - 1, 99)), 0)
    assert effects[-1] == Send(2, VoteResponse(1, -1, EPOCH + 1, vote_granted=False))


def test_an_old_candidate_is_told_the_new_epoch() -> None:
    refused = Send(2, VoteResponse(1, -1, EPOCH, vote_granted=False))
    assert node().step(VoteRequest(2, EPOCH - 1, END), 0) == [refused]


def test_a_leader_that_hears_of_a_higher_epoch_steps_down() -> None:
    deposed = leader()
    assert deposed.step(BeginQuorumEpoch(3, EPOCH + 2), LATER) == [
        Persist(QuorumState(EPOCH + 2, leader_id=3))
    ]
    assert deposed.role is Role.FOLLOWER
    assert deposed.step(ReplicaFetched(2, 99), LATER) == []


def test_a_record_is_committed_when_a_majority_has_it() -> None:
    elected = leader()
    elected.appended(11)
    assert elected.step(LogFlushed(11), LATER) == []
    assert elected.step(ReplicaFetched(3, 11), LATER) == [Committed(11)]
    elected.appended(14)
    assert elected.step(ReplicaFetched(2, 14), LATER) == []
    assert elected.step(ReplicaFetched(3, 13), LATER) == [Committed(13)]
    assert elected.step(LogFlushed(14), LATER) == [Committed(14)]


def test_records_of_earlier_epochs_are_committed_only_with_one_of_the_own() -> None:
    # Raft, Figure 8: a majority has offset 9, and it might still be overwritten.
    elected = leader()
    assert elected.step(LogFlushed(10), LATER) == []
    assert elected.step(ReplicaFetched(2, 10), LATER) == []
    elected.appended(11)
    elected.step(LogFlushed(11), LATER)
    assert elected.step(ReplicaFetched(2, 11), LATER) == [Committed(11)]


messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(
        VoteRequest,
        st.integers(2, 3),
        st.integers(3, 9),
        st.builds(LogEnd, st.integers(3, 6), st.integers(0, 20)),
    ),
    st.builds(
        VoteResponse, st.integers(2, 3), st.integers(-1, 3), st.integers(3, 9), st.booleans()
    ),
    st.builds(BeginQuorumEpoch, st.integers(2, 3), st.integers(3, 9)),
    st.builds(LogFlushed, st.integers(0, 20)),
    st.builds(ReplicaFetched, st.integers(2, 3), st.integers(0, 20)),
)


@given(st.lists(messages | st.integers(0, 5000), max_size=30))
def test_epochs_rise_votes_are_single_and_commitment_never_falls(
    script: list[Message | int],
) -> None:
    subject = node()
    effects: list[Effect] = subject.start(0)
    now_ms = 0
    epoch, high_watermark = EPOCH, -1
    votes: dict[int, int] = {}
    for item in script:
        if isinstance(item, int):
            now_ms += item
            effects = subject.tick(now_ms)
        else:
            effects = subject.step(item, now_ms)
        assert subject.leader_epoch >= epoch
        epoch = subject.leader_epoch
        assert subject.high_watermark >= high_watermark
        high_watermark = subject.high_watermark
        for effect in effects:
            if isinstance(effect, Persist) and effect.state.voted_id >= 0:
                voted = votes.setdefault(effect.state.leader_epoch, effect.state.voted_id)
                assert voted == effect.state.voted_id
