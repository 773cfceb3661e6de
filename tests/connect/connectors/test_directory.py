"""The directory source by itself."""

import datetime
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from moldau.connect.connectors.directory import DirectorySource
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.errors import ConnectError


class Stored:
    def __init__(self, *offsets: tuple[dict[str, Any], dict[str, Any]]) -> None:
        self._offsets = offsets

    def get(self, partition: Any) -> dict[str, Any] | None:
        return next((at for each, at in self._offsets if each == partition), None)

    def items(self) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
        return self._offsets


def started(path: Path, stored: Stored | None = None, **settings: str) -> DirectorySource:
    source = DirectorySource()
    source.start({"directory": str(path), "topic": "rows", **settings}, stored or Stored())
    return source


def polled(source: DirectorySource) -> list[tuple[str, Any]]:
    """Values as JSON, with the offsets after them."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"})
    found: list[tuple[str, Any]] = []
    while records := source.poll():
        for each in records:
            data = converter.from_connect("rows", (), each.value_schema, each.value)
            assert data is not None
            place = (each.source_partition["file"], *each.source_offset.values())
            found.append((data.decode(), place))
    return found


def test_files_are_read_once_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"n": 3}\n\n[1.5]\n')
    (tmp_path / "a.csv").write_text('n,text\n1,"two\nlines"\n2,\n')
    (tmp_path / ".hidden.csv").write_text("n\n9\n")
    (tmp_path / "c.csv.tmp").write_text("n\n9\n")
    (tmp_path / "readme").write_text("no data")
    source = started(tmp_path)
    assert polled(source) == [
        ('{"n":"1","text":"two\\nlines"}', ("a.csv", 1, False)),
        ('{"n":"2","text":""}', ("a.csv", 2, True)),
        ('{"n":3}', ("b.json", 1, False)),
        ("[1.5]", ("b.json", 2, True)),
    ]
    (tmp_path / "c.csv.tmp").rename(tmp_path / "c.csv")
    assert polled(source) == [('{"n":"9"}', ("c.csv", 1, True))]


def test_it_goes_on_after_the_stored_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    (tmp_path / "b.csv").write_text("n\n1\n2\n3\n")
    stored = Stored(
        ({"file": "a.csv"}, {"row": 1, "done": True}),
        ({"file": "b.csv"}, {"row": 1, "done": False}),
    )
    assert polled(started(tmp_path, stored, **{"batch.size": "1"})) == [
        ('{"n":"2"}', ("b.csv", 2, False)),
        ('{"n":"3"}', ("b.csv", 3, True)),
    ]


def test_columns_of_parquet_keep_their_types(tmp_path: Path) -> None:
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int16()),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "at": pa.array([moment, None], pa.timestamp("us")),
            "tags": pa.array([["a"], None], pa.list_(pa.string())),
            "where": pa.array([{"x": 1.5}, None], pa.struct([("x", pa.float64())])),
            "more": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    [record, empty] = started(tmp_path).poll() or []
    types = [field.schema.type.name for field in record.value_schema.struct_fields]  # type: ignore[union-attr]
    assert types == ["INT16", "BYTES", "INT64", "ARRAY", "STRUCT", "MAP"]
    values = [record.value.get(name) for name in ("small", "price", "at", "tags", "more")]
    at = moment.replace(microsecond=678000, tzinfo=datetime.UTC)
    assert values == [1, Decimal("1.50"), at, ["a"], {"k": 1}]
    assert record.value.get("where").get("x") == 1.5
    assert [empty.value.get(name) for name in table.column_names] == [None] * 6


def parquet(rows: int = 1000) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": range(rows)}), sink, compression="none", row_group_size=100)
    return bytes(sink.getvalue())


def with_damaged_page() -> bytes:
    """A Parquet file whose footer is whole, but not the data of its first column."""
    content = bytearray(parquet())
    content[4:40] = b"\xff" * 36
    return bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("a.csv", b"a,b\n1\n", r"a.csv, line 2: 1 values for 2 columns"),
        ("a.csv", b"a,b\n1,2,3\n", r"a.csv, line 2: 3 values for 2 columns"),
        ("a.csv", b'a,b\n1,"cut o', r"a.csv, line 2 is not CSV: unexpected end of data"),
        ("a.csv", b"a,a\n", "names a column twice"),
        ("a.csv", b"a,,b\n1,2,3\n", "has a column without a name"),
        ("a.csv", b"a\nstra\xdfe\n", r"a.csv is not UTF-8 \(byte 0xdf\)"),
        ("a.json", b"{\n", r"a.json, line 1 is not JSON"),
        ("a.json", b'{"n": 1}\n{"n": 2', r"a.json, line 2 is not JSON"),
        ("a.json", b"[" * 100_000, r"a.json, line 1 is not JSON"),
        ("a.json", b'"stra\xdfe"\n', r"a.json is not UTF-8 \(byte 0xdf\)"),
        ("a.parquet", b"", r"a.parquet is not a whole Parquet file"),
        ("a.parquet", b"a,b\n1,2\n", r"a.parquet is not a whole Parquet file"),
        ("a.parquet", parquet()[:-20], r"a.parquet is not a whole Parquet file"),
        ("a.parquet", with_damaged_page(), r"a.parquet (is not a whole|cannot be read)"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named(
    tmp_path: Path, name: str, content: bytes, wrong: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConnectError, match=wrong):
        polled(started(tmp_path))


def test_rows_before_a_bad_one_are_read_once_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"n": 1}\n{"n": 2}\n{"n":\n')
    source = started(tmp_path, **{"batch.size": "1"})
    [first] = source.poll() or []
    with pytest.raises(ConnectError, match="line 3"):
        source.poll()
    path.write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    stored = Stored((dict(first.source_partition), dict(first.source_offset)))
    assert polled(started(tmp_path, stored)) == [
        ('{"n":2}', ("a.json", 2, False)),
        ('{"n":3}', ("a.json", 3, True)),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", b"n\n1\n2\n"), ("a.json", b"1\n2\n"), ("a.parquet", parquet(2))],
)
def test_a_file_with_fewer_rows_than_were_read_is_named(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    stored = Stored(({"file": name}, {"row": 3, "done": False}))
    with pytest.raises(ConnectError, match=f"{name} has 2 rows, but 3 were read before"):
        polled(started(tmp_path, stored))


def test_a_file_that_grows_after_its_end_was_read_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("1\n")
    source = started(tmp_path)
    assert polled(source) == [("1", ("a.json", 1, True))]
    path.write_text("1\n2\n")
    assert polled(source) == []
    stored = Stored(({"file": "a.json"}, {"row": 1, "done": True}))
    assert polled(started(tmp_path, stored)) == []


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("".join(f"{n}\n" for n in range(5000)))
    source = started(tmp_path, **{"batch.size": "10"})
    first = source.poll() or []
    with path.open("a") as file:
        file.write("5000\n")
    rest = polled(source)
    assert len(first) + len(rest) == 5001
    assert rest[-1] == ("5000", ("a.json", 5001, True))


def test_files_have_columns_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,m\n1,2\n")
    (tmp_path / "b.csv").write_text("n\n3\n")
    assert [value for value, _ in polled(started(tmp_path))] == ['{"n":"1","m":"2"}', '{"n":"3"}']


def test_byte_order_marks_blank_lines_and_empty_files_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfn\r\n1\r\n\r\n")
    (tmp_path / "b.json").write_bytes(b"\xef\xbb\xbf2")
    for name in ("c.csv", "d.json"):
        (tmp_path / name).touch()
    (tmp_path / "e.csv").write_text("n\n3\n")
    source = started(tmp_path)
    polls = [source.poll() or [] for _ in range(5)]
    assert [[each.source_partition["file"] for each in poll] for poll in polls] == [
        *(["a.csv"], ["b.json"], [], [], ["e.csv"])
    ]
    assert polls[0][0].value.get("n") == "1"
    assert polls[1][0].value == 2


def test_a_directory_that_is_not_there_is_said_at_validation(tmp_path: Path) -> None:
    [problem] = DirectorySource.validate({"directory": str(tmp_path / "no")})
    assert problem.name == "directory"
    assert DirectorySource.validate({"directory": str(tmp_path)}) == []
