"""The input and output of assignors."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

# Topic id -> partitions, ascending.
Partitions = Mapping[bytes, tuple[int, ...]]


class MemberSpec(NamedTuple):
    """A member: its subscribed existing topics, sorted by id, and its previous target."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    topic_ids: tuple[bytes, ...]
    previous: Partitions


class GroupSpec(NamedTuple):
    """A group to compute an assignment for.

    ``racks`` returns the racks of a partition's replicas; None if no broker has a rack.
    """

    members: Sequence[MemberSpec]
    # Of every topic with a subscriber.
    partition_counts: Mapping[bytes, int]
    is_homogeneous: bool
    racks: Callable[[bytes, int], Sequence[str]] | None = None


# Member id -> target assignment, for every member.
GroupAssignment = dict[str, Partitions]
Assignor = Callable[[GroupSpec], GroupAssignment]
