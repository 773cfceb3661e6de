"""A consumer group as its records tell it, and what follows from them.

Three epochs move one after the other. The *group epoch* grows when members, subscriptions
or topics change. A *target assignment* is computed for it and takes its epoch. Each member
then walks from its own *member epoch* to the target's, giving partitions up before others
get them. Which partition is held by whom is derived from the members' current assignments:
no partition is handed out while anybody holds it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer import consumer_records as records
from moldau.group_coordinator.consumer.member import (
    LEAVE_GROUP_EPOCH,
    NO_TARGET,
    NOTHING_ASSIGNED,
    UNRELEASED_PARTITIONS,
    Assigned,
    ConsumerGroupMember,
    Target,
)
from moldau.group_coordinator.consumer.subscription import (
    ResolvedRegex,
    Subscriptions,
    subscriptions_of,
)
from moldau.group_coordinator.outcome import CoordinatorRecord
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
GROUP_STABLE: Final = "Stable"

# What a group that nothing is written about begins with.
FIRST_EPOCH: Final = 1


class ConsumerGroup:
    """State of one group. Only a replay changes it, but for ``metadata_fresh_until_ms``."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        # Instance id -> member id.
        self.static_members: dict[str, str] = {}
        # -1 after its tombstone, which only a deleted group leaves behind.
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.targets: dict[str, Target] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata_record = False
        # Not written down: when the topics are looked at again although nothing seems to
        # have happened. 0 asks for it at the next heartbeat.
        self.metadata_fresh_until_ms = 0
        self._owners: dict[bytes, dict[int, int]] = {}
        self._subscriptions: Subscriptions | None = None

    # What follows from the state

    @property
    def state(self) -> str:
        if not self.members:
            return EMPTY
        if self.group_epoch > self.assignment_epoch:
            return ASSIGNING
        epoch = self.assignment_epoch
        if all(member.is_reconciled_to(epoch) for member in self.members.values()):
            return GROUP_STABLE
        return RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def subscriptions(self) -> Subscriptions:
        if self._subscriptions is None:
            self._subscriptions = subscriptions_of(self.members.values(), self.resolved)
        return self._subscriptions

    @property
    def classic_member_count(self) -> int:
        return sum(member.uses_classic_protocol for member in self.members.values())

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Raises ApiError UNKNOWN_MEMBER_ID."""
        member = self.members.get(member_id)
        if member is None:
            message = f"Member {member_id} is not a member of group {self.group_id}."
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        return member

    def static_member(self, instance_id: str | None) -> ConsumerGroupMember | None:
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def target(self, member: ConsumerGroupMember) -> Target:
        """A static member that replaces another one has the other's target."""
        member_id = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id, member_id)
        return self.targets.get(member_id, NO_TARGET)

    def is_held(self, topic_id: bytes, partition: int) -> bool:
        """Whether some member has the partition, or has been asked for it and not given it."""
        owners = self._owners.get(topic_id)
        return owners is not None and partition in owners

    def waits_for_unreleased(self, member: ConsumerGroupMember) -> bool:
        """Whether partitions meant for the member are still held by others."""
        if member.state != UNRELEASED_PARTITIONS:
            return False
        for topic_id, partitions in self.targets.get(member.member_id, NO_TARGET).items():
            assigned = member.assigned.get(topic_id, {})
            for partition in partitions:
                if partition not in assigned and self.is_held(topic_id, partition):
                    return True
        return False

    def members_with(
        self, old: ConsumerGroupMember | None, new: ConsumerGroupMember | None
    ) -> list[ConsumerGroupMember]:
        """The members as they will be when ``new`` has taken the place of ``old``."""
        gone = {old.member_id} if old is not None else set()
        if new is not None:
            gone.add(new.member_id)
            if new.instance_id is not None:
                gone.add(self.static_members.get(new.instance_id, new.member_id))
        members = [member for name, member in self.members.items() if name not in gone]
        if new is not None:
            members.append(new)
        return members

    def all_classic_except(self, leaving: Iterable[ConsumerGroupMember]) -> bool:
        gone = {member.member_id for member in leaving}
        return all(
            member.uses_classic_protocol
            for member_id, member in self.members.items()
            if member_id not in gone
        )

    # Replay

    def update_member(self, member: ConsumerGroupMember) -> None:
        old = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if (
            old is None
            or old.subscribed_topic_names != member.subscribed_topic_names
            or old.subscribed_topic_regex != member.subscribed_topic_regex
        ):
            self._subscriptions = None
        if old is not None:
            self._release(old)
        self._hold(member.assigned, member.member_epoch)
        self._hold(member.pending_revocation, member.member_epoch)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._subscriptions = None
        self._release(member)
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def forget_assignment(self, member_id: str) -> None:
        """What the tombstone of a current assignment says: the member is about to go."""
        member = self.members.get(member_id)
        if member is not None:
            self.update_member(
                member._replace(
                    member_epoch=LEAVE_GROUP_EPOCH,
                    previous_member_epoch=LEAVE_GROUP_EPOCH,
                    assigned=NOTHING_ASSIGNED,
                    pending_revocation=NOTHING_ASSIGNED,
                )
            )

    def update_regex(self, regex: str, resolved: ResolvedRegex | None) -> None:
        self._subscriptions = None
        if resolved is None:
            self.resolved.pop(regex, None)
        else:
            self.resolved[regex] = resolved

    def _hold(self, assigned: Assigned, epoch: int) -> None:
        for topic_id, partitions in assigned.items():
            owners = self._owners.setdefault(topic_id, {})
            for partition in partitions:
                if partition not in owners or owners[partition] < epoch:
                    owners[partition] = epoch

    def _release(self, member: ConsumerGroupMember) -> None:
        """A partition that another member holds at another epoch stays that member's."""
        epoch = member.member_epoch
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                owners = self._owners.get(topic_id)
                if owners is None:
                    continue
                for partition in partitions:
                    if owners.get(partition) == epoch:
                        del owners[partition]
                if not owners:
                    del self._owners[topic_id]

    # Records and descriptions

    def tombstones(self, replaced: Mapping[str, str] | None = None) -> list[CoordinatorRecord]:
        """Everything that must be written for the group to be gone.

        ``replaced`` names members under whose new id records were written just before.
        """
        new_ids = {} if replaced is None else replaced
        member_ids = [new_ids.get(member_id, member_id) for member_id in self.members]
        group_id = self.group_id
        found = [records.current_tombstone(group_id, member_id) for member_id in member_ids]
        found += [records.target_tombstone(group_id, member_id) for member_id in member_ids]
        found.append(records.target_epoch_tombstone(group_id))
        found += [records.member_tombstone(group_id, member_id) for member_id in member_ids]
        found += [records.regex_tombstone(group_id, regex) for regex in self.resolved]
        found.append(records.partition_metadata_tombstone(group_id))
        found.append(records.group_tombstone(group_id))
        return found

    def describe(self, assignor: str, image: MetadataImage) -> DescribedGroup:
        return DescribedGroup(
            group_id=self.group_id,
            group_state=self.state,
            group_epoch=self.group_epoch,
            assignment_epoch=self.assignment_epoch,
            assignor_name=assignor,
            members=[self._describe_member(member, image) for member in self.members.values()],
        )

    def _describe_member(self, member: ConsumerGroupMember, image: MetadataImage) -> Member:
        held: dict[bytes, list[int]] = {}
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                held.setdefault(topic_id, []).extend(partitions)
        target = self.targets.get(member.member_id, NO_TARGET)
        return Member(
            member_id=member.member_id,
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            member_epoch=member.member_epoch,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=list(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            assignment=_described(held, image),
            target_assignment=_described(target, image),
            member_type=0 if member.uses_classic_protocol else 1,
        )


def _described(partitions: Mapping[bytes, Iterable[int]], image: MetadataImage) -> Assignment:
    topics = []
    for topic_id in sorted(partitions):
        topic = image.topics_by_id.get(topic_id)
        if topic is not None:
            topics.append(
                TopicPartitions(
                    topic_id=topic_id,
                    topic_name=topic.name,
                    partitions=sorted(partitions[topic_id]),
                )
            )
    return Assignment(topic_partitions=topics)
