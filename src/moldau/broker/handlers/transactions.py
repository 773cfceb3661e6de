"""ListTransactions and DescribeTransactions, for a broker without transactions (KIP-664).

Transactions are not supported yet, so tools that look for hanging transactions find none.
"""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer.subscription import compile_regex
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

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def list_transactions(
    broker: "Broker", request: ListTransactionsRequest, context: "RequestContext"
) -> ListTransactionsResponse:
    response = ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in STATES]
    )
    try:
        # RE2, as in Kafka: every pattern is refused or compiled in bounded time.
        compile_regex(request.transactional_id_pattern or "")
    except ApiError as error:
        response.error_code = error.code
    return response


def describe_transactions(
    broker: "Broker", request: DescribeTransactionsRequest, context: "RequestContext"
) -> DescribeTransactionsResponse | Awaitable[DescribeTransactionsResponse]:
    return context.in_turns(_described(request))


def _described(request: DescribeTransactionsRequest) -> Steps[DescribeTransactionsResponse]:
    response = DescribeTransactionsResponse()
    for transactional_id in request.transactional_ids:
        is_named = bool(transactional_id)
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if is_named else ErrorCode.INVALID_REQUEST
        response.transaction_states.append(
            TransactionState(error_code=code, transactional_id=transactional_id)
        )
        yield
    return response
