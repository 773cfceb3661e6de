"""DescribeGroups, ConsumerGroupDescribe, ListGroups and DeleteGroups.

A request may have groups of several shards. An unavailable shard is an error for its own groups
only. Each group is a separate step, so that a large request does not delay others.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.group_runtime import GroupRuntime
from moldau.broker.handlers.groups import (
    are_consumer_groups_enabled,
    check_group_id,
    group_context,
)
from moldau.broker.metadata_cache import MetadataCache
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
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
    from moldau.broker.committed_answer import CommittedAnswer
from moldau.broker.dispatch import RequestContext

# Every operation on a group, as a bit set: without an authorizer, all are allowed.
# READ 3, DELETE 6, DESCRIBE 8, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11.
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))

# What ListGroups can filter by, in lower case.
STATES: Final = frozenset(
    (
        "assigning",
        "completingrebalance",
        "dead",
        "empty",
        "preparingrebalance",
        "reconciling",
        "stable",
    )
)
TYPES: Final = frozenset(("classic", "consumer"))

# Deleting a group takes a few records; the groups of a step share one append.
DELETED_PER_STEP: Final = 50
# The approximate size of a member on the wire, without its variable parts.
MEMBER_BYTES: Final = 100

_Group = TypeVar("_Group")
_Described = TypeVar("_Described", DescribedGroup, consumer.DescribedGroup)


class GroupAdmin:
    """Describes, lists and deletes groups."""

    def __init__(
        self, groups: GroupRuntime, metadata: MetadataCache, configs: DynamicConfig
    ) -> None:
        self._groups = groups
        self._metadata = metadata
        self._configs = configs

    def describe(
        self, request: DescribeGroupsRequest, context: "RequestContext"
    ) -> DescribeGroupsResponse | Awaitable[DescribeGroupsResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._described(request, context, committed)))

    def _described(
        self,
        request: DescribeGroupsRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[DescribeGroupsResponse]:
        who = group_context(context)

        def describe_one(group_id: str) -> tuple[DescribedGroup, int]:
            group = self._described_group(group_id, who, committed)
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

    def _described_group(
        self, group_id: str, who: GroupRequestContext, committed: CommittedAnswer
    ) -> DescribedGroup:
        try:
            hosted = self._groups.shard_of(group_id)
            (group,) = hosted.shard.describe_groups([group_id], who)
        except ApiError as error:
            return DescribedGroup(group_id=group_id, error_code=error.code)
        refused = DescribedGroup(group_id=group_id)
        committed.depends_on(hosted, lambda code: _replace(group, refused, code))
        return group

    def describe_consumer_groups(
        self, request: consumer.ConsumerGroupDescribeRequest, context: "RequestContext"
    ) -> consumer.ConsumerGroupDescribeResponse | Awaitable[consumer.ConsumerGroupDescribeResponse]:
        committed = CommittedAnswer()
        steps = self._described_consumer_groups(request, context, committed)
        return committed.send(context.in_turns(steps))

    def _described_consumer_groups(
        self,
        request: consumer.ConsumerGroupDescribeRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[consumer.ConsumerGroupDescribeResponse]:

        def describe_one(group_id: str) -> tuple[consumer.DescribedGroup, int]:
            group = self._described_consumer_group(group_id, committed)
            if request.include_authorized_operations and not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
            return group, sum(map(_member_bytes, group.members))

        def refuse(group_id: str, code: int) -> consumer.DescribedGroup:
            return consumer.DescribedGroup(group_id=group_id, error_code=code)

        groups = yield from _each_described_once(request.group_ids, describe_one, refuse, context)
        return consumer.ConsumerGroupDescribeResponse(groups=groups)

    def _described_consumer_group(
        self, group_id: str, committed: CommittedAnswer
    ) -> consumer.DescribedGroup:
        try:
            if not are_consumer_groups_enabled(self._configs.broker, self._metadata.image):
                raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
            check_group_id(group_id)
            hosted = self._groups.shard_of(group_id)
            (group,) = hosted.shard.consumer_group_describe([group_id])
        except ApiError as error:
            return consumer.DescribedGroup(group_id=group_id, error_code=error.code)
        refused = consumer.DescribedGroup(group_id=group_id)
        committed.depends_on(hosted, lambda code: _replace(group, refused, code))
        return group

    def list_groups(
        self, request: ListGroupsRequest, context: "RequestContext"
    ) -> ListGroupsResponse | Awaitable[ListGroupsResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._listed(request, context, committed)))

    def _listed(
        self,
        request: ListGroupsRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[ListGroupsResponse]:
        """One shard per step."""
        groups: list[ListedGroup] = []
        states = yield from _meaningful(request.states_filter, STATES, _trimmed)
        types = yield from _meaningful(request.types_filter, TYPES, str.lower)
        for hosted in self._groups.all_shards():
            groups += hosted.shard.list_groups(states, types)
            committed.depends_on(hosted)
            yield
        context.expect(MEMBER_BYTES * len(groups))
        return ListGroupsResponse(groups=groups)

    def delete_groups(
        self, request: DeleteGroupsRequest, context: "RequestContext"
    ) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
        committed = CommittedAnswer()
        return committed.send(context.in_turns(self._deleted(request, context, committed)))

    def _deleted(
        self,
        request: DeleteGroupsRequest,
        context: "RequestContext",
        committed: CommittedAnswer,
    ) -> Steps[DeleteGroupsResponse]:
        """A few groups of one shard per step, with one batch in its log."""
        results: dict[str, DeletableGroupResult] = {}
        by_shard: dict[int, list[str]] = {}
        asked = yield from _distinct(request.groups_names)
        for group_id in asked:
            try:
                self._groups.shard_of(group_id)
                by_shard.setdefault(self._groups.partition_for(group_id), []).append(group_id)
            except ApiError as error:
                results[group_id] = DeletableGroupResult(group_id=group_id, error_code=error.code)
            yield
        who = group_context(context)
        for group_ids in by_shard.values():
            for begin in range(0, len(group_ids), DELETED_PER_STEP):
                some = group_ids[begin : begin + DELETED_PER_STEP]
                for result in self._delete(some, who, committed):
                    results[result.group_id] = result
                yield
        response = DeleteGroupsResponse()
        for group_id in asked:
            response.results.append(results[group_id])
            yield
        return response

    def _delete(
        self,
        group_ids: list[str],
        who: GroupRequestContext,
        committed: CommittedAnswer,
    ) -> list[DeletableGroupResult]:
        """Delete groups of one shard, which may have moved since they were looked up."""
        try:
            hosted = self._groups.shard_of(group_ids[0])
            response = hosted.decide(hosted.shard.handle_delete_groups, group_ids, who)
        except ApiError as error:
            code = error.code
            return [DeletableGroupResult(group_id=each, error_code=code) for each in group_ids]
        results: list[DeletableGroupResult] = response.results

        def refuse(code: ErrorCode) -> None:
            for each in results:
                each.error_code = code

        committed.depends_on(hosted, refuse)
        return results


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


def _replace(group: _Described, refused: _Described, code: ErrorCode) -> None:
    """Turn the description of a group into an error, without anything of its state."""
    refused.error_code = code
    for name in group.FIELDS:
        setattr(group, name, getattr(refused, name))


def _member_bytes(member: consumer.Member) -> int:
    """The approximate size of a member on the wire."""
    assigned = [*member.assignment.topic_partitions, *member.target_assignment.topic_partitions]
    topics = sum(len(each.topic_name) + 4 * len(each.partitions) + 16 for each in assigned)
    return MEMBER_BYTES + topics + sum(map(len, member.subscribed_topic_names))


def _distinct(names: list[str]) -> Steps[list[str]]:
    """The names without duplicates, in their order."""
    known: dict[str, None] = {}
    for name in names:
        known[name] = None
        yield
    return list(known)


def _trimmed(state: str) -> str:
    return state.strip().lower()


def _meaningful(
    filters: list[str], known: frozenset[str], normalized: Callable[[str], str]
) -> Steps[list[str]]:
    """Those filters that may match a group. If there is none, one that matches no group."""
    found: dict[str, None] = {}
    for each in filters:
        name = normalized(each)
        if name in known:
            found[name] = None
        yield
    return list(found) or filters[:1]
