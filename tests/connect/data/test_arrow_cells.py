"""Cells of Arrow that are made of buffers are those that PyArrow would make of objects."""

import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.data.arrow_cells import cells, numbers, one_cell, repeated

TIME = pa.timestamp("us", tz="UTC")

# As the reader of a file source does, and that of a database.
READING = """
import sys
from pathlib import Path
from moldau.connect.connectors.file_source import FileStreamSource
from moldau.connect.engine.polling import StoredReader
from moldau.connect.engine.source_rows import arrow_rows, as_batch

source = FileStreamSource()
source.start({"file": sys.argv[1], "topic": "t"}, StoredReader([]))
assert arrow_rows(source.poll_arrow()).num_rows == 2
rows = [("t", None, None, b"v", 1, None), ("t", None, b"k", None, None, None)]
assert as_batch(rows).num_rows == 2
print("pandas" in sys.modules)
"""


@given(st.lists(st.none() | st.binary(max_size=20), max_size=40))
def test_bytes_are_as_pyarrow_makes_them(values: list[bytes | None]) -> None:
    made = cells(values, pa.binary())
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.binary()))


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=40))
def test_numbers_are_as_pyarrow_makes_them(values: list[int | None]) -> None:
    made = numbers(values, TIME)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.int64()).cast(TIME))


def test_what_is_not_bytes_but_has_some_is_converted_by_pyarrow() -> None:
    values = [bytearray(b"a"), memoryview(b"bc"), None, b"d"]
    assert cells(values, pa.binary()).to_pylist() == [b"a", b"bc", None, b"d"]  # type: ignore[arg-type]


def test_whole_numbers_may_be_floats() -> None:
    made = numbers([1000.0, None, 2], TIME)  # type: ignore[list-item]
    assert made.equals(pa.array([1000, None, 2], TIME))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_text_is_repeated(count: int) -> None:
    assert repeated("größer", count).equals(pa.array(["größer"] * count, pa.string()))


def test_one_cell_has_one_value() -> None:
    assert one_cell(memoryview(b"abc")[:2], pa.binary()).to_pylist() == [b"ab"]


def test_the_reader_of_a_source_does_not_import_pandas(tmp_path: object) -> None:
    path = f"{tmp_path}/lines.txt"
    with open(path, "w") as file:
        file.write("one\ntwo\n")
    command = [sys.executable, "-c", READING, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
