"""Which segments are merged by a cleaning."""

from hypothesis import given
from hypothesis import strategies as st

from moldau.storage.cleaner.segment_groups import SegmentSizes, group_segments
from moldau.storage.log.segment import MAX_RELATIVE_OFFSET


def sizes(*log_bytes: int, index_bytes: int = 8, time_index_bytes: int = 12) -> list[SegmentSizes]:
    return [
        SegmentSizes(10 * number, size, index_bytes, time_index_bytes)
        for number, size in enumerate(log_bytes)
    ]


def groups(
    segments: list[SegmentSizes],
    *,
    end_offset: int | None = None,
    max_bytes: int = 100,
    max_index_bytes: int = 1000,
) -> list[list[int]]:
    end = end_offset if end_offset is not None else segments[-1].base_offset + 10
    found = group_segments(segments, end, max_bytes, max_index_bytes)
    return [list(group) for group in found]


def test_neighbours_are_merged_up_to_the_segment_size() -> None:
    assert groups(sizes(60, 40, 50, 51, 100)) == [[0, 1], [2], [3], [4]]


def test_a_segment_that_is_too_large_alone_stays_alone() -> None:
    assert groups(sizes(150, 10)) == [[0], [1]]


def test_no_segments_make_no_groups() -> None:
    assert group_segments([], 0, 100, 100) == []


def test_indexes_must_fit_together_too() -> None:
    assert groups(sizes(1, 1, 1, index_bytes=50), max_index_bytes=100) == [[0, 1], [2]]
    assert groups(sizes(1, 1, 1, time_index_bytes=50), max_index_bytes=100) == [[0, 1], [2]]


def test_offsets_must_be_within_reach_of_the_base_offset() -> None:
    first, second = sizes(1, 1)
    far = second._replace(base_offset=MAX_RELATIVE_OFFSET - 5)
    assert groups([first, far], end_offset=MAX_RELATIVE_OFFSET + 1) == [[0, 1]]
    assert groups([first, far], end_offset=MAX_RELATIVE_OFFSET + 2) == [[0], [1]]


def test_the_reach_counts_to_the_next_segment_because_the_last_offset_is_not_known() -> None:
    first, second, third = sizes(1, 1, 1)
    third = third._replace(base_offset=MAX_RELATIVE_OFFSET + 2)
    assert groups([first, second, third])[0] == [0]


def test_empty_segments_are_merged_however_far_they_are() -> None:
    far = SegmentSizes(5 * MAX_RELATIVE_OFFSET, 0, 0, 0)
    assert groups([sizes(1)[0], far]) == [[0, 1]]


@given(st.lists(st.tuples(*[st.integers(0, 60)] * 3), max_size=20))
def test_the_groups_are_the_segments_in_order_and_within_the_limits(
    found: list[tuple[int, int, int]],
) -> None:
    segments = [SegmentSizes(10 * number, *each) for number, each in enumerate(found)]
    grouped = group_segments(segments, 10 * len(segments), 100, 80)
    assert [number for group in grouped for number in group] == list(range(len(segments)))
    for group in grouped:
        members = [segments[number] for number in group]
        if len(members) > 1:
            assert sum(each.log_bytes for each in members) <= 100
            assert sum(each.index_bytes for each in members) <= 80
            assert sum(each.time_index_bytes for each in members) <= 80
