"""A shard with its log, as its runtime would keep it, and producers that send requests to it.

Every record is encoded, so that ``reload`` starts from the bytes that would be on disk. Markers are
written when a test says so: until then a transaction stays prepared.
"""

from typing import NamedTuple

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import Outcome
from moldau.errors import ErrorCode
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Struct
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from moldau.protocol.records.transaction_coordinator import TransactionLogKey, TransactionLogValue
from moldau.transaction_coordinator.context import TransactionContext
from moldau.transaction_coordinator.prepared import PreparedTransaction
from moldau.transaction_coordinator.records import decode_record
from moldau.transaction_coordinator.shard import TransactionShard

ID = "payments"
FIRST_PRODUCER_ID = 1000
TIMEOUT_MS = 60_000
# The latest versions of both protocols: a client that speaks version 2, and one that does not.
V1, V2 = 1, 2
ADD_VERSION = {V1: 3, V2: 5}
END_VERSION = {V1: 4, V2: 5}
LAST_CLIENT_EPOCH = 32766


class Producer(NamedTuple):
    """What a client has got from InitProducerId or EndTxn."""

    producer_id: int
    producer_epoch: int


class Coordinator:
    def __init__(
        self, transaction_version: int = 2, *, allows_2pc: bool = False, **settings: str
    ) -> None:
        properties = {name.replace("_", "."): value for name, value in settings.items()}
        self.config = BrokerConfig.from_properties(properties)
        # Whether a broker may be configured so is not decided by the coordinator.
        self.config.__dict__["transaction_two_phase_commit_enable"] = allows_2pc
        self.transaction_version = transaction_version
        self.now_ms = 1000
        self.wall_ahead_ms = 1_700_000_000_000
        self.log: list[tuple[bytes, bytes | None]] = []
        self.next_producer_id = FIRST_PRODUCER_ID
        self.has_producer_ids = True
        self.shard = self._new_shard()

    @property
    def now(self) -> Now:
        return Now(self.now_ms + self.wall_ahead_ms, self.now_ms)

    # -- the runtime's part ----------------------------------------------------------------

    def _new_shard(self) -> TransactionShard:
        shard = TransactionShard(
            self.config, lambda: self.transaction_version, self._take_producer_id
        )
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            shard.replay(record.key, record.value)
        assert shard.on_metadata(MetadataImage(), None).is_empty
        assert shard.on_loaded(self.now).is_empty
        return shard

    def _take_producer_id(self) -> int | None:
        if not self.has_producer_ids:
            return None
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def reload(self) -> None:
        """Another broker, or this one after a restart, has become the coordinator."""
        self.shard = self._new_shard()

    def apply(self, outcome: Outcome) -> None:
        self.log.extend(self.shard.encode_record(record) for record in outcome.records)
        for record in outcome.records:
            self.shard.replay(record.key, record.value)

    def respond(self, outcome: Outcome) -> Struct:
        self.apply(outcome)
        (reply,) = outcome.replies
        assert reply.token == 7
        return reply.response

    def values(self, transactional_id: str = ID) -> list[TransactionLogValue | None]:
        """The records of an id, as they are in the log."""
        found: list[TransactionLogValue | None] = []
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            assert isinstance(record.key, TransactionLogKey)
            assert isinstance(record.value, TransactionLogValue | None)
            if record.key.transactional_id == transactional_id:
                found.append(record.value)
        return found

    @property
    def last(self) -> TransactionLogValue:
        value = self.values()[-1]
        assert value is not None
        return value

    def wait(self, duration_ms: int) -> None:
        """Time passes, and the timer fires whenever the shard has asked for it."""
        end_ms = self.now_ms + duration_ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.apply(self.shard.tick(self.now))
        self.now_ms = end_ms

    # -- requests --------------------------------------------------------------------------

    def init(
        self,
        producer: Producer | None = None,
        *,
        version: int = 6,
        transactional_id: str = ID,
        timeout_ms: int = TIMEOUT_MS,
        enable_2pc: bool = False,
        keep_prepared: bool = False,
    ) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id,
            timeout_ms,
            *(producer or Producer(-1, -1)),
            enable_2pc,
            keep_prepared,
        )
        context = TransactionContext(version)
        response = self.respond(self.shard.handle_init_producer_id(7, request, context, self.now))
        assert isinstance(response, InitProducerIdResponse)
        return response

    def start(self, transactional_id: str = ID, timeout_ms: int = TIMEOUT_MS) -> Producer:
        """A producer that takes over the id."""
        response = self.init(transactional_id=transactional_id, timeout_ms=timeout_ms)
        assert ErrorCode(response.error_code) is ErrorCode.NONE
        return Producer(response.producer_id, response.producer_epoch)

    def add(
        self,
        producer: Producer,
        *partitions: int,
        version: int = ADD_VERSION[V2],
        verify_only: bool = False,
        transactional_id: str = ID,
    ) -> list[ErrorCode]:
        """The results of partitions of the topic ``orders``."""
        request = AddPartitionsToTxnTransaction(
            transactional_id,
            *producer,
            verify_only,
            [AddPartitionsToTxnTopic("orders", list(partitions or (0,)))],
        )
        context = TransactionContext(version)
        result = self.respond(self.shard.handle_add_partitions(7, request, context, self.now))
        assert isinstance(result, AddPartitionsToTxnResult)
        assert result.transactional_id == transactional_id
        (topic,) = result.topic_results
        assert topic.name == "orders"
        assert [r.partition_index for r in topic.results_by_partition] == list(partitions or (0,))
        return [ErrorCode(r.partition_error_code) for r in topic.results_by_partition]

    def end(
        self,
        producer: Producer,
        *,
        commit: bool,
        version: int = END_VERSION[V2],
        transactional_id: str = ID,
    ) -> EndTxnResponse:
        request = EndTxnRequest(transactional_id, *producer, commit)
        context = TransactionContext(version)
        response = self.respond(self.shard.handle_end_txn(7, request, context, self.now))
        assert isinstance(response, EndTxnResponse)
        return response

    def write_markers(self) -> list[PreparedTransaction]:
        """Carry out everything that is prepared."""
        prepared = self.shard.take_prepared()
        for transaction in prepared:
            self.apply(self.shard.handle_markers_written(transaction, self.now))
        return prepared

    # -- ways to a state -------------------------------------------------------------------

    def run(self, producer: Producer, *, commit: bool, protocol: int = V2) -> Producer:
        """A whole transaction, and the producer after it."""
        assert self.add(producer, version=ADD_VERSION[protocol]) == [ErrorCode.NONE]
        response = self.end(producer, commit=commit, version=END_VERSION[protocol])
        assert ErrorCode(response.error_code) is ErrorCode.NONE
        self.write_markers()
        return (
            Producer(response.producer_id, response.producer_epoch) if protocol == V2 else producer
        )

    def start_at(self, producer_epoch: int) -> Producer:
        """A producer that has had all the epochs before."""
        producer = self.start()
        value = self.last
        value.producer_epoch = producer_epoch
        self.log.append((self.log[-1][0], b"\0\1" + value.encode(1)))
        self.reload()
        return Producer(producer.producer_id, producer_epoch)

    @property
    def state(self) -> str:
        return self.shard.describe(ID).transaction_state
