"""Moves replicas between the log directories of this broker (KIP-113).

A move has three parts. A thread of the disk pool copies the log in slices, while clients continue
to use it. When little remains, the copy is flushed and the new directory is recorded in the
metadata (KIP-858). Then, in one turn of the event loop, the rest is copied and the copy replaces
the log, so that requests before and after see the same records.

Replicas move in the order of the requests, at most ``num.replica.alter.log.dirs.threads`` at a
time. A move survives a restart: the ``-future`` directory represents it.

Rules this module keeps:

* Only one thread at a time uses the copy. ``cancel`` waits for the current slice.
* The swap happens only after the metadata is durable, and what was flushed in the log is
  flushed in the copy.
* A move that fails permanently leaves the log unchanged, and the copy where it is.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final, TypeVar

from moldau.broker.controller_channel import PASSING
from moldau.broker.directory_assignments import DirectoryAssignments
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.partition import Partition
from moldau.broker.replica_manager import ReplicaManager
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.storage.log.log_copy import SLICE_BYTES, LogCopy, Slice
from moldau.storage.log_manager import LogManager

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_UNLIMITED: Final = (1 << 63) - 1


class Throttle:
    """Limits the copy rate: copied bytes are a debt that decreases at the current rate."""

    def __init__(self) -> None:
        self._debt_bytes = 0.0
        self._paid_at_ms = 0

    def copied(self, size_bytes: int) -> None:
        self._debt_bytes += size_bytes

    def delay_ms(self, rate: int, now_ms: int) -> float:
        """How long to wait before the next slice; 0 if it may be copied now."""
        paid = (now_ms - self._paid_at_ms) * rate / 1000
        self._paid_at_ms = now_ms
        self._debt_bytes = max(self._debt_bytes - paid, 0.0)
        if self._debt_bytes == 0.0:
            return 0.0
        # At most a second: the rate may be raised in the meantime.
        return min(self._debt_bytes * 1000 / max(rate, 1), 1000.0)


class _Move:
    """One replica that is being moved."""

    def __init__(self, partition: Partition, copy: LogCopy) -> None:
        self.partition = partition
        self.copy = copy
        self.is_begun = False
        self.is_cancelled = asyncio.Event()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # The metadata names the new directory, but the log is still in the old one.
        self.is_announced = False
        self.unflushed_bytes = 0


class ReplicaMover:
    """The moves of one broker. Except for copying, everything runs on its event loop."""

    def __init__(
        self,
        logs: LogManager,
        replicas: ReplicaManager,
        assignments: DirectoryAssignments,
        configs: DynamicConfig,
        clock: Clock,
    ) -> None:
        self._logs = logs
        self._replicas = replicas
        self._assignments = assignments
        self._configs = configs
        self._clock = clock
        self._moves: dict[TopicPartition, _Move] = {}
        self._throttle = Throttle()
        self._workers: set[asyncio.Task[None]] = set()
        self._is_stopping = False

    # -- requests --

    def resume(self) -> None:
        """Continue the moves that the last stop interrupted."""
        for topic_partition, future in list(self._logs.future_logs.items()):
            partition = self._replicas.find(topic_partition)
            if partition is None or partition.log.is_closed:
                continue
            try:
                # It may have lost its topic id with the power. Without one, its records would
                # belong to nobody once it is the log.
                self._logs.get_or_create(
                    topic_partition,
                    partition.log.config,
                    partition.topic_id,
                    log_dir=future.log_dir,
                    is_future=True,
                )
            except ApiError as error:
                logger.error("%s stays where it is: %s", topic_partition, error)
                continue
            self.add(partition)

    def add(self, partition: Partition) -> None:
        """Start the move of a replica whose future log exists."""
        topic_partition = partition.topic_partition
        if self._is_stopping or topic_partition in self._moves:
            return
        future = self._logs.future_logs[topic_partition]
        logger.info("moving %s to %s", partition.log.directory, future.log_dir)
        self._moves[topic_partition] = _Move(partition, LogCopy(partition.log, future))
        if len(self._workers) < max(self._configs.broker.num_replica_alter_log_dirs_threads, 1):
            self._workers.add(asyncio.get_running_loop().create_task(self._work()))

    async def cancel(self, topic_partition: TopicPartition) -> None:
        """Return when the move has stopped and its copy is deleted."""
        logs = self._logs
        future = logs.future_logs.get(topic_partition)
        move = self._moves.get(topic_partition)
        if move is not None:
            move.is_cancelled.set()
            await move.done
        # Another move may have been started in the meantime.
        if future is not None and logs.future_logs.get(topic_partition) is future:
            logs.delete_future(topic_partition)

    def review(self) -> None:
        """Drop the moves of partitions that were deleted or whose disks failed."""
        for move in self._moves.values():
            if not self._is_possible(move):
                move.is_cancelled.set()

    async def stop(self) -> None:
        """Return when copying has stopped; the next start continues the moves."""
        self._is_stopping = True
        for move in self._moves.values():
            move.is_cancelled.set()
        await self.idle()

    async def idle(self) -> None:
        """Return when there are no moves."""
        while self._workers:
            await asyncio.gather(*self._workers)

    # -- one after the other --

    async def _work(self) -> None:
        """Move one replica after the other, until none is left for this worker."""
        try:
            while (move := self._next()) is not None:
                await self._finish(move)
        finally:
            # In the same turn in which nothing was left: the next ``add`` starts a worker.
            worker = asyncio.current_task()
            assert worker is not None
            self._workers.discard(worker)

    def _next(self) -> _Move | None:
        return next((move for move in self._moves.values() if not move.is_begun), None)

    async def _finish(self, move: _Move) -> None:
        """Complete the move of a replica, or give it up."""
        move.is_begun = True
        topic_partition = move.partition.topic_partition
        try:
            while not move.is_cancelled.is_set() and self._is_possible(move):
                if await self._advance(move):
                    break
            else:
                await self._give_up(move)
        except ApiError as error:
            logger.error("%s stays where it is: %s", topic_partition, error)
            await self._give_up(move)
        except Exception:
            logger.exception("the move of %s failed", topic_partition)
            await self._give_up(move)
        finally:
            del self._moves[topic_partition]
            move.done.set_result(None)

    def _is_possible(self, move: _Move) -> bool:
        copy = move.copy
        topic_partition = move.partition.topic_partition
        return (
            move.partition.log is copy.source
            and self._replicas.find(topic_partition) is move.partition
            and self._logs.future_logs.get(topic_partition) is copy.future
            and not copy.source.is_closed
            and not copy.future.is_closed
        )

    async def _give_up(self, move: _Move) -> None:
        """Keep the log where it is; revert the metadata if it names the new directory."""
        logs = self._logs
        topic_partition = move.partition.topic_partition
        is_hosted = self._replicas.find(topic_partition) is move.partition
        try:
            if not is_hosted and logs.future_logs.get(topic_partition) is move.copy.future:
                # The topic is deleted: delete the copy too.
                logs.delete_future(topic_partition)
            elif is_hosted and move.is_announced:
                old = logs.dirs.directory_id(move.copy.source.log_dir)
                if old is not None:
                    index = topic_partition.partition
                    await self._assignments.assign(move.partition.topic_id, index, old)
        except ApiError as error:
            logger.error("giving up the move of %s: %s", topic_partition, error)

    # -- a move --

    async def _advance(self, move: _Move) -> bool:
        """Take the next step; True when the move is complete."""
        try:
            piece = move.copy.plan()
            if piece is not None and not piece.is_tail:
                await self._copy(move, piece)
            elif not move.is_announced or move.unflushed_bytes > SLICE_BYTES:
                await self._prepare(move)
            elif piece is None:
                self._exchange(move)
                return True
            else:
                # Little enough for one turn of the loop: nothing is appended in between.
                move.copy.copy(piece)
        except ApiError as error:
            may_pass = error.code == ErrorCode.KAFKA_STORAGE_ERROR or error.code in PASSING
            if not may_pass or not self._is_possible(move):
                raise
            # Usually a full disk, which may have space again later, or no active controller. If
            # that has recorded the new directory after all, the move must be completed.
            logger.warning("moving %s: %s", move.partition.topic_partition, error)
            await self._pause(move, self._configs.broker.replica_fetch_backoff_ms)
        return False

    async def _copy(self, move: _Move, piece: Slice) -> None:
        copied = await self._in_thread(lambda: move.copy.copy(piece))
        move.unflushed_bytes += copied
        rate = self._rate()
        if rate == _UNLIMITED:
            return
        self._throttle.copied(copied)
        while not move.is_cancelled.is_set():
            delay_ms = self._throttle.delay_ms(self._rate(), self._clock.monotonic_ms())
            if delay_ms == 0:
                break
            await self._pause(move, delay_ms)

    async def _prepare(self, move: _Move) -> None:
        """Flush the copy, and record the new directory in the metadata."""
        logs = self._logs
        topic_partition = move.partition.topic_partition
        await self._in_thread(logs.durable_future(topic_partition))
        move.unflushed_bytes = 0
        directory_id = logs.dirs.directory_id(move.copy.future.log_dir)
        if directory_id is not None and self._is_possible(move):
            index = topic_partition.partition
            await self._assignments.assign(move.partition.topic_id, index, directory_id)
        move.is_announced = True

    def _exchange(self, move: _Move) -> None:
        source, future = move.copy.source, move.copy.future
        logs = self._logs
        if future.recovery_point < source.recovery_point:
            # Few records were flushed since the copy was prepared, so this is quick.
            future.flush()
        future.cleaner_checkpoint = move.copy.cleaner_checkpoint
        old_dir, new_dir = source.log_dir, future.log_dir
        log = logs.replace_current_with_future(move.partition.topic_partition)
        move.partition.replace_log(log)
        logger.info("%s is in %s now", move.partition.topic_partition, new_dir)
        self._submit(lambda: logs.sync_names(old_dir, new_dir))

    # -- time and threads --

    def _rate(self) -> int:
        configs = self._configs
        value = configs.per_broker().get(_RATE, configs.cluster_wide().get(_RATE))
        return _UNLIMITED if value is None else int(value)

    async def _pause(self, move: _Move, delay_ms: float) -> None:
        """Wait, but not after the move has ended."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(move.is_cancelled.wait(), delay_ms / 1000)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        executor = self._logs.context.executor
        if executor is None:
            return work()
        result: T = await asyncio.wrap_future(executor.submit(work))
        return result

    def _submit(self, work: Callable[[], object]) -> None:
        executor = self._logs.context.executor
        if executor is None:
            work()
        else:
            executor.submit(work)
