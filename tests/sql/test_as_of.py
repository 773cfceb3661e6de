"""VERSION AS OF and TIMESTAMP AS OF as ending offsets, and what is refused."""

import pytest

from moldau.ids import TopicPartition
from moldau.sql.as_of import check_moment, offsets_option, version_cut
from moldau.sql.errors import Span, SqlError
from moldau.sql.plan import AsOf

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
STARTS, ENDS = {P0: 5, P1: 0}, {P0: 20, P1: 10}
SPAN = Span(0, 1)


def cut(version: str) -> dict[TopicPartition, int]:
    return version_cut("t", AsOf(None, version, SPAN), STARTS, ENDS)


def test_a_version_names_an_offset_for_each_partition() -> None:
    assert cut('{"0": 17, "1": 3}') == {P0: 17, P1: 3}
    assert cut('{"0": -1, "1": 0}') == {P0: 20, P1: 0}
    assert offsets_option("t", {P1: 3, P0: 17}) == '{"t": {"0": 17, "1": 3}}'


def test_a_number_is_enough_for_one_partition() -> None:
    assert version_cut("t", AsOf(None, "7", SPAN), {P0: 5}, {P0: 20}) == {P0: 7}


@pytest.mark.parametrize(
    ("version", "wrong"),
    [
        ("7", "names no offsets"),
        ("abc", "names no offsets"),
        ('{"0": "x", "1": 1}', "names no offsets"),
        ('{"0": 1.5, "1": 1}', "names no offsets"),
        ("[1, 2]", "names no offsets"),
        ('{"0": 17}', "partition 1 is missing"),
        ('{"0": 17, "1": 3, "2": 1}', "no partition 2"),
        ('{"0": 3, "1": 3}', "records before were deleted"),
        ('{"0": 21, "1": 3}', "choose an earlier version"),
    ],
)
def test_a_version_that_does_not_exist_is_refused(version: str, wrong: str) -> None:
    with pytest.raises(SqlError, match=wrong) as raised:
        cut(version)
    assert raised.value.span == SPAN


def test_a_moment_before_the_log_is_refused() -> None:
    with pytest.raises(SqlError, match=r"oldest record is of 2023-11-14 22:13:20 UTC"):
        check_moment("t", 0, STARTS, STARTS, 1_700_000_000_000, SPAN)
    with pytest.raises(SqlError, match="what was there before was deleted"):
        check_moment("t", 0, STARTS, STARTS, 1_700_000_000_000, SPAN)


def test_a_moment_after_some_records_passes() -> None:
    check_moment("t", 0, STARTS, {P0: 6, P1: 0}, 1_700_000_000_000, SPAN)


def test_an_empty_topic_was_always_empty() -> None:
    check_moment("t", 0, {P0: 0}, {P0: 0}, None, SPAN)
