"""DescribeGroups, ConsumerGroupDescribe, ListGroups, DeleteGroups: looking at groups, and the end.

A request may name groups of many partitions; each is asked of its own shard, and one that
is not to be had does not keep the others from being answered.
"""

from typing import TYPE_CHECKING, Final

from moldau.broker.handlers.groups import (
    are_consumer_groups_enabled,
    check_group_id,
    group_context,
)
from moldau.errors import ApiError, ErrorCode
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
    from moldau.broker.group_shard import HostedShard

# Every operation that exists for a group, as a bit set: there is no authorizer to say less.
# READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))


def describe(
    broker: "Broker", request: DescribeGroupsRequest, context: "RequestContext"
) -> DescribeGroupsResponse:
    now_ms = broker.clock.now_ms()
    who = group_context(context)
    groups: list[DescribedGroup] = []
    for group_id in request.groups:
        try:
            shard = broker.groups.shard_of(group_id).shard
            groups += shard.describe_groups([group_id], who, now_ms)
        except ApiError as error:
            groups.append(DescribedGroup(group_id=group_id, error_code=error.code))
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def describe_consumer_groups(
    broker: "Broker", request: consumer.ConsumerGroupDescribeRequest, context: "RequestContext"
) -> consumer.ConsumerGroupDescribeResponse:
    is_enabled = are_consumer_groups_enabled(broker, broker.image)
    now_ms = broker.clock.now_ms()
    groups: list[consumer.DescribedGroup] = []
    for group_id in request.group_ids:
        try:
            if not is_enabled:
                raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
            check_group_id(group_id)
            shard = broker.groups.shard_of(group_id).shard
            groups += shard.consumer_group_describe([group_id], now_ms)
        except ApiError as error:
            groups.append(consumer.DescribedGroup(group_id=group_id, error_code=error.code))
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return consumer.ConsumerGroupDescribeResponse(groups=groups)


def list_groups(
    broker: "Broker", request: ListGroupsRequest, context: "RequestContext"
) -> ListGroupsResponse:
    groups: list[ListedGroup] = []
    for hosted in broker.groups.all_shards():
        groups += hosted.shard.list_groups(request.states_filter, request.types_filter)
    return ListGroupsResponse(groups=groups)


def delete_groups(
    broker: "Broker", request: DeleteGroupsRequest, context: "RequestContext"
) -> DeleteGroupsResponse:
    results: dict[str, DeletableGroupResult] = {}
    by_shard: dict[int, tuple[HostedShard, list[str]]] = {}
    for group_id in dict.fromkeys(request.groups_names):
        try:
            hosted = broker.groups.shard_of(group_id)
            by_shard.setdefault(id(hosted), (hosted, []))[1].append(group_id)
        except ApiError as error:
            results[group_id] = DeletableGroupResult(group_id=group_id, error_code=error.code)
    who = group_context(context)
    for hosted, group_ids in by_shard.values():
        try:
            response = hosted.run(hosted.shard.handle_delete_groups, group_ids, who)
            assert isinstance(response, DeleteGroupsResponse), "a deletion is answered at once"
            answers = response.results
        except ApiError as error:
            answers = [
                DeletableGroupResult(group_id=group_id, error_code=error.code)
                for group_id in group_ids
            ]
        results.update((answer.group_id, answer) for answer in answers)
    return DeleteGroupsResponse(
        results=[results[group_id] for group_id in dict.fromkeys(request.groups_names)]
    )
