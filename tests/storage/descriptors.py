"""The files of a folder that this process has open, according to the kernel."""

import os
from pathlib import Path


def open_paths(folder: Path) -> list[str]:
    """Only the folder's: what other tests left for the garbage collector may go at any moment."""
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    paths = [os.readlink(link) for link in links if os.path.exists(link)]
    return sorted(path for path in paths if path.startswith(f"{folder}/"))


def open_descriptors(folder: Path) -> int:
    """How many there are, those of deleted files included."""
    return len(open_paths(folder))
