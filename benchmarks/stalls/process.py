"""CPU time and memory of the broker under attack."""

import os
from pathlib import Path


class Process:
    """A process by its id, without its children."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    def rss_mb(self) -> float:
        return self._memory_mb("VmRSS")

    def peak_rss_mb(self) -> float:
        """The maximum since ``forget_peak``."""
        return self._memory_mb("VmHWM")

    def forget_peak(self) -> None:
        (self._folder / "clear_refs").write_text("5")

    def cpu_s(self) -> float:
        fields = (self._folder / "stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")

    def cpu_ms(self) -> float:
        """The CPU time of running threads, precise to the microsecond."""
        total_ns = 0
        for task in (self._folder / "task").iterdir():
            try:
                total_ns += int((task / "schedstat").read_text().split()[0])
            except OSError:  # the thread has ended
                continue
        return total_ns / 1e6

    def loop_cpu_ms(self) -> float:
        """The CPU time of the first thread, which runs the event loop of Moldau."""
        return int((self._folder / "schedstat").read_text().split()[0]) / 1e6

    def _memory_mb(self, field: str) -> float:
        for line in (self._folder / "status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1000
        raise AssertionError(f"{self._folder}/status has no {field}")
