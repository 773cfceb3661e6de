"""Requests of clients that a broker forwards to the active controller, in envelopes (KIP-590).

An envelope has the request as the client sent it, header included, and who sent it: the principal
and the address, which the controller cannot see because the connection is the broker's. The
response comes back the same way, header included.

Errors of the envelope are not errors of the request in it. As in Kafka they are: INVALID_REQUEST if
the address is no address or the API must not be forwarded, PRINCIPAL_DESERIALIZATION_FAILURE,
UNSUPPORTED_VERSION if the request cannot be read, and NOT_CONTROLLER, upon which the broker tries
again elsewhere.
"""

from typing import Final, NamedTuple

from moldau.errors import ApiError, ErrorCode
from moldau.protocol.api import APIS
from moldau.protocol.header import RequestHeader, decode_request_header, decode_response_header
from moldau.protocol.message import Message
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records.client_data import DefaultPrincipalData

# CreateTopics and DeleteTopics, ACLs, AlterConfigs, CreatePartitions, delegation tokens,
# ElectLeaders, IncrementalAlterConfigs, reassignments, quotas, SCRAM credentials, DescribeQuorum,
# UpdateFeatures, UnregisterBroker, AllocateProducerIds, Add- and RemoveRaftVoter.
FORWARDABLE_KEYS: Final = frozenset(
    (19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 55, 57, 64, 67, 80, 81)
)
PRINCIPAL_VERSION: Final = 0
# The address of a client whose own is not known to be one of IP.
NO_ADDRESS: Final = bytes(4)


class Principal(NamedTuple):
    """Who sent a request."""

    type: str = "User"
    name: str = "ANONYMOUS"
    token_authenticated: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS: Final = Principal()


class Forwarded(NamedTuple):
    """A request out of an envelope. Its body begins at ``position`` of ``frame``."""

    header: RequestHeader
    frame: bytes
    position: int
    principal: Principal
    client_address: str


def envelope(frame: bytes, principal: Principal, client_host: str) -> EnvelopeRequest:
    """The envelope for the request in ``frame``."""
    data = DefaultPrincipalData(principal.type, principal.name, principal.token_authenticated)
    version = PRINCIPAL_VERSION.to_bytes(2, "big")
    return EnvelopeRequest(
        request_data=frame,
        request_principal=version + data.encode(PRINCIPAL_VERSION),
        client_host_address=_address_bytes(client_host),
    )


def opened(request: EnvelopeRequest) -> Forwarded:
    """The request in an envelope.

    Raises:
        ApiError: what is wrong with the envelope.
    """
    # Imported late, as below: a node that is its own controller forwards nothing.
    import ipaddress

    principal = _read_principal(bytes(request.request_principal or b""))
    try:
        address = str(ipaddress.ip_address(bytes(request.client_host_address)))
    except ValueError as error:
        message = "Failed to parse client address from envelope"
        raise ApiError(ErrorCode.INVALID_REQUEST, message) from error
    frame = bytes(request.request_data)
    try:
        header, position = decode_request_header(frame)
    except MalformedMessage as error:
        message = f"the header of the request in the envelope cannot be read: {error}"
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message) from error
    if header.api_key not in FORWARDABLE_KEYS:
        message = f"{APIS[header.api_key].name} must not be forwarded"
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    return Forwarded(header, frame, position, principal, address)


def response_in(envelope_response: EnvelopeResponse, header: RequestHeader) -> Message:
    """The response in an envelope to the request with ``header``.

    Raises:
        ApiError: the error of the envelope.
        MalformedMessage: the response cannot be read.
    """
    if envelope_response.error_code:
        code = ErrorCode(envelope_response.error_code)
        raise ApiError(code, f"the controller refused the envelope: {code.name}")
    frame = bytes(envelope_response.response_data or b"")
    correlation_id, position = decode_response_header(frame, header.api_key, header.api_version)
    if correlation_id != header.correlation_id:
        raise MalformedMessage(
            f"the response in the envelope is to request {correlation_id}, "
            f"not {header.correlation_id}"
        )
    decode = APIS[header.api_key].response_class().decode
    return decode(frame, position, header.api_version)[0]


def _read_principal(data: bytes) -> Principal:
    try:
        version = int.from_bytes(data[:2], "big", signed=True)
        if len(data) < 2 or version != PRINCIPAL_VERSION:
            raise MalformedMessage(f"version {version} of the principal is unknown")
        found, _ = DefaultPrincipalData.decode(data, 2, version)
    except MalformedMessage as error:
        message = "Failed to deserialize client principal from envelope"
        raise ApiError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, message) from error
    return Principal(found.type, found.name, found.token_authenticated)


def _address_bytes(host: str) -> bytes:
    import ipaddress

    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        # A simulated host has a name only.
        return NO_ADDRESS
