"""AllocateProducerIds: blocks of producer ids, each given to one broker and never again."""

from typing import Final

from moldau.controller.outcome import Outcome
from moldau.controller.state import ControllerState
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from moldau.protocol.records.metadata import ProducerIdsRecord

PRODUCER_ID_BLOCK_SIZE: Final = 1000
_MAX_INT64: Final = (1 << 63) - 1


def allocate_producer_ids(
    state: ControllerState, request: AllocateProducerIdsRequest
) -> Outcome[AllocateProducerIdsResponse]:
    """Allocate the next thousand producer ids to a broker.

    Raises:
        ApiError: STALE_BROKER_EPOCH; UNKNOWN_SERVER_ERROR if no ids are left.
    """
    state.broker_with_epoch(request.broker_id, request.broker_epoch)
    first = max(0, state.image.next_producer_id)
    if first > _MAX_INT64 - PRODUCER_ID_BLOCK_SIZE:
        message = f"no producer ids are left: the next block would begin at {first}"
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=first + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(
        producer_id_start=first, producer_id_len=PRODUCER_ID_BLOCK_SIZE
    )
    return Outcome([record], response)
