"""InitProducerId: assigns producer ids, and lets a producer take over a transactional id.

A producer that takes over an id whose transaction is open is told CONCURRENT_TRANSACTIONS, while
that transaction is aborted. Where the abort is complete in the same turn of the event loop, it is
not told so: its request is decided again at once, as if it had come again.
"""

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.producer_ids import ProducerIds
from moldau.broker.transaction_runtime import TransactionRuntime
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.transaction_coordinator.context import TransactionContext
from moldau.transaction_coordinator.init_producer_id import check_request

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

NO_PRODUCER: Final = -1

_Result = InitProducerIdResponse | asyncio.Future[InitProducerIdResponse]


class InitProducerId:
    """Assigns producer ids."""

    def __init__(
        self, producer_ids: ProducerIds, transactions: TransactionRuntime, configs: DynamicConfig
    ) -> None:
        self._producer_ids = producer_ids
        self._transactions = transactions
        self._configs = configs

    def init_producer_id(
        self, request: InitProducerIdRequest, context: "RequestContext"
    ) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
        has_id = request.producer_id != NO_PRODUCER
        has_epoch = request.producer_epoch != NO_PRODUCER
        if has_id != has_epoch:
            return _refused(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is None:
            return self._next_producer_id()
        try:
            check_request(request, self._configs.broker)
            if self._producer_ids.is_empty:
                return self._initialize_later(request, context.api_version)
            result = self._initialize(request, context.api_version)
        except ApiError as error:
            return _refused(error.code)
        return result if isinstance(result, InitProducerIdResponse) else _initialized(result)

    async def _next_producer_id(self) -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=await self._producer_ids.next(), producer_epoch=0)

    async def _initialize_later(
        self, request: InitProducerIdRequest, api_version: int
    ) -> InitProducerIdResponse:
        """Decide when there are producer ids: in most cases one is needed."""
        with contextlib.suppress(ApiError):
            # If there are none, the coordinator knows what to answer.
            await self._producer_ids.available()
        try:
            result = self._initialize(request, api_version)
            return result if isinstance(result, InitProducerIdResponse) else await result
        except ApiError as error:
            return _refused(error.code)

    def _initialize(self, request: InitProducerIdRequest, api_version: int) -> _Result:
        result = self._decide(request, api_version)
        if (
            isinstance(result, InitProducerIdResponse)
            and result.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        ):
            result = self._decide(request, api_version)
        return result

    def _decide(self, request: InitProducerIdRequest, api_version: int) -> _Result:
        hosted = self._transactions.shard_of(request.transactional_id or "")
        context = TransactionContext(api_version)
        result: _Result = hosted.run(hosted.shard.handle_init_producer_id, request, context)
        return result


async def _initialized(result: "asyncio.Future[InitProducerIdResponse]") -> InitProducerIdResponse:
    try:
        return await result
    except ApiError as error:
        return _refused(error.code)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER, producer_epoch=-1)
