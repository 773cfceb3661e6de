"""InitProducerId: the number by which a partition tells a producer's batches apart."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext


def init_producer_id(
    broker: "Broker", request: InitProducerIdRequest, context: "RequestContext"
) -> Awaitable[InitProducerIdResponse]:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        message = (
            f"producer id {request.producer_id} with epoch {request.producer_epoch}: "
            "give both, or -1 for both"
        )
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    if request.transactional_id is not None:
        if not request.transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "transactional.id must not be empty")
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "this broker has no transactions yet")
    return _next_producer_id(broker)


async def _next_producer_id(broker: "Broker") -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
