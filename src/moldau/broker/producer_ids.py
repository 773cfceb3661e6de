"""Assigns producer ids from blocks that the controller allocates (KIP-730).

A block is recorded in the metadata log before its first id is used, so no id is ever assigned
twice, whatever fails; at worst the rest of a block is never used.

The transaction coordinator decides in one turn of the event loop and cannot wait for a block. So
the next block is requested before this one ends.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from moldau.broker.controller_channel import ControllerChannel
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest

# The next block is requested when so many per cent of a block are used, as in Kafka.
PREFETCH_PERCENT: Final = 90
LARGEST_ID: Final = 2**63 - 1

logger = logging.getLogger(__name__)


class ProducerIds:
    """The current block of this broker, and the next one."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel
    ) -> None:
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._next = 0
        self._end = 0
        # At this id, the next block is requested.
        self._prefetch_at = 0
        self._following: range | None = None
        self._allocation: asyncio.Task[None] | None = None

    def take(self) -> int | None:
        """The next producer id; None if there is none at the moment. Then a block is requested."""
        if self._next == self._end and not self._begin_following():
            self._request_block()
            return None
        producer_id = self._next
        self._next += 1
        if producer_id >= self._prefetch_at and self._following is None:
            self._request_block()
        return producer_id

    @property
    def is_empty(self) -> bool:
        """Whether ``take`` would have no id."""
        return self._next == self._end and self._following is None

    async def available(self) -> None:
        """Return when ``take`` will have an id, unless others take it first.

        Raises:
            ApiError: the controller could not be reached, or has refused.
        """
        while self.is_empty:
            # Later requests wait for the allocation of the first.
            await asyncio.shield(self._request_block())

    async def next(self) -> int:
        """The next producer id, when there is one.

        Raises:
            ApiError: the controller could not be reached, or has refused.
        """
        while (producer_id := self.take()) is None:
            await self.available()
        return producer_id

    def _begin_following(self) -> bool:
        """Use the next block, if it has been allocated."""
        block = self._following
        if block is None:
            return False
        self._following = None
        self._next, self._end = block.start, block.stop
        self._prefetch_at = block.start + len(block) * PREFETCH_PERCENT // 100
        return True

    def _request_block(self) -> "asyncio.Task[None]":
        if self._allocation is None:
            self._allocation = asyncio.get_running_loop().create_task(self._allocate())
            self._allocation.add_done_callback(_note_failure)
        return self._allocation

    async def _allocate(self) -> None:
        try:
            request = AllocateProducerIdsRequest(
                broker_id=self._node_id, broker_epoch=self._broker_epoch()
            )
            block = await self._channel.send(request)
            start, count = block.producer_id_start, block.producer_id_len
            # An overlap would assign ids twice (KAFKA-20031).
            if start < self._end or count <= 0 or start > LARGEST_ID - count:
                message = (
                    f"the controller allocated the producer ids {start} to {start + count - 1}, "
                    f"which must begin at {self._end} or later: they are not used"
                )
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
            self._following = range(start, start + count)
        finally:
            self._allocation = None


def _note_failure(allocation: "asyncio.Task[None]") -> None:
    """Log why there is no block; whoever waits for it is told, too."""
    if not allocation.cancelled() and (error := allocation.exception()) is not None:
        logger.warning("no producer ids were allocated: %s", error)
