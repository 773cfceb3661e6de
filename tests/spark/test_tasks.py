"""Ranges become tasks: every record in one of them, large ones split, small ones merged."""

from hypothesis import given
from hypothesis import strategies as st

from moldau.ids import TopicPartition
from moldau.spark.offsets import OffsetRange
from moldau.spark.tasks import plan_tasks, split


def ranges(*sizes: int) -> list[OffsetRange]:
    return [
        OffsetRange(TopicPartition("t", number), 10, 10 + size) for number, size in enumerate(sizes)
    ]


def sizes_of(tasks: list[list[OffsetRange]]) -> list[list[int]]:
    return [[each.size for each in task] for task in tasks]


def test_small_partitions_share_a_task_and_large_ones_have_their_own() -> None:
    tasks = plan_tasks(ranges(3, 50, 4, 4, 5), merged_records=10)
    assert sizes_of(tasks) == [[50], [3, 4], [4, 5]]


def test_a_partition_is_not_split_unless_asked_for() -> None:
    assert sizes_of(plan_tasks(ranges(1_000_000))) == [[1_000_000]]


def test_min_partitions_splits_the_large_ones_most_and_merges_nothing() -> None:
    assert sizes_of(plan_tasks(ranges(60, 20), min_partitions=4)) == [[20], [20], [20], [20]]
    assert sizes_of(plan_tasks(ranges(5, 5, 5), min_partitions=2)) == [[5], [5], [5]]


def test_max_records_per_partition_bounds_every_task() -> None:
    tasks = plan_tasks(ranges(25, 3, 3), max_records_per_partition=10, merged_records=100)
    assert sizes_of(tasks) == [
        [8],
        [
            8,
        ],
        [9],
        [3, 3],
    ]


def test_a_range_is_cut_into_equal_pieces_and_no_more_than_it_has_records() -> None:
    whole = OffsetRange(TopicPartition("t", 0), 5, 8)
    assert [each.size for each in split(whole, 10)] == [1, 1, 1]
    assert split(whole, 1) == [whole]


@given(
    st.lists(st.integers(0, 100_000), max_size=12),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1000, 50_000),
)
def test_every_record_is_read_once_whatever_is_asked_for(
    sizes: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    wanted = ranges(*sizes)
    tasks = plan_tasks(wanted, min_partitions=min_partitions, max_records_per_partition=max_records)
    assert all(task for task in tasks)
    by_partition: dict[TopicPartition, list[OffsetRange]] = {}
    for task in tasks:
        assert max_records is None or sum(each.size for each in task) <= max_records
        for each in task:
            by_partition.setdefault(each.partition, []).append(each)
    for whole in wanted:
        at = whole.start
        for piece in sorted(by_partition.get(whole.partition, [])):
            assert piece.start == at
            assert piece.size > 0
            at = piece.end
        assert at == whole.end
    if min_partitions is not None:
        assert len(tasks) >= min(min_partitions, sum(sizes))
