"""The requests of members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, ConsumerGroupHeartbeat.

The shard of the group coordinator decides. This module looks it up, and converts the errors of the
lookup to the response of the API.
"""

import asyncio
import functools
import socket
import struct
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.outcome import GroupRequestContext
from moldau.metadata.features import GROUP_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

REMEMBERED_HOSTS: Final = 1000
FIRST_JOIN_WITH_REBALANCE_TIMEOUT: Final = 1
FIRST_JOIN_WITH_NULL_PROTOCOL: Final = 7
FIRST_SYNC_WITH_PROTOCOL: Final = 5


def group_context(context: "RequestContext") -> GroupRequestContext:
    """The context of a request for the coordinator: version, client id and host."""
    return GroupRequestContext(
        context.api_version, context.client_id or "", client_host(context.session.peer_host)
    )


@functools.lru_cache(REMEMBERED_HOSTS)
def client_host(peer_host: str) -> str:
    """An address as Java prints it: after a slash, and with all eight groups of an IPv6 address.

    It is written to the log and shown by tools, so it must be the same as that of Kafka.
    """
    if ":" not in peer_host:
        return f"/{peer_host}"
    address, percent, scope = peer_host.partition("%")
    parts = struct.unpack(">8H", socket.inet_pton(socket.AF_INET6, address))
    return f"/{':'.join(f'{part:x}' for part in parts)}{percent}{scope}"


def check_group_id(group_id: str) -> None:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "a group id must not be empty")


def are_consumer_groups_enabled(broker: "Broker", image: MetadataImage) -> bool:
    """Whether KIP-848 is enabled in the features of the cluster and in this broker's settings."""
    protocols = broker.config.group_coordinator_rebalance_protocols
    return image.features.get(GROUP_VERSION, 0) > 0 and "consumer" in protocols


# --- the classic protocol


def join(
    broker: "Broker", request: JoinGroupRequest, context: "RequestContext"
) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
    if context.api_version < FIRST_JOIN_WITH_REBALANCE_TIMEOUT:
        request.rebalance_timeout_ms = request.session_timeout_ms
    try:
        check_group_id(request.group_id)
        hosted = broker.groups.shard_of(request.group_id)
        result: JoinGroupResponse | asyncio.Future[JoinGroupResponse] = hosted.run(
            hosted.shard.handle_join_group, request, group_context(context)
        )
    except ApiError as error:
        refusal = JoinGroupResponse(error_code=error.code, member_id=request.member_id)
        if context.api_version >= FIRST_JOIN_WITH_NULL_PROTOCOL:
            refusal.protocol_name = None
        return refusal
    return result


def sync(
    broker: "Broker", request: SyncGroupRequest, context: "RequestContext"
) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
    if context.api_version >= FIRST_SYNC_WITH_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        message = "SyncGroup must name the protocol type and the protocol"
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
    check_group_id(request.group_id)
    hosted = broker.groups.shard_of(request.group_id)
    result: SyncGroupResponse | asyncio.Future[SyncGroupResponse] = hosted.run(
        hosted.shard.handle_sync_group, request, group_context(context)
    )
    return result


def heartbeat(
    broker: "Broker", request: HeartbeatRequest, context: "RequestContext"
) -> HeartbeatResponse:
    check_group_id(request.group_id)
    try:
        hosted = broker.groups.shard_of(request.group_id)
    except ApiError as error:
        if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            # The member stays: its session starts again when the group has been loaded.
            return HeartbeatResponse()
        raise
    response = hosted.run(hosted.shard.handle_heartbeat, request, group_context(context))
    assert isinstance(response, HeartbeatResponse), "a heartbeat is answered at once"
    return response


def leave(
    broker: "Broker", request: LeaveGroupRequest, context: "RequestContext"
) -> LeaveGroupResponse:
    check_group_id(request.group_id)
    hosted = broker.groups.shard_of(request.group_id)
    response = hosted.run(hosted.shard.handle_leave_group, request, group_context(context))
    assert isinstance(response, LeaveGroupResponse), "a leave is answered at once"
    return response


# --- ConsumerGroupHeartbeat


def consumer_heartbeat(
    broker: "Broker", request: ConsumerGroupHeartbeatRequest, context: "RequestContext"
) -> ConsumerGroupHeartbeatResponse:
    if not are_consumer_groups_enabled(broker, broker.image):
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
    hosted = broker.groups.shard_of(request.group_id)
    response = hosted.run(
        hosted.shard.handle_consumer_group_heartbeat, request, group_context(context)
    )
    assert isinstance(response, ConsumerGroupHeartbeatResponse), "answered at once"
    return response
