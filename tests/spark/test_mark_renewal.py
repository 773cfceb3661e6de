"""How often the mark of a query is renewed, so that it does not expire."""

import pytest

from moldau.spark.mark_renewal import LONGEST_S, renewal_interval_s


@pytest.mark.parametrize("minutes", [1, 2, 10, 60])
def test_a_short_retention_is_outlived_with_three_renewals_to_spare(minutes: int) -> None:
    assert renewal_interval_s(minutes) * 4 == minutes * 60


def test_a_long_or_unknown_retention_is_not_waited_for() -> None:
    assert renewal_interval_s(10_080) == renewal_interval_s(None) == LONGEST_S
