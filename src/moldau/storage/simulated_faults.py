"""Failures on demand for the simulated disk.

Every operation asks ``begin`` for leave. A failure that was asked for is an ``OSError``,
as from a real device, and the program is expected to deal with it. A power cut is not:
it ends the program, wherever it is, and the test goes on with ``crash``.
"""

import os
from fnmatch import fnmatchcase
from typing import Final

_NEVER: Final = 2**62


class PowerCut(Exception):  # noqa: N818
    """The machine stopped. Not an OSError: no program gets to handle it."""


class _Failure:
    __slots__ = ("count", "error", "operation", "pattern")

    def __init__(self, operation: str, pattern: str, error: OSError, count: int) -> None:
        self.operation = operation
        self.pattern = pattern
        self.error = error
        self.count = count


class Faults:
    """What is to go wrong, and when."""

    def __init__(self) -> None:
        self._failures: list[_Failure] = []
        self._power_cut_at = _NEVER
        # Operations so far that change something.
        self.operations = 0

    def fail_next(
        self, operation: str, path_pattern: str, error: OSError | int, count: int = 1
    ) -> None:
        """Let the next ``count`` operations of this name on matching paths raise ``error``.

        The names are those of the methods of ``Disk`` and ``DiskFile``, or ``*``. The pattern
        is a shell pattern. An integer is an errno.
        """
        if isinstance(error, int):
            error = OSError(error, os.strerror(error), path_pattern)
        self._failures.append(_Failure(operation, path_pattern, error, count))

    def cut_power_after(self, operations: int) -> None:
        """Let that many more changing operations happen; every later one raises PowerCut."""
        self._power_cut_at = self.operations + operations

    @property
    def is_cut(self) -> bool:
        """Whether the power is gone: nothing can be changed any more."""
        return self.operations >= self._power_cut_at

    def heal(self) -> None:
        """No more failures and no power cut."""
        self._failures.clear()
        self._power_cut_at = _NEVER

    def begin(self, operation: str, path: str, changes: bool = True) -> None:
        """Every operation passes here first, and may not pass."""
        if changes and self.operations >= self._power_cut_at:
            raise PowerCut(f"the power went before {operation} of {path}")
        for failure in self._failures:
            if failure.operation in (operation, "*") and fnmatchcase(path, failure.pattern):
                failure.count -= 1
                if failure.count <= 0:
                    self._failures.remove(failure)
                raise failure.error
        if changes:
            self.operations += 1
