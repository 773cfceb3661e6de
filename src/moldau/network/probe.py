"""Whether somebody listens at an address: one connect, which is closed at once.

Only a refusal says that nobody does. A connect that is accepted may have been accepted by the
kernel, for a process that hangs; one that is not answered may have been lost on the way.
"""

import asyncio
import logging
from enum import Enum

from moldau.network.network import Network

logger = logging.getLogger(__name__)


class ProbeResult(Enum):
    """What came of a connect."""

    REFUSED = "refused"
    ACCEPTED = "accepted"
    # Not answered in time, unreachable, or its name cannot be resolved.
    UNKNOWN = "unknown"


async def probe(network: Network, host: str, port: int, timeout_ms: int) -> ProbeResult:
    """Connect, and hang up."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            transport = await network.connect(host, port, asyncio.Protocol)
    except ConnectionRefusedError:
        return ProbeResult.REFUSED
    except (OSError, ValueError) as error:  # ValueError: it is not the name of a host
        logger.debug("A connect to %s:%d tells nothing: %s", host, port, error)
        return ProbeResult.UNKNOWN
    transport.abort()
    return ProbeResult.ACCEPTED
