"""What may be raised inside a node because the simulation has made it happen, and what may not."""

import asyncio
import traceback
from typing import Final

from moldau.errors import ApiError
from moldau.simulator.disk_faults import PowerCut

EXPECTED: Final = (OSError, PowerCut, asyncio.CancelledError, ApiError)


def describe(error: BaseException) -> str:
    """An exception, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return repr(error)
    frame = frames[-1]
    return f"{error!r} ({frame.name} in {frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
