"""Assigns producer ids from blocks that the controller allocates (KIP-730).

A block is recorded in the metadata log before its first id is used, so no id is ever assigned
twice, whatever fails; at worst the rest of a block is never used.
"""

import asyncio
from typing import TYPE_CHECKING

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from moldau.broker.broker import Broker


class ProducerIds:
    """The current block of this broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._next = 0
        self._end = 0
        self._allocation: asyncio.Task[None] | None = None

    async def next(self) -> int:
        while self._next == self._end:
            # The first request that finds the block empty asks for another; later ones wait for it.
            if self._allocation is None:
                self._allocation = asyncio.ensure_future(self._allocate())
            await asyncio.shield(self._allocation)
        self._next += 1
        return self._next - 1

    async def _allocate(self) -> None:
        broker = self._broker
        try:
            request = AllocateProducerIdsRequest(
                broker_id=broker.node_id,
                broker_epoch=broker.image.brokers[broker.node_id].epoch,
            )
            # Not ``broker.change``: no producer should wait for the creation of a topic.
            controller = broker.controller
            block = await broker.metadata.change(lambda: controller.allocate_producer_ids(request))
            if block.error_code:
                raise ApiError(ErrorCode(block.error_code))
            self._next = block.producer_id_start
            self._end = block.producer_id_start + block.producer_id_len
        finally:
            self._allocation = None
