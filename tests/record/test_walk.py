"""Skipping over records finds the same facts as decoding them."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.record.header import CorruptBatch
from moldau.record.records import encode_record
from moldau.record.walk import RecordFacts, walk_records

fields = st.none() | st.binary(max_size=90)
headers = st.lists(st.tuples(st.text(max_size=8), fields), max_size=3)
contents = st.lists(
    st.tuples(st.just(-1) | st.integers(0, 2**45), fields, fields, headers),
    min_size=1,
    max_size=12,
)


def payload_of(records: list[Any]) -> bytes:
    base = records[0][0]
    return b"".join(
        encode_record(index, record[0] - base, *record[1:]) for index, record in enumerate(records)
    )


def walk(payload: bytes, base_timestamp: int, count: int) -> tuple[RecordFacts, int]:
    facts = RecordFacts(base_timestamp, count)
    return facts, walk_records(payload, 0, len(payload), facts)


@given(contents)
def test_a_walk_learns_what_is_in_the_records(records: list[Any]) -> None:
    payload = payload_of(records)
    facts, end = walk(payload, records[0][0], len(records))
    stamped = [record[0] for record in records if record[0] != -1]
    assert end == len(payload)
    assert facts.passed == len(records)
    assert facts.has_null_key == any(record[1] is None for record in records)
    assert facts.offsets_are_consecutive
    assert facts.max_timestamp == max(stamped, default=-1)
    assert facts.min_timestamp == min(stamped, default=2**63 - 1)


@given(contents, st.integers(1, 60))
def test_a_walk_through_a_moving_window_learns_the_same(records: list[Any], width: int) -> None:
    payload = payload_of(records)
    whole, _ = walk(payload, records[0][0], len(records))
    facts = RecordFacts(records[0][0], len(records))
    position = 0
    while position < len(payload):
        step = width
        window = payload[position : position + step]
        while not (moved := walk_records(window, 0, len(window), facts)):
            step *= 2
            window = payload[position : position + step]
        position += moved
    for name in ("passed", "min_timestamp", "max_timestamp", "has_null_key"):
        assert getattr(facts, name) == getattr(whole, name)


@given(contents, st.binary(max_size=9), st.binary(max_size=9))
def test_a_walk_through_a_view_learns_the_same(
    records: list[Any], before: bytes, after: bytes
) -> None:
    payload = payload_of(records)
    whole, end = walk(payload, records[0][0], len(records))
    facts = RecordFacts(records[0][0], len(records))
    view = memoryview(before + payload + after)[len(before) : len(before) + len(payload)]
    assert walk_records(view, 0, len(view), facts) == end
    for name in ("passed", "min_timestamp", "max_timestamp", "has_null_key"):
        assert getattr(facts, name) == getattr(whole, name)


@pytest.mark.parametrize("where", [(-1, 3), (0, 11)])
def test_a_walk_does_not_leave_its_bytes(where: tuple[int, int]) -> None:
    payload = payload_of([(0, b"a", b"b", [])])
    assert len(payload) < 11
    with pytest.raises(ValueError, match="is not within"):
        walk_records(payload, *where, RecordFacts(0, 1))


def test_a_timestamp_that_could_overflow_is_refused() -> None:
    payload = encode_record(0, 2**62, b"k", b"v", [])
    with pytest.raises(CorruptBatch, match=r"record 0 is damaged .*: the timestamp"):
        walk(payload, 0, 1)


def test_a_walk_passes_no_more_records_than_expected() -> None:
    payload = payload_of([(0, b"a", b"b", [])] * 3)
    facts, end = walk(payload, 0, 2)
    assert (facts.passed, end) == (2, len(payload) * 2 // 3)


@pytest.mark.parametrize("deltas", [[0, 0], [1, 2], [0, 2], [-1, 0]])
def test_offsets_that_do_not_count_from_zero_are_noticed(deltas: list[int]) -> None:
    payload = b"".join(encode_record(delta, 0, b"k", b"v", []) for delta in deltas)
    assert not walk(payload, 0, 2)[0].offsets_are_consecutive


@given(contents, st.data())
def test_damaged_records_are_corrupt_or_something_but_never_another_error(
    records: list[Any], data: st.DataObject
) -> None:
    payload = bytearray(payload_of(records))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    try:
        facts, end = walk(bytes(payload), records[0][0], len(records))
    except CorruptBatch:
        return
    assert facts.passed <= len(records)
    assert end <= len(payload)


@given(st.binary(max_size=100))
def test_noise_is_corrupt_or_something_but_never_another_error(noise: bytes) -> None:
    with contextlib.suppress(CorruptBatch):
        walk(noise, 0, 100)


@pytest.mark.parametrize("base_timestamp", [-(2**63), 2**62, 2**63 - 1])
def test_timestamps_that_could_overflow_are_refused(base_timestamp: int) -> None:
    with pytest.raises(CorruptBatch, match="base timestamp"):
        RecordFacts(base_timestamp, 1)
