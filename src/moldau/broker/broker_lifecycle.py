"""The life of a broker in the cluster: registration, heartbeats, controlled shutdown.

The active controller counts a broker as alive while its heartbeats arrive. A new incarnation
registers and starts fenced: it leads nothing. Once it has replayed the metadata up to its
registration, a heartbeat unfences it. Before it stops, heartbeats ask for a controlled shutdown,
until the controller has moved its leaderships.

Rules this module keeps:

* There is one request at a time: an answer that was overtaken would be taken for news
  (KAFKA-15950).
* A heartbeat names the metadata that this node has published, not what it has received.
* A heartbeat is sent at once when the connection is lost: the controller takes a broker for dead
  that does not come back.
* A failed directory is reported in every heartbeat until one is answered, and no later
  registration names it.
* A broker registers again when an upgrade of the metadata.version makes its directories part of
  the registration: until then the controller would ignore that one of them fails.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from moldau.broker.controller_channel import PASSING, ControllerChannel
from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import METADATA_3_7_IV2, METADATA_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest

logger = logging.getLogger(__name__)

FIRST_BACKOFF_S: Final = 0.1
SHUT_DOWN_CHECK_S: Final = 0.05
SHUT_DOWN_TIMEOUT_S: Final = 30.0


class BrokerLifecycle:
    """One incarnation of a broker. ``broker_epoch`` is -1 until it is registered."""

    def __init__(
        self,
        config: BrokerConfig,
        channel: ControllerChannel,
        publisher: MetadataPublisher,
        rng: random.Random,
    ) -> None:
        self._config = config
        self._channel = channel
        self._publisher = publisher
        self._rng = rng
        self.broker_epoch = -1
        # Called with the epoch of each registration.
        self.on_registered: Callable[[int], None] | None = None
        # The ids of directories that get no new partitions.
        self.cordoned: Sequence[bytes] = ()
        # Failed directories: those that no heartbeat has reported yet, and all.
        self._offline: dict[bytes, None] = {}
        self._failed: dict[bytes, None] = {}
        self._asked: list[asyncio.Future[None]] = []
        self._wake = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        self._is_stopping = False
        self._registration: BrokerRegistrationRequest
        publisher.add_listener(self._on_published)

    def epoch(self) -> int:
        """The epoch of the current registration."""
        return self.broker_epoch

    # Start

    async def start(self, registration: BrokerRegistrationRequest) -> None:
        """Register and return when the broker is unfenced; heartbeats go on from then.

        Raises:
            ApiError: the controller refuses the registration, or did not answer within
                ``initial.broker.registration.timeout.ms``.
        """
        self._registration = registration
        timeout_ms = self._config.initial_broker_registration_timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._patiently(self._register)
        except TimeoutError:
            message = f"broker {registration.broker_id} could not be registered in {timeout_ms} ms"
            raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message) from None
        await self._publisher.wait_until(lambda: self._publisher.offset >= self.broker_epoch)
        await self._patiently(self._unfence)
        self._beating = asyncio.get_running_loop().create_task(self._beat_forever())

    async def _register(self) -> None:
        request = self._registration
        request.log_dirs = [each for each in request.log_dirs if each not in self._failed]
        response = await self._channel.send(request)
        self.broker_epoch = response.broker_epoch
        # Before the broker is unfenced, and so before it has any record that only it would lose.
        if self.on_registered is not None:
            self.on_registered(self.broker_epoch)

    async def _register_again(self) -> None:
        """The registration is gone: somebody removed it, or the broker counted as dead."""
        self._registration.previous_broker_epoch = self.broker_epoch
        await self._register()

    @property
    def _lacks_directories(self) -> bool:
        """Whether the registration is from before metadata.version 3.7-IV2, without directories."""
        image = self._publisher.image
        known = image.brokers.get(self._config.node_id)
        return (
            image.metadata_version >= METADATA_3_7_IV2
            and known is not None
            and known.epoch == self.broker_epoch
            and not known.log_dirs
        )

    async def _register_directories(self) -> None:
        """Register again. If that fails, the next heartbeat tries it again."""
        try:
            await self._register()
        except ApiError as error:
            node_id = self._config.node_id
            logger.warning("broker %d: directories are not registered: %s", node_id, error)

    async def _unfence(self) -> None:
        try:
            response = await self._beat()
        except ApiError as error:
            if error.code == ErrorCode.STALE_BROKER_EPOCH:
                await self._register_again()
            raise
        if response.is_fenced:
            message = f"the controller still fences broker {self._config.node_id}"
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, message)

    async def _patiently(self, send: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call ``send`` until it succeeds, with growing pauses while the error may pass."""
        pause_s = FIRST_BACKOFF_S
        while True:
            try:
                await send()
                return
            except ApiError as error:
                if error.code not in PASSING:
                    raise
                logger.info("broker %d tries again: %s", self._config.node_id, error)
            # A little randomness: not all brokers should come back at once.
            await asyncio.sleep(pause_s * self._rng.uniform(0.8, 1.2))
            pause_s = min(pause_s * 2, self._interval_s)

    @property
    def _interval_s(self) -> float:
        return self._config.broker_heartbeat_interval_ms / 1000

    # Heartbeats

    async def _beat_forever(self) -> None:
        while not self._is_stopping:
            try:
                async with asyncio.timeout(self._interval_s):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            if self._is_stopping and not self._asked:
                return
            asked, self._asked = self._asked, []
            try:
                if self._lacks_directories:
                    await self._register_directories()
                await self._beat()
            except ApiError as error:
                await self._after_failure(error, asked)
            else:
                _complete(asked)

    def _on_published(self, _: MetadataImage, delta: MetadataDelta) -> None:
        """A broker that stops waits until the others have reported that they know: do so at once.

        Apache Kafka's brokers do it with their next heartbeat, two seconds later at worst. A new
        metadata.version may need another registration.
        """
        if METADATA_VERSION in delta.changed_features:
            self._wake.set()
        for broker in delta.changed_brokers.values():
            if broker is not None and broker.in_controlled_shutdown and not broker.fenced:
                self._wake.set()

    async def _after_failure(self, error: ApiError, asked: list["asyncio.Future[None]"]) -> None:
        if error.code not in PASSING:
            logger.error("broker %d: heartbeat failed: %s", self._config.node_id, error)
            _complete(asked, error)
            return
        self._asked = asked + self._asked
        logger.info("broker %d: heartbeat failed: %s", self._config.node_id, error)
        if error.code == ErrorCode.STALE_BROKER_EPOCH:
            try:
                await self._register_again()
            except ApiError as refused:
                logger.warning("broker %d: not registered: %s", self._config.node_id, refused)
        if self._asked:
            await asyncio.sleep(FIRST_BACKOFF_S)
            self._wake.set()

    async def _beat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        offline = list(self._offline)
        request = BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._publisher.offset,
            want_shut_down=want_shut_down,
            offline_log_dirs=offline,
            cordoned_log_dirs=list(self.cordoned),
        )
        response: BrokerHeartbeatResponse = await self._channel.send(request)
        for directory_id in offline:
            del self._offline[directory_id]
        return response

    async def report_offline(self, directory_ids: Sequence[bytes]) -> None:
        """Report failed log directories to the controller, at once."""
        self._offline.update(dict.fromkeys(directory_ids))
        self._failed.update(self._offline)
        await self._beat_now()

    async def report_cordoned(self, directory_ids: Sequence[bytes]) -> None:
        """Report the cordoned log directories to the controller, at once."""
        self.cordoned = directory_ids
        await self._beat_now()

    def beat_soon(self) -> None:
        """Send the next heartbeat now, if there are any."""
        if self._beating is not None:
            self._wake.set()

    async def _beat_now(self) -> None:
        """Return when a heartbeat that is sent after this call is answered."""
        if self._beating is None:
            # The registration reports it.
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked.append(done)
        self._wake.set()
        await done

    # Stop

    async def shut_down(self) -> None:
        """Give up all leaderships, so that the shutdown counts as clean; within a timeout."""
        if self._beating is None:
            return
        self._is_stopping = True
        self._wake.set()
        try:
            async with asyncio.timeout(SHUT_DOWN_TIMEOUT_S):
                await self._beating
                await self._shut_down_in_order()
        except TimeoutError:
            logger.warning("broker %d stops before its shutdown is confirmed", self._config.node_id)
        except ApiError as error:
            logger.warning("broker %d stops without a shutdown: %s", self._config.node_id, error)
        _complete(self._asked)

    async def _shut_down_in_order(self) -> None:
        # One heartbeat asks for it; another one confirms that no leadership is left.
        response = await self._beat(want_shut_down=True)
        if not response.should_shut_down:
            response = await self._beat(want_shut_down=True)
        while not response.should_shut_down:
            await asyncio.sleep(SHUT_DOWN_CHECK_S)
            response = await self._beat(want_shut_down=True)

    def abandon(self) -> None:
        """Stop at once, without a word."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None


def _complete(asked: list["asyncio.Future[None]"], error: BaseException | None = None) -> None:
    for done in asked:
        if not done.done():
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
    asked.clear()
