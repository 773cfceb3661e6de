"""Failures on demand for the simulated disk.

Every operation calls ``begin`` first. A requested failure is an ``OSError``, as from a real device,
which the program must handle. A power cut is not: it ends the program at that point, and the test
continues with ``crash``.
"""

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

_NEVER: Final = 2**62


class PowerCut(Exception):  # noqa: N818
    """The machine stopped. Not an OSError: programs cannot handle it."""


class _Failure:
    __slots__ = ("count", "error", "operation", "pattern")

    def __init__(self, operation: str, pattern: str, error: OSError, count: int) -> None:
        self.operation = operation
        self.pattern = pattern
        self.error = error
        self.count = count


class Faults:
    """The requested failures."""

    def __init__(self) -> None:
        self._failures: list[_Failure] = []
        self._power_cut_at = _NEVER
        # The number of operations so far that change something.
        self.operations = 0
        # Called once, at the operation that a power cut prevents.
        self.on_power_cut: Callable[[], None] | None = None

    def fail_next(
        self, operation: str, path_pattern: str, error: OSError | int, count: int = 1
    ) -> None:
        """Make the next ``count`` operations of this name on matching paths raise ``error``.

        The names are those of the methods of ``Disk`` and ``DiskFile``, or ``*``. The pattern is a
        shell pattern. An integer is an errno.
        """
        if isinstance(error, int):
            error = OSError(error, os.strerror(error), path_pattern)
        self._failures.append(_Failure(operation, path_pattern, error, count))

    def cut_power_after(self, operations: int) -> None:
        """Allow that many more changing operations; every later one raises PowerCut."""
        self._power_cut_at = self.operations + operations

    @property
    def is_cut(self) -> bool:
        """Whether the power is off: nothing can be changed any more."""
        return self.operations >= self._power_cut_at

    def heal(self) -> None:
        """Clear all failures and the power cut."""
        self.heal_failures()
        self._power_cut_at = _NEVER

    def heal_failures(self) -> None:
        """Clear all failures; a power cut still comes."""
        self._failures.clear()

    def begin(self, operation: str, path: str, changes: bool = True) -> None:
        """Called at the start of every operation; raises the failure that is due, if any."""
        if changes and self.operations >= self._power_cut_at:
            on_power_cut, self.on_power_cut = self.on_power_cut, None
            if on_power_cut is not None:
                on_power_cut()
            raise PowerCut(f"the power went before {operation} of {path}")
        for failure in self._failures:
            if failure.operation in (operation, "*") and fnmatchcase(path, failure.pattern):
                failure.count -= 1
                if failure.count <= 0:
                    self._failures.remove(failure)
                raise failure.error
        if changes:
            self.operations += 1
