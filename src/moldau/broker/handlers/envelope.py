"""Envelope: requests of clients that a broker has forwarded to this controller (KIP-590)."""

from typing import TYPE_CHECKING, Any, Final

from moldau.broker.dispatch import LARGE_REQUEST_BYTES, Handler, Origin, RequestContext
from moldau.broker.envelopes import Forwarded, opened
from moldau.errors import ApiError, ErrorCode
from moldau.network.session import Overlapping
from moldau.protocol.header import response_header
from moldau.protocol.messages.describe_quorum import DescribeQuorumRequest
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.primitives import MalformedMessage

if TYPE_CHECKING:
    from moldau.broker.dispatch import Dispatcher

UNKNOWN_BROKER: Final = -1


def handle(request: EnvelopeRequest, context: RequestContext) -> Overlapping:
    """Handle the request inside like one that came directly, on behalf of its client.

    Requests of different clients share the connection of their broker, so they do not wait for each
    other; only the responses keep their order.
    """
    return Overlapping(_answered(request, context))


async def _answered(request: EnvelopeRequest, context: RequestContext) -> EnvelopeResponse:
    try:
        found = opened(request)
        handler = _handler(context.dispatcher, found)
        return EnvelopeResponse(response_data=await _response(handler, found, context))
    except ApiError as error:
        return EnvelopeResponse(error_code=error.code)


def _handler(dispatcher: "Dispatcher", found: Forwarded) -> Handler:
    header = found.header
    handler = dispatcher.handlers.get(header.api_key)
    if handler is None or not handler.min_version <= header.api_version <= handler.max_version:
        message = f"version {header.api_version} of API {header.api_key} is not supported here"
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    return handler


async def _response(handler: Handler, found: Forwarded, envelope: RequestContext) -> bytes:
    """The response to the request inside, with its header.

    Raises:
        ApiError: what is an error of the envelope: the request cannot be read, or another node is
            the active controller.
    """
    header = found.header
    version = header.api_version
    context = RequestContext(envelope.dispatcher, envelope.session, header)
    broker_id = _broker_id(envelope.client_id)
    context.origin = Origin(str(found.principal), found.client_address, broker_id)
    context.is_large = len(found.frame) > LARGE_REQUEST_BYTES
    request = await _decoded(handler, found, context)
    response: Any
    try:
        response = handler.handle(request, context)
        if isinstance(response, Overlapping):
            response = response.awaitable
        if not hasattr(response, "encode_parts"):
            response = await response
    except ApiError as error:
        if _is_elsewhere(handler, error):
            raise ApiError(ErrorCode.NOT_CONTROLLER, error.message) from error
        response = handler.error_response(error, request, version)
    prefix = response_header(header.correlation_id, header.api_key, version)
    if context.is_large:
        parts = await context.dispatcher.in_thread(response.encode_parts, prefix, version)
    else:
        parts = response.encode_parts(prefix, version)
    return b"".join(parts)


async def _decoded(handler: Handler, found: Forwarded, context: RequestContext) -> Any:
    arguments = (found.frame, found.position, found.header.api_version)
    try:
        if context.is_large:
            return await context.dispatcher.decode_large(handler, *arguments)
        return handler.decode(*arguments)
    except MalformedMessage as error:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, str(error)) from error


def _is_elsewhere(handler: Handler, error: ApiError) -> bool:
    """Whether another node is the active controller, so that the broker should ask that one."""
    if handler.key == DescribeQuorumRequest.API_KEY:
        return error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    return error.code == ErrorCode.NOT_CONTROLLER


def _broker_id(client_id: str | None) -> int:
    """The broker that sent an envelope: brokers have their ids as client ids, as in Kafka."""
    is_id = client_id is not None and client_id.isascii() and client_id.isdigit()
    return int(client_id or "") if is_id else UNKNOWN_BROKER
