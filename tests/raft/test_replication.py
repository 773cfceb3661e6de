"""Fetching, truncating and committing, as transcripts of inputs and effects."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ErrorCode
from moldau.raft.effects import (
    AppendRecords,
    AppendSnapshot,
    Committed,
    InstallSnapshot,
    Persist,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    Truncate,
)
from moldau.raft.log_view import LogEnd, SnapshotId
from moldau.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LogAppended,
    LogFlushed,
    LogTruncated,
    Received,
    ReplicaKey,
    Request,
    SnapshotInstalled,
    VoteRequest,
)
from moldau.raft.roles import Follower, Prospective
from tests.raft.model_log import Entry, Snapshot
from tests.raft.transcripts import (
    END,
    EPOCH,
    OK,
    Subject,
    fetch,
    follower,
    key,
    leader,
    leader_of,
    others,
    sends,
    started,
)

SNAPSHOT = SnapshotId(20, EPOCH)


def served(high_watermark: int, *, epoch: int = EPOCH + 1) -> FetchResponse:
    return FetchResponse(OK, leader_of(1, epoch), high_watermark, 0)


# The leader


def test_a_record_is_committed_when_a_majority_has_it() -> None:
    elected = leader()
    assert Committed(11) in elected.receive(fetch(3, 11))
    elected.append(3)
    assert others(elected.receive(fetch(2, 14)))[:1] == [Reply(7, served(11))]
    assert Committed(13) in elected.receive(fetch(3, 13))
    assert Committed(14) in elected.flush()


def test_the_leader_counts_itself_only_with_what_is_on_disk() -> None:
    elected = leader()
    elected.append()
    assert Committed(12) not in elected.receive(fetch(3, 12))
    assert elected.raft.high_watermark == 11
    assert Committed(12) in elected.flush()


def test_records_of_earlier_epochs_are_committed_only_with_one_of_the_own() -> None:
    # Raft, Figure 8, and KAFKA-12619: a majority has offset 9, and it might still be overwritten.
    elected = leader()
    elected.receive(fetch(2, 10, last_epoch=EPOCH, high_watermark=9))
    elected.receive(fetch(3, 10, last_epoch=EPOCH, high_watermark=9))
    assert elected.raft.high_watermark == -1
    assert Committed(11) in elected.receive(fetch(2, 11))


def test_an_observer_does_not_count() -> None:
    elected = leader()
    elected.receive(fetch(9, 11))
    assert elected.raft.high_watermark == -1


def test_a_fetch_of_old_records_is_answered_at_once() -> None:
    elected = leader()
    effects = elected.receive(fetch(2, 4, last_epoch=EPOCH))
    assert effects == [ReplyRecords(7, served(-1), 4, 1024 * 1024)]


def test_a_fetch_at_the_end_waits_for_records() -> None:
    elected = leader()
    elected.receive(fetch(3, 11))
    assert elected.receive(fetch(2, 11, high_watermark=11)) == []
    assert elected.append() == [ReplyRecords(7, served(11), 11, 1024 * 1024)]


def test_a_fetch_at_the_end_waits_for_the_high_watermark() -> None:
    # KIP-1166: otherwise an idle follower would learn of it only with the next record.
    elected = leader()
    elected.append()
    elected.receive(fetch(2, 12, high_watermark=11), reply_to=8)
    assert others(elected.flush()) == [Committed(12), Reply(8, served(12))]
    assert elected.receive(fetch(3, 12, high_watermark=11)) == [Reply(7, served(12))]


def test_a_fetch_waits_as_long_as_it_asked_for() -> None:
    elected = leader()
    elected.receive(fetch(3, 11), reply_to=8)
    elected.receive(fetch(2, 11, high_watermark=11, max_wait_ms=100))
    assert others(elected.tick(99)) == []
    assert others(elected.tick(1)) == [Reply(7, served(11))]
    assert elected.receive(fetch(2, 11, high_watermark=11, max_wait_ms=0)) == [Reply(7, served(11))]


def test_a_waiting_fetch_is_answered_when_the_leader_steps_down() -> None:
    elected = leader()
    elected.receive(fetch(3, 11, high_watermark=11))
    elected.receive(fetch(2, 11, high_watermark=11), reply_to=8)
    effects = elected.receive(BeginQuorumEpochRequest(leader_of(2, EPOCH + 2)), reply_to=9)
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert Reply(8, FetchResponse(error, leader_of(2, EPOCH + 2), -1, 0)) in effects


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [
        (12, EPOCH, LogEnd(EPOCH, 10)),
        (11, EPOCH, LogEnd(EPOCH, 10)),
        (8, EPOCH - 1, LogEnd(EPOCH - 1, 0)),
        (12, EPOCH + 1, LogEnd(EPOCH + 1, 11)),
    ],
)
def test_a_log_that_diverges_is_sent_back_to_where_it_left(
    offset: int, last_epoch: int, diverging: LogEnd
) -> None:
    elected = leader()
    effects = elected.receive(fetch(2, offset, last_epoch=last_epoch))
    assert effects == [Reply(7, served(-1)._replace(diverging=diverging))]
    # It is no progress: nothing is committed with it.
    assert elected.raft.high_watermark == -1


def test_a_fetch_before_the_start_of_the_log_is_sent_to_the_snapshot() -> None:
    elected = leader()
    elected.receive(fetch(3, 11))
    snapshot = Snapshot(SnapshotId(8, EPOCH), 0, None)
    elected.log.add_snapshot(snapshot)
    expected = FetchResponse(OK, leader_of(1, EPOCH + 1), 11, 8, None, snapshot.snapshot_id)
    assert elected.receive(fetch(2, 5, last_epoch=EPOCH)) == [Reply(7, expected)]
    assert elected.receive(fetch(2, 0, last_epoch=0)) == [Reply(7, expected)]
    at_start = elected.receive(fetch(2, 8, last_epoch=EPOCH))
    assert isinstance(at_start[0], ReplyRecords)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (fetch(2, 11, epoch=EPOCH, last_epoch=EPOCH), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(2, 11, epoch=EPOCH + 2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(2, -1), ErrorCode.INVALID_REQUEST),
        (fetch(2, 11, last_epoch=-1), ErrorCode.INVALID_REQUEST),
        (fetch(2, 11, last_epoch=EPOCH + 2), ErrorCode.INVALID_REQUEST),
        (fetch(2, 11, max_wait_ms=-1), ErrorCode.INVALID_REQUEST),
        (fetch(1, 11), ErrorCode.UNKNOWN_SERVER_ERROR),
        (fetch(2, 10)._replace(max_bytes=-1), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_a_wrong_fetch_is_refused_with_the_leader(request_: Request, error: ErrorCode) -> None:
    refused = FetchResponse(error, leader_of(1, EPOCH + 1), -1, 0)
    assert leader().receive(request_) == [Reply(7, refused)]


def test_a_follower_names_the_leader_to_whom_fetches_from_it() -> None:
    request = fetch(3, 10, epoch=EPOCH, last_epoch=EPOCH)
    refused = FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader_of(2, EPOCH), -1, 0)
    assert follower().receive(request) == [Reply(7, refused)]


# Followers


def test_a_follower_fetches_again_when_what_it_got_is_on_disk() -> None:
    subject = follower()
    response = FetchResponse(OK, leader_of(2, EPOCH), 12, records=b"two")
    assert subject.answer(2, response) == [AppendRecords(b"two", must_flush=True)]
    # Committed elsewhere, so it may be published here; but it is not acknowledged yet.
    assert subject.append(2) == [Committed(12)]
    assert sends(subject.flush()) == [(2, FetchRequest(key(1), EPOCH, 12, EPOCH, 12, 500))]


def test_an_observer_that_cannot_vote_does_not_wait_for_its_disk() -> None:
    subject = Subject(node_id=9, can_become_voter=False)
    subject.start()
    asked = next(iter(subject.sent))
    response = FetchResponse(OK, leader_of(2, EPOCH), 12, records=b"two")
    effects = subject.answer(asked, response)
    assert AppendRecords(b"two", must_flush=False) in effects
    assert sends(subject.append(2)) == [(2, FetchRequest(key(9), EPOCH, 12, EPOCH, 12, 500))]


def test_the_high_watermark_of_a_follower_stays_within_its_log() -> None:
    subject = follower()
    effects = subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 99))
    assert others(effects) == [Committed(10)]
    # An older answer does not lower it.
    assert others(subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 5))) == []


def test_a_follower_cuts_its_log_where_it_diverges() -> None:
    subject = follower()
    effects = subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), diverging=LogEnd(EPOCH, 9)))
    assert effects == [Truncate(9)]
    subject.log.truncate(9)
    effects = subject.step(LogTruncated())
    assert sends(effects) == [(2, FetchRequest(key(1), EPOCH, 9, EPOCH, 8, 500))]


def test_a_follower_does_not_truncate_below_its_high_watermark() -> None:
    # KAFKA-12460: what is committed is never given up, whoever asks.
    subject = follower()
    response = FetchResponse(OK, leader_of(2, EPOCH), diverging=LogEnd(EPOCH, 7))
    message = "leader 2 of epoch 4 asks to truncate the log to offset 7, but everything before 8"
    with pytest.raises(AssertionError, match=message):
        subject.answer(2, response)


def test_an_answer_to_an_older_request_is_ignored() -> None:
    subject = follower()
    old = subject.sent[2]
    subject.receive(BeginQuorumEpochRequest(leader_of(3, EPOCH + 1)))
    subject.sent[2] = old
    assert subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 9, records=b"x")) == []


def test_a_silent_leader_is_given_up_after_the_fetch_time_out() -> None:
    subject = follower()
    subject.tick(1_999)
    assert isinstance(subject.raft.role, Follower)
    subject.tick(1)
    assert isinstance(subject.raft.role, Prospective)


def test_only_answers_of_the_leader_count_as_life() -> None:
    subject = follower()
    subject.tick(1_000)
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    subject.answer(2, FetchResponse(error, leader_of(2, EPOCH)))
    subject.tick(1_000)
    assert isinstance(subject.raft.role, Prospective)


# Snapshots


def test_a_snapshot_is_fetched_part_by_part_and_replaces_the_log() -> None:
    subject = follower()
    named = FetchResponse(OK, leader_of(2, EPOCH), 25, snapshot_id=SNAPSHOT)
    request = FetchSnapshotRequest(key(1), EPOCH, SNAPSHOT)
    assert sends(subject.answer(2, named)) == [(2, request)]
    part = FetchSnapshotResponse(OK, leader_of(2, EPOCH), SNAPSHOT, 5, 0, b"abc")
    effects = subject.answer(2, part)
    assert others(effects) == [AppendSnapshot(SNAPSHOT, 0, b"abc")]
    assert sends(effects) == [(2, request._replace(position=3))]
    effects = subject.answer(2, part._replace(position=3, data=b"de"))
    assert effects == [AppendSnapshot(SNAPSHOT, 3, b"de"), InstallSnapshot(SNAPSHOT)]
    subject.log.restart_at(Snapshot(SNAPSHOT, 0, None))
    effects = subject.step(SnapshotInstalled(SNAPSHOT))
    assert others(effects) == [Committed(20)]
    assert sends(effects) == [(2, FetchRequest(key(1), EPOCH, 20, EPOCH, 20, 500))]


def test_an_empty_part_of_a_snapshot_is_asked_for_again_after_a_pause() -> None:
    subject = follower()
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 25, snapshot_id=SNAPSHOT))
    empty = FetchSnapshotResponse(OK, leader_of(2, EPOCH), SNAPSHOT, 5, 0, b"")
    assert others(subject.answer(2, empty)) == []
    request = FetchSnapshotRequest(key(1), EPOCH, SNAPSHOT)
    subject.fail(3)
    assert (2, request) in sends(subject.tick(20))


def test_a_snapshot_never_ends_before_the_high_watermark() -> None:
    response = FetchResponse(OK, leader_of(2, EPOCH), 25, snapshot_id=SnapshotId(7, EPOCH))
    with pytest.raises(AssertionError, match="everything before 8 is committed"):
        follower().answer(2, response)


def test_a_snapshot_that_is_gone_is_asked_for_no_more() -> None:
    subject = follower()
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 25, snapshot_id=SNAPSHOT))
    gone = FetchSnapshotResponse(ErrorCode.SNAPSHOT_NOT_FOUND, leader_of(2, EPOCH))
    [(_, request)] = sends(subject.answer(2, gone))
    assert isinstance(request, FetchRequest)


def test_a_node_does_not_stand_while_it_installs_a_snapshot() -> None:
    subject = follower()
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), 25, snapshot_id=SNAPSHOT))
    whole = FetchSnapshotResponse(OK, leader_of(2, EPOCH), SNAPSHOT, 3, 0, b"abc")
    subject.answer(2, whole)
    subject.tick(10_000)
    assert isinstance(subject.raft.role, Follower)


def test_the_leader_serves_parts_of_its_snapshots() -> None:
    elected = leader()
    snapshot_id = SnapshotId(8, EPOCH)
    elected.log.add_snapshot(Snapshot(snapshot_id, 0, None))
    request = FetchSnapshotRequest(key(2), EPOCH + 1, snapshot_id, 40, 30)
    response = FetchSnapshotResponse(OK, leader_of(1, EPOCH + 1), snapshot_id, 100, 40)
    assert elected.receive(request) == [ReplySnapshot(7, response, 30)]


@pytest.mark.parametrize(
    ("snapshot_id", "position", "epoch", "error"),
    [
        (SnapshotId(7, EPOCH), 0, EPOCH + 1, ErrorCode.SNAPSHOT_NOT_FOUND),
        (SnapshotId(0, 0), 0, EPOCH + 1, ErrorCode.SNAPSHOT_NOT_FOUND),
        (SnapshotId(8, EPOCH), 100, EPOCH + 1, ErrorCode.POSITION_OUT_OF_RANGE),
        (SnapshotId(8, EPOCH), -1, EPOCH + 1, ErrorCode.POSITION_OUT_OF_RANGE),
        (SnapshotId(8, EPOCH), 0, EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (SnapshotId(8, EPOCH), 0, EPOCH + 2, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_wrong_request_for_a_snapshot_is_refused(
    snapshot_id: SnapshotId, position: int, epoch: int, error: ErrorCode
) -> None:
    elected = leader()
    elected.log.add_snapshot(Snapshot(SnapshotId(8, EPOCH), 0, None))
    request = FetchSnapshotRequest(key(2), epoch, snapshot_id, position)
    refused = FetchSnapshotResponse(error, leader_of(1, EPOCH + 1))
    assert elected.receive(request) == [Reply(7, refused)]


def test_less_than_nothing_of_a_snapshot_cannot_be_fetched() -> None:
    elected = leader()
    elected.log.add_snapshot(Snapshot(SnapshotId(8, EPOCH), 0, None))
    request = FetchSnapshotRequest(key(2), EPOCH + 1, SnapshotId(8, EPOCH), 0, max_bytes=-1)
    refused = FetchSnapshotResponse(ErrorCode.UNKNOWN_SERVER_ERROR, leader_of(1, EPOCH + 1))
    assert elected.receive(request) == [Reply(7, refused)]


def test_a_voter_that_fetches_a_snapshot_follows() -> None:
    elected = leader()
    snapshot_id = SnapshotId(8, EPOCH)
    elected.log.add_snapshot(Snapshot(snapshot_id, 0, None))
    for _ in range(5):
        elected.tick(1_000)
        elected.receive(FetchSnapshotRequest(key(2), EPOCH + 1, snapshot_id))
    assert elected.raft.is_leader


# All together


requests: st.SearchStrategy[Request] = st.one_of(
    st.builds(
        VoteRequest,
        st.builds(ReplicaKey, st.integers(2, 3)),
        st.integers(3, 9),
        st.builds(LogEnd, st.integers(3, 6), st.integers(0, 20)),
        st.just(ReplicaKey(1)),
        st.booleans(),
    ),
    st.builds(
        BeginQuorumEpochRequest,
        # In one epoch there is one leader.
        st.integers(3, 9).map(lambda epoch: leader_of(2 + epoch % 2, epoch)),
    ),
    st.builds(
        FetchRequest,
        st.builds(ReplicaKey, st.integers(2, 3)),
        st.integers(3, 9),
        st.integers(0, 20),
        st.integers(3, 9),
    ),
)


@given(st.lists(requests | st.integers(0, 5000), max_size=30))
def test_epochs_rise_votes_are_single_and_commitment_never_falls(
    script: list[Request | int],
) -> None:
    subject = started()
    epoch, high_watermark = EPOCH, -1
    votes: dict[int, int] = {}
    for item in script:
        if isinstance(item, int):
            effects = subject.tick(item)
        else:
            effects = subject.step(Received(random.Random(0).randrange(9), item))
        assert subject.raft.leader_epoch >= epoch
        epoch = subject.raft.leader_epoch
        assert subject.raft.high_watermark >= high_watermark
        high_watermark = subject.raft.high_watermark
        for effect in effects:
            if isinstance(effect, Persist) and effect.state.voted_id >= 0:
                voted = votes.setdefault(effect.state.leader_epoch, effect.state.voted_id)
                assert voted == effect.state.voted_id


def test_a_flush_that_was_overtaken_by_a_truncation_counts_only_what_is_left() -> None:
    subject = follower()
    subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), records=b"x"))
    subject.log.append(Entry(EPOCH))
    subject.step(LogAppended())
    subject.step(LogFlushed(11))
    effects = subject.answer(2, FetchResponse(OK, leader_of(2, EPOCH), diverging=LogEnd(EPOCH, 10)))
    assert effects == [Truncate(10)]
    subject.log.truncate(10)
    subject.step(LogTruncated())
    assert subject.step(LogFlushed(11)) == []
    assert subject.log.end_offset == END.offset
