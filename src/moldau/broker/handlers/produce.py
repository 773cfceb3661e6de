"""Produce: one batch per partition, checked, appended, acknowledged (KIP-98, KIP-467, KIP-951).

If a request has two batches for one partition, both are appended and acknowledged. Apache Kafka
acknowledges but keeps only the last; no producer can rely on that, and none sends such requests.
Nor does any send transactional batches without a transactional id: they are refused, while Apache
Kafka refuses the plain batches of such a request as well.

Most requests are handled in one turn of the event loop. A request with many batches takes several,
and a batch that takes long to validate is passed to a thread (``record_checks``); other requests
are served in the meantime. The connection is muted until all batches are appended, so the batches
of one producer stay in order. Other producers do not wait: a batch has no offset before it is
appended.
"""

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.current_leaders import UNKNOWN, CurrentLeaders
from moldau.broker.handlers.produce_refusals import ERRORS_WITH_LOG_START, refused, summary
from moldau.broker.handlers.transactional_produce import TransactionalProduce
from moldau.broker.record_checks import RecordChecks
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.transaction_verification import Admission
from moldau.clock import Clock
from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID, TopicPartition
from moldau.network.session import CloseConnection, Overlapping
from moldau.network.turns import Turns
from moldau.protocol.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.record.fitting import MAX_NAMED_RECORDS
from moldau.record.header import COMPRESSION_MASK, TRANSACTIONAL_FLAG
from moldau.record.produced import ProducedBatch
from moldau.record.validator import (
    RecordErrors,
    TakesLong,
    check_produce_version,
    validate_produced,
)
from moldau.storage.log.verification import VerificationGuard

if TYPE_CHECKING:
    from moldau.broker.commit_queue import Commitment
    from moldau.broker.dispatch import RequestContext
    from moldau.broker.partition import Partition

ADMIN_CLIENT_ID: Final = "__admin_client"
# The position of the flags in a batch (see record.header).
ATTRIBUTES_LOW_BYTE: Final = 22
FIRST_VERSION_WITH_LEADERS: Final = 10
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13

# How much of a request is handled in one turn of the loop, in units of a small batch: every
# additional 16 KiB count as another one, and a compressed batch as many as it may take.
TURN: Final = 256
PACKED_BATCH: Final = 16

# For the log of a new partition: up to a second in all.
EARLY_PAUSE_S: Final = 0.005
MOST_WAITS: Final = 200


class Produce:
    """Appends batches to the partitions led by this broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        record_checks: RecordChecks,
        clock: Clock,
        turns: Turns,
        leaders: CurrentLeaders,
        transactions: TransactionalProduce,
    ) -> None:
        self.leaders = leaders
        self.transactions = transactions
        self.replicas = replicas
        self.record_checks = record_checks
        self.clock = clock
        self.turns = turns

    def handle(
        self, request: ProduceRequest, context: "RequestContext"
    ) -> "ProduceResponse | Awaitable[ProduceResponse | None] | Overlapping | None":
        producing = Producing(self, request, context)
        if request.transactional_id is not None:
            admission = self.transactions.admit(request, context.api_version)
            if admission is not None and not isinstance(admission, Admission):
                return producing.finish_when(admission)
            producing.admission = admission
        if not producing.go_on():
            return producing.finish()
        if producing.commitments is not None or producing.flushes is not None:
            # Everything is appended: later requests of the connection need not wait for this one.
            return Overlapping(producing.wait_and_answer())
        return producing.answer()


class Producing:
    """One request, and its progress."""

    __slots__ = (
        "acks",
        "admission",
        "commitments",
        "context",
        "flushes",
        "has_errors",
        "is_early",
        "name",
        "nameable",
        "parts",
        "place",
        "responses",
        "results",
        "takes_long",
        "timeout_ms",
        "topic_id",
        "topic_place",
        "topics",
        "waits",
        "wall_ms",
    )

    def __init__(self, parts: Produce, request: ProduceRequest, context: "RequestContext") -> None:
        self.parts = parts
        self.topics = request.topic_data
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.context = context
        self.wall_ms = parts.clock.wall_ms()
        # Of a request with transactional batches.
        self.admission: Admission | None = None
        self.has_errors = False
        # The number of record errors that may still be added to the response, which could
        # otherwise be many times as large as the request.
        self.nameable = MAX_NAMED_RECORDS
        # Whether the next batch takes long to validate.
        self.takes_long = False
        # Whether the next batch waits for the log of a new partition, and how often one has waited.
        self.is_early = False
        self.waits = 0
        # With acks=all: batches that are not committed yet.
        self.commitments: list[tuple[PartitionProduceResponse, Commitment]] | None = None
        # With other acks: batches that must be flushed (``flush.messages``).
        self.flushes: list[tuple[PartitionProduceResponse, asyncio.Future[None]]] | None = None
        self.responses: list[TopicProduceResponse] = []
        # The current topic, and its next batch.
        self.topic_place = 0
        self.place = 0
        self.name: str | None = None
        self.topic_id = NO_UUID
        self.results: list[PartitionProduceResponse] = []

    def go_on(self) -> bool:
        """Append as much as one turn of the loop allows; returns whether everything is done."""
        topics = self.topics
        left = TURN
        turns = self.parts.turns
        packed_end = 0.0
        while self.topic_place < len(topics):
            if left <= 0:
                return False
            topic = topics[self.topic_place]
            if len(self.responses) == self.topic_place:
                self._begin(topic)
            partition_data = topic.partition_data
            while self.place < len(partition_data):
                if left <= 0:
                    return False
                data = partition_data[self.place]
                try:
                    result = self._append(data)
                except ApiError as error:
                    if self._comes_early(data, error):
                        return False
                    result = self._refuse(data, error)
                except TakesLong:
                    self.takes_long = True
                    return False
                self.results.append(result)
                self.place += 1
                if self.place < len(partition_data) or self.topic_place + 1 < len(topics):
                    share = _share(data)
                    left -= share
                    if share == PACKED_BATCH:
                        # How long decompressing took shows only on the clock.
                        now = turns.now()
                        if packed_end == 0.0:
                            packed_end = now + turns.share_s
                        elif now >= packed_end:
                            left = 0
            self.place = 0
            self.topic_place += 1
            left -= 1
        return True

    async def finish(self) -> ProduceResponse | None:
        """Append the rest, in as many turns as it takes, and return the response."""
        is_done = False
        while not is_done:
            if self.takes_long:
                await self._append_next_apart()
            else:
                await asyncio.sleep(EARLY_PAUSE_S if self.is_early else 0)
                self.is_early = False
                self._resolve_again()
            self.wall_ms = self.parts.clock.wall_ms()
            is_done = self.go_on()
        return await self.wait_and_answer()

    async def finish_when(self, admission: "Awaitable[Admission | None]") -> ProduceResponse | None:
        """Append everything when the coordinator has answered, and return the response."""
        self.admission = await admission
        self.wall_ms = self.parts.clock.wall_ms()
        if self.go_on():
            return await self.wait_and_answer()
        return await self.finish()

    async def wait_and_answer(self) -> ProduceResponse | None:
        """Wait until every batch can be acknowledged, and return the response."""
        for result, commitment in self.commitments or ():
            refused = await commitment
            if refused is not None:
                # The batch has its offset, and may be committed later.
                self.has_errors = True
                result.error_code = refused.code
        for result, flushed in self.flushes or ():
            try:
                await flushed
            except ApiError as error:
                self.has_errors = True
                result.error_code = error.code
                result.error_message = error.message
                result.base_offset = -1
        return self.answer()

    def answer(self) -> ProduceResponse | None:
        if self.acks == 0:
            if self.has_errors:
                # No response is expected: closing the connection is the only way to report it.
                raise CloseConnection(f"a produce with acks=0 failed: {summary(self.responses)}")
            return None
        response = ProduceResponse(responses=self.responses)
        if self.has_errors and self.context.api_version >= FIRST_VERSION_WITH_LEADERS:
            self._name_leaders(response)
        return response

    def _name_leaders(self, response: ProduceResponse) -> None:
        """Add who leads partitions that others lead, and where those brokers are (KIP-951)."""
        parts = self.parts
        nodes: dict[int, NodeEndpoint] = {}
        for topic in response.responses:
            name: str | None = topic.name
            if self.context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
                name = parts.replicas.topic_name(topic.topic_id)
            for result in topic.partition_responses:
                if result.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER or name is None:
                    continue
                leader_id, leader_epoch = parts.leaders.find(name, result.index)
                if leader_epoch == UNKNOWN:
                    continue
                result.current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
                node = parts.leaders.node(leader_id, self.context.session.listener)
                if node is not None:
                    nodes[node.id] = NodeEndpoint(node.id, node.host, node.port, node.rack)
        response.node_endpoints = list(nodes.values())

    def _begin(self, topic: TopicProduceData) -> None:
        self.name = topic.name
        self.topic_id = NO_UUID
        if self.context.api_version >= FIRST_VERSION_WITH_TOPIC_IDS:
            self.topic_id = topic.topic_id
            self.name = self.parts.replicas.topic_name(topic.topic_id)
        self.results = []
        self.responses.append(
            TopicProduceResponse(
                name=topic.name, topic_id=self.topic_id, partition_responses=self.results
            )
        )

    def _comes_early(self, data: PartitionProduceData, error: ApiError) -> bool:
        """Whether to wait, because the log of a new partition is about to be created.

        If its first batch was refused, and the second one came in time, a log that knows nothing of
        the producer would take that for the first, and refuse the other one from then on.
        """
        if error.code != ErrorCode.NOT_LEADER_OR_FOLLOWER or self.name is None:
            return False
        # Whether a transaction may be written to was asked before, and is not asked again.
        if self.admission is not None or self.waits == MOST_WAITS:
            return False
        self.is_early = self.parts.replicas.is_about_to_lead(self.name, data.index)
        self.waits += self.is_early
        return self.is_early

    def _resolve_again(self) -> None:
        """Find the name of the current topic again: another one may have it by now."""
        if self.topic_id != NO_UUID:
            self.name = self.parts.replicas.topic_name(self.topic_id)

    def _append(self, data: PartitionProduceData) -> PartitionProduceResponse:
        """Validate a batch and append it.

        Raises:
            ApiError: the batch is refused.
            TakesLong: it takes long to validate.
        """
        partition = self._find(data)
        records = data.records
        assert records is not None, "the partition was found, so there are records"
        batch = validate_produced(records, partition.log.config, self.wall_ms, may_take_long=False)
        return self._append_checked(data, partition, batch)

    async def _append_next_apart(self) -> None:
        """Validate the next batch in a thread, and append it."""
        self.takes_long = False
        data = self.topics[self.topic_place].partition_data[self.place]
        try:
            partition = self._find(data)
            records = data.records
            assert records is not None, "the partition was found, so there are records"
            batch = await self.parts.record_checks.check(
                records, partition.log.config, self.wall_ms
            )
            # The topic may have been deleted in the meantime.
            self._resolve_again()
            found = self._find(data)
            if found.topic_id != partition.topic_id:
                message = f"{partition.topic_partition} was deleted, and is another one now"
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
            result = self._append_checked(data, found, batch)
        except ApiError as error:
            result = self._refuse(data, error)
        self.results.append(result)
        self.place += 1
        if self.place == len(self.topics[self.topic_place].partition_data):
            self.place = 0
            self.topic_place += 1

    def _append_checked(
        self, data: PartitionProduceData, partition: "Partition", batch: ProducedBatch
    ) -> PartitionProduceResponse:
        if self.admission is None:
            info = partition.append(batch, self.acks, self.wall_ms)
        else:
            guard = self._guard(partition)
            info = partition.append(batch, self.acks, self.wall_ms, guard=guard)
        result = PartitionProduceResponse(
            index=data.index,
            error_code=0,
            base_offset=info.first_offset,
            log_append_time_ms=info.log_append_time,
            log_start_offset=info.log_start_offset,
        )
        if self.acks == -1:
            commitment = partition.committed(info.last_offset + 1, self.timeout_ms)
            if commitment is not None:
                if self.commitments is None:
                    self.commitments = []
                self.commitments.append((result, commitment))
        elif info.must_flush:
            if self.flushes is None:
                self.flushes = []
            self.flushes.append((result, partition.flushed()))
        return result

    def _find(self, data: PartitionProduceData) -> "Partition":
        """The partition, if it can be appended to and the request has records for it."""
        topic = self.name
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = self.parts.replicas.partition(topic, data.index)
        acks = self.acks
        if not -1 <= acks <= 1:
            message = f"acks={acks}: must be -1 (all), 0 or 1"
            raise ApiError(ErrorCode.INVALID_REQUIRED_ACKS, message)
        if topic in INTERNAL_TOPICS and self.context.client_id != ADMIN_CLIENT_ID:
            message = f"{topic} is written by the broker itself, not by producers"
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        records = data.records
        if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
            message = "a produce request must carry one record batch"
            raise ApiError(ErrorCode.INVALID_RECORD, message)
        check_produce_version(records, self.context.api_version)
        if records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
            self._guard(partition)
        partition.check_append(acks)
        return partition

    def _guard(self, partition: "Partition") -> VerificationGuard | None:
        """The guard of the transaction in this partition; raises ApiError if it is refused."""
        if self.admission is not None:
            return self.admission.guard(partition.topic_partition)
        message = "a transactional batch needs the transactional.id of its producer in the request"
        raise ApiError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, message)

    def _refuse(self, data: PartitionProduceData, error: ApiError) -> PartitionProduceResponse:
        self.has_errors = True
        result = refused(data.index, error, self.nameable)
        self.nameable -= len(result.record_errors)
        if error.code in ERRORS_WITH_LOG_START or isinstance(error, RecordErrors):
            assert self.name is not None, "only a partition's log refuses like this"
            partition = self.parts.replicas.find(TopicPartition(self.name, data.index))
            if partition is not None:
                result.log_start_offset = partition.log.log_start_offset
        return result


def _share(data: PartitionProduceData) -> int:
    """The part of ``TURN`` that a batch may take."""
    records = data.records
    if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
        return 1
    if records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK:
        return PACKED_BATCH
    return 1 + (len(records) >> 14)
