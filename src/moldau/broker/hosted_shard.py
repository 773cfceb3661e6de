"""Runs one shard of a coordinator: its log, its timer, and the waiting requests.

The shard decides; this module carries its decisions out. Records are appended in one batch and
replayed at once, so that the next request is decided on the newest state. The replies are sent when
the batch is committed. Where this broker is the whole ISR that is in the same turn of the event
loop as the request: an offset commit needs no task and no future.

What is replayed but not committed may still be lost with this leader, and nothing that depends on
it may leave the broker. There is one state, not a committed and an uncommitted one; instead, an
answer waits until all that the shard had written when the answer was computed is committed:

* Replies, even if their outcome has no records: they may depend on those of others.
* Answers that only read the state. So a client sees no change that is lost later, and it does see
  every change that was acknowledged before, because that is part of the state.

Apache Kafka keeps snapshots of the state and reads the last committed one without waiting, unless
the client requires stable offsets; then it waits for all that was written, as here. So a read can
be slower here by one round of replication, if it meets a write, but it is never older.

Rules this module keeps:

* No reply is sent before the records that it depends on are in the log of every in-sync replica.
* If this broker stops leading, everything uncommitted is dropped with the shard: its clients are
  answered with NOT_COORDINATOR, and the next leader loads what it has in its log.
* State and log stay consistent: if an append or a replay fails, the shard is discarded and loaded
  from the log again, and waiting requests get an error on which clients retry.
* A client does not wait longer than the commit timeout. Then it gets an error, but the change may
  be committed later.
* Replies to clients that have disconnected are dropped.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from moldau.broker.commit_queue import Commitment
from moldau.broker.partition import Partition
from moldau.clock import Clock, Now
from moldau.coordinator.outcome import CoordinatorRecord, Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.record.control import EndTxnBatch
from moldau.record.header import BATCH_HEADER_SIZE
from moldau.record.records import BatchBuilder
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.verification import VerificationGuard
from moldau.timers import DeadlineTimer

NO_TOKEN: Final = -1
# How long to wait before looking again whether timeouts can be written.
POSTPONED_MS: Final = 1000
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


class CoordinatorShard(Protocol):
    """The state machine of one partition of a coordinator's topic.

    The runtime replays every record of the log, in order; then calls ``on_metadata`` with the
    whole image and no delta; then ``on_loaded``; then passes requests to its ``handle`` methods,
    calls ``tick`` at ``next_deadline_ms``, and ``on_metadata`` with every new image. The records of
    every outcome are appended, and replayed before the next call.
    """

    def replay(self, key: Message, value: Message | None) -> None: ...

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta | None) -> Outcome: ...

    def on_loaded(self, now: Now) -> Outcome: ...

    def tick(self, now: Now) -> Outcome: ...

    def next_deadline_ms(self) -> int | None: ...

    def unload(self) -> list[Reply]:
        """Replies to pending requests. The shard is not used again."""
        ...


class TransactionalWrite(NamedTuple):
    """The transaction that the records of a request belong to."""

    producer_id: int
    producer_epoch: int
    # Of the first write of the transaction to this partition.
    guard: VerificationGuard | None
    # Called with the key and value of each record, and the producer id.
    replay: Callable[[Message, Message | None, int], None]


ShardT = TypeVar("ShardT", bound=CoordinatorShard)
Req = TypeVar("Req")
Context = TypeVar("Context")
Handle = Callable[[int, Req, Context, Now], Outcome]
Encode = Callable[[CoordinatorRecord], tuple[bytes, bytes | None]]
Load = Callable[[], Awaitable[int]]


class HostedShard(Generic[ShardT]):
    """The coordinator of one partition, as long as this broker leads it."""

    __slots__ = (
        "_carried_out",
        "_clock",
        "_codec",
        "_commit_timeout_ms",
        "_encode",
        "_end_offset",
        "_give_up",
        "_held",
        "_last_token",
        "_load",
        "_postpones_time_outs",
        "_timer",
        "_waiting",
        "is_closed",
        "is_loaded",
        "leader_epoch",
        "partition",
        "shard",
    )

    def __init__(
        self,
        partition: Partition,
        shard: ShardT,
        load: Load,
        encode: Encode,
        clock: Clock,
        codec: int,
        commit_timeout_ms: int,
        give_up: Callable[["HostedShard[ShardT]"], None],
        carried_out: Callable[["HostedShard[ShardT]"], None] | None = None,
        *,
        postpones_time_outs: bool = False,
    ) -> None:
        """``give_up`` is called when the shard is no longer consistent with its log.

        ``carried_out`` is called when the shard has been loaded, and whenever records have been
        appended and replayed, committed or not. It may ``act`` on the shard again.

        ``postpones_time_outs`` is for a shard whose ``tick`` only writes: it waits until something
        can be written. Otherwise its decisions would be lost, and the shard loaded again.
        """
        self.partition = partition
        self.shard = shard
        self.leader_epoch = partition.leader_epoch
        self.is_loaded = False
        self.is_closed = False
        self._load = load
        self._encode = encode
        self._clock = clock
        self._codec = codec
        self._commit_timeout_ms = commit_timeout_ms
        self._give_up = give_up
        self._carried_out = carried_out
        self._postpones_time_outs = postpones_time_outs
        # The end of what is replayed.
        self._end_offset = 0
        # Replies that wait for a commitment, in the order of the log.
        self._held: deque[tuple[int, Commitment, list[Reply]]] = deque()
        self._last_token = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._timer = DeadlineTimer(clock, self._on_timer)

    # --- loading and closing

    async def load(self) -> int:
        """Load the log; returns the number of records. Raises ApiError if it cannot be read."""
        return await self._load()

    def activate(self, image: MetadataImage) -> None:
        """Accept requests from now on, after the log has been loaded."""
        # The log was loaded to its end: some of it may not be committed yet.
        self._end_offset = self.partition.log.log_end_offset
        now = self.now()
        self._carry_out(self.shard.on_metadata(image, None), now.wall_ms)
        self._carry_out(self.shard.on_loaded(now), now.wall_ms)
        self.is_loaded = True
        if self._carried_out is not None:
            self._carried_out(self)

    def close(self, code: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Stop the shard; waiting requests get ``code``."""
        self.is_closed = True
        self.is_loaded = False
        self._timer.cancel()
        # Replies that wait for a commitment may be wrong now.
        for _, _, replies in self._held:
            for reply in replies:
                self._refuse(reply.token, ApiError(code))
        self._held.clear()
        for reply in self.shard.unload():
            self._answer(reply.token, reply.response)
        for token in list(self._waiting):
            self._refuse(token, ApiError(code))

    # --- requests

    def decide(
        self,
        handle: Handle[Req, Context],
        request: Req,
        context: Context,
        *,
        may_only_read: bool = False,
        transaction: TransactionalWrite | None = None,
    ) -> Any:
        """The response to a request that the shard answers at once.

        It must not be sent before the shard is ``committed``, as of the same turn.

        A request that nearly always writes is refused at once while nothing can be written:
        otherwise its decision would be lost, and the shard would have to be loaded again. With
        ``transaction`` the records are part of that transaction; if the log refuses them, because
        the producer is fenced, the decision is simply not carried out.

        Raises:
            ApiError: the records could not be written.
        """
        if not may_only_read:
            self._check_append()
        token = self._last_token = self._last_token + 1
        now = self.now()
        outcome = handle(token, request, context, now)
        response = self._carry_out(outcome, now.wall_ms, token, transaction)
        assert response is not None, "the request is answered at once"
        return response

    def run(
        self, handle: Handle[Req, Context], request: Req, context: Context
    ) -> "Any | asyncio.Future[Any]":
        """The committed response to a request, or a future of it: it may depend on later ones.

        Raises:
            ApiError: the records could not be written. So does the future.
        """
        self._check_append()
        token = self._last_token = self._last_token + 1
        now = self.now()
        response = self._carry_out(handle(token, request, context, now), now.wall_ms, token)
        waiting: asyncio.Future[Any]
        if response is not None:
            if self._end_offset <= self.partition.log.high_watermark:
                return response
            self._hold([Reply(token, response)])
        waiting = asyncio.get_running_loop().create_future()
        self._waiting[token] = waiting
        return waiting

    def end_transaction(
        self, marker: EndTxnBatch, transaction_version: int, replay: Callable[[], None]
    ) -> None:
        """Append ``marker``, the control batch that ends a transaction, and replay it.

        Raises:
            ApiError: the log refuses the marker; the shard is as it was.
        """
        wall_ms = self._clock.wall_ms()
        self.partition.append(
            marker, -1, wall_ms, _COORDINATOR, transaction_version=transaction_version
        )
        self._end_offset = self.partition.log.log_end_offset
        try:
            replay()
        except Exception:
            self._give_up(self)
            raise

    def fits(self, record: CoordinatorRecord) -> bool:
        """Whether the log takes a batch with this record alone."""
        key, value = self._encode(record)
        max_bytes = self.partition.log.config.max_message_bytes
        size = len(key) + (0 if value is None else len(value)) + RECORD_OVERHEAD_BYTES
        if size + BATCH_HEADER_SIZE <= max_bytes:
            return True
        batch = self._new_batch(None)
        batch.append(self._clock.wall_ms(), key, value)
        return batch.build_for_log().size_bytes <= max_bytes

    def committed(self) -> Commitment | None:
        """None if the state of the shard is committed, or else a future of that.

        Its error, if it has one, is that of the partition, not yet that of a coordinator.
        """
        if self._end_offset <= self.partition.log.high_watermark:
            return None
        return self.partition.committed(self._end_offset, self._commit_timeout_ms)

    def _check_append(self) -> None:
        try:
            self.partition.check_append(-1)
        except ApiError as error:
            raise as_coordinator_error(error) from error

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        wall_ms = self._clock.wall_ms()
        self.act("new metadata", lambda: self.shard.on_metadata(image, delta), wall_ms)

    def _on_timer(self) -> None:
        now = self.now()
        if self._postpones_time_outs:
            try:
                self.partition.check_append(-1)
            except ApiError:
                self._timer.set(now.monotonic_ms + POSTPONED_MS)
                return
        self.act("timeouts", lambda: self.shard.tick(now), now.wall_ms)

    def now(self) -> Now:
        clock = self._clock
        return Now(clock.wall_ms(), clock.monotonic_ms())

    def act(self, reason: str, decide: Callable[[], Outcome], wall_ms: int) -> None:
        """Carry out a decision that is not for a request; a failure is only logged."""
        try:
            self._carry_out(decide(), wall_ms)
        except Exception as error:
            is_expected = isinstance(error, ApiError)
            logger.error(
                "%s: %s could not be handled, loading it again: %s",
                self.partition.topic_partition,
                reason,
                error,
                exc_info=None if is_expected else error,
            )
            if not self.is_closed:
                self._give_up(self)

    # --- outcomes

    def _carry_out(
        self,
        outcome: Outcome,
        wall_ms: int,
        token: int = NO_TOKEN,
        transaction: TransactionalWrite | None = None,
    ) -> Any:
        """Append, replay and reply; returns the response to ``token``, committed or not."""
        if outcome.records:
            self._append(outcome.records, wall_ms, transaction)
        response = None
        others: list[Reply] | None = None
        for reply in outcome.replies:
            if reply.token == token:
                response = reply.response
            elif others is None:
                others = [reply]
            else:
                others.append(reply)
        if others is not None:
            self._send(others)
        if not self.is_closed:
            self._timer.set(self.shard.next_deadline_ms())
            if outcome.records and self.is_loaded and self._carried_out is not None:
                self._carried_out(self)
        return response

    def _send(self, replies: list[Reply]) -> None:
        """Send the replies, as soon as everything written so far is committed."""
        if self._end_offset > self.partition.log.high_watermark:
            self._hold(replies)
            return
        for reply in replies:
            self._answer(reply.token, reply.response)

    def _append(
        self,
        records: list[CoordinatorRecord],
        wall_ms: int,
        transaction: TransactionalWrite | None,
    ) -> None:
        """Append and replay the records, in one batch if they fit.

        Several batches are not appended atomically, but no reply is sent before the last one is
        committed.
        """
        partition = self.partition
        begin_offset = partition.log.log_end_offset
        max_bytes = partition.log.config.max_message_bytes
        guard = None if transaction is None else transaction.guard
        try:
            batch = self._new_batch(transaction)
            for record in records:
                key, value = self._encode(record)
                size = len(key) + (0 if value is None else len(value)) + RECORD_OVERHEAD_BYTES
                if batch.count and batch.size_bytes + size > max_bytes:
                    partition.append(batch.build_for_log(), -1, wall_ms, _COORDINATOR, guard)
                    batch = self._new_batch(transaction)
                batch.append(wall_ms, key, value)
            partition.append(batch.build_for_log(), -1, wall_ms, _COORDINATOR, guard)
            self._end_offset = partition.log.log_end_offset
            self._replay(records, transaction)
        except ApiError as error:
            if transaction is None or partition.log.log_end_offset != begin_offset:
                self._give_up(self)
            raise as_coordinator_error(error) from error
        except Exception:
            self._give_up(self)
            raise

    def _new_batch(self, transaction: TransactionalWrite | None) -> BatchBuilder:
        if transaction is None:
            return BatchBuilder(self._codec)
        return BatchBuilder(
            self._codec,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            is_transactional=True,
        )

    def _replay(
        self, records: list[CoordinatorRecord], transaction: TransactionalWrite | None
    ) -> None:
        if transaction is None:
            replay = self.shard.replay
            for record in records:
                replay(record.key, record.value)
        else:
            for record in records:
                transaction.replay(record.key, record.value, transaction.producer_id)

    # --- commitment

    def _hold(self, replies: list[Reply]) -> None:
        """Send the replies when everything written so far is committed, which it is not yet."""
        held = self._held
        if held and held[-1][0] == self._end_offset:
            held[-1][2].extend(replies)
            return
        commitment = self.committed()
        assert commitment is not None, "the caller has checked it"
        held.append((self._end_offset, commitment, list(replies)))
        commitment.add_done_callback(self._on_commitment)

    def _on_commitment(self, _: Commitment) -> None:
        """Send what waited for it, in the order of the log."""
        held = self._held
        is_lost = False
        while held and held[0][1].done():
            end_offset, commitment, replies = held.popleft()
            error = commitment.result()
            # Below the high watermark it is committed, however many replicas are in sync now.
            if error is None or end_offset <= self.partition.log.high_watermark:
                for reply in replies:
                    self._answer(reply.token, reply.response)
                continue
            is_lost = is_lost or error.code is not ErrorCode.REQUEST_TIMED_OUT
            for reply in replies:
                self._refuse(reply.token, as_coordinator_error(error))
        if is_lost and not self.is_closed:
            self._give_up(self)

    def _answer(self, token: int, response: Any) -> None:
        waiting = self._waiting.pop(token, None)
        # The future of a client that has disconnected is cancelled.
        if waiting is not None and not waiting.done():
            waiting.set_result(response)

    def _refuse(self, token: int, error: ApiError) -> None:
        waiting = self._waiting.pop(token, None)
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)


def as_coordinator_error(error: ApiError) -> ApiError:
    """An error of the log, as the error that clients of a coordinator expect."""
    return ApiError(_AS_COORDINATOR_ERROR.get(error.code, error.code), error.message)
