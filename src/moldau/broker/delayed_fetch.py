"""A fetch that found too little, waiting for more.

It does not read again on every append: each partition counts the bytes it has taken,
and the fetch looks only whether enough have come since it read.

The counts are noted when it is made, which must be in the same turn of the event loop as
the read. ``wait`` runs in a later turn, and an append may come in between: so it looks once
before it goes to sleep.
"""

import asyncio

from moldau.broker.partition import Partition


class DelayedFetch:
    """Waits until ``needed_bytes`` arrived, a partition changed hands, or time is up."""

    __slots__ = ("_done", "_marks", "_needed_bytes")

    def __init__(self, partitions: list[Partition], needed_bytes: int) -> None:
        self._needed_bytes = needed_bytes
        self._marks = [(each, each.bytes_appended, each.registration) for each in partitions]
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, timeout_ms: int) -> None:
        timer = self._done.get_loop().call_later(timeout_ms / 1000, self.finish)
        for partition, _, _ in self._marks:
            partition.add_waiter(self)
        self.check()
        try:
            await self._done
        finally:
            timer.cancel()
            for partition, _, _ in self._marks:
                partition.remove_waiter(self)

    def check(self) -> None:
        arrived = 0
        for partition, mark, registration in self._marks:
            arrived += partition.bytes_appended - mark
            if partition.registration is not registration or not partition.is_leader:
                self.finish()
                return
        if arrived >= self._needed_bytes:
            self.finish()

    def finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
