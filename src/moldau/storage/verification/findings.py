"""The findings of a verification: the file, the position, the problem, its consequences.

There are two kinds. *Damage* is something that a healthy broker never leaves behind: bytes were
lost or changed, or files contradict each other. A *note* is something that an operator may want to
know and that the next startup of the broker repairs: files of an interrupted deletion, a write torn
by a crash.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple


class Severity(StrEnum):
    """The severity of a finding."""

    DAMAGE = "damage"
    NOTE = "note"


class Finding(NamedTuple):
    """A single finding, with its exact position."""

    severity: Severity
    path: str
    problem: str
    position: int | None = None
    offset: int | None = None
    follows: str = ""
    remedy: str = ""


class Options(NamedTuple):
    """The thoroughness of a verification."""

    # Without it records are not decoded: only headers, checksums and indexes are checked.
    opens_batches: bool = True


class Tally:
    """Counts what has been checked so far; ``on_bytes`` is called for every part."""

    __slots__ = (
        "batches",
        "bytes",
        "index_entries",
        "on_bytes",
        "partitions",
        "records",
        "segments",
        "snapshots",
    )

    def __init__(self, on_bytes: Callable[["Tally"], None] | None = None) -> None:
        self.on_bytes = on_bytes
        self.partitions = 0
        self.segments = 0
        self.snapshots = 0
        self.batches = 0
        self.records = 0
        self.index_entries = 0
        self.bytes = 0

    def add_bytes(self, count: int) -> None:
        self.bytes += count
        if self.on_bytes is not None:
            self.on_bytes(self)


# If one entry of an index is wrong, usually many are: the first few show where.
MOST_PER_FILE: Final = 5


class FileFindings:
    """The findings of one file; beyond the first few they are only counted."""

    __slots__ = ("_count", "_findings", "path", "severity")

    def __init__(self, path: str, severity: Severity) -> None:
        self.path = path
        self.severity = severity
        self._findings: list[Finding] = []
        self._count = 0

    def add(
        self,
        problem: str,
        *,
        position: int | None = None,
        offset: int | None = None,
        follows: str,
        remedy: str,
    ) -> None:
        self._count += 1
        if self._count <= MOST_PER_FILE:
            self._findings.append(
                Finding(self.severity, self.path, problem, position, offset, follows, remedy)
            )

    def take(self) -> list[Finding]:
        """The findings; call it once, at the end of the file."""
        if self._count > MOST_PER_FILE:
            last = self._findings[-1]
            more = self._count - MOST_PER_FILE
            problem = f"{last.problem}; {more} more of its entries are wrong"
            self._findings[-1] = last._replace(problem=problem)
        return self._findings
