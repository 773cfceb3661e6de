"""The broker under attack: a real ``moldau start`` on a directory of its own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

START_TIMEOUT_S = 60
READY = re.compile(r"Moldau is ready on \S+:(\d+)")
SETTINGS = """\
log.dirs={data}
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0
advertised.listeners=PLAINTEXT://127.0.0.1:0
"""


class StallsBroker:
    """Use as a context manager; its directory goes with it."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="moldau-stalls-")
        root = Path(self._directory.name)
        settings = root / "server.properties"
        settings.write_text(SETTINGS.format(data=root / "data"))
        self._errors = root / "stderr"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moldau.cli", "start", str(settings)],
                stdout=errors,
                stderr=errors,
            )
        self.pid = self._process.pid
        self.port = 0

    def __enter__(self) -> Self:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            found = READY.search(self._errors.read_text())
            if found:
                self.port = int(found[1])
                return self
            time.sleep(0.05)
        raise SystemExit(f"the broker did not start:\n{self._errors.read_text()}")

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()

    def rss_mb(self) -> float:
        return self._memory_mb("VmRSS")

    def peak_rss_mb(self) -> float:
        """The most since ``forget_peak``."""
        return self._memory_mb("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")

    def _memory_mb(self, field: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1000
        raise AssertionError(f"/proc/{self.pid}/status has no {field}")
