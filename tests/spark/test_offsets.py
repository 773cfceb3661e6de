"""The start and end offsets of a stream's batches."""

from hypothesis import given
from hypothesis import strategies as st

from moldau.ids import TopicPartition
from moldau.spark.offsets import (
    MADE_ANEW,
    Continued,
    Gap,
    OffsetRange,
    Offsets,
    StreamOffset,
    TopicIds,
    advance,
    clamp,
    count_new,
    decode_offset,
    encode_offset,
    go_on,
    limit_offsets,
    ranges_between,
)

A, B, C = (TopicPartition("t", number) for number in range(3))

partitions = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "d-e"]), st.integers(0, 20))
topic_ids = st.dictionaries(st.sampled_from(["a", "b.c"]), st.text("ab", min_size=1))
offsets = st.dictionaries(partitions, st.integers(0, 1 << 60), max_size=6)


def test_a_position_is_written_as_sparks_own_source_writes_it() -> None:
    assert encode_offset(StreamOffset({B: 7, A: 5})) == {"t": {"0": 5, "1": 7}}


@given(offsets, st.booleans(), st.none() | offsets, topic_ids, offsets)
def test_a_position_comes_back_out_of_its_checkpoint(
    at: Offsets, is_initial: bool, start: Offsets | None, ids: TopicIds, gone: Offsets
) -> None:
    position = StreamOffset(at, is_initial, start, ids, gone)
    assert decode_offset(encode_offset(position)) == position


def test_what_a_newer_version_adds_to_a_checkpoint_is_no_topic() -> None:
    assert decode_offset({"t": {"0": 5}, "#later": [1]}) == StreamOffset({A: 5})


def test_the_end_of_the_first_batch_says_where_it_began() -> None:
    initial = StreamOffset({A: 5}, is_initial=True)
    first = advance(initial, {A: 5, B: 2}, StreamOffset({A: 9, B: 2}))
    assert first == StreamOffset({A: 9, B: 2}, start={A: 5, B: 2})
    assert advance(first, first.offsets, StreamOffset({A: 12})) == StreamOffset({A: 12})


def test_a_position_with_nothing_new_stays_the_same_to_the_letter() -> None:
    for position in (StreamOffset({A: 5}, is_initial=True), StreamOffset({A: 5}, start={A: 1})):
        assert advance(position, {A: 5}, StreamOffset({A: 5})) == position


def test_a_topic_of_another_id_is_new_wherever_it_ends() -> None:
    position = StreamOffset({A: 5}, topic_ids={"t": "old"})
    reached = StreamOffset({A: 5}, topic_ids={"t": "new"})
    assert advance(position, {A: 0}, reached) == reached


def test_a_limit_is_shared_out_by_how_much_there_is() -> None:
    start, latest = {A: 0, B: 100, C: 7}, {A: 900, B: 200, C: 7}
    assert limit_offsets(start, latest, 100) == {A: 90, B: 110, C: 7}
    assert limit_offsets(start, latest, 1000) == latest


@given(
    st.dictionaries(
        partitions, st.tuples(st.integers(0, 1000), st.integers(0, 10_000)), max_size=6
    ),
    st.integers(1, 5000),
)
def test_with_a_limit_everybody_moves_and_nobody_too_far(
    sizes: dict[TopicPartition, tuple[int, int]], limit: int
) -> None:
    start = {partition: first for partition, (first, _) in sizes.items()}
    latest = {partition: first + size for partition, (first, size) in sizes.items()}
    ends = limit_offsets(start, latest, limit)
    for partition, end in ends.items():
        assert start[partition] <= end <= latest[partition]
        assert end > start[partition] or latest[partition] == start[partition]
    # Each partition may add the one record it is sure of.
    assert count_new(start, ends) <= limit + len(sizes)


def test_what_came_after_the_target_was_taken_is_left_for_later() -> None:
    assert clamp({A: 10, B: 3, C: 4}, {A: 8, B: 5}) == {A: 8, B: 3}
    assert clamp({A: 10}, {A: 8, B: 5}) == {A: 8}


def test_ranges_lie_between_two_positions() -> None:
    assert ranges_between({A: 1, B: 5}, {A: 4, B: 5}) == ([OffsetRange(A, 1, 4)], [])


def test_a_partition_that_went_back_is_a_gap() -> None:
    ranges, gaps = ranges_between({A: 9, B: 5}, {A: 4, B: 5})
    assert ranges == []
    assert gaps == [Gap(A, "its end went back from 9 to 4, as if it had been created again")]


def test_a_partition_that_went_away_is_missed_once_and_goes_on_where_it_was() -> None:
    before = StreamOffset({A: 9, B: 5}, topic_ids={"t": "id"})
    without = go_on(before, [A], {}, lambda partition, offset: f"{partition} at {offset}")
    assert without == Continued({A: 9}, {B: 5}, {"t": "id"}, [Gap(B, "t-1 at 5")])
    after = StreamOffset({A: 10}, topic_ids={"t": "id"}, gone={B: 5})
    again = go_on(after, [A, B], {"t": "id"}, lambda *_: "gone")
    assert again == Continued({A: 10, B: 5}, {}, {"t": "id"}, [])


def test_a_topic_that_was_created_again_is_a_gap_and_begins_anew() -> None:
    before = StreamOffset({A: 9}, topic_ids={"t": "old"})
    after = go_on(before, [A], {"t": "new"}, lambda *_: "gone")
    assert after == Continued({}, {}, {"t": "new"}, [Gap(A, MADE_ANEW)])
