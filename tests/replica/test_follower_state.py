"""What a follower does with the answers of its leader."""

from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import EpochEndOffset, PartitionData
from moldau.replica.follower_state import (
    FollowerState,
    Phase,
    Reset,
    Step,
    reset_for,
    truncation_offset,
)

TOPIC_ID = bytes(range(16))


def following(fetch_offset: int = 10, *, leader_epoch: int = 5, last_epoch: int = 4) -> Any:
    topic_partition = TopicPartition("t", 0)
    return FollowerState(topic_partition, TOPIC_ID, leader_epoch, fetch_offset, last_epoch, 0)


def error(code: ErrorCode) -> PartitionData:
    return PartitionData(error_code=code)


def diverging(epoch: int, end_offset: int) -> PartitionData:
    return PartitionData(diverging_epoch=EpochEndOffset(epoch, end_offset))


class Log:
    """Epochs with their start offsets, and an end."""

    def __init__(self, end: int, **epochs: int) -> None:
        self.log_end_offset = end
        self._starts = {int(name.removeprefix("e")): start for name, start in epochs.items()}

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]:
        later = [epoch for epoch in self._starts if epoch > leader_epoch]
        earlier = [epoch for epoch in self._starts if epoch <= leader_epoch]
        if leader_epoch in self._starts and not later:
            return leader_epoch, self.log_end_offset
        if not later:
            return -1, -1
        return (max(earlier) if earlier else leader_epoch), self._starts[min(later)]


def test_records_of_the_leader_that_was_asked_are_appended() -> None:
    state = following()
    assert state.judge(state.asking, PartitionData(records=b"x")) is Step.APPEND
    assert state.judge(state.asking, PartitionData()) is Step.APPEND


def test_an_answer_of_an_earlier_leader_is_ignored() -> None:
    asked = following(leader_epoch=5).asking
    state = following(leader_epoch=6)
    for answer in (PartitionData(records=b"x"), diverging(3, 7), error(ErrorCode.NONE)):
        assert state.judge(asked, answer) is Step.IGNORE


def test_an_answer_for_another_offset_is_ignored() -> None:
    asked = following(10).asking
    # What was asked twice is answered twice, and the log has gone on in between.
    assert following(12).judge(asked, PartitionData(records=b"x")) is Step.IGNORE
    assert following(8).judge(asked, diverging(3, 7)) is Step.IGNORE


@pytest.mark.parametrize("phase", [each for each in Phase if each is not Phase.FETCHING])
def test_a_partition_that_is_not_fetching_takes_no_answer(phase: Phase) -> None:
    state = following()
    state.phase = phase
    assert state.judge(state.asking, PartitionData(records=b"x")) is Step.IGNORE


def test_a_diverging_epoch_truncates_and_is_no_progress() -> None:
    state = following()
    assert state.judge(state.asking, diverging(3, 7)) is Step.TRUNCATE
    # Only an epoch says where: without one the answer is an ordinary one.
    assert state.judge(state.asking, diverging(-1, 7)) is Step.APPEND


@pytest.mark.parametrize(
    ("code", "step"),
    [
        (ErrorCode.OFFSET_OUT_OF_RANGE, Step.ASK_OFFSETS),
        (ErrorCode.FENCED_LEADER_EPOCH, Step.STOP),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, Step.DELAY),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, Step.DELAY),
        (ErrorCode.UNKNOWN_TOPIC_ID, Step.DELAY),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Step.DELAY),
        (ErrorCode.INCONSISTENT_TOPIC_ID, Step.DELAY),
        (ErrorCode.KAFKA_STORAGE_ERROR, Step.DELAY),
        (ErrorCode.CORRUPT_MESSAGE, Step.DELAY),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Step.DELAY),
    ],
)
def test_each_error_has_its_step(code: ErrorCode, step: Step) -> None:
    state = following()
    assert state.judge(state.asking, error(code)) is step


def test_pauses_grow_up_to_the_limit() -> None:
    state = following()
    pauses = [state.pause_ms(1000) for _ in range(8)]
    assert pauses == [20, 40, 80, 160, 320, 640, 1000, 1000]


def test_the_log_is_truncated_where_the_epoch_ends_in_the_shorter_of_the_two_logs() -> None:
    log = Log(20, e1=0, e2=10)
    assert truncation_offset(log, EpochEndOffset(2, 15)) == 15
    # Ours ends the epoch earlier than the leader's log.
    assert truncation_offset(log, EpochEndOffset(1, 12)) == 10
    assert truncation_offset(log, EpochEndOffset(1, 7)) == 7


def test_an_epoch_that_only_the_leader_has_truncates_to_the_one_before() -> None:
    # KIP-279: epoch 2 is the leader's, and ours has 1 and 3. What we have of 1 may be too much, but
    # only another question shows that.
    log = Log(20, e1=0, e3=10)
    assert truncation_offset(log, EpochEndOffset(2, 15)) == 10
    # Where the leader's epoch ends, those before it have ended too.
    assert truncation_offset(log, EpochEndOffset(2, 8)) == 8


def test_an_epoch_before_all_of_ours_truncates_to_where_it_ends() -> None:
    # The log begins at 100, and the leader's log diverged at 40 (KAFKA-12996).
    assert truncation_offset(Log(120, e7=100), EpochEndOffset(5, 40)) == 40
    assert truncation_offset(Log(120, e7=100), EpochEndOffset(5, 110)) == 100
    assert truncation_offset(Log(120), EpochEndOffset(5, 40)) == 40


def test_a_log_is_never_truncated_beyond_its_end() -> None:
    assert truncation_offset(Log(20, e1=0), EpochEndOffset(1, 50)) == 20
    assert truncation_offset(Log(20), EpochEndOffset(1, 50)) == 20


def test_out_of_range_goes_on_within_the_log_of_the_leader() -> None:
    # After an unclean election the leader's log may be shorter.
    assert reset_for(20, 0, 15) == Reset(15, is_full=False)
    # The leader has deleted what we would need next.
    assert reset_for(20, 30, 90) == Reset(30, is_full=True)
    assert reset_for(20, 10, 90) == Reset(20, is_full=False)
    assert reset_for(20, 20, 90) == Reset(20, is_full=False)
