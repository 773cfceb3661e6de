"""The transactions of one producer, one after the other.

A transaction is open from ``begin`` until ``commit`` or ``abort`` has succeeded. What may be done
with it is decided here; ``Transactions`` sends the requests.

    READY ── begin ──► OPEN ── commit ──► ENDING ── answered ──► READY
                        │                   │                      ▲
                      error              refused                   │
                        └──────► FAILED ◄───┘                      │
                                   └────────────── abort ──────────┘

After an error only ``abort`` is left: a part of the transaction is missing. While it is not known
whether a commit has arrived, only ``commit`` may be repeated. A producer that is fenced has no way
back: every call raises the same error. One whose transaction timed out is fenced too, except with
KIP-890: there the coordinator takes its ``abort`` for a repetition of its own, and it can continue.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Final

from moldau.client.cluster import Cluster
from moldau.client.group_offsets import NOBODY, CommittedOffset
from moldau.client.producer_identity import FIRST_IMPLICIT
from moldau.client.transactions import FENCED, TransactionIdentity, Transactions
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

if TYPE_CHECKING:
    from moldau.client.group_consumer import GroupConsumer


class _State(Enum):
    READY = "no transaction is open: call begin_transaction() first"
    OPEN = "a transaction is open: commit or abort it first"
    FAILED = "the transaction has failed: call abort_transaction()"
    ENDING = "it is not known whether the transaction is committed: call commit_transaction() again"


# What brokers answer to records and to the commit of a transaction that timed out (KIP-890).
_OF_LATE: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE)
_OF_MEMBERS: Final = (
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
)


class ProducerTransactions:
    """Decides what may be done with the transaction of a producer, and does it."""

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        timeout_ms: int,
        max_transaction_version: int = FIRST_IMPLICIT,
    ) -> None:
        self._transactions = Transactions(cluster, max_transaction_version)
        self._identity = TransactionIdentity(transactional_id)
        self._timeout_ms = timeout_ms
        self._state = _State.READY
        self._began_s = 0.0
        self._added: set[TopicPartition] = set()
        self._has_offsets = False
        self._fenced: ApiError | None = None
        # For a ``Sender``; every transaction writes its own epoch into it.
        self.producer: Final = self._identity.producer()

    @property
    def can_abort(self) -> bool:
        """Whether a transaction is open, and neither committed nor fenced."""
        return self._fenced is None and self._state in (_State.OPEN, _State.FAILED)

    def begin(self) -> None:
        """Begin a transaction; the first one takes over the transactional id."""
        self._require(_State.READY)
        self._began_s = time.monotonic()
        with self._errors():
            if self.producer.is_known:
                self._continue_as(self._transactions.next(self._identity, self._timeout_ms))
            else:
                self._continue_as(self._transactions.begin(self._identity, self._timeout_ms))
        self._added.clear()
        self._has_offsets = False
        self._state = _State.OPEN

    def require_open(self) -> None:
        """Raise ApiError (INVALID_TXN_STATE) unless more can be added to the transaction."""
        self._require(_State.OPEN)

    def include(self, partitions: Collection[TopicPartition]) -> None:
        """Must be called before the first batch of a partition is sent."""
        new = [each for each in partitions if each not in self._added]
        if not new:
            return
        with self._failing(), self._errors():
            self._transactions.add_partitions(self._identity, new)
        self._added.update(new)

    def send_offsets(
        self, offsets: Mapping[TopicPartition, int], group: "str | GroupConsumer"
    ) -> None:
        """Commit offsets of a group with the transaction; a member of it is checked to be one."""
        self._require(_State.OPEN)
        if not offsets:
            return
        group_id, membership = (
            (group, NOBODY) if isinstance(group, str) else (group.group_id, group.membership)
        )
        committed = {each: CommittedOffset(offset) for each, offset in offsets.items()}
        self._has_offsets = True
        with self._failing(), self._errors():
            self._transactions.commit_offsets(self._identity, group_id, committed, membership)

    def commit(self, flush: Callable[[], ApiError | None]) -> None:
        """Commit after ``flush``, which returns the first error of the records."""
        if self._state is not _State.ENDING:
            self._require(_State.OPEN)
            with self._failing(), self._errors():
                error = flush()
                if error is not None:
                    raise error
        self._require(_State.OPEN, _State.ENDING)
        self._end(is_committed=True)

    def abort(self, cancel: Callable[[ApiError], None]) -> None:
        """Abort; ``cancel`` fails the records that have not been sent."""
        self._require(_State.OPEN, _State.FAILED)
        self._state = _State.FAILED
        name = self._identity.transactional_id
        reason = f"the transaction of {name} was aborted"
        cancel(ApiError(ErrorCode.TRANSACTION_ABORTABLE, reason))
        self._end(is_committed=False)

    def _end(self, *, is_committed: bool) -> None:
        # A coordinator that does not know of the transaction has nothing to end.
        if self._is_known:
            if is_committed:
                self._state = _State.ENDING
            try:
                with self._errors():
                    ended = self._transactions.end(self._identity, is_committed=is_committed)
            except ApiError as error:
                if not error.code.retriable:
                    self._state = _State.FAILED
                raise
            self._continue_as(ended)
        self._state = _State.READY

    @property
    def _is_known(self) -> bool:
        """Whether the coordinator may know of the transaction."""
        if self._has_offsets:
            return True
        return bool(self.producer.sequences if self._identity.is_implicit else self._added)

    def _continue_as(self, identity: TransactionIdentity) -> None:
        self._identity = identity
        self.producer.take(
            identity.producer_id, identity.producer_epoch, identity.transaction_version
        )

    def _require(self, *states: _State) -> None:
        if self._fenced is not None:
            raise self._fenced
        if self._state not in states:
            name = self._identity.transactional_id
            raise ApiError(ErrorCode.INVALID_TXN_STATE, f"{name}: {self._state.value}")

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """After an error the transaction can only be aborted."""
        try:
            yield
        except BaseException:
            self._state = _State.FAILED
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Say what to do about an error."""
        name = self._identity.transactional_id
        try:
            yield
        except ApiError as error:
            if self._is_late and error.code in _OF_LATE and self._identity.is_implicit:
                raise ApiError(ErrorCode.TRANSACTION_ABORTABLE, self._why_late()) from error
            if error.code in FENCED:
                self._fenced = ApiError(ErrorCode.PRODUCER_FENCED, self._why_fenced())
                raise self._fenced from error
            if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                message = (
                    f"{name}: transaction_timeout_ms={self._timeout_ms} is above what the brokers "
                    "allow (transaction.max.timeout.ms): set it lower"
                )
                raise ApiError(error.code, message) from error
            if error.code in _OF_MEMBERS:
                remedy = "its partitions may belong to another member: abort, and poll again"
                raise ApiError(error.code, f"{error}; {remedy}") from error
            if self._state is _State.ENDING and error.code.retriable:
                raise ApiError(error.code, f"{error}; {self._state.value}") from error
            raise

    @property
    def _took_ms(self) -> int:
        return int((time.monotonic() - self._began_s) * 1000)

    @property
    def _is_late(self) -> bool:
        return self._took_ms >= self._timeout_ms

    def _why_late(self) -> str:
        name = self._identity.transactional_id
        return (
            f"{name}: the transaction was aborted, because it took {self._took_ms} ms, longer than "
            f"transaction_timeout_ms={self._timeout_ms}: make it shorter or the timeout longer"
        )

    def _why_fenced(self) -> str:
        if self._is_late:
            return f"{self._why_late()}, and continue with a new Producer"
        name = self._identity.transactional_id
        return (
            f"{name}: fenced, because another producer uses the same transactional_id: close this "
            "one, and give each producer that runs at the same time an id of its own"
        )
