"""Single keys from a terminal, without waiting for the end of a line."""

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

UP: Final = "up"
DOWN: Final = "down"
_SEQUENCES: Final = {"\x1b[A": UP, "\x1bOA": UP, "\x1b[B": DOWN, "\x1bOB": DOWN}


def can_read_keys() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and not is_in_background()


def is_in_background() -> bool:
    """Whether the terminal belongs to another job (``command &``), which must not be disturbed.

    The system stops a job in the background that changes the terminal or reads from it.
    """
    for stream in (sys.stdin, sys.stdout):
        try:
            if os.tcgetpgrp(stream.fileno()) != os.getpgrp():
                return True
        except (OSError, ValueError, AttributeError):
            # Not a terminal, or not the one that controls this process.
            continue
    return False


@contextmanager
def single_keys() -> Iterator[int]:
    """Within this block the terminal passes on each key at once, and does not show it.

    Ctrl-C still sends a signal. Yields the descriptor to read from.
    """
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(descriptor: int, timeout_s: float) -> list[str]:
    """The keys that are pressed within ``timeout_s``; returns as soon as there is one."""
    readable, _, _ = select.select([descriptor], [], [], timeout_s)
    if not readable:
        return []
    try:
        return parse_keys(os.read(descriptor, 64).decode("utf-8", "ignore"))
    except OSError:
        # The terminal is gone; SIGHUP says so too.
        return []


def parse_keys(text: str) -> list[str]:
    """Characters, and the names of arrow keys; other sequences are ignored."""
    keys = []
    while text:
        sequence = next((each for each in _SEQUENCES if text.startswith(each)), None)
        if sequence is not None:
            keys.append(_SEQUENCES[sequence])
            text = text[len(sequence) :]
        elif text[0] == "\x1b":
            # An unknown sequence ends with a letter or a tilde.
            end = next((i for i, c in enumerate(text[2:], 2) if c.isalpha() or c == "~"), len(text))
            text = text[end + 1 :]
        else:
            keys.append(text[0])
            text = text[1:]
    return keys
