"""A transactional id under random requests of live and dead producers, time and fail-overs.

Producers send what they like, also late, twice or with somebody else's id. Markers are written late
or never, and appends fail. Whatever happens:

* a coordinator that loads the log has the same state, except what is not in the records;
* the epoch of a producer id never falls, and no producer id comes back once it was replaced;
* a transaction has one outcome: the markers of an id and epoch are all commits or all aborts;
* no two instances of a producer have the same id and epoch: one of them is fenced;
* an outcome that a client was told is the one that was written;
* every transition in the log is in the table of transitions;
* with patience, every id can be taken over.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from moldau.errors import ErrorCode
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.transaction_coordinator.context import TransactionContext
from moldau.transaction_coordinator.prepared import PreparedTransaction
from moldau.transaction_coordinator.status import VALID_PREVIOUS, TransactionStatus
from moldau.transaction_coordinator.transaction import Transaction
from tests.transaction_coordinator.coordinator import (
    ADD_VERSION,
    END_VERSION,
    ID,
    LAST_CLIENT_EPOCH,
    V1,
    V2,
    Coordinator,
    Producer,
)

DAY_MS = 86_400_000
_PICK = st.integers(0, 3)
_PROTOCOL = st.sampled_from([V1, V2])


def written(transaction: Transaction, *, is_version_0: bool) -> tuple[object, ...]:
    """What of the state is in the records."""
    return (
        transaction.producer_id,
        # Records that are not flexible do not have it.
        None if is_version_0 else transaction.previous_producer_id,
        transaction.next_producer_id,
        transaction.producer_epoch,
        transaction.timeout_ms,
        transaction.status,
        [(topic, list(indexes)) for topic, indexes in transaction.partitions.items()],
        transaction.start_timestamp_ms,
        transaction.last_update_timestamp_ms,
        transaction.client_transaction_version,
        transaction.prepared,
    )


class TransactionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.coordinator = Coordinator(transactional_id_expiration_ms=str(DAY_MS))
        # The newest last.
        self.producers: list[Producer] = [Producer(3, 0)]
        # Which instance was given them: one that starts is new, one that goes on is the same.
        self.instances: dict[Producer, int] = {Producer(3, 0): 0}
        self.prepared: list[PreparedTransaction] = []
        self.checked_records = 0
        self.newest = Producer(-1, -1)
        # Producer id, epoch and the record of the beginning -> whether it was committed.
        self.outcomes: dict[tuple[int, int, int], bool] = {}
        self.begun_at = -1

    @initialize(version=st.sampled_from([0, 1, 2]), is_near_end=st.booleans())
    def a_producer_starts(self, version: int, is_near_end: bool) -> None:
        self.coordinator.transaction_version = version
        if is_near_end:
            producer = self.coordinator.start_at(LAST_CLIENT_EPOCH - 2)
        else:
            producer = self.coordinator.start()
        self._learn(None, *producer)

    # -- what may happen -------------------------------------------------------------------

    def _producer(self, pick: int) -> Producer:
        """One of the last few; the newest most often."""
        return self.producers[max(0, len(self.producers) - 1 - max(0, pick - 1))]

    @rule(pick=st.none() | _PICK)
    def initialize_producer(self, pick: int | None) -> None:
        producer = None if pick is None else self._producer(pick)
        response = self.coordinator.init(producer)
        if response.error_code == 0:
            self._learn(producer, response.producer_id, response.producer_epoch)

    @rule(pick=_PICK, protocol=_PROTOCOL, partition=st.integers(0, 2), verify=st.booleans())
    def add(self, pick: int, protocol: int, partition: int, verify: bool) -> None:
        version = ADD_VERSION[protocol]
        self.coordinator.add(self._producer(pick), partition, version=version, verify_only=verify)

    @rule(pick=_PICK, protocol=_PROTOCOL, commit=st.booleans())
    def end(self, pick: int, protocol: int, commit: bool) -> None:
        producer = self._producer(pick)
        version = END_VERSION[protocol]
        response = self.coordinator.end(producer, commit=commit, version=version)
        if response.error_code == 0:
            status = TransactionStatus(self.coordinator.last.transaction_status)
            assert status.name.endswith("COMMIT" if commit else "ABORT")
            if protocol == V2:
                self._learn(producer, response.producer_id, response.producer_epoch)

    @rule(pick=_PICK, protocol=_PROTOCOL, commit=st.booleans())
    def a_whole_transaction(self, pick: int, protocol: int, commit: bool) -> None:
        """All of its steps in a row, which random steps seldom are."""
        self.add(pick, protocol, 0, False)
        self.end(pick, protocol, commit)
        self.markers_are_taken()
        self.markers_are_written(0)

    @rule(protocol=_PROTOCOL, commit=st.booleans())
    def a_new_instance_does_a_transaction(self, protocol: int, commit: bool) -> None:
        self.somebody_is_patient()
        self.a_whole_transaction(0, protocol, commit)

    @rule(pick=st.integers(2, 4), protocol=_PROTOCOL)
    def an_old_producer_ends_both_ways(self, pick: int, protocol: int) -> None:
        producer = self._producer(pick)
        for commit in (True, False):
            response = self.coordinator.end(producer, commit=commit, version=END_VERSION[protocol])
            if response.error_code == 0 and protocol == V2:
                self._learn(producer, response.producer_id, response.producer_epoch)

    def _learn(self, before: Producer | None, producer_id: int, producer_epoch: int) -> None:
        """An instance was given an id and epoch; before, it had others, or it starts."""
        producer = Producer(producer_id, producer_epoch)
        assert producer_epoch <= LAST_CLIENT_EPOCH
        instance = len(self.instances) if before is None else self.instances[before]
        assert self.instances.setdefault(producer, instance) == instance
        if producer != self.producers[-1]:
            self.producers.append(producer)

    @rule(pick=_PICK, commit=st.booleans())
    def an_append_fails(self, pick: int, commit: bool) -> None:
        """The decision is lost with the coordinator that made it."""
        coordinator = self.coordinator
        request = EndTxnRequest(ID, *self._producer(pick), commit)
        coordinator.shard.handle_end_txn(7, request, TransactionContext(5), coordinator.now)
        coordinator.reload()

    @rule()
    def markers_are_taken(self) -> None:
        self.prepared.extend(self.coordinator.shard.take_prepared())

    @rule(pick=_PICK)
    def markers_are_written(self, pick: int) -> None:
        """Those of a transaction that was taken some time ago, or once more."""
        if self.prepared:
            prepared = self.prepared[max(0, len(self.prepared) - 1 - pick)]
            shard = self.coordinator.shard
            self.coordinator.apply(shard.handle_markers_written(prepared, self.coordinator.now))

    @rule(duration_ms=st.sampled_from([1, 5000, 70_000, DAY_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.coordinator.wait(duration_ms)

    @rule()
    def the_wall_clock_is_set(self) -> None:
        self.coordinator.wall_ahead_ms -= 1000

    @rule()
    def another_broker_takes_over(self) -> None:
        self.coordinator.reload()

    @rule(version=st.sampled_from([0, 1, 2]))
    def the_cluster_changes_its_version(self, version: int) -> None:
        self.coordinator.transaction_version = version

    @rule(has_producer_ids=st.booleans())
    def producer_ids_come_and_go(self, has_producer_ids: bool) -> None:
        self.coordinator.has_producer_ids = has_producer_ids

    @rule()
    def somebody_is_patient(self) -> None:
        coordinator = self.coordinator
        coordinator.has_producer_ids = True
        for _ in range(2):
            response = coordinator.init()
            # Markers that were taken may be lost with the broker that took them.
            coordinator.reload()
            coordinator.write_markers()
            if response.error_code == 0:
                break
        else:
            response = coordinator.init()
        assert ErrorCode(response.error_code) is ErrorCode.NONE
        self._learn(None, response.producer_id, response.producer_epoch)

    # -- what must hold --------------------------------------------------------------------

    @invariant()
    def the_log_has_the_state(self) -> None:
        live = self.coordinator.shard._transactions.get(ID)
        other = self.coordinator._new_shard()
        loaded = other._transactions.get(ID)
        value = self.coordinator.log[-1][1] if self.coordinator.log else None
        is_version_0 = value is not None and value[:2] == b"\0\0"
        if live is None or loaded is None:
            assert live is loaded
            return
        assert written(live, is_version_0=is_version_0) == written(
            loaded, is_version_0=is_version_0
        )
        assert live.last_producer_epoch <= live.producer_epoch or live.producer_epoch == 0

    @invariant()
    def the_log_is_sound(self) -> None:
        """Epochs never fall, transitions are allowed, and an epoch has one outcome."""
        values = self.coordinator.values()
        for position in range(self.checked_records, len(values)):
            self._check_record(position)
        self.checked_records = len(values)

    def _check_record(self, position: int) -> None:
        values = self.coordinator.values()
        value = values[position]
        previous = values[position - 1] if position else None
        if value is None:
            assert previous is not None
            status = TransactionStatus.DEAD
        else:
            status = TransactionStatus(value.transaction_status)
            producer = Producer(value.producer_id, value.producer_epoch)
            # Producer ids are given out in order.
            assert producer >= self.newest
            self.newest = producer
        if previous is not None:
            before = TransactionStatus(previous.transaction_status)
            assert before in VALID_PREVIOUS[status]
            if status is TransactionStatus.ONGOING is not before:
                self.begun_at = position
        if value is not None and status in (
            TransactionStatus.PREPARE_COMMIT,
            TransactionStatus.PREPARE_ABORT,
        ):
            # An epoch of version 1 has many transactions; one that begins with the prepared record
            # is one that the coordinator had not heard of.
            key = (value.producer_id, value.producer_epoch, self.begun_at)
            is_commit = status is TransactionStatus.PREPARE_COMMIT
            assert self.outcomes.setdefault(key, is_commit) is is_commit


TestTransactions = TransactionMachine.TestCase
TestTransactions.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
