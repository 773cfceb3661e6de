"""One partition of ``__consumer_offsets``: the groups that hash to it, and their offsets.

The shard decides, the runtime acts: requests and time come in, records and replies go out.
Persistent state changes only in ``replay``; other state (joining members, timers) exists as long
as the shard is loaded.

A group has one type at a time: classic, or consumer (KIP-848). Requests go to the part that has
the group; members with the classic protocol can be in a consumer group while it is migrated.
"""

import random
from collections.abc import Generator, Iterable, Sequence

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import CoordinatorRecord, Outcome, Reply
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator import offset_requests
from moldau.group_coordinator.classic_group import CLASSIC_TYPE, ClassicGroup, for_version
from moldau.group_coordinator.classic_groups import ClassicGroups
from moldau.group_coordinator.consumer.groups import ConsumerGroups
from moldau.group_coordinator.consumer.heartbeats import PreparedHeartbeat
from moldau.group_coordinator.offset_expiry import Expiry, expiry_of_classic
from moldau.group_coordinator.offset_requests import CommitCheck
from moldau.group_coordinator.offsets import OffsetStore
from moldau.group_coordinator.record_size import Fits, fits_always
from moldau.group_coordinator.records import group_metadata_tombstone, offset_tombstone
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.group_coordinator.txn_offset_requests import (
    txn_commit,
    txn_commit_error,
    validate_classic_txn_commit,
)
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.consumer_group_describe import (
    DescribedGroup as DescribedConsumerGroup,
)
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from moldau.protocol.messages.describe_groups import DescribedGroup
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)
from moldau.protocol.messages.list_groups import ListedGroup
from moldau.protocol.messages.offset_commit import OffsetCommitRequest
from moldau.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from moldau.protocol.records.group_coordinator import (
    ConsumerGroupMetadataKey,
    GroupMetadataKey,
    GroupMetadataValue,
)
from moldau.protocol.records.offset_commit import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

_CONSUMER_TYPE = "consumer"
_EMPTY_STATE = "Empty"
_FIRST_LEAVE_WITH_MEMBERS = 3
_FIRST_SYNC_WITH_PROTOCOL = 5
_FIRST_DESCRIBE_WITH_NOT_FOUND = 6
_FIRST_COMMIT_WITH_NOT_FOUND = 9
_MS_PER_MINUTE = 60_000


class GroupCoordinatorShard:
    """All groups of one partition.

    The runtime must ``replay`` every record of the log, in order; then call ``on_metadata`` with
    the whole image and no delta; then ``on_loaded``; then pass requests, call ``tick`` at
    ``next_deadline_ms``, ``on_metadata`` with every new image, and ``expire_offsets`` regularly.
    The records of every Outcome are appended, and each is passed to ``replay`` before the next
    call: the same objects, not decoded copies.
    """

    def __init__(self, config: BrokerConfig, rng: random.Random, fits: Fits = fits_always) -> None:
        """``fits`` says whether a record is not too large for the log."""
        self._config = config
        self._image = MetadataImage()
        self._classic = ClassicGroups(config, rng, fits)
        self._consumer = ConsumerGroups(config, rng, fits)
        self._offsets = OffsetStore()
        # The consumer group that the last record about groups deleted, if it did: a group that
        # is converted to classic is deleted first, and written as a classic group right after.
        self._just_deleted: str | None = None

    # -- life ------------------------------------------------------------------------------

    def replay(self, key: Message, value: Message | None, producer_id: int = -1) -> None:
        """Apply a record of the log, as ``records.decode_record`` returns it."""
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self._replay_offset(key, value, producer_id)
        elif isinstance(key, LegacyOffsetCommitKey):
            legacy_key = OffsetCommitKey(key.group, key.topic, key.partition)
            assert value is None or isinstance(value, LegacyOffsetCommitValue)
            if value is None:
                self._replay_offset(legacy_key, None, producer_id)
            else:
                offset = OffsetCommitValue(
                    offset=value.offset,
                    metadata=value.metadata,
                    commit_timestamp=value.commit_timestamp,
                )
                self._replay_offset(legacy_key, offset, producer_id)
        elif isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            was_consumer_group = self._just_deleted == key.group
            self._just_deleted = None
            self._classic.replay(key.group, value, was_consumer_group=was_consumer_group)
        elif self._consumer.replay(key, value):
            group_id: str = getattr(key, "group_id", "")
            is_end = value is None and isinstance(key, ConsumerGroupMetadataKey)
            self._just_deleted = group_id if is_end else None
            group = self._classic.groups.get(group_id)
            if group is not None and group.is_simple and self._consumer.has_group(group_id):
                # Its offsets came first in the log, and created a simple group.
                self._classic.replay(group_id, None)

    def replay_end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the control record that ends a transaction; then ``settle``, in any turns."""
        self._offsets.replay_end_transaction(producer_id, is_commit=is_commit)

    def settle(self) -> bool:
        """Take a step of what an ended transaction leaves to be done; returns whether that is all.

        It changes no answer, only where the offsets are stored.
        """
        return not self._offsets.settle()

    def _replay_offset(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, producer_id: int
    ) -> None:
        if value is not None and not self._exists(key.group):
            self._classic.add_simple(key.group)
        self._offsets.replay(key, value, producer_id)

    def on_loaded(self, now: Now) -> Outcome:
        """The log has been loaded: the sessions of all members start now."""
        self._consumer.on_loaded(now)
        return self._classic.on_loaded(now)

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta | None) -> Outcome:
        """Delete offsets of deleted topics; consumer groups check their subscriptions again."""
        self._image = image
        out = Outcome()
        if delta is not None and delta.deleted_topics:
            deleted = [(topic_id, topic.name) for topic_id, topic in delta.deleted_topics.items()]
            out.records.extend(self._offsets.tombstones_of_topics(deleted))
        out.add(self._consumer.on_metadata(image, delta))
        return out

    def tick(self, now: Now) -> Outcome:
        """Process all expired timers."""
        out = Outcome()
        for group_id, reason in list(self._consumer.downgraded.items()):
            del self._consumer.downgraded[group_id]
            out.add(self._classic.take_over(group_id, now, rebalance=bool(reason)))
        out.add(self._classic.tick(now))
        out.add(self._consumer.tick(now))
        return out

    def next_deadline_ms(self) -> int | None:
        deadlines = (self._classic.next_deadline_ms(), self._consumer.next_deadline_ms())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def expire_offsets(self, wall_ms: int) -> Outcome:
        """Delete expired offsets, and empty groups without offsets."""
        out = Outcome()
        retention_ms = self._config.offsets_retention_minutes * _MS_PER_MINUTE
        for group in list(self._classic.groups.values()):
            expiry = expiry_of_classic(group, wall_ms, retention_ms)
            is_free = self._expire(group.group_id, expiry, out)
            if is_free and group.is_empty and not group.pending_join:
                out.records.append(group_metadata_tombstone(group.group_id))
        for group_id in list(self._consumer.groups):
            is_free = self._expire(group_id, Expiry(wall_ms, retention_ms), out)
            if is_free and self._consumer.group_state(group_id) == _EMPTY_STATE:
                out.records.extend(self._consumer.tombstones(group_id))
        return out

    def _expire(self, group_id: str, expiry: Expiry | None, out: Outcome) -> bool:
        """Delete expired offsets; returns whether the group has none left."""
        is_free = not self._offsets.has_open_transactions(group_id)
        for topic, partition, value in self._offsets.of_group(group_id):
            in_use = (
                expiry is None
                or self._is_subscribed(group_id, topic)
                or not expiry.has_expired(value)
                or self._offsets.is_unstable(group_id, topic, partition)
            )
            if in_use:
                is_free = False
            else:
                out.records.append(offset_tombstone(group_id, topic, partition))
        return is_free

    def unload(self) -> list[Reply]:
        """Answer all pending requests with NOT_COORDINATOR. The shard must not be used again."""
        return self._classic.unload().replies

    # -- classic groups --------------------------------------------------------------------

    def handle_join_group(
        self, token: int, request: JoinGroupRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        out = Outcome()
        try:
            self._check_join(request)
            is_consumer = self._consumer.has_group(request.group_id)
            if is_consumer and self._consumer.group_state(request.group_id) != _EMPTY_STATE:
                return self._consumer.classic_join(token, request, context, now, self._image)
            self._classic.join(token, request, context, now, out)
            if is_consumer and request.group_id in self._classic.groups:
                # The join was not refused: a classic group takes the place of the empty one.
                out.records[:0] = self._consumer.tombstones(request.group_id)
        except ApiError as error:
            response = JoinGroupResponse(error_code=int(error.code), member_id=request.member_id)
            return Outcome.reply(token, for_version(response, context.api_version))
        return out

    def _check_join(self, request: JoinGroupRequest) -> None:
        _check_group_id(request.group_id)
        lowest = self._config.group_min_session_timeout_ms
        highest = self._config.group_max_session_timeout_ms
        if not lowest <= request.session_timeout_ms <= highest:
            message = f"{request.session_timeout_ms} is not between {lowest} and {highest}"
            raise ApiError(ErrorCode.INVALID_SESSION_TIMEOUT, message)

    def handle_sync_group(
        self, token: int, request: SyncGroupRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        out = Outcome()
        try:
            _check_group_id(request.group_id)
            has_protocol = request.protocol_type is not None and request.protocol_name is not None
            if context.api_version >= _FIRST_SYNC_WITH_PROTOCOL and not has_protocol:
                raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            if self._consumer.has_group(request.group_id):
                return self._consumer.classic_sync(token, request, context, now, self._image)
            self._classic.sync(token, request, now, out)
        except ApiError as error:
            return Outcome.reply(token, SyncGroupResponse(error_code=int(error.code)))
        return out

    def has_classic_member(self, group_id: str, member_id: str) -> bool:
        """Whether a classic group has this member: the leader may assign to it."""
        group = self._classic.groups.get(group_id)
        return group is not None and member_id in group.members

    def handle_heartbeat(
        self, token: int, request: HeartbeatRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        try:
            _check_group_id(request.group_id)
            if self._consumer.has_group(request.group_id):
                return self._consumer.classic_heartbeat(token, request, context, now)
            self._classic.heartbeat(request, now)
        except ApiError as error:
            return Outcome.reply(token, HeartbeatResponse(error_code=int(error.code)))
        return Outcome.reply(token, HeartbeatResponse())

    def handle_leave_group(
        self, token: int, request: LeaveGroupRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        if context.api_version < _FIRST_LEAVE_WITH_MEMBERS:
            members = [MemberIdentity(request.member_id)]
            request = LeaveGroupRequest(request.group_id, members=members)
        out = Outcome()
        try:
            _check_group_id(request.group_id)
            if self._consumer.has_group(request.group_id):
                out = self._consumer.classic_leave(token, request, context, now, self._image)
            else:
                results = self._classic.leave(request, now, out)
                out.replies.append(Reply(token, LeaveGroupResponse(members=results)))
        except ApiError as error:
            out = Outcome.reply(token, _leave_error(request, error.code))
        for reply in out.replies:
            if reply.token == token and isinstance(reply.response, LeaveGroupResponse):
                _for_leave_version(reply.response, context.api_version)
        return out

    # -- consumer groups -------------------------------------------------------------------

    def preparing_heartbeat(
        self, request: ConsumerGroupHeartbeatRequest, context: GroupRequestContext, now: Now
    ) -> Generator[None, None, PreparedHeartbeat | None]:
        """Decide about a heartbeat with a large subscription in steps, before it is handled."""
        if request.group_id in self._classic.groups:
            return None
        return (yield from self._consumer.preparing_heartbeat(request, context, now, self._image))

    def is_large(self, group_id: str, count: int) -> bool:
        """Whether this consumer group has more than ``count`` topics, or patterns."""
        return self._consumer.is_large(group_id, count)

    def handle_consumer_group_heartbeat(
        self,
        token: int,
        request: ConsumerGroupHeartbeatRequest,
        context: GroupRequestContext,
        now: Now,
        prepared: PreparedHeartbeat | None = None,
    ) -> Outcome:
        """``prepared`` is what ``preparing_heartbeat`` returned for this request."""
        classic_group = self._classic.groups.get(request.group_id)
        return self._consumer.heartbeat(
            token, request, context, now, self._image, classic_group, prepared
        )

    def consumer_group_describe(self, group_ids: Sequence[str]) -> list[DescribedConsumerGroup]:
        return self._consumer.describe(group_ids, self._image, self._classic.groups)

    # -- offsets; topics by name (the handler resolves ids, and fills them in as well) -----

    def handle_offset_commit(
        self, token: int, request: OffsetCommitRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        try:
            check = self._check_commit(request, context, now)
            records, response = offset_requests.commit(
                request, check, self._image, self._config.offset_metadata_max_bytes, now.wall_ms
            )
        except ApiError as error:
            return Outcome.reply(token, offset_requests.commit_error(request, error.code))
        return Outcome(records, [Reply(token, response)])

    def _check_commit(
        self, request: OffsetCommitRequest, context: GroupRequestContext, now: Now
    ) -> CommitCheck | None:
        """Raises ApiError if this member may not commit; returns a check for each partition.

        Very old clients commit with an empty group id, which is still allowed, as in Kafka:
        such a group can be committed to, fetched, described and deleted, but not joined.
        """
        if self._consumer.has_group(request.group_id):
            return self._consumer.validate_offset_commit(
                request.group_id,
                request.member_id,
                request.group_instance_id,
                request.generation_id_or_member_epoch,
                context.api_version,
            )
        group = self._classic.groups.get(request.group_id)
        if group is not None:
            offset_requests.validate_classic_commit(group, request)
            self._classic.extend_session(group, request.member_id, now)
        elif request.generation_id_or_member_epoch >= 0:
            is_new = context.api_version >= _FIRST_COMMIT_WITH_NOT_FOUND
            code = ErrorCode.GROUP_ID_NOT_FOUND if is_new else ErrorCode.ILLEGAL_GENERATION
            raise ApiError(code, f"there is no group {request.group_id!r}")
        return None

    def handle_txn_offset_commit(
        self, token: int, request: TxnOffsetCommitRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        """The records must be written and replayed as part of the transaction."""
        try:
            check = self._check_txn_commit(request, context)
            max_size = self._config.offset_metadata_max_bytes
            records, response = txn_commit(request, check, self._image, max_size, now.wall_ms)
        except ApiError as error:
            code = error.code
            if code is ErrorCode.STALE_MEMBER_EPOCH:
                # Producers know only the error of the classic protocol.
                code = ErrorCode.ILLEGAL_GENERATION
            return Outcome.reply(token, txn_commit_error(request, code))
        return Outcome(records, [Reply(token, response)])

    def _check_txn_commit(
        self, request: TxnOffsetCommitRequest, context: GroupRequestContext
    ) -> CommitCheck | None:
        """Raises ApiError if this member may not commit; returns a check for each partition."""
        _check_group_id(request.group_id)
        if self._consumer.has_group(request.group_id):
            return self._consumer.validate_offset_commit(
                request.group_id,
                request.member_id,
                request.group_instance_id,
                request.generation_id,
                context.api_version,
                is_transactional=True,
            )
        group = self._classic.groups.get(request.group_id)
        if group is not None:
            validate_classic_txn_commit(group, request)
        elif request.generation_id >= 0:
            message = f"there is no group {request.group_id!r}"
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)
        return None

    def handle_offset_fetch(
        self, group: OffsetFetchRequestGroup, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """The offsets of one group; ``group.topics`` None means all. Answered at once."""
        exists = self._exists(group.group_id)
        if self._consumer.has_group(group.group_id):
            try:
                self._consumer.validate_offset_fetch(
                    group.group_id, group.member_id, group.member_epoch
                )
            except ApiError as error:
                return OffsetFetchResponseGroup(group.group_id, error_code=int(error.code))
        return offset_requests.fetch(
            group, self._offsets, group_exists=exists, require_stable=require_stable
        )

    def committed_topics(
        self, group_id: str
    ) -> Generator[None, None, list[OffsetFetchRequestTopics]]:
        """The partitions that the group has committed offsets of, as a request would name them."""
        topics = []
        for name in self._offsets.topics_of(group_id):
            indexes = self._offsets.partitions_of(group_id, name)
            if indexes:
                topics.append(OffsetFetchRequestTopics(name, partition_indexes=indexes))
            yield
        return topics

    def handle_offset_delete(
        self, token: int, request: OffsetDeleteRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        try:
            _check_group_id(request.group_id)
            if not self._consumer.has_group(request.group_id):
                offset_requests.validate_classic_delete_offsets(self._found(request.group_id))
        except ApiError as error:
            return Outcome.reply(token, OffsetDeleteResponse(error_code=int(error.code)))
        records, response = offset_requests.delete(
            request, self._offsets, lambda topic: self._is_subscribed(request.group_id, topic)
        )
        return Outcome(records, [Reply(token, response)])

    # -- administration --------------------------------------------------------------------

    def handle_delete_groups(
        self, token: int, group_ids: Sequence[str], context: GroupRequestContext, now: Now
    ) -> Outcome:
        """The reply is a DeleteGroupsResponse with a result per id."""
        out = Outcome()
        response = DeleteGroupsResponse()
        for group_id in dict.fromkeys(group_ids):
            result = DeletableGroupResult(group_id)
            response.results.append(result)
            try:
                tombstones = self._group_tombstones(group_id)
            except ApiError as error:
                result.error_code = int(error.code)
                continue
            out.records.extend(self._offsets.tombstones(group_id))
            out.records.extend(tombstones)
        out.replies.append(Reply(token, response))
        return out

    def _group_tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Raises ApiError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP."""
        if self._consumer.has_group(group_id):
            self._consumer.validate_delete(group_id)
            return self._consumer.tombstones(group_id)
        if not self._found(group_id).is_empty:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group_id!r} has members")
        return [group_metadata_tombstone(group_id)]

    def describe_groups(
        self, group_ids: Sequence[str], context: GroupRequestContext
    ) -> list[DescribedGroup]:
        """Describe classic groups; any other group is Dead."""
        described: list[DescribedGroup] = []
        for group_id in group_ids:
            group = self._classic.groups.get(group_id)
            if group is not None and not self._consumer.has_group(group_id):
                described.append(group.as_described())
                continue
            dead = DescribedGroup(group_id=group_id, group_state="Dead")
            if context.api_version >= _FIRST_DESCRIBE_WITH_NOT_FOUND:
                dead.error_code = int(ErrorCode.GROUP_ID_NOT_FOUND)
                is_other = self._consumer.has_group(group_id)
                problem = "is not a classic group." if is_other else "not found."
                dead.error_message = f"Group {group_id} {problem}"
            described.append(dead)
        return described

    def list_groups(self, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
        """The groups with one of the states and types; an empty filter matches all."""
        wanted_states = {state.strip().lower() for state in states}
        wanted_types = {group_type.lower() for group_type in types}
        groups: list[ListedGroup] = []
        if not wanted_types or CLASSIC_TYPE in wanted_types:
            groups.extend(group.as_listed() for group in self._classic.groups.values())
        if not wanted_types or _CONSUMER_TYPE in wanted_types:
            groups.extend(
                ListedGroup(
                    group_id, _CONSUMER_TYPE, self._consumer.group_state(group_id), _CONSUMER_TYPE
                )
                for group_id in self._consumer.groups
            )
        return [g for g in groups if not wanted_states or g.group_state.lower() in wanted_states]

    # -- which group -----------------------------------------------------------------------

    def _exists(self, group_id: str) -> bool:
        return group_id in self._classic.groups or self._consumer.has_group(group_id)

    def _found(self, group_id: str) -> ClassicGroup:
        group = self._classic.groups.get(group_id)
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return group

    def _is_subscribed(self, group_id: str, topic: str) -> bool:
        if self._consumer.has_group(group_id):
            return self._consumer.is_subscribed(group_id, topic)
        group = self._classic.groups.get(group_id)
        return group is not None and group.is_subscribed_to(topic)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "the group id is empty")


def _leave_error(request: LeaveGroupRequest, error: ErrorCode) -> LeaveGroupResponse:
    """The response if there is no such group: every member is unknown."""
    if error is not ErrorCode.UNKNOWN_MEMBER_ID:
        return LeaveGroupResponse(error_code=int(error))
    return LeaveGroupResponse(
        members=[
            MemberResponse(member.member_id, member.group_instance_id, int(error))
            for member in request.members
        ]
    )


def _for_leave_version(response: LeaveGroupResponse, api_version: int) -> None:
    """Before version 3 a request has one member, and the response is its result."""
    if api_version < _FIRST_LEAVE_WITH_MEMBERS and response.members:
        response.error_code = response.error_code or response.members[0].error_code
        response.members = []
