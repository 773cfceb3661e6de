"""Divides offset ranges into tasks: large ones can be split, small ones share a task.

Spark's own source creates one task per partition. A task costs some ten milliseconds whatever it
reads, so small ranges share a task here; each is still read as a whole and in order. Splitting
gives up the order within a partition, so it is done only if the options ask for it, as in Spark:
``minPartitions`` and ``maxRecordsPerPartition``.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from moldau.spark.offsets import OffsetRange

# Reading this many records takes about as long as starting a task.
MERGED_RECORDS: Final = 20_000


def plan_tasks(
    ranges: Sequence[OffsetRange],
    *,
    min_partitions: int | None = None,
    max_records_per_partition: int | None = None,
    merged_records: int = MERGED_RECORDS,
) -> list[list[OffsetRange]]:
    """The ranges of each task; every record is in exactly one, and no task is empty."""
    pieces = [each for each in ranges if each.size > 0]
    if max_records_per_partition is not None:
        pieces = [
            part
            for each in pieces
            for part in split(each, -(-each.size // max_records_per_partition))
        ]
    if min_partitions is not None:
        return [[part] for part in _split_by_size(pieces, min_partitions)]
    limit = min(merged_records, max_records_per_partition or merged_records)
    return _merge(pieces, limit)


def split(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """Split ``whole`` evenly into ``parts`` pieces, at most one per record."""
    parts = max(1, min(parts, whole.size))
    cuts = [whole.start + whole.size * number // parts for number in range(parts + 1)]
    return [OffsetRange(whole.partition, first, last) for first, last in pairwise(cuts)]


def _split_by_size(ranges: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    """At least ``min_partitions`` pieces if there are enough records, in proportion to size."""
    total = sum(each.size for each in ranges)
    if len(ranges) >= min_partitions or total == 0:
        return list(ranges)
    # Rounded up, so that there are at least as many as requested.
    return [
        part for each in ranges for part in split(each, -(-min_partitions * each.size // total))
    ]


def _merge(ranges: Iterable[OffsetRange], limit: int) -> list[list[OffsetRange]]:
    tasks: list[list[OffsetRange]] = []
    together: list[OffsetRange] = []
    records = 0
    for each in ranges:
        if each.size >= limit:
            tasks.append([each])
            continue
        if together and records + each.size > limit:
            tasks.append(together)
            together, records = [], 0
        together.append(each)
        records += each.size
    if together:
        tasks.append(together)
    return tasks
