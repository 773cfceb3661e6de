"""Finds what the nodes of a simulation log and nobody expects.

A node that meets a bug of its own logs it with a stack trace and goes on. In a simulation that is a
failure. Errors of the disk and of the network are not: the simulation makes them.
"""

import asyncio
import logging
from types import TracebackType

from moldau.simulator.expected import EXPECTED, describe
from moldau.simulator.loop import SimulatedLoop
from moldau.simulator.world import World


class Unexpected(logging.Handler):
    """Active as a context manager, for everything that Moldau logs meanwhile."""

    def __init__(self, world: World, tell_from: int | None = None) -> None:
        """With ``tell_from``, messages of that level and above become part of the story."""
        super().__init__()
        self._world = world
        self._tell_from = tell_from
        self._logger = logging.getLogger("moldau")
        self._was = (self._logger.level, self._logger.propagate)

    def __enter__(self) -> "Unexpected":
        self._was = (self._logger.level, self._logger.propagate)
        self._logger.addHandler(self)
        self._logger.propagate = False
        self._logger.setLevel(min(logging.ERROR, self._tell_from or logging.ERROR))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._logger.removeHandler(self)
        level, self._logger.propagate = self._was
        self._logger.setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, EXPECTED):
            self._world.surprise(_who(), f"{record.getMessage()}: {describe(error)}")
        elif self._tell_from is not None and record.levelno >= self._tell_from:
            self._world.tell(_who(), f"({record.levelname}) {record.getMessage()}")


def _who() -> str:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return "thread"
    return loop.name if isinstance(loop, SimulatedLoop) else "somebody"
