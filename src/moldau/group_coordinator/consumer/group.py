"""The state of a consumer group, built from its records.

There are three kinds of epoch. The *group epoch* is incremented when members, subscriptions or
topics change. A *target assignment* is computed for it and gets the same epoch. Each member then
moves from its *member epoch* to that of the target, revoking partitions before others get them.
The owner of each partition follows from the current assignments of the members: no partition is
assigned while another member owns it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from moldau.coordinator.outcome import CoordinatorRecord
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

# The initial epoch of a group without records.
FIRST_EPOCH: Final = 1


class ConsumerGroup:
    """The state of one group. Only replay changes it, except ``metadata_fresh_until_ms``."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        # The number of records replayed: the group is unchanged as long as it is.
        self.revision = 0
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.members: dict[str, ConsumerGroupMember] = {}
        # Instance id -> member id.
        self.static_members: dict[str, str] = {}
        # -1 after its tombstone, which is written only when a group is deleted.
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.targets: dict[str, Target] = {}
        self.resolved: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata_record = False
        # Not persistent: when the topics are checked again although no change is
        # known. 0 means at the next heartbeat.
        self.metadata_fresh_until_ms = 0
        self._owners: dict[bytes, dict[int, int]] = {}
        self._subscriptions: Subscriptions | None = None

    # Derived facts

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

    @property
    def needs_join(self) -> bool:
        """Whether there is no target, and no member whose heartbeats would compute it.

        Classic members compute one when they join, which they do only if they are told to. (Kafka
        4.3.1 does not: if it must not become classic, the partitions of the last member of the new
        protocol stay unassigned when it leaves.)
        """
        return self.group_epoch > self.assignment_epoch and self.all_classic_except(())

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
        """The target of a member; a replacing static member has that of its predecessor."""
        member_id = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id, member_id)
        return self.targets.get(member_id, NO_TARGET)

    def is_held(self, topic_id: bytes, partition: int) -> bool:
        """Whether a member owns the partition, or has not revoked it yet."""
        owners = self._owners.get(topic_id)
        return owners is not None and partition in owners

    def waits_for_unreleased(self, member: ConsumerGroupMember) -> bool:
        """Whether partitions of the member's target are still owned by others."""
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
        """The members after ``new`` has replaced ``old``."""
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
        """Replay the tombstone of a current assignment: the member is being removed."""
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
        """Release partitions, except those that another member owns with another epoch."""
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
        """The tombstones that delete the group.

        ``replaced`` maps members to new ids under which records have just been written.
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
