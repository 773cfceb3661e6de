"""Kafka's messages to and from those of the machine.

What needs no state is checked here: the cluster id, and that the metadata partition is meant. A
request that fails such a check is answered without the machine.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages import api_versions
from moldau.raft import messages as say
from moldau.raft import wire_elections, wire_fetch, wire_voters
from moldau.raft.messages import ApiVersionsRequest, ApiVersionsResponse, Request, Response
from moldau.raft.wire_context import WireContext

KRAFT_VERSION: Final = "kraft.version"


class _Api(NamedTuple):
    """The messages of the machine for one API, and how they are written."""

    request: type
    response: type
    decode_request: Callable[[Any, WireContext], Request | Message]
    encode_response: Callable[[Any, WireContext], Message]
    encode_request: Callable[[Any, WireContext], Message]
    decode_response: Callable[[Any, WireContext], Response | ErrorCode]


_APIS: Final[dict[int, _Api]] = {
    1: _Api(
        say.FetchRequest,
        say.FetchResponse,
        wire_fetch.decode_fetch_request,
        wire_fetch.encode_fetch_response,
        wire_fetch.encode_fetch_request,
        wire_fetch.decode_fetch_response,
    ),
    52: _Api(
        say.VoteRequest,
        say.VoteResponse,
        wire_elections.decode_vote_request,
        wire_elections.encode_vote_response,
        wire_elections.encode_vote_request,
        wire_elections.decode_vote_response,
    ),
    53: _Api(
        say.BeginQuorumEpochRequest,
        say.BeginQuorumEpochResponse,
        wire_elections.decode_begin_request,
        wire_elections.encode_begin_response,
        wire_elections.encode_begin_request,
        wire_elections.decode_begin_response,
    ),
    54: _Api(
        say.EndQuorumEpochRequest,
        say.EndQuorumEpochResponse,
        wire_elections.decode_end_request,
        wire_elections.encode_end_response,
        wire_elections.encode_end_request,
        wire_elections.decode_end_response,
    ),
    59: _Api(
        say.FetchSnapshotRequest,
        say.FetchSnapshotResponse,
        wire_fetch.decode_snapshot_request,
        wire_fetch.encode_snapshot_response,
        wire_fetch.encode_snapshot_request,
        wire_fetch.decode_snapshot_response,
    ),
    80: _Api(
        say.AddVoterRequest,
        say.AddVoterResponse,
        wire_voters.decode_add_request,
        wire_voters.encode_add_response,
        wire_voters.encode_add_request,
        wire_voters.decode_add_response,
    ),
    81: _Api(
        say.RemoveVoterRequest,
        say.RemoveVoterResponse,
        wire_voters.decode_remove_request,
        wire_voters.encode_remove_response,
        wire_voters.encode_remove_request,
        wire_voters.decode_remove_response,
    ),
    82: _Api(
        say.UpdateVoterRequest,
        say.UpdateVoterResponse,
        wire_voters.decode_update_request,
        wire_voters.encode_update_response,
        wire_voters.encode_update_request,
        wire_voters.decode_update_response,
    ),
}
_REQUESTS: Final = {api.request: api for api in _APIS.values()}
_RESPONSES: Final = {api.response: api for api in _APIS.values()}


def decode_request(message: Message, context: WireContext) -> Request | Message:
    """A request for the machine; or a message, which is the answer that refuses it."""
    return _APIS[message.API_KEY].decode_request(message, context)


def encode_response(response: Response, context: WireContext) -> Message:
    """The answer to a request that came in ``context.version``."""
    return _RESPONSES[type(response)].encode_response(response, context)


def encode_request(request: Request, context: WireContext) -> Message:
    """A request to send.

    A pre-vote cannot be encoded below version 2: ``encode`` raises ValueError, and the machine
    expects ``RequestFailed`` with UNSUPPORTED_VERSION.
    """
    if isinstance(request, ApiVersionsRequest):
        # Without a name and a version the request would be invalid.
        return api_versions.ApiVersionsRequest("moldau", "1")
    return _REQUESTS[type(request)].encode_request(request, context)


def decode_response(message: Message, context: WireContext) -> Response | ErrorCode:
    """A response for the machine; or the error of all of it, for ``RequestFailed``."""
    if isinstance(message, api_versions.ApiVersionsResponse):
        return decode_api_versions(message)
    return _APIS[message.API_KEY].decode_response(message, context)


def decode_api_versions(message: api_versions.ApiVersionsResponse) -> ApiVersionsResponse:
    error = ErrorCode(message.error_code)
    for feature in message.supported_features:
        if feature.name == KRAFT_VERSION:
            return ApiVersionsResponse(error, feature.min_version, feature.max_version)
    return ApiVersionsResponse(error)
