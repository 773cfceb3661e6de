"""A member of a consumer group, as stored in the log: an immutable value.

An assignment has, for every partition, the epoch at which the member got it. A commit with an
older member epoch is valid if the member already owned the partition then.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moldau.protocol.records.group_coordinator import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)

# Epochs with which a member leaves; the second is for a static member that will return.
LEAVE_GROUP_EPOCH: Final = -1
LEAVE_GROUP_STATIC_EPOCH: Final = -2

# States of a member, as stored in the log.
STABLE: Final = 0
UNREVOKED_PARTITIONS: Final = 1
UNRELEASED_PARTITIONS: Final = 2
UNKNOWN_STATE: Final = 127

# Topic id -> partition -> epoch of the assignment.
Assigned = Mapping[bytes, Mapping[int, int]]
# Topic id -> partitions, ascending.
Target = Mapping[bytes, tuple[int, ...]]

NOTHING_ASSIGNED: Final[Assigned] = {}
NO_TARGET: Final[Target] = {}


class ConsumerGroupMember(NamedTuple):
    """``ConsumerGroupMemberMetadata`` and ``ConsumerGroupCurrentMemberAssignment``."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: int = STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    # Sorted, without duplicates, so that the order is deterministic.
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str = ""
    server_assignor: str | None = None
    assigned: Assigned = NOTHING_ASSIGNED
    pending_revocation: Assigned = NOTHING_ASSIGNED
    # Set for a member with the classic protocol (KIP-848, online migration).
    classic: ClassicMemberMetadata | None = None

    @property
    def uses_classic_protocol(self) -> bool:
        return self.classic is not None

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state == STABLE and self.member_epoch == epoch

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerGroupMember":
        return self._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=topic_names(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def with_current_assignment(
        self, value: ConsumerGroupCurrentMemberAssignmentValue
    ) -> "ConsumerGroupMember":
        known = value.state in (STABLE, UNREVOKED_PARTITIONS, UNRELEASED_PARTITIONS)
        return self._replace(
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=value.state if known else UNKNOWN_STATE,
            assigned=_assigned(value.assigned_partitions, value.member_epoch),
            pending_revocation=_assigned(value.partitions_pending_revocation, value.member_epoch),
        )

    def moved_to(
        self, epoch: int, state: int, assigned: Assigned, pending_revocation: Assigned
    ) -> "ConsumerGroupMember":
        """The next step of the reconciliation; the old epoch becomes the previous epoch."""
        return self._replace(
            member_epoch=epoch,
            previous_member_epoch=self.member_epoch,
            state=state,
            assigned=assigned,
            pending_revocation=pending_revocation,
        )


def topic_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(names)))


def assigned_since(target: Target, epoch: int) -> Assigned:
    return {topic_id: dict.fromkeys(partitions, epoch) for topic_id, partitions in target.items()}


def without_epochs(assigned: Assigned) -> Target:
    return {topic_id: tuple(sorted(partitions)) for topic_id, partitions in assigned.items()}


def _assigned(topics: Iterable[TopicPartitions], member_epoch: int) -> Assigned:
    """Records of Kafka before 4.2 have no assignment epochs: then the member's is used.

    A static member that left temporarily has epoch -2, which no assignment may have.
    """
    default = max(member_epoch, 0)
    assigned: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is not None and len(epochs) == len(topic.partitions):
            assigned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
        else:
            assigned[topic.topic_id] = dict.fromkeys(topic.partitions, default)
    return assigned
