"""``moldau topics delete-records``."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Moldau


@pytest.fixture
def filled(moldau: Moldau, topic: str, tmp_path: Path) -> str:
    """A topic with ten records in each of two partitions."""
    moldau("topics", "create", topic, "--partitions", "2")
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"{number}\n" for number in range(10)))
    for partition in ("0", "1"):
        moldau("produce", topic, "--partition", partition, "--file", str(lines))
    return topic


def rows(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_records_before_an_offset_are_deleted_in_the_partitions_named(
    moldau: Moldau, filled: str
) -> None:
    options = ("--partition", "1", "--offset", "7")
    deleted = moldau("topics", "delete-records", filled, *options)
    assert rows(deleted.out) == [["TOPIC", "PARTITION", "EARLIEST", "ERROR"], [filled, "1", "7"]]
    read = moldau("consume", filled, "--from-beginning", "--to-end", "--partition", "1")
    assert read.out == "7\n8\n9\n"
    untouched = moldau("consume", filled, "--from-beginning", "--to-end", "--partition", "0")
    assert len(untouched.out.splitlines()) == 10


def test_all_records_of_all_partitions_are_deleted(moldau: Moldau, filled: str) -> None:
    deleted = moldau("topics", "delete-records", filled, "--all", "--format", "json")
    assert json.loads(deleted.out) == [
        {"topic": filled, "partition": number, "earliest_offset": 10, "error": None}
        for number in (0, 1)
    ]
    assert moldau("consume", filled, "--from-beginning", "--to-end").out == ""


def test_offsets_come_from_kafkas_file(moldau: Moldau, filled: str, tmp_path: Path) -> None:
    wanted = [
        {"topic": filled, "partition": 0, "offset": 3},
        {"topic": filled, "partition": 1, "offset": -1},
    ]
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": wanted, "version": 1}))
    deleted = moldau("topics", "delete-records", "--offset-json-file", str(path))
    assert (deleted.code, rows(deleted.out)[1:]) == (0, [[filled, "0", "3"], [filled, "1", "10"]])


def test_one_partition_that_fails_does_not_keep_the_others_from_being_done(
    moldau: Moldau, filled: str, tmp_path: Path
) -> None:
    wanted = [
        {"topic": filled, "partition": 0, "offset": 99},
        {"topic": filled, "partition": 1, "offset": 5},
    ]
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps({"partitions": wanted}))
    deleted = moldau(
        "topics", "delete-records", "--offset-json-file", str(path), "--format", "json"
    )
    assert deleted.code == 1
    assert deleted.err == "moldau: the records of 1 of 2 partitions could not be deleted\n"
    failed, done = json.loads(deleted.out)
    problem = "offset 99 is out of range: must be 0 to 10 (OFFSET_OUT_OF_RANGE)"
    assert (failed["earliest_offset"], failed["error"]) == (None, problem)
    assert done["earliest_offset"] == 5


def test_records_of_a_compacted_topic_stay_and_the_reason_is_shown(
    moldau: Moldau, topic: str
) -> None:
    moldau("topics", "create", topic, "--config", "cleanup.policy=compact")
    refused = moldau("topics", "delete-records", topic, "--all")
    assert refused.code == 1
    assert "cleanup.policy of the topic does not include delete (POLICY_VIOLATION)" in refused.out


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("t",), "one of the arguments --offset --all --offset-json-file is required"),
        (("--all",), "a topic name is required"),
        (("t", "--offset", "-1"), "must be 0 or greater; --all deletes all"),
        (("t", "--all", "--partition", "x"), "--partition x: must be a number, 0 or greater"),
        (("t", "--offset-json-file", "f"), "names the topics and partitions itself"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    moldau: Moldau, options: tuple[str, ...], problem: str
) -> None:
    refused = moldau("topics", "delete-records", *options)
    assert refused.code == 2
    assert problem in refused.err


def test_a_partition_that_there_is_not_is_refused(moldau: Moldau, filled: str) -> None:
    refused = moldau("topics", "delete-records", filled, "--partition", "2", "--all")
    assert refused.err == f"moldau: --partition 2: {filled} has partitions 0 to 1\n"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "must be an object such as"),
        ({"partitions": [], "version": 2}, "version 2 is not supported, only 1"),
        (
            {"partitions": [{"topic": "t", "partition": 0}]},
            "needs a topic, a partition (0 or greater)",
        ),
        ({"partitions": [{"topic": "t", "partition": -1, "offset": 0}]}, "needs a topic"),
        ({"partitions": [{"topic": "t", "partition": 0, "offset": 1}] * 2}, "t-0 is named twice"),
    ],
)
def test_a_file_that_is_not_kafkas_is_refused(
    moldau: Moldau, tmp_path: Path, document: Any, problem: str
) -> None:
    path = tmp_path / "offsets.json"
    path.write_text(json.dumps(document))
    refused = moldau("topics", "delete-records", "--offset-json-file", str(path))
    assert refused.code == 2
    assert problem in refused.err
