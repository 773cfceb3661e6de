"""The range assignor: each subscriber of a topic gets a contiguous range of partitions.

The order of members is the same for every topic, so topics with equal partition counts are
divided alike and can be joined partition by partition (KIP-848). Static members come first,
sorted by instance id, so that a restart does not change the assignment.
"""

from moldau.group_coordinator.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)


def assign_range(spec: GroupSpec) -> GroupAssignment:
    members = sorted(spec.members, key=_order)
    subscribers: dict[bytes, int] = {}
    for member in members:
        for topic_id in member.topic_ids:
            subscribers[topic_id] = subscribers.get(topic_id, 0) + 1
    # The number of assigned subscribers, and the start of the next range.
    served = dict.fromkeys(subscribers, 0)
    begins = dict.fromkeys(subscribers, 0)
    assignment: GroupAssignment = {}
    for member in members:
        mine: dict[bytes, tuple[int, ...]] = {}
        for topic_id in member.topic_ids:
            quota, extra = divmod(spec.partition_counts[topic_id], subscribers[topic_id])
            begin = begins[topic_id]
            end = begin + quota + (served[topic_id] < extra)
            served[topic_id] += 1
            begins[topic_id] = end
            if begin < end:
                mine[topic_id] = tuple(range(begin, end))
        assignment[member.member_id] = mine
    return assignment


def _order(member: MemberSpec) -> tuple[bool, str]:
    if member.instance_id is not None:
        return False, member.instance_id
    return True, member.member_id
