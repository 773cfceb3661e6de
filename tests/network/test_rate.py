"""Rates as Kafka measures them, in examples calculated by hand."""

import pytest

from moldau.network.rate import Rate, RateWindow

# Kafka's default: ten seconds and the current one.
WINDOW = RateWindow(samples=11, sample_ms=1000)


def metered(*events: tuple[int, int], window: RateWindow = WINDOW) -> Rate:
    rate = Rate(window)
    for count, now_ms in events:
        rate.record(count, now_ms)
    return rate


def test_nothing_recorded_is_within_every_limit() -> None:
    assert metered().excess_ms(1, now_ms=5) == 0


def test_time_before_the_first_event_counts_as_quiet() -> None:
    """Ten seconds, so a limit of 2 allows 20 immediately."""
    assert metered((20, 0)).excess_ms(2, now_ms=0) == 0


def test_the_wait_is_what_is_missing_of_the_time_that_the_count_would_need() -> None:
    # 21 at 2 per second need 10.5 s, of which 10 are assumed.
    assert metered((21, 0)).excess_ms(2, now_ms=0) == 500
    assert metered((21, 0)).excess_ms(2, now_ms=200) == 300
    assert metered((21, 0)).excess_ms(2, now_ms=500) == 0


def test_no_wait_is_longer_than_one_sample() -> None:
    assert metered((1000, 0)).excess_ms(1, now_ms=0) == 1000
    assert metered((1, 0)).excess_ms(0, now_ms=0) == 1000


def test_a_steady_rate_below_the_limit_never_waits_and_a_burst_on_top_of_it_does() -> None:
    rate = Rate(WINDOW)
    for second in range(60):
        rate.record(2, second * 1000)
        assert rate.excess_ms(2.5, second * 1000) == 0
    rate.record(6, 60_000)
    # 20 in the previous ten seconds and 6 now, which need 10.4 s.
    assert rate.excess_ms(2.5, 60_000) == 400


@pytest.mark.parametrize("later_ms, is_idle", [(10_999, False), (11_000, True)])
def test_an_event_counts_for_as_long_as_the_window(later_ms: int, is_idle: bool) -> None:
    rate = metered((1000, 0))
    assert rate.is_idle(later_ms) is is_idle
    assert (rate.excess_ms(1, later_ms) == 0) is is_idle


def test_a_sample_counts_until_its_last_event_is_old_enough() -> None:
    rate = metered((1, 0), (1, 900))
    assert not rate.is_idle(11_899)
    assert rate.is_idle(11_900)


def test_what_is_taken_back_does_not_count() -> None:
    assert metered((21, 0), (-1, 0)).excess_ms(2, now_ms=0) == 0


def test_with_one_sample_there_is_no_quiet_time_to_start_from() -> None:
    """A window of length zero would make every rate infinite, so one millisecond is used."""
    assert metered((1, 0), window=RateWindow(1, 1000)).excess_ms(10, now_ms=0) == 99
