"""Files and directories of operations that were interrupted by a shutdown or crash."""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from moldau.storage.log_dirs import DELETE, FUTURE, STRAY, PartitionDirectory
from moldau.storage.verification.findings import Finding, Severity

_FILES: Final = {
    ".deleted": ("deleted", "the next start removes what is left of them"),
    ".cleaned": ("of a cleaning that was under way", "the next start removes them"),
    ".swap": (
        "of a cleaning that was complete",
        "the next start puts them in the place of the segments they cover",
    ),
    ".tmp": ("being written to replace others", "the old ones count"),
    ".part": ("of a snapshot that was being written or fetched", "the next start removes them"),
}

_DIRECTORIES: Final = {
    DELETE: ("the partition was deleted", "the next start removes it"),
    FUTURE: ("the partition was moving to this directory", "the next start continues the move"),
    STRAY: ("the cluster knew no such partition", "it is left alone; remove it when not wanted"),
}

_NOTHING: Final = "nothing need be done"


def leftover_notes(directory: str, names: Iterable[str]) -> Iterator[Finding]:
    """One note for each kind of leftover files in a directory."""
    counts = dict.fromkeys(_FILES, 0)
    for name in names:
        suffix = os.path.splitext(name)[1]
        if suffix in counts:
            counts[suffix] += 1
    for suffix, count in counts.items():
        if count:
            what, follows = _FILES[suffix]
            files = f"{count} *{suffix} {'file' if count == 1 else 'files'}"
            problem = f"{files}, {what} when the broker stopped"
            yield Finding(Severity.NOTE, directory, problem, follows=follows, remedy=_NOTHING)


def directory_note(path: str, named: PartitionDirectory) -> Finding | None:
    """A note about a partition's directory with a suffix; None without one."""
    known = _DIRECTORIES.get(named.suffix)
    if known is None:
        return None
    problem, follows = known
    return Finding(Severity.NOTE, path, problem, follows=follows, remedy=_NOTHING)
