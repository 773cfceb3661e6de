"""A command in a pseudo-terminal, as a person would see it and type into it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from types import TracebackType
from typing import Self

PATIENCE_S = 180.0
ROWS, COLUMNS = 40, 160


class Terminal:
    """Runs ``moldau`` with the given arguments. Use as a context manager."""

    def __init__(self, *arguments: str, is_in_background: bool = False) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.settings_before = termios.tcgetattr(slave)
        self._slave = slave
        # They would count for more than the size of the terminal.
        environment = {key: os.environ[key] for key in os.environ.keys() - {"COLUMNS", "LINES"}}
        command = [sys.executable, "-m", "moldau", *arguments]
        if is_in_background:
            command = ["sh", "-c", 'set -m; "$@" & wait $!', "sh", *command]
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_own_terminal,
            env=environment,
        )
        self._unread = ""

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self._slave)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def expect(self, pattern: str) -> "re.Match[str]":
        """Read until ``pattern`` appears; what comes after it is left for the next time."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            found = re.search(pattern, self._unread)
            if found is not None:
                self._unread = self._unread[found.end() :]
                return found
            left_s = max(0.0, deadline_s - time.monotonic())
            readable, _, _ = select.select([self._master], [], [], left_s)
            assert readable, f"{pattern!r} does not appear:\n{self._unread[-4000:]}"
            assert left_s, f"{pattern!r} does not appear:\n{self._unread[-4000:]}"
            self._unread += os.read(self._master, 65536).decode("utf-8", "replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)
        os.close(self._slave)


def _own_terminal() -> None:
    """Make standard input the terminal whose Ctrl-C is a signal to this process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
