"""The reports of a transaction's tasks, and the driver's decision."""

from pathlib import Path

import pytest

from moldau.ids import TopicPartition
from moldau.spark.encoding import EncodedRecords
from moldau.spark.errors import PipelineError
from moldau.spark.piece_files import PieceFile, PieceReader
from moldau.spark.transactional_write import (
    Report,
    as_rows,
    check_reports,
    pieces_of,
    targets_of,
    writer_of,
)

CLEAN = [Report(4, 0, ["t-0", "t-2"], 10, None), Report(4, 0, ["t-1"], 5, None)]


def test_clean_reports_pass() -> None:
    check_reports(CLEAN, [])
    check_reports(CLEAN, [3])
    check_reports([], [])


@pytest.mark.parametrize(
    "reports, tried_again, said",
    [
        ([*CLEAN, Report(4, 0, [], 0, "broker down")], [], "broker down"),
        ([*CLEAN, Report(4, 0, ["t-2"], 5, None)], [], "two tasks have written to t-2"),
        ([*CLEAN, Report(4, 1, ["t-3"], 5, None)], [], "a task was run again"),
        (CLEAN, [4], "a task was run again"),
    ],
)
def test_what_is_not_clean_ends_the_transaction(
    reports: list[Report], tried_again: list[int], said: str
) -> None:
    with pytest.raises(PipelineError, match=said):
        check_reports(reports, tried_again)


def test_the_partitions_of_a_topic_are_shared_out_evenly() -> None:
    shares = [writer_of(TopicPartition("orders", number), 3) for number in range(6)]
    assert sorted(shares) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("has_file", [True, False])
def test_pieces_are_the_same_behind_the_shuffle(tmp_path: Path, has_file: bool) -> None:
    pieces = [
        EncodedRecords(TopicPartition("orders", number % 2), b"%d" % number * 50, number, 7, 9)
        for number in range(5)
    ]
    with PieceFile(str(tmp_path)) as file, PieceReader() as reader:
        rows = as_rows(pieces, 2, file if has_file else None)
        assert rows.column("records").null_count == (5 if has_file else 0)
        assert list(pieces_of(rows, reader)) == pieces
    assert targets_of(rows) == {TopicPartition("orders", 0), TopicPartition("orders", 1)}
    assert as_rows([], 2, None).num_rows == 0
