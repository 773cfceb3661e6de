"""The uniform assignor: all members get equally many partitions, and keep them.

This module handles groups whose members subscribe to the same topics; ``uniform_mixed`` handles
others. Balance comes first (counts differ by at most one), then stickiness (a partition moves
only if balance requires it), then racks: among otherwise equal partitions a member gets those
with a replica in its own rack (the idea of KIP-881; Kafka's assignor does not use racks yet).

Without racks the steps are Kafka's: members keep their partitions, lowest numbers first, up to
their quota; members below their quota get first the unassigned partitions, then those that others
gave up. Only the order of members and topics differs: it is by id, and that of a hash table in
Kafka.
"""

from moldau.group_coordinator.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from moldau.group_coordinator.consumer.assignors.uniform_mixed import assign_mixed


def assign_uniform(spec: GroupSpec) -> GroupAssignment:
    if not spec.members:
        return {}
    if spec.is_homogeneous:
        return _Homogeneous(spec).assign()
    return assign_mixed(spec)


class _Homogeneous:
    def __init__(self, spec: GroupSpec) -> None:
        self._spec = spec
        self._members = sorted(spec.members, key=lambda member: member.member_id)
        self._free = {
            topic_id: dict.fromkeys(range(spec.partition_counts[topic_id]))
            for topic_id in self._members[0].topic_ids
        }
        self._kept: dict[str, dict[bytes, list[int]]] = {}
        self._given_up: dict[tuple[bytes, int], None] = {}

    def assign(self) -> GroupAssignment:
        unfilled = self._keep()
        rest = self._to_give()
        if self._spec.racks is not None:
            rest = self._give_near(unfilled, rest)
        begin = 0
        for member, room in unfilled:
            for topic_id, partition in rest[begin : begin + room]:
                self._kept[member.member_id].setdefault(topic_id, []).append(partition)
            begin += room
        assert begin >= len(rest), "the quotas add up to the number of partitions"
        return {
            member_id: {
                topic_id: tuple(sorted(partitions))
                for topic_id, partitions in topics.items()
                if partitions
            }
            for member_id, topics in self._kept.items()
        }

    def _keep(self) -> list[tuple[MemberSpec, int]]:
        """Let members keep partitions up to their quota; returns the members with room left."""
        total = sum(len(partitions) for partitions in self._free.values())
        quota, extras = divmod(total, len(self._members))
        unfilled: list[tuple[MemberSpec, int]] = []
        for index, member in enumerate(self._members):
            has_extra = extras > 0
            room = quota + has_extra
            kept: dict[bytes, list[int]] = {}
            for topic_id, partition in self._candidates(member):
                if room == 0:
                    self._given_up[topic_id, partition] = None
                elif self._free[topic_id].pop(partition, True) is None:
                    kept.setdefault(topic_id, []).append(partition)
                    room -= 1
            # A member that does not use the extra partition leaves it to a later one that may own
            # it already, unless the remaining members are as many as the extras.
            if room > 0 and has_extra and len(self._members) - index > extras:
                room -= 1
                has_extra = False
            extras -= has_extra
            if room > 0:
                unfilled.append((member, room))
            self._kept[member.member_id] = kept
        return unfilled

    def _to_give(self) -> list[tuple[bytes, int]]:
        """The unassigned partitions, by topic and number, then those that were given up."""
        given_up = self._given_up
        unowned = [
            (topic_id, partition)
            for topic_id, partitions in self._free.items()
            for partition in partitions
            if (topic_id, partition) not in given_up
        ]
        # A partition that one member gave up may be kept by another that owned it too.
        return unowned + [each for each in given_up if each[1] in self._free[each[0]]]

    def _candidates(self, member: MemberSpec) -> list[tuple[bytes, int]]:
        """The previous partitions of the member, those in its rack first."""
        found = [
            (topic_id, partition)
            for topic_id, partitions in sorted(member.previous.items())
            if topic_id in self._free
            for partition in partitions
        ]
        racks = self._spec.racks
        if racks is not None and member.rack_id is not None:
            rack_id = member.rack_id
            found.sort(key=lambda candidate: rack_id not in racks(*candidate))
        return found

    def _give_near(
        self, unfilled: list[tuple[MemberSpec, int]], rest: list[tuple[bytes, int]]
    ) -> list[tuple[bytes, int]]:
        """Assign partitions to members in the racks of their replicas; returns the rest."""
        racks = self._spec.racks
        assert racks is not None
        waiting: dict[str, list[int]] = {}
        for position, (member, _) in enumerate(unfilled):
            if member.rack_id is not None:
                waiting.setdefault(member.rack_id, []).append(position)
        left: list[tuple[bytes, int]] = []
        for topic_id, partition in rest:
            near = next((rack for rack in racks(topic_id, partition) if waiting.get(rack)), None)
            if near is None:
                left.append((topic_id, partition))
                continue
            position = waiting[near][0]
            member, room = unfilled[position]
            self._kept[member.member_id].setdefault(topic_id, []).append(partition)
            unfilled[position] = (member, room - 1)
            if room == 1:
                waiting[near].pop(0)
        return left
