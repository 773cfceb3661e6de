"""Parquet files in a real directory: complete, named by offsets, and without doubles."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from moldau.connect.connectors.lake import disk
from moldau.connect.connectors.lake.disk import Disk
from moldau.connect.connectors.lake.journal import Journal, state_folder
from moldau.connect.connectors.lake.parquet import ParquetSink
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, order, record

ORDERS = TopicPartition("orders", 0)


def start(path: Path, **options: str) -> Driven:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return Driven(ParquetSink, {"path": str(path), **named})


def ids(path: Path) -> list[int]:
    """What a reader of the directory sees."""
    return sorted(ds.dataset(path / "orders", format="parquet").to_table()["id"].to_pylist())


def files(path: Path) -> list[str]:
    return sorted(each.name for each in path.glob("*/*.parquet"))


def staged(path: Path) -> list[Path]:
    return list((path / state_folder("sink") / "files").iterdir())


def test_files_are_named_by_topic_partition_and_first_offset(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0), order(1), order(7, partition=3))
    sink.write(order(2))
    assert files(tmp_path) == [
        "orders+0+00000000000000000000.parquet",
        "orders+0+00000000000000000002.parquet",
        "orders+3+00000000000000000007.parquet",
    ]
    assert ids(tmp_path) == [0, 1, 2, 7]
    assert sink.offsets == {ORDERS: 3, TopicPartition("orders", 3): 8}
    assert staged(tmp_path) == []


def test_a_footer_has_the_next_offset(tmp_path: Path) -> None:
    start(tmp_path).write(order(0), order(5))
    [path] = tmp_path.glob("*/*.parquet")
    assert pq.read_metadata(path).metadata[b"moldau.next_offset"] == b"6"


def test_a_file_ends_at_its_size_and_when_the_schema_changes(tmp_path: Path) -> None:
    start(tmp_path, flush_size="2").write(
        order(0), order(1), order(2), order(3, price=1.0), order(4, price=2.0), order(5, price=3.0)
    )
    assert [int(name.split("+")[2].split(".")[0]) for name in files(tmp_path)] == [0, 2, 3, 5]
    assert ids(tmp_path) == [0, 1, 2, 3, 4, 5]


def test_nothing_is_visible_before_the_commit(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.stage([order(0)])
    assert files(tmp_path) == []
    assert len(staged(tmp_path)) == 1


def test_what_a_crash_before_the_commit_leaves_is_removed_and_written_again(
    tmp_path: Path,
) -> None:
    start(tmp_path).stage([order(0), order(1)])
    again = start(tmp_path)
    assert staged(tmp_path) == []
    assert again.offsets == {}
    again.write(order(0), order(1))
    assert ids(tmp_path) == [0, 1]


class CrashError(BaseException):
    """The process ends here."""


def crashing_after(calls: int) -> Callable[..., Path]:
    rename = Path.replace
    done: list[Path] = []

    def replace(self: Path, target: Path) -> Path:
        if len(done) == calls:
            raise CrashError
        done.append(target)
        return rename(self, target)

    return replace


# Two files and the journal are renamed; the journal first.
@pytest.mark.parametrize("renames", [0, 1, 2, 3])
def test_a_crash_at_any_rename_leaves_all_of_a_batch_or_nothing(
    tmp_path: Path, renames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [order(0), order(1, partition=1)]
    sink = start(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crashing_after(renames))
        if renames < 3:
            with pytest.raises(CrashError):
                sink.write(*batch)
        else:
            sink.write(*batch)
    again = start(tmp_path)
    assert bool(again.offsets) is (renames > 0)
    if not again.offsets:
        again.write(*batch)
    assert ids(tmp_path) == [0, 1]
    assert staged(tmp_path) == []


def test_a_commit_that_failed_on_the_way_is_finished_by_the_next_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [order(0), order(1, partition=1)]
    sink = start(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(disk, "_flush_folder", failing_once(disk._flush_folder, 2))
        with pytest.raises(RetriableError, match="No space left"):
            sink.write(*batch)
    sink.write(*batch)
    assert ids(tmp_path) == [0, 1]
    assert staged(tmp_path) == []


def failing_once(flush: Callable[[Path], None], at: int) -> Callable[[Path], None]:
    calls = []

    def fail(folder: Path) -> None:
        calls.append(folder)
        if len(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        flush(folder)

    return fail


def test_a_worker_that_was_replaced_cannot_commit(tmp_path: Path) -> None:
    old = start(tmp_path)
    message = old.stage([order(0)])
    start(tmp_path).write(order(0))
    with pytest.raises(ConnectError, match="another worker writes to"):
        old.driver.commit([message], {ORDERS: 1}, 0)
    assert ids(tmp_path) == [0]


def test_offsets_come_from_the_footers_where_the_journal_is_gone(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0), order(4))
    sink.write(order(9, partition=1))
    (tmp_path / state_folder("sink") / "journal.json").unlink()
    assert start(tmp_path).offsets == {ORDERS: 5, TopicPartition("orders", 1): 10}


def test_without_a_journal_only_the_last_file_of_a_partition_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = start(tmp_path)
    for number in range(5):
        sink.write(order(number), order(number, topic="other"))
    start(tmp_path, name="later").write(order(9), order(9, topic="other"))
    (tmp_path / state_folder("sink") / "journal.json").unlink()
    read: list[str] = []
    footer = Disk.footer

    def noted(self: Disk, path: str) -> Any:
        read.append(path)
        return footer(self, path)

    monkeypatch.setattr(Disk, "footer", noted)
    assert start(tmp_path, topics="orders").offsets == {ORDERS: 5}
    # That of the other connector, and the last of ours.
    assert [path.rpartition("+")[2] for path in read] == [f"{9:020d}.parquet", f"{4:020d}.parquet"]


def test_a_damaged_journal_is_an_error(tmp_path: Path) -> None:
    start(tmp_path)
    (tmp_path / state_folder("sink") / "journal.json").write_text("{}")
    with pytest.raises(ConnectError, match="is damaged"):
        start(tmp_path)


def test_a_file_of_another_connector_is_not_overwritten(tmp_path: Path) -> None:
    start(tmp_path, name="first").write(order(0))
    with pytest.raises(ConnectError, match="already exists: another connector writes"):
        start(tmp_path, name="second").write(order(0))
    assert ids(tmp_path) == [0]


def test_a_name_with_slashes_and_dots_stays_below_the_path(tmp_path: Path) -> None:
    start(tmp_path / "lake", name="../../a b/ü").write(order(0))
    assert [each.name for each in tmp_path.iterdir()] == ["lake"]
    assert ids(tmp_path / "lake") == [0]


@pytest.mark.parametrize("topic", ["../up", "a/b", "..", ".moldau", ""])
def test_a_topic_that_is_no_directory_is_a_bad_record(tmp_path: Path, topic: str) -> None:
    bad: list[str] = []
    start(tmp_path).write(order(0).replace(topic=topic), order(1), bad=bad)
    assert len(bad) == 1
    assert repr(topic) in bad[0]
    assert ids(tmp_path) == [1]


def test_renamed_topics_have_directories_of_their_own(tmp_path: Path) -> None:
    start(tmp_path).write(order(0), order(1).replace(topic="other"), order(2))
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*.parquet")}
    assert found == {
        "orders/orders+0+00000000000000000000.parquet",
        "other/orders+0+00000000000000000001.parquet",
    }


def test_a_batch_of_tombstones_moves_the_offsets(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(record(None, offset=3))
    assert files(tmp_path) == []
    assert sink.offsets == {ORDERS: 4}


def test_a_failing_task_leaves_no_temporary_file(tmp_path: Path) -> None:
    sink = start(tmp_path, flush_size="1")
    with pytest.raises(ConnectError, match="record orders-0@2"):
        sink.stage([order(0), order(1), order(2).replace(topic="a/b")])
    assert staged(tmp_path) == []


def test_a_full_disk_is_retried_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sink = start(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RetriableError, match="No space left"):
            sink.stage([order(0)])
    assert staged(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "message"),
    [("hdfs://host/x", "is a URL"), ("{tmp}/file/below", "is not a directory")],
)
def test_a_path_that_cannot_be_used_is_refused_at_validation_and_start(
    tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "file").write_text("")
    config = {"path": path.format(tmp=tmp_path)}
    [problem] = ParquetSink.validate(config)
    assert problem.name == "path"
    assert message in problem.message
    with pytest.raises(ConnectError, match=message):
        Driven(ParquetSink, config)


def test_the_journal_keeps_the_offsets_of_all_partitions(tmp_path: Path) -> None:
    made = Journal(Disk(str(tmp_path)), "sink")
    made.start()
    made.commit([], {ORDERS: 1})
    made.commit([], {TopicPartition("orders", 1): 2})
    [path] = tmp_path.glob(".moldau/*/journal.json")
    assert json.loads(path.read_text())["offsets"] == [["orders", 0, 1], ["orders", 1, 2]]
