"""A fetch that found less than ``min.bytes`` and waits for more.

It does not read again whenever something changes: each partition counts the bytes that have become
readable, and the fetch checks only whether enough have since it read. What counts as readable
depends on the reader (``Partition.readable_bytes``): followers wait for the log end, consumers for
the high watermark or the last stable offset.

``DelayedFetch`` waits on the partitions of a request without a session, one by one. The counts are
taken at construction, which must be in the same turn of the event loop as the read; a fetch that
took several turns to read passes the counts of each read.

``DelayedSessionFetch`` waits on a session, whose partitions are watched anyway (``fetch_session``).
Its counts are those of the cached partitions, taken likewise.

``wait`` runs in a later turn than the read, and there may be appends in between, so it checks once
before it waits.
"""

import asyncio

from moldau.broker.fetch_session import CachedPartition, FetchSession
from moldau.broker.partition import LOG_END, Partition
from moldau.timers import call_after

# The count of readable bytes, the leader epoch, and whether this broker leads.
Mark = tuple[int, int, bool]


def mark(partition: Partition, limit: int) -> Mark:
    """The state of the partition for a fetch that reads it now, up to ``limit``."""
    return partition.readable_bytes(limit), partition.leader_epoch, partition.is_leader


class DelayedFetch:
    """Waits until ``needed_bytes`` are readable, a leader has changed, or the time is up."""

    __slots__ = ("_done", "_limit", "_marks", "_needed_bytes")

    def __init__(
        self,
        partitions: list[Partition],
        needed_bytes: int,
        limit: int,
        marks: dict[Partition, Mark] | None = None,
    ) -> None:
        self._needed_bytes = needed_bytes
        self._limit = limit
        self._marks = {each: mark(each, limit) for each in partitions} if marks is None else marks
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, timeout_ms: int) -> None:
        timer = call_after(timeout_ms, self.finish)
        partitions = list(self._marks)
        for partition in partitions:
            partition.add_waiter(self, self._limit)
            self.check(partition)
        try:
            await self._done
        finally:
            timer.cancel()
            for partition in partitions:
                partition.remove_waiter(self)

    def check(self, partition: Partition) -> None:
        """Check the one partition that changed: a fetch may wait for thousands."""
        readable_bytes, leader_epoch, was_leader = self._marks[partition]
        if partition.leader_epoch != leader_epoch or partition.is_leader != was_leader:
            self.finish()
            return
        readable = partition.readable_bytes(self._limit)
        if readable != readable_bytes:
            self._marks[partition] = (readable, leader_epoch, was_leader)
            self._needed_bytes -= readable - readable_bytes
        if self._needed_bytes <= 0:
            self.finish()

    def finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)


class DelayedSessionFetch:
    """Waits until ``needed_bytes`` are readable in a session, as ``DelayedFetch`` does."""

    __slots__ = ("_done", "_needed_bytes", "_session")

    def __init__(self, session: FetchSession, needed_bytes: int) -> None:
        self._session = session
        self._needed_bytes = needed_bytes
        for cached in session.marked.values():
            cached.count(session.limit)
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, timeout_ms: int) -> None:
        timer = call_after(timeout_ms, self.finish)
        session = self._session
        if session.waiting is not None:
            # A client that does not wait for the response, on another connection.
            session.waiting.finish()
        session.waiting = self
        for cached in list(session.marked.values()):
            if session.is_closed or cached.partition is None:
                self.finish()
                break
            cached.watch()
            self.check(cached)
        try:
            await self._done
        finally:
            timer.cancel()
            if session.waiting is self:
                session.waiting = None

    def check(self, cached: CachedPartition) -> None:
        """Check the one partition that changed."""
        partition = cached.partition
        if (
            partition is None
            or partition.leader_epoch != cached.leader_epoch
            or partition.is_leader != cached.was_leader
        ):
            self.finish()
            return
        limit = self._session.limit
        readable = partition.readable_bytes(limit)
        if not cached.is_held_back:
            self._needed_bytes -= readable - cached.readable_bytes
        cached.readable_bytes = readable
        # Only followers that need it at once say which high watermark they know (KIP-1166).
        if self._needed_bytes <= 0 or (
            limit == LOG_END and partition.log.high_watermark > cached.fetch.high_watermark
        ):
            self.finish()

    def finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
