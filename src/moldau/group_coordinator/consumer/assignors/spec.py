"""What an assignor is told, and what it answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# Topic id -> partitions, ascending.
Partitions = Mapping[bytes, tuple[int, ...]]


class MemberSpec(NamedTuple):
    """A member: what it wants (topics that exist, sorted by id) and what it was meant to have."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    topic_ids: tuple[bytes, ...]
    previous: Partitions


class GroupSpec(NamedTuple):
    """A group to be assigned.

    ``racks`` gives the racks of a partition's replicas; None if no broker has a rack.
    """

    members: Sequence[MemberSpec]
    # Of every topic that some member wants.
    partition_counts: Mapping[bytes, int]
    is_homogeneous: bool
    racks: Callable[[bytes, int], Sequence[str]] | None = None


# Member id -> what it should have. Every member is in it.
GroupAssignment = dict[str, Partitions]
Assignor = Callable[[GroupSpec], GroupAssignment]
