"""Progress on the terminal: a table that is updated in place, a line per query, or JSON.

This module only formats text; ``progress`` has the numbers.
"""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Final, TextIO

from moldau.streams.progress import QueryProgress

_HEADER: Final = ("QUERY", "BATCH", "RECORDS", "RECORDS/S", "LAG", "WATERMARK", "STATE")
_IS_LEFT: Final = (True, False, False, False, False, True, True)
_UNKNOWN: Final = "-"


class Report(Enum):
    """How an app shows its progress."""

    AUTO = "auto"
    TABLE = "table"
    LINES = "lines"
    JSON = "json"
    NONE = "none"

    def on(self, out: TextIO) -> "Report":
        """Resolve ``auto`` for ``out``: a table on a terminal, lines in a log file."""
        if self is not Report.AUTO:
            return self
        return Report.TABLE if out.isatty() else Report.LINES


class LiveLines:
    """Lines that are redrawn in place on a terminal, and appended elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._height = 0

    def show(self, lines: Sequence[str]) -> None:
        if self._out.isatty():
            # Move to the first line that was drawn, and clear everything below.
            self._out.write(f"\x1b[{self._height}F\x1b[J" if self._height else "")
            # A wrapped line would count twice, and one that has scrolled out of the terminal cannot
            # be redrawn: then the number of lines to move up would be wrong.
            size = shutil.get_terminal_size()
            lines = [line[: size.columns] for line in lines[: size.lines - 1]]
            self._height = len(lines)
        self._out.write("".join(f"{line}\n" for line in lines))
        self._out.flush()


class ProgressView:
    """Shows the progress of all queries of an app repeatedly."""

    def __init__(self, app: str, report: Report, out: TextIO) -> None:
        self._app = app
        self._report = report.on(out)
        self._out = out
        self._live = LiveLines(out)

    def show(self, progress: Sequence[QueryProgress], elapsed_s: float, wall_ms: int) -> None:
        if self._report is Report.TABLE:
            self._live.show(table_lines(self._app, progress, elapsed_s))
        elif self._report is Report.LINES:
            self._out.writelines(f"{progress_line(each, wall_ms)}\n" for each in progress)
        elif self._report is Report.JSON:
            for each in progress:
                document = {"app": self._app, "timestamp_ms": wall_ms, **each.as_json()}
                self._out.write(f"{json.dumps(document)}\n")
        self._out.flush()


def table_lines(app: str, progress: Sequence[QueryProgress], elapsed_s: float) -> list[str]:
    """The table of all queries, as lines without line ends."""
    rows = [_HEADER, *(_cells(each) for each in progress)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    lines = [f"{app}: running for {elapsed_s:,.0f} s (Ctrl-C stops it)"]
    lines += [_away_text(each) for each in progress[:1] if each.away_s is not None]
    for row in rows:
        cells = [
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, _IS_LEFT, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def progress_line(progress: QueryProgress, wall_ms: int) -> str:
    """``12:00:05 clicks: batch 7, 1,000 records/s, lag 0, watermark 12:00:01, state 3 rows``."""
    what = f"{clock_time(wall_ms)} {progress.query}"
    if progress.away_s is not None:
        return f"{what}: {_away_text(progress)}"
    if progress.batch_id is None:
        return f"{what}: no batch yet"
    _, batch, _, rate, lag, watermark, state = _cells(progress)
    parts = [f"batch {batch}", f"{rate} records/s", f"lag {lag}"]
    if progress.watermark_ms is not None:
        parts.append(f"watermark {watermark}")
    if progress.state_rows is not None:
        parts.append(f"state {state}")
    return f"{what}: {', '.join(parts)}"


def clock_time(moment_ms: int) -> str:
    """The time of day, UTC."""
    return f"{datetime.fromtimestamp(moment_ms / 1000, UTC):%H:%M:%S}"


def size_text(size_bytes: int) -> str:
    """``512 B``, ``1.5 KB``, ``2.0 MB``."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("KB", "MB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"


def _cells(progress: QueryProgress) -> tuple[str, ...]:
    if progress.batch_id is None:
        return (progress.query, *[_UNKNOWN] * (len(_HEADER) - 1))
    return (
        progress.query,
        str(progress.batch_id),
        f"{progress.records:,}",
        f"{progress.records_per_s:,.0f}",
        _UNKNOWN if progress.lag is None else f"{progress.lag:,}",
        _UNKNOWN if progress.watermark_ms is None else clock_time(progress.watermark_ms),
        _state_text(progress),
    )


def _away_text(progress: QueryProgress) -> str:
    return f"waiting for brokers for {progress.away_s or 0:,.0f} s: {progress.away_reason}"


def _state_text(progress: QueryProgress) -> str:
    if progress.state_rows is None:
        return _UNKNOWN
    rows = f"{progress.state_rows:,} row{'' if progress.state_rows == 1 else 's'}"
    text = f"{rows}, {size_text(progress.state_bytes or 0)}"
    return text if not progress.late_records else f"{text}, {progress.late_records:,} late"
