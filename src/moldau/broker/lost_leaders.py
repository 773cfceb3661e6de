"""Leaders that this broker has lost sight of, while the controller makes up its mind about them.

After the death of a broker the metadata names it as a leader until the controller has fenced it,
which takes a fraction of a second. A client that asks for the leader in that time gets the old one,
and not every client asks again soon: librdkafka does after one or two seconds. But a follower has
lost its connection as well, and can tell whether the broker still listens. If it does not,
the partitions it leads have no leader that a client could use, and Metadata says so: then clients
ask again at short intervals.

Rules this module keeps:

* Only a refused connect counts. Anything else, and a leader that listens again, means that
  the metadata is right.
* It is a matter of two seconds at most for each incarnation of a broker: if the controller does not
  agree by then, it was this broker that lost its way.
* A client that asks again may know more than this broker: the kernel closes the connections of a
  dead process one after the other, the newest first, and followers were there before the clients.
  So the answer waits for a few milliseconds; without that, most clients get the old leader.
"""

import asyncio
import logging
from typing import Final

from moldau.broker.metadata_cache import MetadataCache
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.network.network import Network
from moldau.network.probe import ProbeResult, probe

logger = logging.getLogger(__name__)

# The pauses before each connect: the listener of a process that dies may close after others.
PAUSES_MS: Final = (0, 20, 40)
AGAIN_MS: Final = 100
PROBE_TIMEOUT_MS: Final = 1_000
# Longer than the controller needs, also if it has to be elected first.
MOST_MS: Final = 2_000
# For so long an answer waits until it is known whether a leader is gone.
MOST_WAIT_MS: Final = 100
# Time for the connections of a dead process to close, one after the other.
CLOSING_MS: Final = 5


class _Loss:
    """One incarnation of a leader to which the connection was lost."""

    def __init__(self, broker_epoch: int) -> None:
        self.broker_epoch = broker_epoch
        self.is_gone = False
        self.decided = asyncio.Event()
        self.watching: asyncio.Task[None] | None = None


class LostLeaders:
    """The leaders that this broker follows. To be used on one event loop."""

    def __init__(
        self, config: BrokerConfig, metadata: MetadataCache, network: Network, clock: Clock
    ) -> None:
        self._is_enabled = config.moldau_failure_detection_enable
        self._listener = config.inter_broker_listener_name
        self._metadata = metadata
        self._network = network
        self._clock = clock
        # Kept when nothing is watched any more, until the leader is found: once is enough.
        self._losses: dict[int, _Loss] = {}
        # The fetchers that would notice.
        self._contacts = 0

    # What clients are told

    def gone(self) -> tuple[int, ...]:
        """The brokers that are registered, but refuse connections."""
        if not self._losses:
            return ()
        return tuple(
            broker_id
            for broker_id, loss in sorted(self._losses.items())
            if loss.is_gone and self._is_registered(broker_id, loss)
        )

    @property
    def is_undecided(self) -> bool:
        """Whether ``decided`` has anything to wait for."""
        return any(not loss.decided.is_set() for loss in self._losses.values())

    @property
    def may_be_late(self) -> bool:
        """Whether a client may have noticed the death of a leader before this broker did."""
        return self._contacts > 0 and self._is_enabled

    async def decided(self, *, is_asked_again: bool) -> None:
        """Return when it is known of all leaders whether they are gone, or after a while."""
        if is_asked_again and self.may_be_late:
            await asyncio.sleep(CLOSING_MS / 1000)
        try:
            async with asyncio.timeout(MOST_WAIT_MS / 1000):
                for loss in list(self._losses.values()):
                    await loss.decided.wait()
        except TimeoutError:
            pass

    # What fetchers see

    def contact(self, broker_id: int) -> "LeaderContact":
        """For a fetcher, which closes it at its end."""
        self._contacts += 1
        return LeaderContact(self, broker_id)

    def end_contact(self) -> None:
        self._contacts -= 1

    def lost(self, broker_id: int) -> None:
        """The connection to a leader was lost, or could not be made."""
        broker = self._metadata.image.brokers.get(broker_id)
        if not self._is_enabled or broker is None or broker.fenced:
            return
        known = self._losses.get(broker_id)
        endpoint = broker.endpoint(self._listener)
        if endpoint is None or (known is not None and known.broker_epoch == broker.epoch):
            return
        self.found(broker_id)
        loss = self._losses[broker_id] = _Loss(broker.epoch)
        watch = self._watch(broker_id, loss, endpoint.host, endpoint.port)
        loss.watching = asyncio.get_running_loop().create_task(watch)

    def found(self, broker_id: int) -> None:
        """A leader has answered."""
        loss = self._losses.pop(broker_id, None)
        if loss is not None:
            loss.decided.set()
            if loss.watching is not None:
                loss.watching.cancel()

    def close(self) -> None:
        self._is_enabled = False
        for broker_id in list(self._losses):
            self.found(broker_id)

    # Probes

    async def _watch(self, broker_id: int, loss: _Loss, host: str, port: int) -> None:
        until_ms = self._clock.monotonic_ms() + MOST_MS
        for pause_ms in PAUSES_MS:
            await asyncio.sleep(pause_ms / 1000)
            result = await probe(self._network, host, port, PROBE_TIMEOUT_MS)
            if result is not ProbeResult.ACCEPTED:
                loss.is_gone = result is ProbeResult.REFUSED
                break
        loss.decided.set()
        if loss.is_gone:
            logger.info("broker %d refuses connections: it leads nothing for now", broker_id)
        while loss.is_gone and self._is_registered(broker_id, loss):
            await asyncio.sleep(AGAIN_MS / 1000)
            result = await probe(self._network, host, port, PROBE_TIMEOUT_MS)
            is_late = self._clock.monotonic_ms() >= until_ms
            loss.is_gone = result is ProbeResult.REFUSED and not is_late

    def _is_registered(self, broker_id: int, loss: _Loss) -> bool:
        broker = self._metadata.image.brokers.get(broker_id)
        return broker is not None and broker.epoch == loss.broker_epoch and not broker.fenced


class LeaderContact:
    """What one fetcher knows of its leader. It is free of cost while all is well."""

    def __init__(self, lost_leaders: LostLeaders, broker_id: int) -> None:
        self._lost_leaders = lost_leaders
        self._broker_id = broker_id
        self._is_lost = False

    def lost(self) -> None:
        self._is_lost = True
        self._lost_leaders.lost(self._broker_id)

    def found(self) -> None:
        if self._is_lost:
            self._is_lost = False
            self._lost_leaders.found(self._broker_id)

    def close(self) -> None:
        self._lost_leaders.end_contact()
