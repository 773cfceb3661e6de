"""One connection of a replica fetcher to a leader, with one request at a time.

A lane works while there is something to fetch, and rests otherwise. Its requests and what becomes
of their answers are for the fetcher to decide.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from moldau.errors import ApiError
from moldau.network.backoff import Backoff
from moldau.network.outgoing import Disconnected
from moldau.timers import call_after

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

logger = logging.getLogger(__name__)

# How long a connection stays open that is not used.
LINGER_MS: Final = 10_000
# The pause after the first failure of the leader, or of the way to it; it doubles with each.
FIRST_PAUSE_MS: Final = 20

# Returns a new way to the leader; None if it is not known where it listens.
Connect = Callable[[], "Outbound | None"]


class Fetching(Protocol):
    """What a lane does."""

    async def fetch_once(self, lane: "FetchLane") -> bool:
        """Send a request and take its answer; False if there is nothing to fetch.

        Raises:
            Disconnected: the leader was not reached, or has not answered.
            ApiError: it refused the whole request.
        """
        ...

    def is_current(self, outbound: "Outbound") -> bool:
        """Whether the leader still listens where ``outbound`` leads to."""
        ...


class FetchLane:
    """A connection that is opened when it is needed. To be used on one event loop."""

    def __init__(
        self, fetching: Fetching, connect: Connect, rng: random.Random, most_pause_ms: int
    ) -> None:
        self._fetching = fetching
        self._connect = connect
        self._pauses = Backoff(min(FIRST_PAUSE_MS, most_pause_ms), most_pause_ms, rng)
        self._outbound: Outbound | None = None
        # Whether a request is with the leader.
        self.is_waiting = False
        self._work: asyncio.Task[None] | None = None
        # Connections that are being closed, in order: a simulation must replay.
        self._closing: dict[asyncio.Task[None], None] = {}
        self._linger: asyncio.TimerHandle | None = None
        self._is_closed = False

    def wake(self) -> None:
        """Fetch what there is to fetch, unless that is being done."""
        if self._work is None and not self._is_closed:
            self._cancel_linger()
            self._work = asyncio.get_running_loop().create_task(self._run())

    def close(self) -> None:
        """Stop at once; ``closed`` waits for the end of it."""
        self._is_closed = True
        self._cancel_linger()
        if self._work is not None:
            self._work.cancel()
        self._hang_up()

    async def closed(self) -> None:
        pending = list(self._closing)
        if self._work is not None:
            pending.append(self._work)
        if pending:
            await asyncio.wait(pending)

    def outbound(self) -> "Outbound":
        """The way to the leader.

        Raises:
            Disconnected: it is not known where it listens.
        """
        if self._outbound is not None and not self._fetching.is_current(self._outbound):
            self._hang_up()
        if self._outbound is None:
            self._outbound = self._connect()
        if self._outbound is None:
            raise Disconnected("it is not known where the leader listens")
        return self._outbound

    async def _run(self) -> None:
        try:
            while await self._go_on():
                pass
        finally:
            self._work = None
            if not self._is_closed:
                self._linger = call_after(LINGER_MS, self._hang_up)

    async def _go_on(self) -> bool:
        """Fetch once; after a failure, pause."""
        try:
            is_busy = await self._fetching.fetch_once(self)
        except (Disconnected, ApiError) as error:
            logger.debug("a fetch failed: %s", error)
        except Exception:
            logger.exception("a fetch failed unexpectedly")
        else:
            self._pauses.reset()
            return is_busy
        await asyncio.sleep(self._pauses.next_ms() / 1000)
        return True

    def _cancel_linger(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None

    def _hang_up(self) -> None:
        self._linger = None
        if self._outbound is not None:
            closing = asyncio.get_running_loop().create_task(self._outbound.close())
            self._closing[closing] = None
            closing.add_done_callback(self._closing.pop)
            self._outbound = None
