"""The file source by itself: lines, ends of lines, and files that change under it."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.connectors.file_source import FileStreamSource, split_lines
from moldau.connect.data.errors import ConnectError


class Stored:
    """Stored offsets of a test."""

    def __init__(self, offsets: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        self._offsets = offsets

    def get(self, partition: Any) -> dict[str, Any] | None:
        return next((at for each, at in self._offsets if each == partition), None)

    def items(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return self._offsets


def started(path: Path, position: Any = None, batch_size: int = 2000) -> FileStreamSource:
    stored = [] if position is None else [({"filename": str(path)}, {"position": position})]
    source = FileStreamSource()
    config = {"file": str(path), "topic": "lines", "batch.size": str(batch_size)}
    source.start(config, Stored(stored))
    return source


def polled(source: FileStreamSource) -> list[tuple[str, int]]:
    """Values with the positions after them, until there are no more."""
    found: list[tuple[str, int]] = []
    while records := source.poll():
        assert {record.topic for record in records} == {"lines"}
        found += [(record.value, record.source_offset["position"]) for record in records]
    return found


def test_positions_are_bytes_after_the_line(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes("eins\nzwölf\r\ndrei\rvier\n\n".encode())
    assert polled(started(path)) == [
        ("eins", 5),
        ("zwölf", 13),
        ("drei", 18),
        ("vier", 23),
        ("", 24),
    ]


def test_a_last_line_without_an_end_waits(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("one\ntw")
    source = started(path)
    assert polled(source) == [("one", 4)]
    with path.open("a") as file:
        file.write("o\r")
    # Perhaps a line feed follows.
    assert polled(source) == []
    with path.open("a") as file:
        file.write("\nthree\n")
    assert polled(source) == [("two", 9), ("three", 15)]


def test_it_goes_on_at_the_stored_position(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("one\ntwo\n")
    assert polled(started(path, 4)) == [("two", 8)]


def test_a_position_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match="position of an offset must be an integer, not '4'"):
        started(tmp_path / "in", "4")


def test_a_file_that_comes_later_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "in"
    source = started(path)
    assert source.poll() == []
    path.write_text("one\n")
    assert polled(source) == [("one", 4)]


def test_a_rotated_file_is_read_to_its_end_and_the_new_one_from_its_beginning(
    tmp_path: Path,
) -> None:
    path = tmp_path / "in"
    path.write_text("one\n")
    source = started(path)
    assert polled(source) == [("one", 4)]
    with path.open("a") as file:
        file.write("two\n")
    path.rename(tmp_path / "in.1")
    path.write_text("three\n")
    assert polled(source) == [("two", 8), ("three", 6)]


def test_lines_written_just_before_a_rotation_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the end of the file was seen, and before it is looked at which file has the name."""
    path, moved = tmp_path / "in", tmp_path / "in.1"
    path.write_text("one\n")
    source = started(path)
    assert polled(source) == [("one", 4)]
    stat = os.stat

    def rotating(name: Any) -> os.stat_result:
        monkeypatch.setattr(os, "stat", stat)
        with path.open("a") as file:
            file.write("two\n")
        path.rename(moved)
        path.write_text("three\n")
        return stat(name)

    monkeypatch.setattr(os, "stat", rotating)
    assert polled(source) == [("two", 8), ("three", 6)]


def test_a_truncated_file_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("a long first line\n")
    source = started(path)
    assert polled(source) == [("a long first line", 18)]
    path.write_text("new\n")
    assert polled(source) == [("new", 4)]
    # The same after a restart.
    assert polled(started(path, 18)) == [("new", 4)]


def test_invalid_utf_8_is_replaced_in_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_bytes(b"a\xffb\n")
    assert polled(started(path)) == [("a\ufffdb", 4)]
    columns = started(path).poll_arrow()
    assert columns is not None
    assert columns.value.to_pylist() == ["a\ufffdb"]
    assert columns.offsets == [({"filename": str(path)}, {"position": 4})]


def test_no_more_than_a_batch_is_returned_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("1\n2\n3\n")
    source = started(path, batch_size=2)
    assert [record.value for record in source.poll() or ()] == ["1", "2"]
    columns = source.poll_arrow()
    assert columns is not None
    assert columns.value.to_pylist() == ["3"]


def test_a_batch_has_a_line_at_least(tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text("1\n2\n")
    source = started(path, batch_size=-1)
    assert [record.value for record in source.poll() or ()] == ["1"]


def test_standard_input_is_refused() -> None:
    [problem] = FileStreamSource.validate({"topic": "t"})
    assert problem.name == "file"
    with pytest.raises(ConnectError, match="standard input"):
        FileStreamSource().start({"topic": "t"}, Stored([]))


@pytest.mark.parametrize(
    ("partition", "offset", "reason"),
    [
        ({"filename": "f"}, {}, r"offset \{\} needs position"),
        ({"filename": "f"}, {"position": "1"}, "position of an offset must be an integer, not '1'"),
        ({"filename": "f"}, {"position": -1}, "cannot be negative, as -1 is"),
        ({"filename": "f"}, {"position": 1 << 63}, "has 64 bits, which 9223372036854775808"),
        ({}, {"position": 1}, r"partition \{\} needs filename"),
    ],
)
def test_offsets_that_cannot_be_are_refused(
    partition: dict[str, Any], offset: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConnectError, match=reason):
        FileStreamSource.alter_offsets({"file": "f"}, [(partition, offset)])
    assert FileStreamSource.alter_offsets({"file": "f"}, [({}, None)])


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n", "ö".encode()])).map(b"".join),
    st.integers(1, 5),
)
def test_lines_do_not_depend_on_how_many_are_taken_at_a_time(data: bytes, most: int) -> None:
    whole, end = split_lines(data, 1000)
    found, position = [], 0
    while step := split_lines(data[position:], most)[0]:
        found += [(line, position + after) for line, after in step]
        position = found[-1][1]
    assert found == whole
    assert position == end
    left = data[end:]
    assert b"\n" not in left
    assert b"\r" not in left[:-1]


@given(
    data=st.lists(st.sampled_from([b"a", b"\xc3\xb6", b"\xff", b"\n", b"\n", b"\r"])).map(b"".join),
    batch_size=st.integers(1, 4),
)
def test_columns_have_the_same_lines_and_positions(
    data: bytes, batch_size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("in") / "in"
    path.write_bytes(data)
    source, other = started(path, batch_size=batch_size), started(path, batch_size=batch_size)
    source._read()
    other._read()
    while records := [(line.decode(errors="replace"), at) for line, at in other._take()]:
        values = source._take_arrow()
        assert values is not None
        assert (values.to_pylist(), source._position) == ([x for x, _ in records], records[-1][1])
    assert source._take_arrow() is None
