"""Measures CPU time and memory of a process and its children."""

import os
from pathlib import Path
from typing import NamedTuple

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
GB = 1e9
MB = 1e6


class Usage(NamedTuple):
    cpu_s: float
    rss_mb: float


def usage(pid: int) -> Usage:
    """CPU seconds and resident memory of a process and its children."""
    cpu = rss = 0.0
    for one in _with_descendants(pid):
        try:
            stat = _stat(one)
            status = Path(f"/proc/{one}/status").read_text()
        except OSError:  # It has ended.
            continue
        # Its CPU time, and that of its children that have ended.
        cpu += sum(int(ticks) for ticks in stat[11:15]) / CLOCK_TICKS
        resident = [line for line in status.splitlines() if line.startswith("VmRSS")]
        rss += sum(int(line.split()[1]) * 1024 / MB for line in resident)
    return Usage(cpu, rss)


def pss_mb(pid: int) -> float:
    """Memory of a process and its children, in which shared pages count once."""
    total = 0
    for one in _with_descendants(pid):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:  # It has ended.
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / MB


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def _with_descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children.setdefault(int(_stat(int(entry.name))[1]), []).append(int(entry.name))
            except OSError:
                continue
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += children.get(one, [])
    return found
