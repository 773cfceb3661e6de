"""A fetch that found less than ``min.bytes`` and waits for more.

It does not read again on every append: each partition counts the appended bytes, and the fetch
checks only whether enough have arrived since it read.

The counts are taken at construction, which must be in the same turn of the event loop as the read;
a fetch that took several turns to read passes the counts of each read. ``wait`` runs in a later
turn, and there may be appends in between, so it checks once before it waits.
"""

import asyncio

from moldau.broker.partition import Partition
from moldau.metadata.registrations import PartitionRegistration

Mark = tuple[int, PartitionRegistration]


def mark(partition: Partition) -> Mark:
    """The state of the partition for a fetch that reads it now."""
    return partition.bytes_appended, partition.registration


class DelayedFetch:
    """Waits until ``needed_bytes`` have arrived, a leader has changed, or the time is up."""

    __slots__ = ("_done", "_marks", "_needed_bytes")

    def __init__(
        self,
        partitions: list[Partition],
        needed_bytes: int,
        marks: dict[Partition, Mark] | None = None,
    ) -> None:
        self._needed_bytes = needed_bytes
        self._marks = {each: mark(each) for each in partitions} if marks is None else marks
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, timeout_ms: int) -> None:
        timer = self._done.get_loop().call_later(timeout_ms / 1000, self.finish)
        partitions = list(self._marks)
        for partition in partitions:
            partition.add_waiter(self)
            self.check(partition)
        try:
            await self._done
        finally:
            timer.cancel()
            for partition in partitions:
                partition.remove_waiter(self)

    def check(self, partition: Partition) -> None:
        """Check the one partition that changed: a fetch may wait for thousands."""
        mark, registration = self._marks[partition]
        if partition.registration is not registration or not partition.is_leader:
            self.finish()
            return
        appended = partition.bytes_appended
        if appended != mark:
            self._marks[partition] = (appended, registration)
            self._needed_bytes -= appended - mark
        if self._needed_bytes <= 0:
            self.finish()

    def finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
