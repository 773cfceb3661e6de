"""What a leader concludes from the fetches of its followers."""

import pytest

from moldau.errors import ErrorCode
from moldau.metadata.registrations import BrokerRegistration
from moldau.replica.leader_state import IsrChange, LeaderAndIsr
from tests.replica.leading import ALL, EPOCHS, MAX_LAG_MS, Leading, broker, registration


def confirmed(change: IsrChange, *, epochs: int = 1) -> LeaderAndIsr:
    return LeaderAndIsr(change.leader_epoch, change.isr, change.partition_epoch + epochs)


# --- the high watermark


def test_the_high_watermark_is_what_every_replica_in_sync_has() -> None:
    leading = Leading()
    leading.log_end_offset = 10
    assert leading.watermark() == -1, "nothing is known before the first fetches"
    leading.fetch(2, 10)
    assert leading.watermark() == -1
    leading.fetch(3, 4)
    assert leading.watermark() == 4


def test_the_leader_counts_as_far_as_it_has_flushed() -> None:
    leading = Leading()
    leading.log_end_offset = 10
    leading.fetch(2, 10)
    leading.fetch(3, 10)
    assert leading.state.high_watermark(6, 10, 0, MAX_LAG_MS, leading.brokers) == 6


def test_a_follower_that_lags_outside_the_isr_does_not_count() -> None:
    leading = Leading(isr=(1, 2))
    leading.log_end_offset = 10
    leading.fetch(2, 10)
    leading.fetch(3, 4)
    assert leading.watermark() == 10


def test_a_replica_counts_from_the_moment_the_leader_asks_to_add_it() -> None:
    leading = Leading(isr=(1, 2))
    leading.log_end_offset = leading.high_watermark = 10
    leading.fetch(2, 10)
    change = leading.fetch(3, 10)
    assert change is not None
    assert change.isr == (1, 2, 3)
    leading.log_end_offset = 20
    leading.fetch(2, 20, now_ms=MAX_LAG_MS + 1)
    # It has not caught up for long, and is not in the ISR; but the controller may have added it.
    assert leading.watermark(now_ms=MAX_LAG_MS + 1) == 10


def test_a_replica_counts_until_the_controller_confirms_its_removal() -> None:
    leading = Leading()
    leading.log_end_offset = 10
    leading.fetch(2, 10)
    leading.fetch(3, 4)
    change = leading.shrink(MAX_LAG_MS + 1)
    assert change is not None
    assert change.isr == (1, 2)
    assert leading.watermark(MAX_LAG_MS + 1) == 4
    assert leading.state.confirm(change, confirmed(change))
    assert leading.watermark(MAX_LAG_MS + 1) == 10


def test_a_follower_that_is_about_to_join_is_waited_for() -> None:
    leading = Leading(isr=(1,))
    leading.log_end_offset = leading.high_watermark = 10
    # It asks for the end as of its previous fetch, so it was caught up then.
    leading.fetch(3, 5, now_ms=100)
    leading.high_watermark = leading.log_end_offset = 20
    leading.fetch(3, 10, now_ms=200)
    assert leading.state.pending is None
    leading.log_end_offset = 30
    assert leading.watermark(now_ms=300) == 10
    assert leading.watermark(now_ms=100 + MAX_LAG_MS + 1) == 30


@pytest.mark.parametrize(
    "registered",
    [None, broker(3, fenced=True), broker(3, stopping=True), broker(3, epoch=999)],
)
def test_a_follower_that_may_not_join_is_not_waited_for(
    registered: BrokerRegistration | None,
) -> None:
    leading = Leading(isr=(1,))
    leading.log_end_offset = 10
    del leading.brokers[3]
    if registered is not None:
        leading.brokers[3] = registered
    assert leading.fetch(3, 10) is None
    leading.log_end_offset = 20
    assert leading.watermark() == 20


# --- joining


def test_a_follower_joins_when_it_has_reached_the_high_watermark() -> None:
    leading = Leading(isr=(1, 2))
    leading.log_end_offset = 10
    leading.fetch(2, 8)
    leading.high_watermark = 8
    assert leading.fetch(3, 7) is None
    change = leading.fetch(3, 8)
    assert change == IsrChange((1, 2, 3), (101, 102, 103), leader_epoch=5, partition_epoch=7)


def test_7128_a_follower_does_not_join_before_the_start_of_the_leader_epoch() -> None:
    """The high watermark of a new leader may be older than what was committed."""
    leading = Leading(isr=(1, 2), start_offset=10)
    leading.high_watermark = 4
    assert leading.fetch(3, 9) is None
    assert leading.fetch(3, 10) is not None


@pytest.mark.parametrize("registered", [broker(3, fenced=True), broker(3, stopping=True)])
def test_13916_a_broker_that_is_fenced_or_stopping_does_not_join(
    registered: BrokerRegistration,
) -> None:
    leading = Leading(isr=(1, 2))
    leading.brokers[3] = registered
    assert leading.fetch(3, 0) is None
    leading.brokers[3] = broker(3)
    assert leading.fetch(3, 0) is not None


def test_15221_a_fetch_of_an_earlier_incarnation_does_not_let_the_next_one_join() -> None:
    """The log of the restarted broker may have lost what the old one had."""
    leading = Leading(isr=(1, 2))
    leading.brokers[3] = broker(3, epoch=EPOCHS[3] + 100)
    assert leading.fetch(3, 0, broker_epoch=EPOCHS[3]) is None
    assert leading.fetch(3, 0, broker_epoch=EPOCHS[3] + 100) is not None


def test_a_follower_of_an_old_version_has_no_epoch_to_check() -> None:
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0, broker_epoch=-1)
    assert change is not None
    assert change.broker_epochs[2] == -1


def test_a_replica_in_sync_that_has_not_fetched_yet_is_named_without_an_epoch() -> None:
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0)
    assert change is not None
    assert change.broker_epochs == (101, -1, 103)


def test_there_is_one_change_at_a_time() -> None:
    leading = Leading(isr=(1,))
    change = leading.fetch(2, 0)
    assert change is not None
    assert leading.fetch(3, 0) is None
    assert leading.shrink(MAX_LAG_MS + 1) is None
    assert leading.state.confirm(change, confirmed(change))
    assert leading.fetch(3, 0) is not None


# --- lagging


def test_a_follower_under_load_is_caught_up_as_of_its_previous_fetch() -> None:
    leading = Leading()
    leading.log_end_offset = 10
    for now_ms in range(0, 10 * MAX_LAG_MS, 10_000):
        for follower in (2, 3):
            # It always asks for what was the end when it fetched before.
            leading.fetch(follower, leading.log_end_offset - 10, now_ms)
        leading.log_end_offset += 10
        assert leading.shrink(now_ms) is None


def test_a_follower_that_fetches_but_falls_behind_is_removed() -> None:
    leading = Leading()
    removed = None
    now_ms = 0
    while removed is None:
        now_ms += 1_000
        leading.log_end_offset += 10
        leading.fetch(2, leading.log_end_offset, now_ms)
        leading.fetch(3, leading.log_end_offset // 2, now_ms)
        removed = leading.shrink(now_ms)
    assert removed.isr == (1, 2)
    assert MAX_LAG_MS < now_ms <= MAX_LAG_MS + 2_000


def test_a_follower_that_has_everything_is_never_removed() -> None:
    leading = Leading()
    leading.fetch(2, 0)
    leading.fetch(3, 0)
    assert leading.shrink(1_000 * MAX_LAG_MS) is None


def test_a_follower_of_an_idle_partition_is_caught_up_when_a_record_arrives() -> None:
    leading = Leading()
    leading.fetch(2, 0)
    leading.fetch(3, 0)
    later_ms = 1_000 * MAX_LAG_MS
    leading.state.appended(0, later_ms)
    leading.log_end_offset = 1
    assert leading.shrink(later_ms) is None
    # One that does not fetch the record either is not.
    leading.state.appended(1, later_ms + MAX_LAG_MS)
    leading.log_end_offset = 2
    change = leading.shrink(later_ms + MAX_LAG_MS + 1)
    assert change is not None
    assert change.isr == (1,)


def test_replicas_in_sync_get_time_to_fetch_from_a_new_leader() -> None:
    leading = Leading(start_offset=10)
    assert leading.shrink(MAX_LAG_MS) is None
    change = leading.shrink(MAX_LAG_MS + 1)
    assert change is not None
    assert change.isr == (1,)


# --- the answers of the controller


def test_metadata_replaces_what_is_pending_and_keeps_what_followers_have() -> None:
    leading = Leading(isr=(1, 2))
    leading.log_end_offset = 10
    leading.fetch(2, 10)
    change = leading.fetch(3, 10)
    assert change is not None
    leading.state.update(registration((1, 2), partition_epoch=9))
    assert leading.state.pending is None
    assert leading.state.maximal_isr == (1, 2)
    assert leading.state.followers[2].log_end_offset == 10


def test_12686_an_answer_that_the_metadata_has_overtaken_is_ignored() -> None:
    leading = Leading()
    change = leading.shrink(MAX_LAG_MS + 1)
    assert change is not None
    leading.state.update(registration(ALL, partition_epoch=9))
    assert not leading.state.confirm(change, confirmed(change))
    assert not leading.state.refuse(change, ErrorCode.NOT_CONTROLLER)
    assert (leading.state.isr, leading.state.partition_epoch) == (ALL, 9)


def test_12686_a_late_answer_does_not_end_the_change_after_it() -> None:
    leading = Leading(isr=(1,))
    first = leading.fetch(2, 0)
    assert first is not None
    leading.state.update(registration(first.isr, partition_epoch=8))
    second = leading.fetch(3, 0)
    assert second is not None
    assert not leading.state.confirm(first, confirmed(first))
    assert (leading.state.pending, leading.state.maximal_isr) == (second, ALL)


@pytest.mark.parametrize("answer", [LeaderAndIsr(6, (1,), 9), LeaderAndIsr(5, (1,), 6)])
def test_an_answer_of_another_epoch_is_ignored(answer: LeaderAndIsr) -> None:
    leading = Leading()
    change = leading.shrink(MAX_LAG_MS + 1)
    assert change is not None
    assert not leading.state.confirm(change, answer)
    # The metadata will say what is; until then the worse case counts.
    assert (leading.state.pending, leading.state.maximal_isr) == (change, ALL)


def test_an_answer_without_a_change_ends_the_request() -> None:
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0)
    assert change is not None
    assert leading.state.confirm(change, confirmed(change, epochs=0))
    assert leading.state.isr == (1, 2, 3)


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_a_change_that_was_certainly_not_made_counts_no_more(code: ErrorCode) -> None:
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0)
    assert change is not None
    assert not leading.state.refuse(change, code)
    assert leading.state.maximal_isr == (1, 2)
    assert leading.fetch(3, 0) is not None


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    ],
)
def test_a_leader_whose_view_is_old_waits_for_the_metadata(code: ErrorCode) -> None:
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0)
    assert change is not None
    assert not leading.state.refuse(change, code)
    assert (leading.state.pending, leading.state.maximal_isr) == (change, (1, 2, 3))


@pytest.mark.parametrize(
    "code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.REQUEST_TIMED_OUT]
)
def test_other_errors_pass(code: ErrorCode) -> None:
    """KAFKA-14154: a controller that knows less than the leader is not active any more."""
    leading = Leading(isr=(1, 2))
    change = leading.fetch(3, 0)
    assert change is not None
    assert leading.state.refuse(change, code)
    assert leading.state.pending is change


# --- other assignments


def test_followers_come_and_go_with_the_assignment() -> None:
    leading = Leading()
    leading.fetch(2, 0)
    leading.state.update(registration((1, 2), (4, 1, 2), partition_epoch=8))
    assert list(leading.state.followers) == [4, 2]
    assert leading.state.followers[2].log_end_offset == 0
    assert leading.state.followers[4].log_end_offset == -1


# --- the low watermark


def test_the_low_watermark_is_the_smallest_log_start_of_live_replicas() -> None:
    leading = Leading()
    leading.log_end_offset = 10
    assert leading.state.low_watermark(8, leading.brokers) == -1
    leading.fetch(2, 10, log_start_offset=8)
    leading.fetch(3, 10, log_start_offset=2)
    assert leading.state.low_watermark(8, leading.brokers) == 2
    leading.brokers[3] = broker(3, fenced=True)
    assert leading.state.low_watermark(8, leading.brokers) == 8
    del leading.brokers[2]
    assert leading.state.low_watermark(9, leading.brokers) == 9
