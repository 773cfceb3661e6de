"""A progress line on the terminal for a long job."""

import sys
import time
from typing import TextIO

_INTERVAL_S = 0.2


class Progress:
    """Rewrites its line a few times a second; prints nothing if there is no terminal."""

    def __init__(self, total_bytes: int | None, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_shown = total_bytes is not None and self._stream.isatty()
        self._total_bytes = total_bytes or 0
        self._started_s = time.monotonic()
        self._next_s = self._started_s + _INTERVAL_S

    def update(self, done_bytes: int, records: int) -> None:
        now_s = time.monotonic()
        if self._is_shown and now_s >= self._next_s:
            self._next_s = now_s + _INTERVAL_S
            line = progress_line(done_bytes, self._total_bytes, records, now_s - self._started_s)
            self._stream.write(f"\r\x1b[K{line}")
            self._stream.flush()

    def finish(self) -> None:
        """Clear the line for the output that follows."""
        if self._is_shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def progress_line(done_bytes: int, total_bytes: int, records: int, elapsed_s: float) -> str:
    """For example ``31%  12.3 of 40.0 MB  120,000 records  35,000/s  8 s left``."""
    share = min(done_bytes / total_bytes, 1.0) if total_bytes else 1.0
    rate = records / elapsed_s if elapsed_s > 0 else 0.0
    parts = [
        f"{share:4.0%}",
        f"{done_bytes / 1e6:,.1f} of {total_bytes / 1e6:,.1f} MB",
        f"{records:,} records",
        f"{rate:,.0f}/s",
    ]
    if 0 < share < 1:
        parts.append(f"{elapsed_s * (1 - share) / share:,.0f} s left")
    return "  ".join(parts)
