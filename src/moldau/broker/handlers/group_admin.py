"""DescribeGroups, ConsumerGroupDescribe, ListGroups and DeleteGroups.

A request may have groups of several shards. An unavailable shard is an error for its own groups
only. Each group is a separate step, so that a large request does not delay others.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.handlers.groups import (
    are_consumer_groups_enabled,
    check_group_id,
    group_context,
)
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.outcome import GroupRequestContext
from moldau.network.turns import Steps, dropping
from moldau.protocol.messages import consumer_group_describe as consumer
from moldau.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from moldau.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from moldau.protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

# Every operation on a group, as a bit set: without an authorizer, all are allowed.
# READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))

# Deleting a group takes a few records; the groups of a step share one append.
DELETED_PER_STEP: Final = 50
# The approximate size of a member on the wire, without its variable parts.
MEMBER_BYTES: Final = 100

_Group = TypeVar("_Group")


def describe(
    broker: "Broker", request: DescribeGroupsRequest, context: "RequestContext"
) -> DescribeGroupsResponse | Awaitable[DescribeGroupsResponse]:
    return context.in_turns(_described(broker, request, context))


def _described(
    broker: "Broker", request: DescribeGroupsRequest, context: "RequestContext"
) -> Steps[DescribeGroupsResponse]:
    now_ms = broker.clock.now_ms()
    who = group_context(context)

    def describe_one(group_id: str) -> tuple[DescribedGroup, int]:
        group = _described_group(broker, group_id, who, now_ms)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        size_bytes = sum(
            MEMBER_BYTES + len(each.member_metadata) + len(each.member_assignment)
            for each in group.members
        )
        return group, size_bytes

    def refuse(group_id: str, code: int) -> DescribedGroup:
        return DescribedGroup(group_id=group_id, error_code=code)

    groups = yield from _each_described_once(request.groups, describe_one, refuse, context)
    return DescribeGroupsResponse(groups=groups)


def _each_described_once(
    group_ids: list[str],
    describe_one: Callable[[str], tuple[_Group, int]],
    refuse: Callable[[str, int], _Group],
    context: "RequestContext",
) -> Steps[list[_Group]]:
    """The description of each group, one per step; a duplicate is described once and used twice.

    ``describe_one`` also returns the approximate size on the wire. Groups that would make the
    response exceed ``MAX_ANSWER_BYTES`` are refused.
    """
    known: dict[str, tuple[_Group, int]] = {}
    groups: list[_Group] = []
    answer_bytes = 0
    for group_id in group_ids:
        found = known.get(group_id)
        if found is None:
            found = known[group_id] = describe_one(group_id)
        group, size_bytes = found
        if answer_bytes + size_bytes > MAX_ANSWER_BYTES:
            group = refuse(group_id, answer_too_large().code)
        else:
            answer_bytes += size_bytes
        groups.append(group)
        yield
    context.expect(answer_bytes)
    yield from dropping(known)
    return groups


def _described_group(
    broker: "Broker", group_id: str, who: GroupRequestContext, now_ms: int
) -> DescribedGroup:
    try:
        shard = broker.groups.shard_of(group_id).shard
        (group,) = shard.describe_groups([group_id], who, now_ms)
    except ApiError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return group


def describe_consumer_groups(
    broker: "Broker", request: consumer.ConsumerGroupDescribeRequest, context: "RequestContext"
) -> consumer.ConsumerGroupDescribeResponse | Awaitable[consumer.ConsumerGroupDescribeResponse]:
    return context.in_turns(_described_consumer_groups(broker, request, context))


def _described_consumer_groups(
    broker: "Broker", request: consumer.ConsumerGroupDescribeRequest, context: "RequestContext"
) -> Steps[consumer.ConsumerGroupDescribeResponse]:
    now_ms = broker.clock.now_ms()

    def describe_one(group_id: str) -> tuple[consumer.DescribedGroup, int]:
        group = _described_consumer_group(broker, group_id, now_ms)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
        return group, sum(map(_member_bytes, group.members))

    def refuse(group_id: str, code: int) -> consumer.DescribedGroup:
        return consumer.DescribedGroup(group_id=group_id, error_code=code)

    groups = yield from _each_described_once(request.group_ids, describe_one, refuse, context)
    return consumer.ConsumerGroupDescribeResponse(groups=groups)


def _described_consumer_group(
    broker: "Broker", group_id: str, now_ms: int
) -> consumer.DescribedGroup:
    try:
        if not are_consumer_groups_enabled(broker, broker.image):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        check_group_id(group_id)
        shard = broker.groups.shard_of(group_id).shard
        (group,) = shard.consumer_group_describe([group_id], now_ms)
    except ApiError as error:
        return consumer.DescribedGroup(group_id=group_id, error_code=error.code)
    return group


def _member_bytes(member: consumer.Member) -> int:
    """The approximate size of a member on the wire."""
    assigned = [*member.assignment.topic_partitions, *member.target_assignment.topic_partitions]
    topics = sum(len(each.topic_name) + 4 * len(each.partitions) + 16 for each in assigned)
    return MEMBER_BYTES + topics + sum(map(len, member.subscribed_topic_names))


def list_groups(
    broker: "Broker", request: ListGroupsRequest, context: "RequestContext"
) -> ListGroupsResponse | Awaitable[ListGroupsResponse]:
    return context.in_turns(_listed(broker, request, context))


def _listed(
    broker: "Broker", request: ListGroupsRequest, context: "RequestContext"
) -> Steps[ListGroupsResponse]:
    """One shard per step."""
    groups: list[ListedGroup] = []
    for hosted in broker.groups.all_shards():
        groups += hosted.shard.list_groups(request.states_filter, request.types_filter)
        yield
    context.expect(MEMBER_BYTES * len(groups))
    return ListGroupsResponse(groups=groups)


def delete_groups(
    broker: "Broker", request: DeleteGroupsRequest, context: "RequestContext"
) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
    return context.in_turns(_deleted(broker, request, context))


def _deleted(
    broker: "Broker", request: DeleteGroupsRequest, context: "RequestContext"
) -> Steps[DeleteGroupsResponse]:
    """A few groups of one shard per step, with one batch in its log."""
    results: dict[str, DeletableGroupResult] = {}
    by_shard: dict[int, list[str]] = {}
    for group_id in dict.fromkeys(request.groups_names):
        try:
            broker.groups.shard_of(group_id)
            by_shard.setdefault(broker.groups.partition_for(group_id), []).append(group_id)
        except ApiError as error:
            results[group_id] = DeletableGroupResult(group_id=group_id, error_code=error.code)
        yield
    who = group_context(context)
    for group_ids in by_shard.values():
        for begin in range(0, len(group_ids), DELETED_PER_STEP):
            for result in _delete(broker, group_ids[begin : begin + DELETED_PER_STEP], who):
                results[result.group_id] = result
            yield
    return DeleteGroupsResponse(
        results=[results[group_id] for group_id in dict.fromkeys(request.groups_names)]
    )


def _delete(
    broker: "Broker", group_ids: list[str], who: GroupRequestContext
) -> list[DeletableGroupResult]:
    """Delete groups of one shard, which may have moved since they were looked up."""
    try:
        hosted = broker.groups.shard_of(group_ids[0])
        response = hosted.run(hosted.shard.handle_delete_groups, group_ids, who)
        assert isinstance(response, DeleteGroupsResponse), "a deletion is answered at once"
    except ApiError as error:
        code = error.code
        return [DeletableGroupResult(group_id=each, error_code=code) for each in group_ids]
    return response.results
