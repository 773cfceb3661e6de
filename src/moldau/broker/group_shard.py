"""Runs one shard of the group coordinator: its log, its timer, and the waiting requests.

The shard decides; this module carries its decisions out. Records are appended in one batch and
replayed, then the replies are sent, most of them in the same turn of the event loop as the request:
an offset commit needs no task and no future.

Rules this module keeps:

* No reply is sent before its records are in the log of every in-sync replica.
* State and log stay consistent: if an append or a replay fails, the shard is discarded and loaded
  from the log again, and waiting requests get an error on which clients retry.
* Replies to clients that have disconnected are dropped.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moldau.broker.group_loading import GroupLoader
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.outcome import CoordinatorRecord, GroupRequestContext, Outcome
from moldau.group_coordinator.records import encode_record
from moldau.group_coordinator.shard import GroupCoordinatorShard
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.record.records import BatchBuilder
from moldau.storage.producer_state import AppendOrigin

if TYPE_CHECKING:
    from moldau.broker.broker import Broker

Req = TypeVar("Req")
Handle = Callable[[int, Req, GroupRequestContext, int], Outcome]

NO_TOKEN: Final = -1
# An upper bound for the lengths, deltas and header count of a record.
RECORD_OVERHEAD_BYTES: Final = 32
_COORDINATOR: Final = AppendOrigin.COORDINATOR

# Errors of the log, as the errors that clients of a coordinator expect.
_AS_COORDINATOR_ERROR: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}

logger = logging.getLogger(__name__)


class HostedShard:
    """The coordinator of the groups of one partition, as long as this broker leads it."""

    __slots__ = (
        "_broker",
        "_codec",
        "_give_up",
        "_last_token",
        "_timer",
        "_timer_at_ms",
        "_waiting",
        "is_closed",
        "is_loaded",
        "partition",
        "shard",
    )

    def __init__(
        self, broker: "Broker", partition: Partition, give_up: Callable[["HostedShard"], None]
    ) -> None:
        """``give_up`` is called when the shard is no longer consistent with its log."""
        self.partition = partition
        self.shard = GroupCoordinatorShard(broker.config, broker.rng)
        self.is_loaded = False
        self.is_closed = False
        self._broker = broker
        self._give_up = give_up
        self._codec = broker.config.offsets_topic_compression_codec
        self._last_token = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_ms = 0

    # --- loading and closing

    async def load(self) -> int:
        """Load the log; returns the number of records. Raises ApiError if it cannot be read."""
        loader = GroupLoader(
            self.partition, self.shard, self._broker.config.offsets_load_buffer_size
        )
        return await loader.load()

    def activate(self) -> None:
        """Accept requests from now on, after the log has been loaded."""
        now_ms = self._broker.clock.now_ms()
        self._carry_out(self.shard.on_metadata(self._broker.image, None, now_ms), now_ms)
        self._carry_out(self.shard.on_loaded(now_ms), now_ms)
        self.is_loaded = True

    def close(self, code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Stop the shard; waiting requests get ``code``."""
        self.is_closed = True
        self.is_loaded = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for reply in self.shard.unload():
            self._answer(reply.token, reply.response)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ApiError(code))
        self._waiting.clear()

    # --- requests

    def run(
        self, handle: Handle[Req], request: Req, context: GroupRequestContext
    ) -> "Any | asyncio.Future[Any]":
        """Let the shard handle a request; returns its response, or a future of it.

        Raises:
            ApiError: the records could not be written.
        """
        token = self._last_token = self._last_token + 1
        now_ms = self._broker.clock.now_ms()
        response = self._carry_out(handle(token, request, context, now_ms), now_ms, token)
        if response is not None:
            return response
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        return waiting

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        now_ms = self._broker.clock.now_ms()
        self._act("new metadata", lambda: self.shard.on_metadata(image, delta, now_ms), now_ms)

    def expire_offsets(self, now_ms: int) -> None:
        self._act("expired offsets", lambda: self.shard.expire_offsets(now_ms), now_ms)

    def _on_timer(self) -> None:
        self._timer = None
        now_ms = self._broker.clock.now_ms()
        self._act("time-outs", lambda: self.shard.tick(now_ms), now_ms)

    def _act(self, reason: str, decide: Callable[[], Outcome], now_ms: int) -> None:
        """Carry out a decision that is not for a request; a failure is only logged."""
        try:
            self._carry_out(decide(), now_ms)
        except Exception as error:
            is_expected = isinstance(error, ApiError)
            logger.error(
                "%s: %s could not be handled, reloading the groups: %s",
                self.partition.topic_partition,
                reason,
                error,
                exc_info=None if is_expected else error,
            )
            if not self.is_closed:
                self._give_up(self)

    def _carry_out(self, outcome: Outcome, now_ms: int, token: int = NO_TOKEN) -> Any:
        """Append, replay and reply; returns the response to ``token`` if it is in the replies."""
        if outcome.records:
            self._append(outcome.records, now_ms)
        response = None
        for reply in outcome.replies:
            if reply.token == token:
                response = reply.response
            else:
                self._answer(reply.token, reply.response)
        self._set_timer(now_ms)
        return response

    def _answer(self, token: int, response: Any) -> None:
        waiting = self._waiting.pop(token, None)
        # The future of a client that has disconnected is cancelled.
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    def _append(self, records: list[CoordinatorRecord], now_ms: int) -> None:
        """Append and replay the records, in one batch if they fit.

        With one replica, they are then committed. Several batches are not appended atomically, but
        no reply is sent before the last one.
        """
        partition = self.partition
        shard = self.shard
        max_bytes = partition.log.config.max_message_bytes
        try:
            batch = BatchBuilder(self._codec)
            for record in records:
                key, value = encode_record(record)
                size = len(key) + (0 if value is None else len(value)) + RECORD_OVERHEAD_BYTES
                if batch.count and batch.size_bytes + size > max_bytes:
                    partition.append(batch.build_for_log(), -1, now_ms, _COORDINATOR)
                    batch = BatchBuilder(self._codec)
                batch.append(now_ms, key, value)
            partition.append(batch.build_for_log(), -1, now_ms, _COORDINATOR)
            for record in records:
                shard.replay(record.key, record.value)
        except ApiError as error:
            self._give_up(self)
            code = _AS_COORDINATOR_ERROR.get(error.code, error.code)
            raise ApiError(code, error.message) from error
        except Exception:
            self._give_up(self)
            raise

    def _set_timer(self, now_ms: int) -> None:
        """Set the timer for the next deadline of the shard.

        A timer that fires too early does nothing but set the next one; moving it with every
        heartbeat would cost more.
        """
        deadline_ms = self.shard.next_deadline_ms()
        if deadline_ms is None or self.is_closed:
            return
        if self._timer is not None:
            if self._timer_at_ms <= deadline_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = deadline_ms
        # Plus one, because both clocks round down.
        delay_ms = max(deadline_ms - now_ms, 0) + 1
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._on_timer)
