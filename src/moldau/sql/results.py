"""What a statement produces: columns and rows in pieces, or a note.

The cells are text already, or None for NULL: Spark formats them, so that a cell looks the same
wherever it is printed. For JSON a piece has finished lines.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

Cells = Sequence[str | None]


class Form(Enum):
    """How results are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class Column(NamedTuple):
    """The name of a column, and whether it has numbers."""

    name: str
    is_number: bool = False


class Sink(Protocol):
    """Takes the result of a statement, in the order of these methods."""

    def columns(self, columns: Sequence[Column]) -> None:
        """The columns; not called for a statement that has no rows, or for JSON lines."""

    def rows(self, rows: Sequence[Cells]) -> None:
        """Some rows."""

    def lines(self, lines: Sequence[str]) -> None:
        """Some rows as JSON."""

    def note(self, text: str) -> None:
        """What happened, for the user; not part of the result."""
