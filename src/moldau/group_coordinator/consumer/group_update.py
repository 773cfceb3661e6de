"""The changes of one request to a group, in order.

A member joins or changes; the patterns of the group may have to be resolved again; the group
epoch is incremented if subscriptions or topics changed; a target is computed for the epoch; and
the member takes its next step towards it. Each step adds records and sees the results of the
previous steps, although none of the records has been replayed yet.

With many topics or members this takes long. What does is also there as a generator (``updating_``,
``reconciling``), which yields where a request of another group may be served.

Kafka resolves patterns in another thread, and the member gets the result with a later heartbeat.
Here they are resolved immediately, so that it has its partitions at once.
"""

from collections.abc import Generator, Iterable, Mapping
from contextlib import suppress
from typing import Final, TypeVar

from moldau.clock import Now
from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.assignors import ASSIGNORS
from moldau.group_coordinator.consumer.assignors.spec import GroupSpec, MemberSpec
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import (
    NO_TARGET,
    ConsumerGroupMember,
    Target,
)
from moldau.group_coordinator.consumer.metadata_hash import MetadataHashes, partition_racks
from moldau.group_coordinator.consumer.reconciliation import Owned, Reconciliation
from moldau.group_coordinator.consumer.settings import (
    METADATA_REFRESH_INTERVAL_MS,
    REGEX_REFRESH_MIN_INTERVAL_MS,
    GroupSettings,
)
from moldau.group_coordinator.consumer.subscription import (
    ResolvedRegex,
    Subscriptions,
    TopicMatches,
    compile_regex,
    subscribed_topics,
    subscriptions_of,
)
from moldau.group_coordinator.record_size import Fits, check_size
from moldau.metadata.image import MetadataImage

R = TypeVar("R")

# For patterns; a few milliseconds.
MOST_NAMES_AT_ONCE: Final = 1_000


def all_steps(steps: Generator[None, None, R]) -> R:
    """The result of steps that are taken one after the other."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result


class GroupUpdate:
    """``old`` is the member before the request, ``new`` after it."""

    def __init__(
        self,
        group: ConsumerGroup,
        settings: GroupSettings,
        hashes: MetadataHashes,
        matches: TopicMatches,
        image: MetadataImage,
        now: Now,
    ) -> None:
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.group_epoch = group.group_epoch
        self.resolved: Mapping[str, ResolvedRegex] = group.resolved
        self._settings = settings
        self._hashes = hashes
        self._matches = matches
        self._image = image
        self._now = now
        self._has_checked_topics = False

    def check_size(self, made: Iterable[CoordinatorRecord], fits: Fits) -> None:
        """The last step, in which the request may still be refused; ``made`` are all its records.

        Raises:
            ApiError: UNKNOWN_SERVER_ERROR.
        """
        check_size(made, fits)
        if self._has_checked_topics:
            fresh_until_ms = self._now.monotonic_ms + METADATA_REFRESH_INTERVAL_MS
            self.group.metadata_fresh_until_ms = fresh_until_ms

    def update_member(
        self,
        old: ConsumerGroupMember,
        new: ConsumerGroupMember,
        topics_version: int,
        *,
        must_assign: bool = False,
    ) -> bool:
        return all_steps(
            self.updating_member(old, new, topics_version, must_assign=must_assign, is_at_once=True)
        )

    def updating_member(
        self,
        old: ConsumerGroupMember,
        new: ConsumerGroupMember,
        topics_version: int,
        *,
        must_assign: bool = False,
        is_at_once: bool = False,
    ) -> Generator[None, None, bool]:
        """Write the member if it changed; returns whether its subscription changed.

        ``topics_version`` is the offset of the image with the newest topic. ``must_assign`` means
        that a new assignment is needed even if this member did not change. ``is_at_once`` means
        that all steps are taken one after the other: what takes long and can wait is left out.

        Raises:
            ApiError: INVALID_REGULAR_EXPRESSION.
        """
        group_id = self.group.group_id
        if new != old:
            self.records.append(records.member_record(group_id, new))
        names_changed = new.subscribed_topic_names != old.subscribed_topic_names
        regex_changed = new.subscribed_topic_regex != old.subscribed_topic_regex
        topics_changed = yield from self._updating_regexes(old, new, topics_version, is_at_once)
        has_changed = names_changed or regex_changed
        should_bump = has_changed or topics_changed or must_assign
        if should_bump or self._now.monotonic_ms >= self.group.metadata_fresh_until_ms:
            self._update_epoch(old, new, should_bump)
        return has_changed

    def _updating_regexes(
        self,
        old: ConsumerGroupMember,
        new: ConsumerGroupMember,
        topics_version: int,
        is_at_once: bool,
    ) -> Generator[None, None, bool]:
        """Resolve patterns that are new or out of date; returns whether their topics changed."""
        group = self.group
        used = dict(group.subscriptions.regexes)
        if old.subscribed_topic_regex != new.subscribed_topic_regex:
            if used.get(old.subscribed_topic_regex) == 1:
                del used[old.subscribed_topic_regex]
                gone = old.subscribed_topic_regex
                self.records.append(records.regex_tombstone(group.group_id, gone))
                self.resolved = {
                    regex: found for regex, found in self.resolved.items() if regex != gone
                }
            if new.subscribed_topic_regex and new.subscribed_topic_regex not in used:
                compile_regex(new.subscribed_topic_regex)
        if new.subscribed_topic_regex:
            used[new.subscribed_topic_regex] = 1
        if not used:
            return False
        stale = self._stale_regexes(used, topics_version)
        if is_at_once and self._takes_long(stale):
            # The next heartbeat that is prepared in steps resolves the others again.
            stale = [regex for regex in stale if regex not in self.resolved]
        if not stale:
            return False
        has_changed = False
        fresh: dict[str, ResolvedRegex] = {}
        for regex in stale:
            found_topics: tuple[str, ...] = ()
            # The pattern of a version that knows another syntax may be invalid.
            with suppress(ApiError):
                found_topics = yield from self._matches.finding(
                    regex, self._image, self.resolved.get(regex)
                )
            yield
            found = ResolvedRegex(found_topics, self._image.offset, self._now.wall_ms)
            fresh[regex] = found
            known = self.resolved.get(regex)
            has_changed |= found.topics != (() if known is None else known.topics)
            self.records.append(records.regex_record(group.group_id, regex, *found))
        self.resolved = {**self.resolved, **fresh}
        return has_changed

    def _takes_long(self, regexes: Iterable[str]) -> bool:
        """Whether too many names would be matched for one step."""
        cost = 0
        for regex in regexes:
            cost += self._matches.cost(regex, self._image, self.resolved.get(regex))
            if cost > MOST_NAMES_AT_ONCE:
                return True
        return False

    def _stale_regexes(self, used: Mapping[str, int], topics_version: int) -> list[str]:
        known = [self.resolved[regex] for regex in used if regex in self.resolved]
        if known:
            refreshed_ms = max(found.timestamp_ms for found in known)
            age_ms = self._now.wall_ms - refreshed_ms
            has_new_topics = min(found.version for found in known) < topics_version
            is_old = age_ms > self._settings.regex_refresh_interval_ms
            # A negative age: the wall clock was set back since.
            is_recent = 0 <= age_ms <= REGEX_REFRESH_MIN_INTERVAL_MS
            if not is_recent and (has_new_topics or is_old):
                return list(used)
        return [regex for regex in used if regex not in self.resolved]

    def _update_epoch(
        self, old: ConsumerGroupMember, new: ConsumerGroupMember, should_bump: bool
    ) -> None:
        group = self.group
        subscriptions = self._subscriptions(old, new)
        metadata_hash = self._hashes.group_hash(subscriptions.topics, self._image)
        if should_bump or metadata_hash != group.metadata_hash:
            self.group_epoch += 1
            self.records.append(
                records.group_record(group.group_id, self.group_epoch, metadata_hash)
            )
        self._has_checked_topics = True
        if group.has_partition_metadata_record:
            self.records.append(records.partition_metadata_tombstone(group.group_id))

    def _subscriptions(self, old: ConsumerGroupMember, new: ConsumerGroupMember) -> Subscriptions:
        return subscriptions_of(self.group.members_with(old, new), self.resolved)

    def update_target(
        self, old: ConsumerGroupMember, new: ConsumerGroupMember
    ) -> tuple[int, Target]:
        """The target epoch and assignment of the member, computed again if necessary."""
        return all_steps(self.updating_target(old, new))

    def updating_target(
        self, old: ConsumerGroupMember, new: ConsumerGroupMember
    ) -> Generator[None, None, tuple[int, Target]]:
        group = self.group
        if group.assignment_epoch >= self.group_epoch or not self._may_assign():
            return group.assignment_epoch, group.target(new)
        members = sorted(group.members_with(old, new), key=lambda member: member.member_id)
        assignor = ASSIGNORS[preferred_assignor(members, self._settings)]
        spec = self._spec(members, old, new)
        yield
        assignment = assignor(spec)
        yield
        for member in members:
            target = assignment[member.member_id]
            if target != group.targets.get(member.member_id):
                self.records.append(records.target_record(group.group_id, member.member_id, target))
                yield
        self.records.append(
            records.target_epoch_record(group.group_id, self.group_epoch, self._now.wall_ms)
        )
        return self.group_epoch, assignment[new.member_id]

    def _may_assign(self) -> bool:
        """Whether the assignment interval has passed, so that many joins need one assignment."""
        last_ms = self.group.assignment_timestamp_ms
        interval_ms = self._settings.assignment_interval_ms(self.group.group_id, self._image)
        # Not before the last one either: then the wall clock was set back since.
        is_too_soon = last_ms <= self._now.wall_ms < last_ms + interval_ms
        return last_ms == 0 or interval_ms == 0 or not is_too_soon

    def _spec(
        self,
        members: list[ConsumerGroupMember],
        old: ConsumerGroupMember,
        new: ConsumerGroupMember,
    ) -> GroupSpec:
        topics = self._image.topics_by_name
        counts: dict[bytes, int] = {}
        known: dict[tuple[str, ...], tuple[bytes, ...]] = {}
        specs = []
        for member in members:
            names = subscribed_topics(member, self.resolved)
            if names not in known:
                found = [topics[name] for name in names if name in topics]
                counts.update((topic.id, len(topic.partitions)) for topic in found)
                known[names] = tuple(sorted(topic.id for topic in found))
            if member.member_id == new.member_id:
                previous = self.group.target(new)
            else:
                previous = self.group.targets.get(member.member_id, NO_TARGET)
            specs.append(
                MemberSpec(
                    member.member_id, member.instance_id, member.rack_id, known[names], previous
                )
            )
        is_homogeneous = self._subscriptions(old, new).is_homogeneous
        has_racks = any(broker.rack is not None for broker in self._image.brokers.values())
        return GroupSpec(specs, counts, is_homogeneous, self._racks if has_racks else None)

    def _racks(self, topic_id: bytes, partition: int) -> list[str]:
        return partition_racks(self._image.topics_by_id[topic_id], partition, self._image)

    def reconcile(
        self,
        member: ConsumerGroupMember,
        target_epoch: int,
        target: Target,
        owned: Owned,
        has_subscription_changed: bool,
    ) -> ConsumerGroupMember:
        """The next step of the member; writes a record if it changes."""
        return all_steps(
            self.reconciling(member, target_epoch, target, owned, has_subscription_changed)
        )

    def reconciling(
        self,
        member: ConsumerGroupMember,
        target_epoch: int,
        target: Target,
        owned: Owned,
        has_subscription_changed: bool,
    ) -> Generator[None, None, ConsumerGroupMember]:
        if not has_subscription_changed and member.is_reconciled_to(target_epoch):
            return member
        step = Reconciliation(
            self.group, member, target_epoch, target, self.resolved, owned, self._image
        )
        moved = yield from step.next_member(has_subscription_changed)
        yield
        if moved != member:
            self.records.append(records.current_record(self.group.group_id, moved))
        return moved


def preferred_assignor(members: list[ConsumerGroupMember], settings: GroupSettings) -> str:
    """The assignor that most members ask for; ties go by ``group.consumer.assignors``."""
    votes = dict.fromkeys(settings.assignors, 0)
    for member in members:
        if member.server_assignor in votes:
            votes[member.server_assignor] += 1
    return max(votes, key=lambda name: votes[name])
