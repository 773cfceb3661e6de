"""The records that a topic refuses are the same as found by decoding them."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.records import encode_record
from moldau.record.refused import NO_KEY
from tests.record.kernels import both_kernels

contents = st.lists(st.tuples(st.integers(-4, 4), st.none() | st.binary(max_size=3)), max_size=20)


def look(kernel: Any, payload: bytes, most: int = 100, **rules: Any) -> Any:
    rules = {"needs_key": False, "oldest": -(2**63) + 1, "latest": 2**63 - 1, **rules}
    refused = kernel.RefusedRecords(0, most=most, **rules)
    refused.look(payload)
    return refused


@both_kernels
@given(contents, st.booleans(), st.integers(-3, 3), st.integers(-3, 3))
def test_records_without_a_key_or_of_the_wrong_time_are_named(
    kernel: Any, records: list[Any], needs_key: bool, oldest: int, latest: int
) -> None:
    payload = b"".join(encode_record(0, delta, key, b"v", ()) for delta, key in records)
    refused = look(kernel, payload, needs_key=needs_key, oldest=oldest, latest=latest)
    expected = [
        (index, NO_KEY if needs_key and key is None else timestamp)
        for index, (timestamp, key) in enumerate(records)
        if (needs_key and key is None) or (timestamp != -1 and not oldest <= timestamp <= latest)
    ]
    assert refused.found() == expected
    assert refused.refused == len(expected)
    assert refused.of_wrong_time == len([each for each in expected if each[1] != NO_KEY])
    assert refused.passed == len(records)


@both_kernels
def test_only_the_first_are_named_but_all_are_counted(kernel: Any) -> None:
    refused = look(kernel, encode_record(0, 0, None, b"v", ()) * 50, most=3, needs_key=True)
    assert refused.found() == [(0, NO_KEY), (1, NO_KEY), (2, NO_KEY)]
    assert (refused.refused, refused.passed) == (50, 50)
    refused.look(encode_record(0, 0, None, b"v", ()))
    assert (refused.refused, refused.passed, len(refused.found())) == (51, 51, 3)


@both_kernels
@given(st.binary(max_size=60))
def test_noise_is_looked_at_or_refused_and_nothing_else(kernel: Any, noise: bytes) -> None:
    with contextlib.suppress(ValueError):
        look(kernel, noise, needs_key=True)


@both_kernels
@pytest.mark.parametrize("base_timestamp", [-(2**62) - 1, 2**62])
def test_timestamps_that_could_overflow_are_refused(kernel: Any, base_timestamp: int) -> None:
    with pytest.raises(ValueError, match="base timestamp"):
        kernel.RefusedRecords(base_timestamp, needs_key=True, oldest=0, latest=0, most=1)
