"""Writes the markers of decided transactions, here and on other brokers, until all are written.

A transaction is decided when its record PrepareCommit or PrepareAbort is committed. Then every
partition of it gets a marker, and when all have one, the shard writes that the transaction is
complete. Whatever fails in between is repeated, by this broker or by the next coordinator, which
finds the same record.

Where this broker is the whole ISR of all partitions involved, all of that is one turn of the event
loop, or a few if there are many, for which the producer's answer waits: it does not meet its own
transaction that is still being completed.

Rules this module keeps:

* No marker is written before the decision is committed, and nothing is complete before every
  marker is committed.
* Markers for one broker are collected while a request to it is unanswered, and sent together.
* An error is treated by its class (``marker_requests``). A partition that has been deleted needs no
  marker. One without a leader waits for one.
* A transaction ends with its shard. Its markers that are on their way may still be written: the
  next coordinator will write the same ones.
"""

import asyncio
import functools
import logging
import random
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from moldau.broker.broker_channels import BrokerChannels
from moldau.broker.commit_queue import Commitment
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.marker_requests import (
    Errors,
    Verdict,
    errors_by_producer,
    markers_request,
    request_version,
    verdict_of,
)
from moldau.broker.marker_writing import Marker
from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.unfinished_transaction import UnfinishedTransaction
from moldau.clock import Clock, Now
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.metadata.registrations import NO_LEADER
from moldau.network.outgoing import Disconnected
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from moldau.timers import call_after
from moldau.transaction_coordinator.prepared import PreparedTransaction, each_partition

if TYPE_CHECKING:
    from moldau.broker.unfinished_transaction import HostedTransactions

# Of local markers, in one turn: about two milliseconds. A transaction may have thousands of
# partitions, and a coordinator that was loaded thousands of transactions; others are served in
# between.
MARKERS_PER_TURN: Final = 20
# A request has at most so many markers: it is made, and its answer is taken, in a turn each.
MARKERS_PER_REQUEST: Final = 2000
# How long to wait before asking again whether a decision is committed.
COMMIT_PAUSE_MS: Final = 100

_LEVELS: Final = {
    Verdict.RETRY: logging.INFO,
    Verdict.DROP_PARTITION: logging.INFO,
    Verdict.DROP_TRANSACTION: logging.WARNING,
    Verdict.UNEXPECTED: logging.ERROR,
}

# Transactions, and the partitions in which their markers are to be written.
_Batch = list[tuple[UnfinishedTransaction, dict[TopicPartition, None]]]

logger = logging.getLogger(__name__)


class LocalMarkers(Protocol):
    """Writes markers to the partitions that this broker leads."""

    def write(
        self, marker: Marker, topic_partition: TopicPartition, timeout_ms: int
    ) -> Commitment | None:
        """None if the marker is committed, or else a future of that. Raises ApiError."""
        ...


class _ToBroker:
    """The markers that wait for one broker."""

    __slots__ = ("node_id", "sending", "waiting")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.waiting: dict[UnfinishedTransaction, dict[TopicPartition, None]] = {}
        self.sending: asyncio.Task[None] | None = None

    def take(self, most: int) -> _Batch:
        """Remove at most so many of the markers; of a transaction with more, a part."""
        taken: _Batch = []
        while self.waiting and most > 0:
            unfinished = next(iter(self.waiting))
            partitions = self.waiting.pop(unfinished)
            if unfinished.is_over:
                continue
            if len(partitions) > most:
                self.waiting[unfinished] = dict.fromkeys(islice(partitions, most, None))
                partitions = dict.fromkeys(islice(partitions, most))
            taken.append((unfinished, partitions))
            most -= len(partitions)
        return taken


class MarkerSender:
    """The unfinished transactions of all shards of a broker. To be used on one event loop."""

    def __init__(
        self,
        configs: DynamicConfig,
        metadata: MetadataCache,
        local: LocalMarkers,
        channels: BrokerChannels,
        clock: Clock,
        rng: random.Random,
        turns: Turns,
    ) -> None:
        self._node_id = configs.static.node_id
        self._configs = configs
        self._metadata = metadata
        self._local = local
        self._channels = channels
        self._clock = clock
        self._rng = rng
        self._turns = turns
        self._brokers: dict[int, _ToBroker] = {}
        # Done when all markers of a transaction with many partitions are written or sent once, by
        # transactional id.
        self._first_attempts: dict[str, asyncio.Future[None]] = {}
        # Those that pause before their next attempt.
        self._pausing: dict[UnfinishedTransaction, None] = {}
        self._is_stopped = False

    def finish(self, hosted: "HostedTransactions") -> None:
        """Finish what the shard has decided since the last call, as soon as that is committed."""
        prepared = hosted.shard.take_prepared()
        if prepared:
            self._when_committed(hosted, prepared)

    def first_attempt(self, transactional_id: str) -> "asyncio.Future[None] | None":
        """Done when every partition had its turn, or None if that is so."""
        return self._first_attempts.get(transactional_id)

    def retry(self) -> None:
        """Send again at once what waits for better times: the metadata has changed."""
        self._write(self._markers_again(list(self._pausing)))

    def stop(self) -> None:
        self._is_stopped = True
        for unfinished in self._pausing:
            if unfinished.timer is not None:
                unfinished.timer.cancel()
        self._pausing.clear()
        for broker in self._brokers.values():
            if broker.sending is not None:
                broker.sending.cancel()

    # --- the decision

    def _when_committed(
        self, hosted: "HostedTransactions", prepared: list[PreparedTransaction]
    ) -> None:
        if hosted.is_closed or self._is_stopped:
            return
        commitment = hosted.committed()
        if commitment is not None:
            commitment.add_done_callback(functools.partial(self._on_commitment, hosted, prepared))
            return
        self._begin(hosted, prepared)

    def _on_commitment(
        self,
        hosted: "HostedTransactions",
        prepared: list[PreparedTransaction],
        commitment: Commitment,
    ) -> None:
        if commitment.cancelled() or commitment.result() is not None:
            # It may still be committed. If it is lost, the shard ends.
            call_after(COMMIT_PAUSE_MS, self._when_committed, hosted, prepared)
        else:
            # Others may have been decided since: they wait for commitments of their own.
            self._begin(hosted, prepared)

    def _begin(self, hosted: "HostedTransactions", prepared: list[PreparedTransaction]) -> None:
        if len(prepared) == 1 and _has_few_partitions(prepared[0]):
            # Nearly always: without steps, which take as long to set up as a marker to write.
            unfinished = UnfinishedTransaction(hosted, prepared[0])
            partitions = list(each_partition(prepared[0].partitions))
            unfinished.remaining = dict.fromkeys(partitions)
            for topic_partition in partitions:
                if not unfinished.is_over and not self._is_stopped:
                    self._mark(unfinished, topic_partition)
            if not self._is_stopped:
                self._complete(unfinished)
            return
        self._write(self._first_markers(hosted, prepared))

    # --- markers

    def _write(self, steps: Iterator[None]) -> None:
        """Write a few markers now, and the others in later turns."""
        for taken, _ in enumerate(steps, 1):
            if taken == MARKERS_PER_TURN:
                self._turns.later(functools.partial(self._write, steps))
                return

    def _first_markers(
        self, hosted: "HostedTransactions", prepared: list[PreparedTransaction]
    ) -> Iterator[None]:
        for each in prepared:
            attempt = None
            if not _has_few_partitions(each):
                attempt = asyncio.get_running_loop().create_future()
                self._first_attempts[each.transactional_id] = attempt
            unfinished = UnfinishedTransaction(hosted, each)
            yield from unfinished.collect()
            yield from self._markers(unfinished, each_partition(each.partitions))
            if attempt is not None:
                # The shard may have been loaded again, with an attempt of its own.
                if self._first_attempts.get(each.transactional_id) is attempt:
                    del self._first_attempts[each.transactional_id]
                attempt.set_result(None)
            yield

    def _markers(
        self, unfinished: UnfinishedTransaction, partitions: Iterable[TopicPartition]
    ) -> Iterator[None]:
        """Write or send the markers of ``partitions``, which remain; a step between two of them."""
        is_first = True
        for topic_partition in partitions:
            if not is_first:
                yield
            is_first = False
            if unfinished.is_over or self._is_stopped:
                return
            self._mark(unfinished, topic_partition)
        self._complete(unfinished)

    def _mark(self, unfinished: UnfinishedTransaction, topic_partition: TopicPartition) -> None:
        """Write or send the marker of one partition."""
        registration = self._metadata.image.partition(
            topic_partition.topic, topic_partition.partition
        )
        if registration is None:
            logger.info("%s was deleted: no marker for the %s", topic_partition, unfinished)
            unfinished.remaining.pop(topic_partition, None)
        elif registration.leader == self._node_id:
            self._write_here(unfinished, topic_partition)
        elif registration.leader == NO_LEADER:
            self._pause(unfinished, topic_partition)
        else:
            self._enqueue(registration.leader, unfinished, topic_partition)

    def _write_here(
        self, unfinished: UnfinishedTransaction, topic_partition: TopicPartition
    ) -> None:
        timeout_ms = self._configs.broker.request_timeout_ms
        try:
            commitment = self._local.write(unfinished.marker, topic_partition, timeout_ms)
        except ApiError as error:
            self._judge(unfinished, topic_partition, error.code)
        except Exception:
            logger.exception("the marker for the %s in %s failed", unfinished, topic_partition)
            self._pause(unfinished, topic_partition)
        else:
            if commitment is None:
                unfinished.remaining.pop(topic_partition, None)
                return
            commitment.add_done_callback(
                functools.partial(self._on_written, unfinished, topic_partition)
            )

    def _on_written(
        self,
        unfinished: UnfinishedTransaction,
        topic_partition: TopicPartition,
        commitment: Commitment,
    ) -> None:
        error = None if commitment.cancelled() else commitment.result()
        code = ErrorCode.REQUEST_TIMED_OUT if commitment.cancelled() else ErrorCode.NONE
        self._judge(unfinished, topic_partition, code if error is None else error.code)
        self._complete(unfinished)

    def _judge(
        self, unfinished: UnfinishedTransaction, topic_partition: TopicPartition, code: ErrorCode
    ) -> None:
        if unfinished.is_over:
            return
        verdict = verdict_of(code)
        if verdict is Verdict.WRITTEN:
            unfinished.remaining.pop(topic_partition, None)
            return
        # Once for each transaction: what keeps a marker from being written may last for hours.
        level = logging.DEBUG if unfinished.has_paused else _LEVELS[verdict]
        what = f"the marker for the {unfinished} in {topic_partition}"
        logger.log(level, "%s got %s: %s", what, code.name, verdict.value)
        if verdict is Verdict.DROP_PARTITION:
            unfinished.remaining.pop(topic_partition, None)
        elif verdict is Verdict.DROP_TRANSACTION:
            unfinished.end()
        else:
            self._pause(unfinished, topic_partition)

    # --- other brokers

    def _enqueue(
        self, node_id: int, unfinished: UnfinishedTransaction, topic_partition: TopicPartition
    ) -> None:
        broker = self._brokers.get(node_id)
        if broker is None:
            broker = self._brokers[node_id] = _ToBroker(node_id)
        broker.waiting.setdefault(unfinished, {})[topic_partition] = None
        if broker.sending is None and not self._is_stopped:
            broker.sending = asyncio.get_running_loop().create_task(self._send_all(broker))

    async def _send_all(self, broker: _ToBroker) -> None:
        try:
            while broker.waiting:
                await self._send_some(broker)
        finally:
            broker.sending = None

    async def _send_some(self, broker: _ToBroker) -> None:
        """Send one request with what waits for a broker, and take its answer."""
        batch = broker.take(MARKERS_PER_REQUEST)
        if not batch:
            return
        request = markers_request((each.marker, partitions) for each, partitions in batch)
        version = request_version(self._metadata.image.metadata_version)
        try:
            response = await self._channels.send(broker.node_id, request, version)
            assert isinstance(response, WriteTxnMarkersResponse)
            errors = errors_by_producer(response)
        except Exception as error:
            # Whatever it is, no marker may be forgotten.
            is_expected = isinstance(error, Disconnected | ApiError)
            level = logging.DEBUG if is_expected else logging.ERROR
            trace = None if is_expected else error
            node_id = broker.node_id
            logger.log(level, "no markers sent to broker %d: %s", node_id, error, exc_info=trace)
            for unfinished, partitions in batch:
                for topic_partition in partitions:
                    self._pause(unfinished, topic_partition)
            return
        # Each may complete a transaction, which is an append.
        await self._turns.complete(self._judge_all(batch, errors))

    def _judge_all(self, batch: _Batch, errors: Mapping[int, Errors]) -> Steps[None]:
        """One transaction per step."""
        for unfinished, partitions in batch:
            found = errors.get(unfinished.prepared.producer_id, {})
            for topic_partition in partitions:
                code = found.get(topic_partition, ErrorCode.UNKNOWN_SERVER_ERROR)
                self._judge(unfinished, topic_partition, code)
            self._complete(unfinished)
            yield

    # --- again

    def _pause(
        self, unfinished: UnfinishedTransaction, topic_partition: TopicPartition | None = None
    ) -> None:
        """Try again after a pause, or when the metadata changes; the others are not held up."""
        if topic_partition is not None:
            unfinished.retrying[topic_partition] = None
        if unfinished.timer is None and not self._is_stopped:
            pause_ms = unfinished.next_pause_ms(self._rng)
            unfinished.timer = call_after(pause_ms, self._try_again, unfinished)
            self._pausing[unfinished] = None

    def _try_again(self, unfinished: UnfinishedTransaction) -> None:
        self._write(self._markers_again([unfinished]))

    def _markers_again(self, pausing: list[UnfinishedTransaction]) -> Iterator[None]:
        for unfinished in pausing:
            self._pausing.pop(unfinished, None)
            if unfinished.timer is not None:
                unfinished.timer.cancel()
                unfinished.timer = None
            partitions = list(unfinished.retrying)
            unfinished.retrying.clear()
            yield from self._markers(unfinished, partitions)
            yield

    # --- the end

    def _complete(self, unfinished: UnfinishedTransaction) -> None:
        """Let the shard write that the transaction is complete, if every partition has its marker.

        If that fails, the shard is loaded again, and finds the transaction undone.
        """
        hosted = unfinished.hosted
        if unfinished.remaining or unfinished.is_over:
            return
        try:
            hosted.partition.check_append(-1)
        except ApiError as error:
            # Loading the shard again would not bring the replicas back.
            level = logging.DEBUG if unfinished.has_paused else logging.INFO
            logger.log(level, "the %s cannot be completed yet: %s", unfinished, error)
            self._pause(unfinished)
            return
        unfinished.end()
        now = Now(self._clock.wall_ms(), self._clock.monotonic_ms())
        complete = functools.partial(hosted.shard.handle_markers_written, unfinished.prepared, now)
        hosted.act("the end of a transaction", complete, now.wall_ms)


def _has_few_partitions(prepared: PreparedTransaction) -> bool:
    """Whether all markers of a transaction are written in one turn."""
    left = MARKERS_PER_TURN
    for indexes in prepared.partitions.values():
        left -= len(indexes)
    return left >= 0
