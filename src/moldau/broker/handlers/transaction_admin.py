"""ListTransactions and DescribeTransactions: for administrators (KIP-664, KIP-994, KIP-1152)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.transaction_runtime import TransactionRuntime
from moldau.clock import Clock, Now
from moldau.coordinator.patterns import compile_pattern
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Steps
from moldau.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from moldau.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from moldau.transaction_coordinator.listing import TransactionFilters
from moldau.transaction_coordinator.status import STATE_NAMES, TransactionStatus

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# The approximate size of a transaction on the wire.
STATE_BYTES: Final = 50
PARTITION_BYTES: Final = 4
_BY_NAME: Final = {name: status for status, name in STATE_NAMES.items()}


class TransactionAdmin:
    """Lists and describes the transactions that this broker coordinates."""

    def __init__(self, transactions: TransactionRuntime, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def list_transactions(
        self, request: ListTransactionsRequest, context: "RequestContext"
    ) -> ListTransactionsResponse | Awaitable[ListTransactionsResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._listed(request, context, committed)))

    def _listed(
        self,
        request: ListTransactionsRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[ListTransactionsResponse]:
        """A part of a shard per step."""
        response = ListTransactionsResponse()
        states = yield from _known_states(request.state_filters, response)
        try:
            shards = self._transactions.all_shards()
            # RE2, as in Kafka: every pattern is refused or compiled in bounded time.
            pattern = request.transactional_id_pattern
            matches = compile_pattern("Transaction ID pattern", pattern) if pattern else None
        except ApiError as error:
            return ListTransactionsResponse(error_code=error.code)
        ids = frozenset(request.producer_id_filters)
        filters = TransactionFilters(states, ids, request.duration_filter, matches)
        now = Now(self._clock.wall_ms(), self._clock.monotonic_ms())
        for hosted in shards:
            parts = hosted.shard.list_transactions(filters, now)
            committed.depends_on(hosted)
            for part in parts:
                response.transaction_states += part
                yield
            yield
        context.expect(STATE_BYTES * len(response.transaction_states))
        return response

    def describe(
        self, request: DescribeTransactionsRequest, context: "RequestContext"
    ) -> DescribeTransactionsResponse | Awaitable[DescribeTransactionsResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._described(request, context, committed)))

    def _described(
        self,
        request: DescribeTransactionsRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[DescribeTransactionsResponse]:
        """One id per step. An id that is named again gets the same answer."""
        found: dict[str, TransactionState] = {}
        response = DescribeTransactionsResponse()
        size_bytes = 0
        for transactional_id in request.transactional_ids:
            state = found.get(transactional_id)
            if state is None:
                state = found[transactional_id] = self._state(transactional_id, committed)
            state_bytes = (
                STATE_BYTES
                + len(transactional_id)
                + sum(
                    len(topic.topic) + PARTITION_BYTES * len(topic.partitions)
                    for topic in state.topics
                )
            )
            if size_bytes + state_bytes > MAX_ANSWER_BYTES:
                state, state_bytes = _refused(transactional_id, answer_too_large().code), 0
            size_bytes += state_bytes
            response.transaction_states.append(state)
            context.expect(size_bytes)
            yield
        return response

    def _state(self, transactional_id: str, committed: CommittedAnswer) -> TransactionState:
        if not transactional_id:
            return _refused(transactional_id, ErrorCode.INVALID_REQUEST)
        try:
            hosted = self._transactions.shard_of(transactional_id)
        except ApiError as error:
            return _refused(transactional_id, error.code)
        state = hosted.shard.describe(transactional_id)
        committed.depends_on(hosted, lambda code: _lose(state, code))
        return state


def _known_states(
    names: list[str], response: ListTransactionsResponse
) -> Steps[frozenset[TransactionStatus] | None]:
    """The states to list, or None for all; names of no state are added to the response."""
    known: dict[TransactionStatus, None] = {}
    unknown: dict[str, None] = {}
    for name in names:
        status = _BY_NAME.get(name)
        if status is None:
            unknown[name] = None
        else:
            known[status] = None
        yield
    response.unknown_state_filters = list(unknown)
    return frozenset(known) if names else None


def _refused(transactional_id: str, code: int) -> TransactionState:
    return TransactionState(error_code=code, transactional_id=transactional_id)


def _lose(state: TransactionState, code: int) -> None:
    """Replace what was described: the change that it shows is lost."""
    refused = _refused(state.transactional_id, code)
    for field in TransactionState.FIELDS:
        setattr(state, field, getattr(refused, field))
