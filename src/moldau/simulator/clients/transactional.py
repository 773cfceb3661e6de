"""The requests of one transactional producer, in both protocols, repeated as real clients do.

The first protocol (TV1) names partitions to the coordinator before it writes to them, and goes on
in one epoch from transaction to transaction. In the second one (TV2, KIP-890) brokers do that, and
every end brings a new epoch, so that what comes late is always of an old one.

In the first protocol a request that comes late can end or extend the next transaction: nothing in
it tells them apart (KAFKA-17754). So after a request without an answer such a producer asks for a
new epoch, before it begins another transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.network.outbound import Disconnected
from moldau.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from moldau.record.records import BatchBuilder
from moldau.simulator.clients.cluster import Address, ClusterClient
from moldau.simulator.clients.progress import WRONG_COORDINATOR
from moldau.simulator.clients.transactional_requests import TransactionalRequests
from moldau.simulator.transaction_history import UNKNOWN_OFFSET, Transaction
from moldau.simulator.world import US_PER_MS

NEVER_MS: Final = 1 << 40
_TIMEOUT_MS: Final = 3_000
# How long a producer repeats what belongs to a transaction, before it aborts that.
_PATIENCE_MS: Final = (1_000, 25_000)
# How often it does not repeat a commit without an answer, but begins anew.
_GIVES_UP: Final = 0.3
# The last two: the coordinator has aborted the transaction, or given the id a new producer.
_FENCED: Final = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)
# Whoever gets one of these for a batch aborts, and learns from that whether it is fenced.
_UNWRITABLE: Final = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.TRANSACTION_ABORTABLE,
)
_NO_MEMBER: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.TRANSACTION_ABORTABLE,
)


class Fenced(Exception):  # noqa: N818
    """This producer must begin anew: somebody else goes on under its id, or it has given up."""


class MustAbort(Exception):  # noqa: N818
    """The transaction cannot be committed."""


class Membership(NamedTuple):
    """Who commits offsets, and in which generation or member epoch."""

    group_id: str
    member_id: str
    epoch: int


class TransactionalSession:
    """One instance of a producer with a transactional id."""

    def __init__(
        self,
        client: ClusterClient,
        transactional_id: str,
        timeout_ms: int,
        *,
        is_v2: bool,
        is_alone: bool = False,
        expires_ms: int = NEVER_MS,
    ) -> None:
        """Nobody may fence a producer that ``is_alone``, before its transaction has timed out.

        Its id is forgotten when it was not used for ``expires_ms``.
        """
        self._client = client
        self._rng = client.rng
        self._requests = TransactionalRequests(client, transactional_id)
        self.transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._is_v2 = is_v2
        self._is_alone = is_alone
        self._expires_ms = expires_ms
        self.producer_id = -1
        self.epoch = -1
        self._sequences: dict[TopicPartition, int] = {}
        # Of the current transaction.
        self._partitions: dict[TopicPartition, None] = {}
        self._groups: dict[str, None] = {}
        self._has_begun = False
        self._began_us = 0
        self._give_up_us = 0
        # When the coordinator wrote something about the id last, or a little before.
        self._used_us = 0

    # --- identity ---

    async def begin_anew(self) -> None:
        """Fence all other instances, which aborts what they have begun."""
        self.producer_id = self.epoch = -1
        await self._initialise()

    async def _initialise(self) -> None:
        """Ask for an epoch; the next one, if this instance has one."""
        client = self._client
        request = InitProducerIdRequest(
            self.transactional_id, self._timeout_ms, self.producer_id, self.epoch
        )
        while True:
            asked_us = client.world.now_us
            answer = await self._requests.ask(
                request, InitProducerIdResponse, None if self._is_v2 else 4, may_be_late=False
            )
            code = ErrorCode.NONE if answer is None else ErrorCode(answer.error_code)
            if answer is not None and code == ErrorCode.NONE:
                break
            if answer is None or code in WRONG_COORDINATOR:
                # The epoch may be bumped all the same, now or later. Who asks again is fenced, if
                # another coordinator is asked: it does not know the epoch before.
                self._is_alone = False
            if code in _FENCED:
                raise self._fenced(code, "a producer id")
            self._check_retriable(code, "a producer id")
            await client.back_off()
        self._used_us = asked_us
        self._become(answer.producer_id, answer.producer_epoch)
        client.world.trace(f"{self.transactional_id} {self.producer_id} {self.epoch}".encode())

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        self.producer_id, self.epoch = producer_id, epoch
        self._requests.is_doubtful = False
        self._end()

    def _end(self) -> None:
        self._partitions.clear()
        self._groups.clear()
        self._has_begun = False

    def begin(self) -> None:
        """Begin a transaction; nobody else is told."""
        patience_ms = self._rng.randint(*_PATIENCE_MS)
        self._began_us = self._client.world.now_us
        self._give_up_us = self._began_us + patience_ms * US_PER_MS

    @property
    def is_doubtful(self) -> bool:
        """Whether something of the transaction has no answer, and may still be carried out."""
        return self._requests.is_doubtful

    # --- records ---

    async def send(self, topic_partition: TopicPartition, values: Sequence[bytes]) -> int:
        """Write a batch; its offset, or UNKNOWN_OFFSET. Raises Fenced and MustAbort."""
        if not self._is_v2 and topic_partition not in self._partitions:
            await self._add(topic_partition)
        self._has_begun = True
        sequence = self._sequences.get(topic_partition, 0)
        batch = self._batch(values, sequence)
        while True:
            answer = await self._produce(topic_partition, batch)
            code = ErrorCode.NONE if answer is None else ErrorCode(answer.error_code)
            if answer is not None:
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    self._sequences[topic_partition] = sequence + len(values)
                    return answer.base_offset if code == ErrorCode.NONE else UNKNOWN_OFFSET
                self._client.forget_leader(topic_partition)
                self._check_writable(code, f"a batch of {topic_partition}")
            await self._be_patient(f"{topic_partition}: {code.name}")

    async def _produce(
        self, topic_partition: TopicPartition, batch: bytes
    ) -> PartitionProduceResponse | None:
        client = self._client
        leader = await client.leader(topic_partition)
        data = TopicProduceData(
            topic_partition.topic,
            client.topic_ids[topic_partition.topic],
            [PartitionProduceData(topic_partition.partition, batch)],
        )
        request = ProduceRequest(self.transactional_id, -1, _TIMEOUT_MS, [data])
        version = self._rng.choice((12, 13)) if self._is_v2 else 11
        if self._requests.is_late(leader, request, ProduceResponse, version):
            return None
        try:
            response = await client.send(leader, request, ProduceResponse, version)
        except Disconnected:
            self._requests.is_doubtful = True
            client.forget_leader(topic_partition)
            return None
        return response.responses[0].partition_responses[0]

    async def _add(self, topic_partition: TopicPartition) -> None:
        topic = AddPartitionsToTxnTopic(topic_partition.topic, [topic_partition.partition])
        request = AddPartitionsToTxnRequest(
            [], self.transactional_id, self.producer_id, self.epoch, [topic]
        )
        while True:
            answer = await self._requests.ask(
                request, AddPartitionsToTxnResponse, 3, may_be_late=False
            )
            if answer is not None:
                found = answer.results_by_topic_v3_and_below[0].results_by_partition[0]
                code = ErrorCode(found.partition_error_code)
                if code == ErrorCode.NONE:
                    break
                self._check(code, f"the partition {topic_partition}")
            await self._be_patient(f"adding {topic_partition}")
        self._partitions[topic_partition] = None
        self._has_begun = True

    # --- offsets ---

    async def send_offsets(
        self, member: Membership, topic: str, offsets: Mapping[int, int], coordinator: Address
    ) -> None:
        """Commit offsets of a group with the transaction. Raises Fenced and MustAbort."""
        if not self._is_v2 and member.group_id not in self._groups:
            await self._add_offsets(member.group_id)
        self._has_begun = True
        partitions = [TxnOffsetCommitRequestPartition(*each) for each in offsets.items()]
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            member.group_id,
            self.producer_id,
            self.epoch,
            member.epoch,
            member.member_id,
            topics=[TxnOffsetCommitRequestTopic(topic, partitions)],
        )
        version = 5 if self._is_v2 else 4
        while True:
            answer = await self._requests.ask_at(
                coordinator, request, TxnOffsetCommitResponse, version
            )
            if answer is not None:
                code = ErrorCode(answer.topics[0].partitions[0].error_code)
                if code == ErrorCode.NONE:
                    return
                if code in _NO_MEMBER:
                    raise MustAbort(f"offsets of {member.group_id}: {code.name}")
                self._check(code, f"offsets of {member.group_id}")
            self._client.forget_coordinator(member.group_id)
            await self._be_patient(f"offsets of {member.group_id}")
            coordinator = await self._client.coordinator(member.group_id)

    async def _add_offsets(self, group_id: str) -> None:
        request = AddOffsetsToTxnRequest(
            self.transactional_id, self.producer_id, self.epoch, group_id
        )
        while True:
            answer = await self._requests.ask(
                request, AddOffsetsToTxnResponse, 3, may_be_late=False
            )
            if answer is not None:
                code = ErrorCode(answer.error_code)
                if code == ErrorCode.NONE:
                    break
                self._check(code, f"the group {group_id}")
            await self._be_patient(f"adding {group_id}")
        self._groups[group_id] = None
        self._has_begun = True

    # --- the end ---

    async def commit(self, transaction: Transaction) -> None:
        """Raises Fenced and MustAbort; ``transaction`` has what that means for it."""
        if not self._has_begun:
            transaction.has_committed()
            return
        await self._finish(is_commit=True, transaction=transaction)
        transaction.has_committed()
        await self._take_care()

    async def die_committing(self, transaction: Transaction) -> None:
        """Like a process that is killed when it has sent its commit."""
        if not self._has_begun:
            return
        coordinator = await self._requests.find()
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, True)
        transaction.will_commit(self._client.world.now_us)
        self._requests.send_only(coordinator, request, EndTxnResponse, 5 if self._is_v2 else 4)

    async def abort(self, transaction: Transaction) -> None:
        """Raises Fenced."""
        transaction.has_ended()
        if self._has_begun:
            await self._finish(is_commit=False, transaction=transaction)
        await self._take_care()

    async def _finish(self, *, is_commit: bool, transaction: Transaction) -> None:
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, is_commit)
        version = 5 if self._is_v2 else 4
        is_first = True
        while True:
            coordinator = await self._requests.find()
            asked_us = self._client.world.now_us
            if is_commit:
                transaction.will_commit(asked_us)
            answer = await self._requests.ask_at(coordinator, request, EndTxnResponse, version)
            if answer is not None:
                code = ErrorCode(answer.error_code)
                if code == ErrorCode.NONE:
                    break
                try:
                    self._check(code, "the end of a transaction")
                except (Fenced, MustAbort):
                    if is_commit and is_first:
                        transaction.was_refused()
                    transaction.has_ended()
                    raise
            elif is_commit and self._rng.random() < _GIVES_UP:
                # Like a process that ends because its commit takes too long.
                raise Fenced("a commit without an answer")
            is_first = False
            await self._client.back_off()
        has_timed_out = asked_us - self._began_us >= self._timeout_ms * 9 // 10 * US_PER_MS
        if is_first and not has_timed_out:
            # What is repeated may have been carried out long ago; so may an abort, by the
            # coordinator, if the transaction has taken too long.
            self._used_us = asked_us
        self._end()
        if self._is_v2:
            self._become(answer.producer_id, answer.producer_epoch)

    async def _take_care(self) -> None:
        """What is late must not be taken for a part of the next transaction."""
        if self._requests.is_doubtful and not self._is_v2:
            await self._initialise()

    # --- answers ---

    async def _be_patient(self, why: str) -> None:
        if self._client.world.now_us > self._give_up_us:
            # It may be written: the next transaction must not go on with its sequence.
            self._requests.is_doubtful = True
            raise MustAbort(why)
        await self._client.back_off()

    def _check(self, code: ErrorCode, what: str) -> None:
        """Whether to ask again: otherwise raises what is to be done."""
        if code in _FENCED:
            raise self._fenced(code, what)
        if code == ErrorCode.TRANSACTION_ABORTABLE:
            raise MustAbort(f"{what}: {code.name}")
        self._check_retriable(code, what)

    def _fenced(self, code: ErrorCode, what: str) -> Fenced:
        now_us = self._client.world.now_us
        taken_ms = (now_us - self._began_us) // US_PER_MS
        unused_ms = (now_us - self._used_us) // US_PER_MS
        is_in_time = (
            taken_ms < self._timeout_ms * 9 // 10 and unused_ms < self._expires_ms * 9 // 10
        )
        if self._is_alone and is_in_time:
            self._client.world.surprise(
                self._client.name,
                f"{code.name} for {what}, though nobody else has the id "
                f"{self.transactional_id}, and the transaction began {taken_ms} ms ago",
            )
        return Fenced(f"{what}: {code.name}")

    def _check_writable(self, code: ErrorCode, what: str) -> None:
        if code == ErrorCode.PRODUCER_FENCED:
            raise self._fenced(code, what)
        if code in _UNWRITABLE:
            if code == ErrorCode.INVALID_PRODUCER_EPOCH:
                self._fenced(code, what)
            self._requests.is_doubtful = True
            raise MustAbort(f"{what}: {code.name}")
        self._check_retriable(code, what)

    def _check_retriable(self, code: ErrorCode, what: str) -> None:
        if code in WRONG_COORDINATOR:
            self._requests.forget()
        elif not code.retriable and code != ErrorCode.NONE:
            self._client.world.surprise(
                self._client.name, f"{code.name} for {what} of {self.transactional_id}"
            )
            raise Fenced(f"{what}: {code.name}")

    def _batch(self, values: Sequence[bytes], sequence: int) -> bytes:
        builder = BatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        for value in values:
            builder.append(self._client.loop.clock.wall_ms(), None, value, ())
        return builder.build()
