"""Writes log lines to stderr, which may be slow, unread, or closed.

A broker must not wait for the reader of its log: a pipe that is not read accepts about 64 KiB, and
the next line would block the event loop forever. So lines are queued, and a thread writes them.

Rules this module keeps:

* Logging never blocks. If the queue is full, lines are dropped, and their number is logged as soon
  as writing is possible again.
* Lines keep their order, and no client can forge one: control characters in messages are escaped,
  and the lines of a traceback are indented.
* A closed stderr does not stop the broker.
"""

import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

MAX_LINES: Final = 10_000
# How long a shutdown waits for lines that have not been written.
CLOSE_GRACE_S: Final = 1.0

_MAX_LINE: Final = 8192
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# C0, DEL, C1, and the line separators of Unicode.
_CONTROL: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160), 0x2028, 0x2029)
}

Write = Callable[[str], None]


class LineFormatter(logging.Formatter):
    """One record is one line, and its traceback, if any, is indented."""

    def __init__(self) -> None:
        super().__init__(_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        line = super().formatMessage(record)
        if len(line) > _MAX_LINE:
            line = f"{line[:_MAX_LINE]}... ({len(line) - _MAX_LINE} more characters)"
        return line.translate(_CONTROL)

    def formatException(self, ei: object) -> str:  # noqa: N802
        return _indented(super().formatException(ei))  # type: ignore[arg-type]

    def formatStack(self, stack_info: str) -> str:  # noqa: N802
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"  {line.translate(_CONTROL)}" for line in text.split("\n"))


class LogOutput(logging.Handler):
    """Queues lines, which a thread writes."""

    def __init__(self, write: Write | None = None, max_lines: int = MAX_LINES) -> None:
        """``write`` may block; by default it writes to stderr."""
        super().__init__()
        self.setFormatter(LineFormatter())
        self._write = write or _write_to_stderr
        self._max_lines = max_lines
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._is_closing = False
        self._changed = threading.Condition()
        # A daemon: a write that never returns must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="moldau-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        self.say(line)

    def say(self, line: str) -> None:
        """Write a line that is not a log record."""
        with self._changed:
            if len(self._lines) >= self._max_lines:
                self._dropped += 1
            else:
                self._lines.append(line)
                self._changed.notify()

    def close(self) -> None:
        """Return when everything is written, at the latest after ``CLOSE_GRACE_S``."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(CLOSE_GRACE_S)
        super().close()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._lines and not self._dropped and not self._is_closing:
                    self._changed.wait()
                lines = list(self._lines)
                self._lines.clear()
                if self._dropped:
                    lines.append(f"{self._dropped} lines were dropped: the log was not read")
                    self._dropped = 0
                if not lines:
                    return
            try:
                self._write("\n".join(lines) + "\n")
            except (OSError, ValueError):
                # stderr is closed; the broker continues without it.
                continue


def _write_to_stderr(text: str) -> None:
    stream = sys.stderr
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        stream.write(text)
        return
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    while data:
        data = data[os.write(descriptor, data) :]
