"""Registers this controller with the active one (KIP-919).

The registration tells where this node listens and which features it supports. It is sent when the
metadata has none of this incarnation: after a start, and after an upgrade of the metadata.version
that introduced it.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from moldau.broker.controller_channel import PASSING, ControllerChannel
from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.broker.registration import controller_registration
from moldau.config.listeners import Listener
from moldau.errors import ApiError
from moldau.metadata.features import METADATA_3_7_IV0

logger = logging.getLogger(__name__)

BACKOFF_S: Final = 0.1
MAX_BACKOFF_S: Final = 60.0


class ControllerRegistrar:
    """The registration of one incarnation of a controller."""

    def __init__(
        self, node_id: int, channel: ControllerChannel, publisher: MetadataPublisher
    ) -> None:
        self._node_id = node_id
        self._channel = channel
        self._publisher = publisher
        self._incarnation_id = b""
        self._task: asyncio.Task[None] | None = None

    async def start(self, incarnation_id: bytes, listeners: Sequence[Listener]) -> None:
        """Return when this incarnation is registered, if the metadata.version allows that."""
        self._incarnation_id = incarnation_id
        self._request = controller_registration(self._node_id, incarnation_id, listeners)
        await self._register()
        self._task = asyncio.get_running_loop().create_task(self._register_again())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def is_due(self) -> bool:
        """Whether the metadata should have this registration, and does not."""
        image = self._publisher.image
        known = image.controllers.get(self._node_id)
        is_known = known is not None and known.incarnation_id == self._incarnation_id
        return image.metadata_version >= METADATA_3_7_IV0 and not is_known

    async def _register_again(self) -> None:
        while True:
            await self._publisher.wait_until(lambda: self.is_due)
            await self._register()

    async def _register(self) -> None:
        pause_s = BACKOFF_S
        while self.is_due:
            try:
                await self._channel.send(self._request)
                await self._publisher.wait_until(lambda: not self.is_due)
            except ApiError as error:
                if error.code not in PASSING:
                    raise
                logger.info("controller %d is not registered: %s", self._node_id, error)
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, MAX_BACKOFF_S)
