"""InitProducerId: assigns producer ids."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

NO_PRODUCER: Final = -1


def init_producer_id(
    broker: "Broker", request: InitProducerIdRequest, context: "RequestContext"
) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
    has_id = request.producer_id != NO_PRODUCER
    has_epoch = request.producer_epoch != NO_PRODUCER
    if has_id != has_epoch or request.transactional_id == "":
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        # Transactions are not supported yet.
        return _refused(ErrorCode.UNSUPPORTED_VERSION)
    return _next_producer_id(broker)


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER, producer_epoch=-1)


async def _next_producer_id(broker: "Broker") -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await broker.producer_ids.next(), producer_epoch=0)
