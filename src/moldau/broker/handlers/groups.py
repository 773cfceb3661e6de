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

from moldau.broker.committed_answer import CommittedAnswer, when_committed
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.metadata_cache import MetadataCache
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.metadata.features import GROUP_VERSION
from moldau.metadata.image import MetadataImage
from moldau.network.turns import Steps, Turns, dropping
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from moldau.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext
    from moldau.group_coordinator.consumer.heartbeats import PreparedHeartbeat

REMEMBERED_HOSTS: Final = 1000
FIRST_JOIN_WITH_REBALANCE_TIMEOUT: Final = 1
FIRST_JOIN_WITH_NULL_PROTOCOL: Final = 7
FIRST_SYNC_WITH_PROTOCOL: Final = 5
# Clients have one protocol per assignor that they support. A join is decided in one step, so that
# the number must have a bound, which Kafka does not have.
MAX_PROTOCOLS: Final = 100
# Requests of a leader for more are handled in several turns.
MANY_MEMBERS: Final = 1_000
LEAVING_PER_STEP: Final = 100
# A heartbeat with a larger subscription is prepared in several turns.
FEW_TOPICS: Final = 100
# Several times what clients have; Kafka is limited only by the size of a record. The decision takes
# a microsecond for each name, and is one step.
MAX_TOPIC_NAMES: Final = 20_000


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


def are_consumer_groups_enabled(config: BrokerConfig, image: MetadataImage) -> bool:
    """Whether KIP-848 is enabled in the features of the cluster and in this broker's settings."""
    protocols = config.group_coordinator_rebalance_protocols
    return image.features.get(GROUP_VERSION, 0) > 0 and "consumer" in protocols


class Groups:
    """Passes the requests of members to the coordinators of their groups."""

    def __init__(
        self, groups: GroupRuntime, metadata: MetadataCache, configs: DynamicConfig, turns: Turns
    ) -> None:
        self._groups = groups
        self._metadata = metadata
        self._configs = configs
        self._turns = turns

    # --- the classic protocol

    def join(
        self, request: JoinGroupRequest, context: "RequestContext"
    ) -> JoinGroupResponse | Awaitable[JoinGroupResponse]:
        if context.api_version < FIRST_JOIN_WITH_REBALANCE_TIMEOUT:
            request.rebalance_timeout_ms = request.session_timeout_ms
        try:
            check_group_id(request.group_id)
            if len(request.protocols) > MAX_PROTOCOLS:
                return context.in_turns(_too_many_protocols(request, context))
            hosted = self._groups.shard_of(request.group_id)
            result: JoinGroupResponse | asyncio.Future[JoinGroupResponse] = hosted.run(
                hosted.shard.handle_join_group, request, group_context(context)
            )
        except ApiError as error:
            return _join_refused(request, error.code, context)
        if isinstance(result, asyncio.Future):
            return _joined(result, request, context)
        return result

    def sync(
        self, request: SyncGroupRequest, context: "RequestContext"
    ) -> SyncGroupResponse | Awaitable[SyncGroupResponse]:
        if context.api_version >= FIRST_SYNC_WITH_PROTOCOL and (
            request.protocol_type is None or request.protocol_name is None
        ):
            message = "SyncGroup must name the protocol type and the protocol"
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
        check_group_id(request.group_id)
        if len(request.assignments) > MANY_MEMBERS:
            return self._sync_many(request, context)
        return self._sync(request, context)

    def _sync(
        self, request: SyncGroupRequest, context: "RequestContext"
    ) -> "SyncGroupResponse | asyncio.Future[SyncGroupResponse]":
        hosted = self._groups.shard_of(request.group_id)
        result: SyncGroupResponse | asyncio.Future[SyncGroupResponse] = hosted.run(
            hosted.shard.handle_sync_group, request, group_context(context)
        )
        return result

    async def _sync_many(
        self, request: SyncGroupRequest, context: "RequestContext"
    ) -> SyncGroupResponse:
        await self._turns.complete(self._keep_members(request))
        result = self._sync(request, context)
        return await result if isinstance(result, asyncio.Future) else result

    def _keep_members(self, request: SyncGroupRequest) -> Steps[None]:
        """Remove assignments of others than the members of the group, which have no effect."""
        shard = self._groups.shard_of(request.group_id).shard
        kept: dict[str, SyncGroupRequestAssignment] = {}
        for each in request.assignments:
            if shard.has_classic_member(request.group_id, each.member_id):
                kept[each.member_id] = each
            yield
        yield from dropping(request.assignments)
        request.assignments = list(kept.values())

    def heartbeat(
        self, request: HeartbeatRequest, context: "RequestContext"
    ) -> HeartbeatResponse | Awaitable[HeartbeatResponse]:
        check_group_id(request.group_id)
        try:
            hosted = self._groups.shard_of(request.group_id)
        except ApiError as error:
            if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                # The member stays: its session starts again when the group has been loaded.
                return HeartbeatResponse()
            raise
        response: HeartbeatResponse = hosted.decide(
            hosted.shard.handle_heartbeat, request, group_context(context), may_only_read=True
        )
        commitment = hosted.committed()
        return response if commitment is None else when_committed(response, commitment)

    def leave(
        self, request: LeaveGroupRequest, context: "RequestContext"
    ) -> LeaveGroupResponse | Awaitable[LeaveGroupResponse]:
        check_group_id(request.group_id)
        committed = CommittedAnswer()
        if len(request.members) > LEAVING_PER_STEP:
            return committed.send(context.in_turns(self._leave_many(request, context, committed)))
        return committed.send(self._leave(request, context, committed))

    def _leave_many(
        self,
        request: LeaveGroupRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[LeaveGroupResponse]:
        """A few members per step, as if they came in several requests."""
        response = LeaveGroupResponse()
        for begin in range(0, len(request.members), LEAVING_PER_STEP):
            members = request.members[begin : begin + LEAVING_PER_STEP]
            part = LeaveGroupRequest(request.group_id, members=members)
            left = self._leave(part, context, committed)
            if left.error_code:
                return left
            response.members += left.members
            yield
        return response

    def _leave(
        self,
        request: LeaveGroupRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> LeaveGroupResponse:
        hosted = self._groups.shard_of(request.group_id)
        response: LeaveGroupResponse = hosted.decide(
            hosted.shard.handle_leave_group, request, group_context(context)
        )
        committed.depends_on(hosted)
        return response

    # --- ConsumerGroupHeartbeat

    def consumer_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: "RequestContext"
    ) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
        if not are_consumer_groups_enabled(self._configs.broker, self._metadata.image):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        hosted = self._groups.shard_of(request.group_id)
        names = request.subscribed_topic_names
        if names is not None and len(names) > MAX_TOPIC_NAMES:
            message = f"a member can subscribe to at most {MAX_TOPIC_NAMES} names, not {len(names)}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        if (
            (names is not None and len(names) > FEW_TOPICS)
            or request.subscribed_topic_regex
            or hosted.shard.is_large(request.group_id, FEW_TOPICS)
        ):
            prepared = self._turns.run(
                hosted.shard.preparing_heartbeat(request, group_context(context), hosted.now())
            )
            if isinstance(prepared, Awaitable):
                return self._heartbeat_later(prepared, request, context)
            return self._heartbeat(request, context, prepared)
        return self._heartbeat(request, context, None)

    async def _heartbeat_later(
        self,
        preparing: "Awaitable[PreparedHeartbeat | None]",
        request: ConsumerGroupHeartbeatRequest,
        context: "RequestContext",
    ) -> ConsumerGroupHeartbeatResponse:
        # In the same turn as the end of the preparation: nothing changes in between.
        result = self._heartbeat(request, context, await preparing)
        return result if isinstance(result, ConsumerGroupHeartbeatResponse) else await result

    def _heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        context: "RequestContext",
        prepared: "PreparedHeartbeat | None",
    ) -> ConsumerGroupHeartbeatResponse | Awaitable[ConsumerGroupHeartbeatResponse]:
        hosted = self._groups.shard_of(request.group_id)
        response: ConsumerGroupHeartbeatResponse = hosted.decide(
            functools.partial(hosted.shard.handle_consumer_group_heartbeat, prepared=prepared),
            request,
            group_context(context),
            may_only_read=True,
        )
        commitment = hosted.committed()
        return response if commitment is None else when_committed(response, commitment)


async def _joined(
    result: "asyncio.Future[JoinGroupResponse]",
    request: JoinGroupRequest,
    context: "RequestContext",
) -> JoinGroupResponse:
    try:
        return await result
    except ApiError as error:
        return _join_refused(request, error.code, context)


def _join_refused(
    request: JoinGroupRequest, code: ErrorCode, context: "RequestContext"
) -> JoinGroupResponse:
    refusal = JoinGroupResponse(error_code=code, member_id=request.member_id)
    if context.api_version >= FIRST_JOIN_WITH_NULL_PROTOCOL:
        refusal.protocol_name = None
    return refusal


def _too_many_protocols(
    request: JoinGroupRequest, context: "RequestContext"
) -> Steps[JoinGroupResponse]:
    yield from dropping(request.protocols)
    return _join_refused(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, context)
