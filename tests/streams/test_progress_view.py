"""An app's progress on a terminal, in a log file, and as JSON."""

import io
import json

import pytest

from moldau.streams.progress import QueryProgress
from moldau.streams.progress_view import (
    LiveLines,
    ProgressView,
    Report,
    progress_line,
    size_text,
    table_lines,
)

NOON_MS = 1_767_268_800_000
CLICKS = QueryProgress(
    "clicks",
    batch_id=7,
    records=12_345,
    records_per_s=1000.4,
    lag=3,
    watermark_ms=NOON_MS - 5000,
    state_rows=1,
    state_bytes=2_500_000,
    batch_ms=120,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_table_has_a_line_for_each_query() -> None:
    assert table_lines("shop", [CLICKS, QueryProgress("orders")], elapsed_s=61.4) == [
        "shop: running for 61 s (Ctrl-C stops it)",
        "QUERY   BATCH  RECORDS  RECORDS/S  LAG  WATERMARK  STATE",
        "clicks      7   12,345      1,000    3  11:59:55   1 row, 2.5 MB",
        "orders      -        -          -    -  -          -",
    ]


def test_a_line_says_only_what_there_is() -> None:
    assert progress_line(CLICKS, NOON_MS) == (
        "12:00:00 clicks: batch 7, 1,000 records/s, lag 3, watermark 11:59:55, state 1 row, 2.5 MB"
    )
    stateless = QueryProgress("copy", batch_id=0, records=5, records_per_s=5.0)
    assert progress_line(stateless, NOON_MS) == "12:00:00 copy: batch 0, 5 records/s, lag -"
    assert progress_line(QueryProgress("copy"), NOON_MS) == "12:00:00 copy: no batch yet"


def test_on_a_terminal_the_table_stays_in_its_place() -> None:
    out = Terminal()
    view = ProgressView("shop", Report.AUTO, out)
    view.show([CLICKS], 1.0, NOON_MS)
    view.show([CLICKS], 2.0, NOON_MS)
    first, second = out.getvalue().split("\x1b[3F\x1b[J")
    assert first.startswith("shop: running for 1 s")
    assert second.startswith("shop: running for 2 s")


def test_what_is_taller_or_wider_than_the_terminal_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINES", "4")
    monkeypatch.setenv("COLUMNS", "6")
    out = Terminal()
    live = LiveLines(out)
    for _ in range(2):
        live.show([f"line {number} of many" for number in range(9)])
    # The last line of the terminal is where the cursor stands.
    shown = "line 0\nline 1\nline 2\n"
    assert out.getvalue() == f"{shown}\x1b[3F\x1b[J{shown}"


def test_elsewhere_lines_are_added() -> None:
    out = io.StringIO()
    view = ProgressView("shop", Report.AUTO, out)
    view.show([CLICKS, CLICKS], 1.0, NOON_MS)
    assert out.getvalue().count("12:00:00 clicks: batch 7") == 2
    assert "\x1b" not in out.getvalue()


def test_a_program_gets_a_document_for_each_query() -> None:
    out = io.StringIO()
    ProgressView("shop", Report.JSON, out).show([CLICKS], 1.0, NOON_MS)
    document = json.loads(out.getvalue())
    assert document["app"] == "shop"
    assert document["query"] == "clicks"
    assert document["records"] == 12_345
    assert document["timestamp_ms"] == NOON_MS


def test_nothing_is_shown_to_who_wants_nothing() -> None:
    out = io.StringIO()
    ProgressView("shop", Report.NONE, out).show([CLICKS], 1.0, NOON_MS)
    assert out.getvalue() == ""


def test_sizes_are_rounded_for_people() -> None:
    sizes = (0, 999, 1500, 2_000_000, 3_100_000_000)
    assert [size_text(size) for size in sizes] == ["0 B", "999 B", "1.5 KB", "2.0 MB", "3.1 GB"]
