"""The transaction coordinator of one partition of ``__transaction_state``.

A request is decided on the state that all earlier ones have left, and becomes at most one record
per id. The state changes only when the record is replayed, which happens before the next request;
so there is never more than one transition of an id in progress, and none that is only half done.
What takes time are the markers between Prepare* and Complete*: meanwhile CONCURRENT_TRANSACTIONS is
answered to whoever wants to change the id.

If a record cannot be written, the shard is dropped and loaded again. So an epoch that was bumped
for a fence is not bumped twice if the fence is tried again.
"""

from collections.abc import Callable, Iterator

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import CoordinatorRecord, Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages import describe_transactions, list_transactions
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from moldau.protocol.records.transaction_coordinator import TransactionLogKey, TransactionLogValue
from moldau.transaction_coordinator import add_partitions, end_txn, init_producer_id, records
from moldau.transaction_coordinator.context import LAST_CLIENT_ADD_PARTITIONS, TransactionContext
from moldau.transaction_coordinator.fencing import error_code
from moldau.transaction_coordinator.listing import TransactionFilters, described, listed
from moldau.transaction_coordinator.prepared import PreparedTransaction
from moldau.transaction_coordinator.status import TransactionStatus
from moldau.transaction_coordinator.transaction import NO_PRODUCER_EPOCH, Transaction
from moldau.transaction_coordinator.transitions import Transition, after_completion, to_complete
from moldau.transaction_coordinator.upkeep import Upkeep

# From these versions on, clients know PRODUCER_FENCED.
_FIRST_INIT_WITH_FENCED = 4
_FIRST_ADD_WITH_FENCED = 2
_FIRST_END_WITH_FENCED = 2
# Clients that send it, or a later one, end every transaction with a new epoch (KIP-890).
_FIRST_END_WITH_EPOCH_BUMP = 5


class TransactionShard:
    """The transactional ids of one partition."""

    def __init__(
        self,
        config: BrokerConfig,
        transaction_version: Callable[[], int],
        take_producer_id: Callable[[], int | None],
    ) -> None:
        """``transaction_version`` is the finalized feature; ``take_producer_id`` may have none."""
        self._config = config
        self._transaction_version = transaction_version
        self._take_producer_id = take_producer_id
        self._transactions: dict[str, Transaction] = {}
        self._prepared: dict[str, PreparedTransaction] = {}
        # By id, the last epoch of the record that is about to be replayed: it is not in the record.
        self._decided: dict[str, Transition] = {}
        self._upkeep = Upkeep(config, self._transactions)

    # -- the runtime -----------------------------------------------------------------------

    def encode_record(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """The key and value in the log, as the version of the cluster demands."""
        return records.encode_record(record, self._transaction_version())

    def replay(self, key: Message, value: Message | None) -> None:
        """Raises ValueError if the record has a state that does not exist."""
        assert isinstance(key, TransactionLogKey)
        transactional_id = key.transactional_id
        decided = self._decided.pop(transactional_id, None)
        self._prepared.pop(transactional_id, None)
        if value is None:
            self._transactions.pop(transactional_id, None)
            self._upkeep.forget(transactional_id)
            return
        assert isinstance(value, TransactionLogValue)
        last_producer_epoch = NO_PRODUCER_EPOCH
        if decided is not None and decided.value is value:
            last_producer_epoch = decided.last_producer_epoch
        transaction = Transaction(transactional_id, value, last_producer_epoch)
        self._transactions[transactional_id] = transaction
        self._upkeep.note(transaction)
        if transaction.prepared is not None:
            self._prepared[transactional_id] = transaction.prepared

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta | None) -> Outcome:
        return Outcome()

    def on_loaded(self, now: Now) -> Outcome:
        self._upkeep.start(now)
        return Outcome()

    def tick(self, now: Now) -> Outcome:
        """Abort what has timed out, and forget ids that have not been used for long."""
        out = Outcome()
        for transaction in self._upkeep.timed_out(now):
            try:
                self._write(transaction.transactional_id, self._abort(transaction, now), out)
            except ApiError:
                # There is no producer id for it at the moment: the next round tries again.
                continue
        out.records.extend(
            records.tombstone(transactional_id) for transactional_id in self._upkeep.expired(now)
        )
        return out

    def next_deadline_ms(self) -> int | None:
        return self._upkeep.next_deadline_ms()

    def unload(self) -> list[Reply]:
        """No request waits here."""
        return []

    # -- requests, which are answered in the same call -------------------------------------

    def handle_init_producer_id(
        self, token: int, request: InitProducerIdRequest, context: TransactionContext, now: Now
    ) -> Outcome:
        """CONCURRENT_TRANSACTIONS with a record: a transaction is aborted first; ask again."""
        out = Outcome()
        response = InitProducerIdResponse(producer_epoch=NO_PRODUCER_EPOCH)
        out.replies.append(Reply(token, response))
        transactional_id = request.transactional_id or ""
        try:
            init_producer_id.check_request(request, self._config)
            transition = init_producer_id.initialize(
                self._transactions.get(transactional_id),
                request,
                self._transaction_version(),
                self._take_producer_id,
                now.wall_ms,
            )
        except ApiError as error:
            is_new = context.api_version >= _FIRST_INIT_WITH_FENCED
            response.error_code = error_code(error, knows_fenced=is_new)
            return out
        self._write(transactional_id, transition, out)
        value = transition.value
        if value.transaction_status == TransactionStatus.PREPARE_ABORT:
            response.error_code = int(ErrorCode.CONCURRENT_TRANSACTIONS)
        else:
            response.producer_id = value.producer_id
            response.producer_epoch = value.producer_epoch
        return out

    def handle_add_partitions(
        self,
        token: int,
        request: AddPartitionsToTxnTransaction,
        context: TransactionContext,
        now: Now,
    ) -> Outcome:
        """Add, or verify only; the caller has checked that the partitions exist."""
        out = Outcome()
        result: AddPartitionsToTxnResult | None = None
        code = ErrorCode.NONE
        try:
            if not request.transactional_id:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
            transaction = add_partitions.check_producer(
                self._transactions.get(request.transactional_id), request
            )
            if request.verify_only:
                result = add_partitions.verify(transaction, request)
            else:
                is_broker = context.api_version > LAST_CLIENT_ADD_PARTITIONS
                transition = add_partitions.add(
                    transaction, request.topics, 2 if is_broker else 0, now.wall_ms
                )
                if transition is not None:
                    self._write(request.transactional_id, transition, out)
        except ApiError as error:
            is_new = context.api_version >= _FIRST_ADD_WITH_FENCED
            code = ErrorCode(error_code(error, knows_fenced=is_new))
        if context.has_one_result:
            result = add_partitions.one_result(code)
        elif result is None:
            result = add_partitions.result_of(request, code)
        out.replies.append(Reply(token, result))
        return out

    def handle_end_txn(
        self, token: int, request: EndTxnRequest, context: TransactionContext, now: Now
    ) -> Outcome:
        """The decision. ``take_prepared`` returns it when its record is replayed."""
        out = Outcome()
        response = EndTxnResponse()
        out.replies.append(Reply(token, response))
        bumps_epoch = context.api_version >= _FIRST_END_WITH_EPOCH_BUMP
        try:
            transaction = self._found(request.transactional_id)
            transition = end_txn.end(
                transaction,
                request,
                2 if bumps_epoch else 0,
                self._take_producer_id,
                now.wall_ms,
            )
        except ApiError as error:
            is_new = context.api_version >= _FIRST_END_WITH_FENCED
            response.error_code = error_code(error, knows_fenced=is_new)
            return out
        producer = transaction.producer_id, transaction.producer_epoch
        if transition is not None:
            self._write(request.transactional_id, transition, out)
            producer = after_completion(transition.value)
        if bumps_epoch:
            response.producer_id, response.producer_epoch = producer
        return out

    # -- carrying out ----------------------------------------------------------------------

    def take_prepared(self) -> list[PreparedTransaction]:
        """What has been prepared since the last call, and is still to be carried out."""
        if not self._prepared:
            return []
        prepared = list(self._prepared.values())
        self._prepared.clear()
        return prepared

    def handle_markers_written(self, prepared: PreparedTransaction, now: Now) -> Outcome:
        """Complete ``prepared``, the very object that ``take_prepared`` returned.

        Nothing if it is complete or another one has been prepared since. Equality would not tell:
        with version 1, two transactions of a producer can be equal in all that is known of them.
        """
        out = Outcome()
        transaction = self._transactions.get(prepared.transactional_id)
        if transaction is not None and transaction.prepared is prepared:
            transition = to_complete(transaction, now.wall_ms)
            self._write(prepared.transactional_id, transition, out)
        return out

    def _abort(self, transaction: Transaction, now: Now) -> Transition:
        version = self._transaction_version()
        return end_txn.abort(transaction, version, self._take_producer_id, now.wall_ms)

    # -- administration --------------------------------------------------------------------

    def describe(self, transactional_id: str) -> describe_transactions.TransactionState:
        return described(transactional_id, self._transactions.get(transactional_id))

    def list_transactions(
        self, filters: TransactionFilters, now: Now
    ) -> Iterator[list[list_transactions.TransactionState]]:
        """What there is now, in parts, which may be taken while the state changes."""
        return listed(list(self._transactions.values()), filters, now.wall_ms)

    # -- which id --------------------------------------------------------------------------

    def _found(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
        transaction = self._transactions.get(transactional_id)
        if transaction is None:
            message = f"there is no transactional id {transactional_id!r}"
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
        return transaction

    def _write(self, transactional_id: str, transition: Transition, out: Outcome) -> None:
        """Write the transition; what is not in its record waits for the replay."""
        self._decided[transactional_id] = transition
        key = TransactionLogKey(transactional_id)
        out.records.append(CoordinatorRecord(key, transition.value))
