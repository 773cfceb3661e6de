"""Lines to records and back, and times as people write them."""

import io
import json

import pytest

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.progress import Progress, progress_line
from moldau.cli.record_input import InputRecord, LineFormat, line_parser, parse_json_line
from moldau.cli.record_output import PrintFormat, json_line, line_printer, terminal_line
from moldau.cli.times import format_time, parse_time
from moldau.client.consumer import ConsumerRecord
from moldau.record.records import Headers

NOW_MS = 1_700_000_000_000


def record(
    key: bytes | None = b"k", value: bytes | None = b"v", headers: Headers = ()
) -> ConsumerRecord:
    return ConsumerRecord("t", 2, 7, NOW_MS, False, key, value, headers, 0)


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        (LineFormat(), b"a:b", InputRecord(None, b"a:b")),
        (LineFormat(), b"", InputRecord(None, b"")),
        (LineFormat(key_separator=":"), b"a:b:c", InputRecord(b"a", b"b:c")),
        (LineFormat(key_separator="->"), b"->x", InputRecord(b"", b"x")),
        (LineFormat(key_separator=":", null_marker="-"), b"-:-", InputRecord(None, None)),
        (LineFormat(is_hex=True), b"CAfe 01", InputRecord(None, b"\xca\xfe\x01")),
        (
            LineFormat(has_headers=True, key_separator="\t"),
            b"h:1,i:\tk\tv",
            InputRecord(b"k", b"v", (("h", b"1"), ("i", b""))),
        ),
        (LineFormat(has_headers=True), b"\tv", InputRecord(None, b"v")),
        (
            LineFormat(has_headers=True, null_marker="~"),
            b"h:~\tv",
            InputRecord(None, b"v", (("h", None),)),
        ),
    ],
)
def test_a_line_becomes_a_record(form: LineFormat, line: bytes, expected: InputRecord) -> None:
    assert line_parser(form)(line) == expected


@pytest.mark.parametrize(
    ("form", "line", "problem"),
    [
        (LineFormat(key_separator=":"), b"ab", "no ':' between key and value"),
        (LineFormat(is_hex=True), b"xyz", "'xyz' is not hexadecimal"),
        (LineFormat(has_headers=True), b"v", "between headers and record"),
        (LineFormat(has_headers=True), b"h\tv", "no ':' in header 'h'"),
    ],
)
def test_a_line_that_does_not_fit_is_refused(form: LineFormat, line: bytes, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        line_parser(form)(line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"value": "v"}', InputRecord(None, b"v")),
        (
            b'{"key": 1, "value": {"a": [1, "\\u00e9"]}}',
            InputRecord(b"1", '{"a":[1,"é"]}'.encode()),
        ),
        (b'{"value_hex": "ff00", "key": null}', InputRecord(None, b"\xff\x00")),
        (
            b'{"headers": {"a": null, "b": {"hex": "ff"}}}',
            InputRecord(None, None, (("a", None), ("b", b"\xff"))),
        ),
        (
            b'{"headers": [["a", "1"], ["a", 2]]}',
            InputRecord(None, None, (("a", b"1"), ("a", b"2"))),
        ),
        (b'{"partition": 3, "timestamp": 5, "offset": 9}', InputRecord(None, None, (), 3, 5)),
        (b'{"timestamp": "2023-11-14T22:13:20Z"}', InputRecord(None, None, (), None, NOW_MS)),
    ],
)
def test_a_json_object_becomes_a_record(line: bytes, expected: InputRecord) -> None:
    assert parse_json_line(line, NOW_MS) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b'{"id": 1}', "unknown field 'id'"),
        (b'{"partition": -1}', "partition is -1"),
        (b'{"partition": true}', "partition is True"),
        (b'{"timestamp": 1.5}', "timestamp is 1.5"),
        (b'{"headers": 5}', "headers must be"),
        (b'{"headers": [["a"]]}', "is not a .name, value. pair"),
        (b'{"value": "a", "value_hex": "00"}', "cannot both be given"),
        (b'{"value_hex": 5}', "must be a string"),
    ],
)
def test_json_that_is_no_record_is_refused(line: bytes, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        parse_json_line(line, NOW_MS)


def test_a_record_is_printed_in_kafkas_order() -> None:
    form = PrintFormat(
        prints_timestamp=True,
        prints_partition=True,
        prints_offset=True,
        prints_headers=True,
        prints_key=True,
        separator="|",
    )
    headers = (("a", b"1"), ("b", None))
    line = line_printer(form)(record(headers=headers))
    assert line == b"CreateTime:1700000000000|Partition:2|Offset:7|a:1,b:null|k|v"
    assert line_printer(form)(record(key=None)).endswith(b"|NO_HEADERS|null|v")


def test_a_record_is_printed_in_hex() -> None:
    form = PrintFormat(is_hex=True, prints_key=True)
    assert line_printer(form)(record(b"\xff", None)) == b"ff\tnull"


@pytest.mark.parametrize(
    ("key", "value", "headers"),
    [
        (b"k", b"v", ()),
        (None, None, (("h", None),)),
        (b"\xff", b"\xfe", (("a", b"\xfd"), ("a", b"text"))),
        ("é".encode(), b'{"json": "inside"}', (("a", b""),)),
    ],
)
def test_what_is_printed_as_json_is_read_back(
    key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    line = json_line(record(key, value, headers))
    assert json.loads(line)["time"] == "2023-11-14T22:13:20.000Z"
    assert parse_json_line(line, NOW_MS) == InputRecord(key, value, headers, 2, NOW_MS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"plain\tcaf\xc3\xa9 \xe2\x98\x95", b"plain\tcaf\xc3\xa9 \xe2\x98\x95"),
        (b"k\0\0\x07", rb"k\x00\x00\x07"),
        (b"\x1b[2J", rb"\x1b[2J"),
        (b"\xff\xc2\x9b", rb"\xff\x9b"),
    ],
)
def test_a_terminal_gets_no_control_characters(line: bytes, expected: bytes) -> None:
    assert terminal_line(line) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1700000000000", 1_700_000_000_000),
        ("2h", NOW_MS - 7_200_000),
        ("-90s", NOW_MS - 90_000),
        ("2023-11-14T22:13:20", NOW_MS),
        ("2023-11-14T23:13:20.500+01:00", NOW_MS + 500),
        ("2023-11-14", 1_699_920_000_000),
    ],
)
def test_times_are_read(text: str, expected: int) -> None:
    assert parse_time(text, NOW_MS) == expected


def test_what_is_no_time_is_refused_with_examples() -> None:
    with pytest.raises(UsageError, match="15m"):
        parse_time("tomorrow", NOW_MS)


def test_times_are_written() -> None:
    assert format_time(NOW_MS + 7) == "2023-11-14T22:13:20.007Z"
    assert format_time(-1) == ""
    assert format_time(1 << 62) == str(1 << 62)


def test_progress_says_how_far_how_fast_and_how_long() -> None:
    line = progress_line(25_000_000, 100_000_000, 120_000, 10.0)
    assert line == " 25%  25.0 of 100.0 MB  120,000 records  12,000/s  30 s left"
    assert progress_line(0, 0, 0, 0.0).startswith("100%")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_only() -> None:
    plain, terminal = io.StringIO(), Terminal()
    for stream in (plain, terminal):
        progress = Progress(100, stream)
        progress._next_s = 0.0
        progress.update(50, 3)
        progress.finish()
    assert plain.getvalue() == ""
    assert "50%" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
