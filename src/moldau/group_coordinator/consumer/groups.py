"""The consumer groups of one shard: heartbeats in, records and replies out (KIP-848).

A member of the new protocol only sends heartbeats: it joins with epoch 0, reports the partitions
it owns, receives those it should own, and leaves with epoch -1 (or -2 if it is static and will
return). Members with the classic protocol can be in the same group while it is migrated from one
protocol to the other.

State changes in ``replay`` only, except timers and the set of groups that must check their
topics again; both are rebuilt when the shard is loaded.
"""

import random
from collections.abc import Container, Generator, Sequence

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import CoordinatorRecord, Outcome
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup, for_version
from moldau.group_coordinator.consumer.classic_protocol import ClassicProtocolMembers
from moldau.group_coordinator.consumer.group_update import preferred_assignor
from moldau.group_coordinator.consumer.heartbeats import Heartbeats, PreparedHeartbeat
from moldau.group_coordinator.consumer.offset_checks import (
    CommitCheck,
    check_offset_commit,
    check_offset_fetch,
)
from moldau.group_coordinator.consumer.replaying import replay_record
from moldau.group_coordinator.consumer.upkeep import Upkeep
from moldau.group_coordinator.record_size import Fits
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.consumer_group_describe import DescribedGroup
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class ConsumerGroups:
    """The groups by id. Handlers do not raise ApiError: the reply has the code.

    ``downgraded`` maps groups that the records of the same call convert to classic ones, to the
    reason why they must rebalance ("" if they need not). The shard takes them out in its tick,
    once the records are replayed; until then ``next_deadline_ms`` is 0.
    """

    def __init__(self, config: BrokerConfig, rng: random.Random, fits: Fits) -> None:
        self._upkeep = Upkeep(config, rng, fits)
        self._heartbeats = Heartbeats(self._upkeep)
        self._classic = ClassicProtocolMembers(self._upkeep)
        self.groups = self._upkeep.groups
        self.downgraded = self._upkeep.downgraded

    def has_group(self, group_id: str) -> bool:
        return group_id in self.groups

    def group_state(self, group_id: str) -> str:
        return self.groups[group_id].state

    def is_subscribed(self, group_id: str, topic: str) -> bool:
        group = self.groups.get(group_id)
        return group is not None and group.subscriptions.has_topic(topic)

    # Life

    def replay(self, key: Message, value: Message | None) -> bool:
        """Apply the record; False if it is not a record of consumer groups."""
        return replay_record(self.groups, key, value)

    def on_loaded(self, now: Now) -> None:
        self._upkeep.start_all_timers(now)

    def on_metadata(self, image: MetadataImage, delta: MetadataDelta | None) -> Outcome:
        """Groups whose topics changed check them with the next heartbeat of a member."""
        upkeep = self._upkeep
        upkeep.image = image
        if delta is None:
            upkeep.hashes.clear()
            upkeep.topics_version = image.offset
            for group in self.groups.values():
                group.metadata_fresh_until_ms = 0
            return Outcome()
        if upkeep.topics_version == -1 or delta.created_topics:
            upkeep.topics_version = image.offset
        if not self.groups:
            # Most shards, most of the time: a change of thousands of topics costs them nothing.
            upkeep.hashes.clear()
            return Outcome()
        names = delta.changed_names(image)
        if names:
            upkeep.hashes.forget(names)
            upkeep.refresh_metadata_of(names)
        return Outcome()

    def tick(self, now: Now) -> Outcome:
        return self._upkeep.expire(now)

    def next_deadline_ms(self) -> int | None:
        return self._upkeep.next_deadline_ms()

    # The new protocol

    def preparing_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        context: GroupRequestContext,
        now: Now,
        image: MetadataImage,
    ) -> Generator[None, None, PreparedHeartbeat | None]:
        """Decide in steps; ``heartbeat`` gets the result. There must be no classic group.

        The hashes of topics and the matches of patterns are remembered for others as well.
        """
        upkeep = self._upkeep
        upkeep.image = image
        regex = request.subscribed_topic_regex
        if regex:
            try:
                group = self.groups.get(request.group_id)
                resolved = None if group is None else group.resolved.get(regex)
                topics = yield from upkeep.matches.finding(regex, image, resolved)
            except ApiError:
                return None
            yield from upkeep.hashes.computing(topics, image)
        yield from upkeep.hashes.computing(request.subscribed_topic_names or (), image)
        return (yield from self._heartbeats.preparing(request, context, now))

    def is_large(self, group_id: str, count: int) -> bool:
        """Whether the group is subscribed to more than ``count`` topics, or to patterns.

        After topics were created, the next heartbeat resolves the patterns of all members.
        """
        group = self.groups.get(group_id)
        if group is None:
            return False
        subscriptions = group.subscriptions
        return bool(subscriptions.regexes) or len(subscriptions.by_name) > count

    def heartbeat(
        self,
        token: int,
        request: ConsumerGroupHeartbeatRequest,
        context: GroupRequestContext,
        now: Now,
        image: MetadataImage,
        classic_group: ClassicGroup | None = None,
        prepared: PreparedHeartbeat | None = None,
    ) -> Outcome:
        """``classic_group`` is the one with this id, if it exists; it may be converted.

        ``prepared`` is what ``preparing_heartbeat`` returned for this request.
        """
        self._upkeep.image = image
        try:
            return self._heartbeats.handle(token, request, context, classic_group, now, prepared)
        except ApiError as error:
            return Outcome.reply(
                token,
                ConsumerGroupHeartbeatResponse(
                    error_code=int(error.code), error_message=error.message
                ),
            )

    def describe(
        self, group_ids: Sequence[str], image: MetadataImage, classic_groups: Container[str] = ()
    ) -> list[DescribedGroup]:
        """``classic_groups`` are the ids of the classic groups, for the error message."""
        described = []
        for group_id in group_ids:
            group = self.groups.get(group_id)
            if group is None:
                code = int(ErrorCode.GROUP_ID_NOT_FOUND)
                problem = "is not a consumer group." if group_id in classic_groups else "not found."
                message = f"Group {group_id} {problem}"
                described.append(
                    DescribedGroup(group_id=group_id, error_code=code, error_message=message)
                )
            else:
                assignor = preferred_assignor(list(group.members.values()), self._upkeep.settings)
                described.append(group.describe(assignor, image))
        return described

    # Offsets and deletion

    def validate_offset_commit(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        api_version: int,
        is_transactional: bool = False,
    ) -> CommitCheck | None:
        """None if every partition may be committed, else a check to call for each."""
        group = self.groups[group_id]
        return check_offset_commit(
            group, member_id, instance_id, member_epoch, api_version, is_transactional
        )

    def validate_offset_fetch(
        self, group_id: str, member_id: str | None, member_epoch: int
    ) -> None:
        check_offset_fetch(self.groups[group_id], member_id, member_epoch)

    def validate_delete(self, group_id: str) -> None:
        if not self.groups[group_id].is_empty:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP, f"group {group_id} has members")

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """The tombstones of the group, without its offsets."""
        return self.groups[group_id].tombstones()

    # Classic members of consumer groups

    def classic_join(
        self,
        token: int,
        request: JoinGroupRequest,
        context: GroupRequestContext,
        now: Now,
        image: MetadataImage,
    ) -> Outcome:
        self._upkeep.image = image
        try:
            return self._classic.join(token, request, context, now)
        except ApiError as error:
            response = JoinGroupResponse(error_code=int(error.code))
            return Outcome.reply(token, for_version(response, context.api_version))

    def classic_sync(
        self,
        token: int,
        request: SyncGroupRequest,
        context: GroupRequestContext,
        now: Now,
        image: MetadataImage,
    ) -> Outcome:
        self._upkeep.image = image
        try:
            return self._classic.sync(token, request, now)
        except ApiError as error:
            return Outcome.reply(token, SyncGroupResponse(error_code=int(error.code)))

    def classic_heartbeat(
        self, token: int, request: HeartbeatRequest, context: GroupRequestContext, now: Now
    ) -> Outcome:
        try:
            self._classic.heartbeat(request, now)
        except ApiError as error:
            return Outcome.reply(token, HeartbeatResponse(error_code=int(error.code)))
        return Outcome.reply(token, HeartbeatResponse())

    def classic_leave(
        self,
        token: int,
        request: LeaveGroupRequest,
        context: GroupRequestContext,
        now: Now,
        image: MetadataImage,
    ) -> Outcome:
        self._upkeep.image = image
        try:
            return self._classic.leave(token, request, now)
        except ApiError as error:
            return Outcome.reply(token, LeaveGroupResponse(error_code=int(error.code)))
