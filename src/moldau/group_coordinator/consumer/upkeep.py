"""Shared state of the consumer group handlers: groups, timers, and removal of members.

Timers are set and checked only here. A timer of a member or group that no longer exists is
ignored.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Final

from moldau.clock import Now
from moldau.config.broker import BrokerConfig
from moldau.coordinator.outcome import CoordinatorRecord, Outcome
from moldau.errors import ApiError
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.downgrade import convert_to_classic, may_downgrade
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.group_update import GroupUpdate
from moldau.group_coordinator.consumer.member import UNREVOKED_PARTITIONS, ConsumerGroupMember
from moldau.group_coordinator.consumer.metadata_hash import MetadataHashes
from moldau.group_coordinator.consumer.settings import GroupSettings
from moldau.group_coordinator.consumer.subscription import TopicMatches, subscriptions_of
from moldau.group_coordinator.consumer.validation import check_instance_is_released
from moldau.group_coordinator.record_size import Fits, check_size
from moldau.group_coordinator.timers import JOIN, SESSION, SYNC, Timers
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage

_REBALANCE: Final = "rebalance"


class Upkeep:
    """The state that the handlers of one shard share."""

    def __init__(self, config: BrokerConfig, rng: random.Random, fits: Fits) -> None:
        self.groups: dict[str, ConsumerGroup] = {}
        self.settings = GroupSettings(config)
        self.hashes = MetadataHashes()
        self.matches = TopicMatches()
        self.rng = rng
        self.fits = fits
        self.image: MetadataImage = EMPTY_IMAGE
        # The offset of the image with the newest topic, for patterns.
        self.topics_version = -1
        # Groups that became classic, with the reason to rebalance; "" if they need not.
        self.downgraded: dict[str, str] = {}
        self._timers = Timers()
        # The epoch that a member must leave before its rebalance timer fires.
        self._rebalance_epochs: dict[tuple[str, str], int] = {}

    def update(self, group: ConsumerGroup, now: Now) -> GroupUpdate:
        return GroupUpdate(group, self.settings, self.hashes, self.matches, self.image, now)

    # Timers

    def start_session(self, group_id: str, member: ConsumerGroupMember, now: Now) -> None:
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        else:
            timeout_ms = self.settings.session_timeout_ms(group_id, self.image)
        self._timers.schedule((SESSION, group_id, member.member_id), now.monotonic_ms + timeout_ms)

    def follow_revocation(self, group_id: str, member: ConsumerGroupMember, now: Now) -> None:
        """Start the rebalance timeout of a member that must revoke partitions."""
        key = (group_id, member.member_id)
        if member.state == UNREVOKED_PARTITIONS:
            self._rebalance_epochs[key] = member.member_epoch
            deadline_ms = now.monotonic_ms + member.rebalance_timeout_ms
            self._timers.schedule((_REBALANCE, *key), deadline_ms)
        else:
            self._rebalance_epochs.pop(key, None)
            self._timers.cancel((_REBALANCE, *key))

    def expect_join(self, group_id: str, member: ConsumerGroupMember, now: Now) -> None:
        """A classic member must join again; repeating the request does not extend its time."""
        key = (JOIN, group_id, member.member_id)
        if key not in self._timers:
            self._timers.schedule(key, now.monotonic_ms + member.rebalance_timeout_ms)

    def joined(self, group_id: str, member_id: str, now: Now, timeout_ms: int) -> None:
        """A classic member has joined and must sync now."""
        self._timers.cancel((JOIN, group_id, member_id))
        self._timers.schedule((SYNC, group_id, member_id), now.monotonic_ms + timeout_ms)

    def synced(self, group_id: str, member_id: str) -> None:
        self._timers.cancel((SYNC, group_id, member_id))

    def stop_timers(self, group_id: str, member_id: str) -> None:
        for kind in (SESSION, _REBALANCE, JOIN, SYNC):
            self._timers.cancel((kind, group_id, member_id))
        self._rebalance_epochs.pop((group_id, member_id), None)

    def next_deadline_ms(self) -> int | None:
        return 0 if self.downgraded else self._timers.next_deadline_ms()

    def expire(self, now: Now) -> Outcome:
        """Remove expired members; those of one group together, in one epoch."""
        late: dict[str, dict[str, ConsumerGroupMember]] = {}
        while (key := self._timers.pop_due(now.monotonic_ms)) is not None:
            kind, group_id, member_id = key
            group = self.groups.get(group_id)
            member = None if group is None else group.members.get(member_id)
            if member is None:
                continue
            if kind == _REBALANCE:
                epoch = self._rebalance_epochs.pop((group_id, member_id), None)
                if epoch != member.member_epoch:
                    continue
            late.setdefault(group_id, {})[member_id] = member
        out = Outcome()
        for group_id, members in late.items():
            out.records += self.remove_members(self.groups[group_id], list(members.values()), now)
        return out

    # Members come and go

    def remove_members(
        self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember], now: Now
    ) -> list[CoordinatorRecord]:
        """Remove members. If only classic ones are left, the group becomes classic."""
        if not members:
            return []
        made = self._without(group, members, now)
        if made:
            reason = (
                f"Downgrade group {group.group_id} from consumer to classic for member leaving."
            )
            self.downgrade(group, reason)
            return made
        for member in members:
            made += records.removed_member(group.group_id, member.member_id)
            self.stop_timers(group.group_id, member.member_id)
        gone = {member.member_id: None for member in members}
        left = [member for name, member in group.members.items() if name not in gone]
        subscriptions = subscriptions_of(left, group.resolved)
        for regex in group.subscriptions.regexes:
            if regex not in subscriptions.regexes:
                made.append(records.regex_tombstone(group.group_id, regex))
        metadata_hash = self.hashes.group_hash(subscriptions.topics, self.image)
        made.append(records.group_record(group.group_id, group.group_epoch + 1, metadata_hash))
        return made

    def _without(
        self, group: ConsumerGroup, members: Sequence[ConsumerGroupMember], now: Now
    ) -> list[CoordinatorRecord]:
        """The records of a classic group without these members; none if it must not become one.

        It stays a consumer group also if what a classic member sent is malformed, or too large for
        one record: otherwise the members could never be removed. (In Kafka 4.3.1 they cannot.)
        """
        if not may_downgrade(group, members, self.settings):
            return []
        try:
            made = convert_to_classic(group, members, None, self.image, now, will_rebalance=True)
            check_size(made, self.fits)
        except ApiError:
            return []
        return made

    def downgrade(self, group: ConsumerGroup, reason: str) -> None:
        """Note that the group will be classic once the records are replayed."""
        self.downgraded[group.group_id] = reason
        for member_id in group.members:
            self.stop_timers(group.group_id, member_id)

    def new_or_returning_static(
        self,
        group: ConsumerGroup,
        member_id: str,
        instance_id: str,
        is_classic: bool,
        made: list[CoordinatorRecord],
    ) -> ConsumerGroupMember:
        """A static member joins; if the instance is known, it replaces the previous member.

        Raises:
            ApiError: UNRELEASED_INSTANCE_ID.
        """
        existing = group.static_member(instance_id)
        if existing is None:
            return group.members.get(member_id, ConsumerGroupMember(member_id))
        if not is_classic and not existing.uses_classic_protocol:
            check_instance_is_released(existing, instance_id, member_id)
        member = existing._replace(member_id=member_id, member_epoch=0, previous_member_epoch=0)
        group_id = group.group_id
        made += records.removed_member(group_id, existing.member_id)
        made.append(records.member_record(group_id, member))
        target = group.targets.get(existing.member_id, {})
        made.append(records.target_record(group_id, member_id, target))
        made.append(records.current_record(group_id, member))
        return member

    def start_all_timers(self, now: Now) -> None:
        """After loading, every member gets a full session timeout."""
        for group_id, group in self.groups.items():
            for member in group.members.values():
                self.start_session(group_id, member, now)
                if member.state == UNREVOKED_PARTITIONS and not member.uses_classic_protocol:
                    self.follow_revocation(group_id, member, now)

    def refresh_metadata_of(self, topics: Mapping[str, None]) -> None:
        """Groups subscribed to one of these topics check them with the next heartbeat."""
        for group in self.groups.values():
            if group.subscriptions.has_any(topics):
                group.metadata_fresh_until_ms = 0
