"""Notices that the leader of the metadata quorum has died, before the timeout for its fetches.

A voter always has a fetch under way. If the connection is lost, and the leader's listener refuses
a connect soon after, its process is gone. The raft node then need not wait to stand for election.
One refusal is enough here: a voter that is wrong about it changes nothing, because of the pre-vote.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.network.network import Network
from moldau.network.probe import ProbeResult, probe
from moldau.raft import messages as say

logger = logging.getLogger(__name__)

# The pauses before each probe: the connection of a process that dies may close before its listener.
PAUSES_MS: Final = (40, 60, 100, 200)
PROBE_TIMEOUT_MS: Final = 1_000


class LeaderWatch:
    """Probes the leader when the connection to it is lost. To be used on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        network: Network | None,
        leader: Callable[[], say.CurrentLeader],
        report: Callable[[say.Message], None],
    ) -> None:
        """``leader`` returns the leader as this node knows it; ``report`` takes a LeaderGone."""
        self._is_enabled = config.moldau_failure_detection_enable
        self._network = network
        self._leader = leader
        self._report = report
        self._watching: asyncio.Task[None] | None = None
        # The leader and the epoch that were last said to be gone.
        self._gone: tuple[int, int] = (-1, -1)

    def on_lost(self, host: str, port: int) -> None:
        """A node was not reached, or the connection to it was lost."""
        leader = self._leader()
        is_leader = any((each.host, each.port) == (host, port) for each in leader.endpoints)
        is_busy = self._watching is not None and not self._watching.done()
        if self._is_enabled and is_leader and not is_busy:
            watch = self._watch(leader, host, port)
            self._watching = asyncio.get_running_loop().create_task(watch)

    def close(self) -> None:
        """Watch no more: the node itself closes its connections now."""
        self._is_enabled = False
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self, leader: say.CurrentLeader, host: str, port: int) -> None:
        assert self._network is not None, f"there is no network to reach {host}:{port}"
        for pause_ms in PAUSES_MS:
            await asyncio.sleep(pause_ms / 1000)
            if self._leader()[:2] != leader[:2]:
                return
            if await probe(self._network, host, port, PROBE_TIMEOUT_MS) is ProbeResult.REFUSED:
                if self._gone != leader[:2]:
                    # Whoever cannot be elected comes here again and again, until somebody is.
                    self._gone = leader[:2]
                    logger.info("node %d, which leads epoch %d, is gone", leader.id, leader.epoch)
                self._report(say.LeaderGone(leader.id, leader.epoch))
                return
