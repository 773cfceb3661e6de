"""``moldau produce`` and ``moldau consume``."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Moldau

COMMAND = (sys.executable, "-m", "moldau.cli")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return tmp_path / "lines.txt"


def test_text_goes_in_and_comes_out(moldau: Moldau, topic: str, lines: Path) -> None:
    lines.write_bytes(b"one\r\ntwo\n\nfour")
    assert moldau("produce", topic, "--file", str(lines)).code == 0
    read = moldau("consume", topic, "--from-beginning", "--to-end")
    assert (read.code, read.out) == (0, "one\ntwo\n\nfour\n")


def test_keys_headers_partitions_and_times_are_kept(
    moldau: Moldau, topic: str, lines: Path
) -> None:
    moldau("topics", "create", topic, "--partitions", "3")
    lines.write_text("k1=v1\nk2=NONE\n")
    arguments = (
        *("--key-separator", "=", "--null-marker", "NONE", "--header", "h=x"),
        *("--partition", "2", "--timestamp", "2023-11-14T22:13:20", "--compression-codec", "zstd"),
    )
    assert moldau("produce", topic, "--file", str(lines), *arguments).code == 0
    everything = [
        f"--print-{part}" for part in ("timestamp", "partition", "offset", "headers", "key")
    ]
    read = moldau("consume", topic, "--from-beginning", "--to-end", *everything)
    assert read.out.splitlines() == [
        "CreateTime:1700000000000\tPartition:2\tOffset:0\th:x\tk1\tv1",
        "CreateTime:1700000000000\tPartition:2\tOffset:1\th:x\tk2\tnull",
    ]


def test_kafkas_properties_mean_the_same(moldau: Moldau, topic: str, lines: Path) -> None:
    lines.write_text("a:1\tk|v\n")
    reading = ("parse.headers=true", "parse.key=true", "key.separator=|")
    options = [part for each in reading for part in ("--property", each)]
    assert moldau("produce", "--topic", topic, "--file", str(lines), *options).code == 0
    printing = ("print.key=true", "print.headers=true", "key.separator=|", "line.separator=;")
    options = [part for each in printing for part in ("--property", each)]
    read = moldau("consume", "--topic", topic, "--from-beginning", "--max-messages", "1", *options)
    assert read.out == "a:1|k|v;"


def test_json_goes_round(moldau: Moldau, topic: str, lines: Path) -> None:
    given: list[dict[str, Any]] = [
        {"key": "k", "value": "v", "headers": {"h": "x"}, "partition": 1, "timestamp": 5000},
        {"key_hex": "ff", "value": None, "partition": 0, "timestamp": 6000},
    ]
    moldau("topics", "create", topic, "--partitions", "2")
    lines.write_text("".join(json.dumps(each) + "\n" for each in given))
    assert moldau("produce", topic, "--format", "json", "--file", str(lines)).code == 0
    read = moldau("consume", topic, "--from-beginning", "--to-end", "--format", "json")
    shown = sorted(
        (json.loads(line) for line in read.out.splitlines()), key=lambda r: r["timestamp"]
    )
    for record, original in zip(shown, given, strict=True):
        assert {name: record[name] for name in original} == original
        assert record["topic"] == topic


def test_hex_goes_in_and_comes_out(moldau: Moldau, topic: str, lines: Path) -> None:
    lines.write_text("cafe:00ff\n")
    options = ("--format", "hex", "--key-separator", ":")
    assert moldau("produce", topic, "--file", str(lines), *options).code == 0
    read = moldau(
        "consume", topic, "--from-beginning", "--to-end", "--format", "hex", "--print-key"
    )
    assert read.out == "cafe\t00ff\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--offset", "3", "--to-end"), ["3", "4"]),
        (("--offset", "-2", "--to-end"), ["3", "4"]),
        (("--offset", "earliest", "--max-messages", "2"), ["0", "1"]),
        (("--from-time", "1970-01-01T00:00:02Z", "--to-end"), ["2", "3", "4"]),
        (("--from-time", "3500", "--timeout", "0.1"), ["4"]),
        (("--offset", "latest", "--timeout", "0.1"), []),
        (("--timeout-ms", "100"), []),
        (("--from-beginning", "--max-messages", "0"), []),
        (("--partition", "0", "--offset", "4", "--to-end"), ["4"]),
        (("--offset", "-99", "--to-end", "--isolation-level", "read_committed"), list("01234")),
    ],
)
def test_reading_begins_and_ends_anywhere(
    moldau: Moldau, topic: str, lines: Path, options: tuple[str, ...], expected: list[str]
) -> None:
    records = [{"value": str(number), "timestamp": number * 1000} for number in range(5)]
    lines.write_text("".join(json.dumps(record) + "\n" for record in records))
    moldau("produce", topic, "--format", "json", "--file", str(lines), "--batch-size", "1")
    assert moldau("consume", topic, *options).out.split() == expected


@pytest.mark.parametrize(
    ("options", "content", "code", "problem"),
    [
        (("--format", "hex"), "00\nxy\n", 1, "line 2: 'xy' is not hexadecimal"),
        (("--format", "json"), "{}\n[]\n", 1, "line 2: a record must be a JSON object"),
        (("--key-separator", ":"), "a:b\nc\n", 1, "line 2: there is no ':' between key and value"),
        (("--partition", "9"), "a\n", 1, "line 1: there is no partition 9"),
        (("--header", "h"), "a\n", 2, "--header h: expected name=value"),
        (("--timestamp", "soon"), "a\n", 2, "'soon' is not a time"),
        (("--property", "x"), "a\n", 2, "--property x: expected key=value"),
    ],
)
def test_a_record_that_cannot_be_sent_is_named_by_its_line(
    moldau: Moldau,
    topic: str,
    lines: Path,
    options: tuple[str, ...],
    content: str,
    code: int,
    problem: str,
) -> None:
    lines.write_text(content)
    result = moldau("produce", topic, "--file", str(lines), *options)
    assert result.code == code
    assert problem in result.err


def test_what_the_broker_refuses_is_counted(moldau: Moldau, topic: str, lines: Path) -> None:
    moldau("topics", "create", topic, "--config", "max.message.bytes=500")
    lines.write_text("small\n" + "x" * 1000 + "\n")
    result = moldau("produce", topic, "--file", str(lines))
    assert result.code == 1
    assert "1 of 2 records could not be delivered" in result.err
    assert "MESSAGE_TOO_LARGE" in result.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--partition", "7"), "has partitions 0 to 0"),
        (("--partition", "x"), "must be a number"),
        (("--offset", "some"), "expected a number, earliest or latest"),
        (("--max-messages", "-1"), "must be 0 or greater"),
    ],
)
def test_a_place_that_is_not_there_is_refused(
    moldau: Moldau, topic: str, options: tuple[str, ...], problem: str
) -> None:
    moldau("topics", "create", topic)
    result = moldau("consume", topic, *options)
    assert result.code == 2
    assert problem in result.err


def test_an_offset_out_of_range_names_the_range(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic)
    result = moldau("consume", topic, "--offset", "5")
    assert result.code == 1
    assert "begins at 0 and ends before 0" in result.err


def test_a_missing_file_is_named(moldau: Moldau, topic: str) -> None:
    assert "nowhere.txt: No such file" in moldau("produce", topic, "--file", "nowhere.txt").err


def test_a_pipe_is_sent_while_it_is_still_open_and_ctrl_c_ends_reading_cleanly(
    bootstrap: str, topic: str, moldau: Moldau
) -> None:
    moldau("topics", "create", topic)
    where = ("--bootstrap-server", bootstrap)
    reader = subprocess.Popen(
        [*COMMAND, "consume", topic, "--from-beginning", *where],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background has them, and their children, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    writer = subprocess.Popen([*COMMAND, "produce", topic, *where], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    assert reader.stdout is not None
    writer.stdin.write(b"hello\n")
    writer.stdin.flush()
    assert reader.stdout.readline() == b"hello\n"
    writer.stdin.write(b"bye")
    writer.stdin.close()
    assert writer.wait(120) == 0
    assert reader.stdout.readline() == b"bye\n"
    os.kill(reader.pid, signal.SIGINT)
    _, errors = reader.communicate(timeout=120)
    assert (reader.returncode, errors) == (0, b"")


def test_a_reader_that_goes_away_ends_it_without_a_traceback(
    bootstrap: str, topic: str, moldau: Moldau, lines: Path
) -> None:
    lines.write_text("x" * 1000 + "\n" + "y" * 100_000 + "\n")
    moldau("produce", topic, "--file", str(lines))
    reader = subprocess.Popen(
        [*COMMAND, "consume", topic, "--from-beginning", "--bootstrap-server", bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reader.stdout is not None
    reader.stdout.close()
    assert reader.stderr is not None
    assert reader.stderr.read() == b""
    assert reader.wait(120) == 1


def test_numbers_and_windowed_keys_go_in_and_come_out(
    moldau: Moldau, topic: str, lines: Path
) -> None:
    lines.write_text("/search@2026-01-01T12:00:00.000Z|42\n/@1767268810000|NONE\n")
    formats = ("--key-format", "windowed:text", "--value-format", "long")
    options = ("--key-separator", "|", "--null-marker", "NONE", "--file", str(lines))
    assert moldau("produce", topic, *options, *formats).code == 0
    read = moldau("consume", topic, "--from-beginning", "--to-end", *formats)
    assert read.out.splitlines() == [
        "/search@2026-01-01T12:00:00.000Z\t42",
        "/@2026-01-01T12:00:10.000Z\tnull",
    ]
    hexed = moldau("consume", topic, "--from-beginning", "--max-messages", "1", "--format", "hex")
    assert hexed.out == "000000000000002a\n"


def test_formats_go_round_through_json(moldau: Moldau, topic: str, lines: Path) -> None:
    given = {"key": {"key": 7, "start": 5000, "end": 6000}, "value": {"amount": 1.5}}
    lines.write_text(json.dumps(given))
    formats = ("--format", "json", "--key-format", "session:int", "--value-format", "json")
    assert moldau("produce", topic, "--file", str(lines), *formats).code == 0
    read = moldau("consume", topic, "--from-beginning", "--to-end", *formats)
    shown = json.loads(read.out)
    assert {"key": shown["key"], "value": shown["value"]} == given


def test_kafkas_deserializers_and_a_fixed_key_take_formats(
    moldau: Moldau, topic: str, lines: Path
) -> None:
    lines.write_text("0.1\n")
    options = ("--file", str(lines), "--key", "-5", "--key-format", "int")
    assert moldau("produce", topic, *options, "--value-format", "float").code == 0
    classes = (
        "print.key=true",
        "key.deserializer=org.apache.kafka.common.serialization.IntegerDeserializer",
        "value.deserializer=org.apache.kafka.common.serialization.FloatDeserializer",
    )
    printing = [part for each in classes for part in ("--property", each)]
    read = moldau("consume", topic, "--from-beginning", "--to-end", *printing)
    assert read.out == "-5\t0.1\n"


def test_a_record_of_another_format_is_named_and_what_came_before_it_is_printed(
    moldau: Moldau, topic: str, lines: Path
) -> None:
    lines.write_text("0000000000000007\ncafe\n0000000000000008\n")
    moldau("produce", topic, "--format", "hex", "--file", str(lines))
    group = f"group-of-{topic}"
    options = ("--from-beginning", "--to-end", "--value-format", "long", "--group", group)
    read = moldau("consume", topic, *options)
    problem = f"{topic}-0, offset 1: the value cannot be decoded: a long has 8 bytes, not 2"
    assert (read.code, read.out, read.err) == (1, "7\n", f"moldau: {problem}\n")
    # The group goes on at the record that was not printed.
    again = moldau("consume", topic, "--to-end", "--format", "hex", "--group", group)
    assert again.out == "cafe\n0000000000000008\n"


def test_a_line_of_another_format_is_named(moldau: Moldau, topic: str, lines: Path) -> None:
    lines.write_text("1\ntwo\n")
    given = moldau("produce", topic, "--file", str(lines), "--value-format", "int")
    assert (given.code, given.err) == (1, "moldau: line 2: 'two' is not an int\n")


def test_an_unknown_format_is_refused_before_a_broker_is_asked(moldau: Moldau) -> None:
    for command in ("produce", "consume"):
        refused = moldau(command, "t", "--value-format", "number", "--bootstrap-server", "nowhere")
        assert refused.code == 2
        assert "--value-format number: unknown format; use text" in refused.err


def test_bytes_are_escaped_on_a_terminal_only(
    moldau: Moldau, bootstrap: str, topic: str, lines: Path
) -> None:
    lines.write_text("7\n")
    moldau("produce", topic, "--file", str(lines), "--value-format", "int")
    options = ("--from-beginning", "--to-end", "--bootstrap-server", bootstrap)
    command = [*COMMAND, "consume", topic, *options]
    piped = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"\0\0\0\x07\n"
    terminal, inside = os.openpty()
    try:
        subprocess.run(command, stdout=inside, stderr=subprocess.DEVNULL, check=True)
        assert os.read(terminal, 4096) == rb"\x00\x00\x00\x07" + b"\r\n"
    finally:
        os.close(inside)
        os.close(terminal)
