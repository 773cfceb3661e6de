"""Prints results: as a table, as CSV, or as JSON with one object per line.

Results come in pieces. A table is as wide as its first piece needs; later rows that are wider move
to the right, which is better than to hold back everything until the last row is there.
"""

import json
import unicodedata
from collections.abc import Sequence
from typing import Final, TextIO

from moldau.sql.results import Cells, Column, Form

_NULL: Final = "NULL"
# A record may have anything in it: nothing that a terminal obeys is printed as it is.
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
_ESCAPED: Final = _CONTROLS | {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}
_ESCAPED_LINES: Final = {code: text for code, text in _CONTROLS.items() if chr(code) not in "\n\t"}


class Printer:
    """Prints the results of statements; notes go to ``errors``, so that they are no data."""

    def __init__(self, form: Form, out: TextIO, errors: TextIO) -> None:
        self._form = form
        self._out = out
        self._errors = errors
        self._columns: Sequence[Column] = ()
        self._widths: list[int] | None = None
        self.row_count = 0

    def begin(self) -> None:
        """A new statement begins."""
        self._columns = ()
        self._widths = None
        self.row_count = 0

    def end(self) -> None:
        """The statement has ended: print a table that has no rows."""
        if self._form is Form.TABLE and self._columns and self._widths is None:
            self._table([])
        self._out.flush()

    def columns(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        if self._form is Form.CSV:
            self._csv([[each.name for each in columns]])

    def rows(self, rows: Sequence[Cells]) -> None:
        self.row_count += len(rows)
        if self._form is Form.CSV:
            self._csv(rows)
        elif self._form is Form.JSON:
            self.lines([json_line(self._columns, each) for each in rows])
            self.row_count -= len(rows)
        else:
            self._table(rows)
        self._out.flush()

    def lines(self, lines: Sequence[str]) -> None:
        self.row_count += len(lines)
        self._out.write("".join(f"{each}\n" for each in lines))
        self._out.flush()

    def note(self, text: str) -> None:
        self._out.flush()
        print(text, file=self._errors, flush=True)

    def _csv(self, rows: Sequence[Cells]) -> None:
        import csv

        csv.writer(self._out, lineterminator="\n").writerows(rows)

    def _table(self, rows: Sequence[Cells]) -> None:
        if len(self._columns) == 1 and any("\n" in (row[0] or "") for row in rows):
            # Text of several lines, such as a plan, is not a table.
            self._widths = [0]
            texts = [(row[0] or _NULL).rstrip().translate(_ESCAPED_LINES) for row in rows]
            self._out.write("".join(f"{each}\n" for each in texts))
            return
        cells = [[_cell(each) for each in row] for row in rows]
        if self._widths is None:
            titles = [_cell(each.name) for each in self._columns]
            self._widths = [
                max([_width(title), *(_width(row[i]) for row in cells)])
                for i, title in enumerate(titles)
            ]
            cells.insert(0, titles)
        for row in cells:
            padded = [
                _pad(cell, width, is_right=column.is_number)
                for cell, width, column in zip(row, self._widths, self._columns, strict=True)
            ]
            self._out.write("  ".join(padded).rstrip() + "\n")


def json_line(columns: Sequence[Column], row: Cells) -> str:
    """A row that Spark has not formatted as JSON, as JSON."""
    values = {
        column.name: int(cell) if column.is_number and cell is not None else cell
        for column, cell in zip(columns, row, strict=True)
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _cell(value: str | None) -> str:
    return _NULL if value is None else value.translate(_ESCAPED)


def _pad(text: str, width: int, *, is_right: bool) -> str:
    space = " " * (width - _width(text))
    return space + text if is_right else text + space


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in text)
    return len(text) + wide - sum(bool(unicodedata.combining(each)) for each in text)
