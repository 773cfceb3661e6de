"""Requests that change the cluster: the controller decides, the metadata log commits."""

import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker import log_levels
from moldau.broker.handlers.refused_changes import (
    configs_not_altered,
    configs_not_changed,
    or_refused,
    partitions_not_created,
    topics_not_created,
    topics_not_deleted,
)
from moldau.errors import ApiError
from moldau.metadata.image import BROKER_LOGGER_RESOURCE
from moldau.network.turns import Steps
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
)
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from moldau.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from moldau.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

ENFORCED_QUOTAS: Final = frozenset(("connection_creation_rate",))
# The number of quotas in a warning, at most; only four are known but not enforced.
REPORTED_QUOTAS: Final = 10

logger = logging.getLogger(__name__)


def create_topics(
    broker: "Broker", request: CreateTopicsRequest, context: "RequestContext"
) -> Awaitable[CreateTopicsResponse]:
    change = broker.change_in_turns(lambda: broker.controller.creating_topics(request))
    return or_refused(change, lambda error: topics_not_created(request, error))


def delete_topics(
    broker: "Broker", request: DeleteTopicsRequest, context: "RequestContext"
) -> Awaitable[DeleteTopicsResponse]:
    controller, version = broker.controller, context.api_version
    change = broker.change_in_turns(lambda: controller.deleting_topics(request, version))
    return or_refused(change, lambda error: topics_not_deleted(request, error))


def create_partitions(
    broker: "Broker", request: CreatePartitionsRequest, context: "RequestContext"
) -> Awaitable[CreatePartitionsResponse]:
    change = broker.change_in_turns(lambda: broker.controller.creating_partitions(request))
    return or_refused(change, lambda error: partitions_not_created(request, error))


def alter_configs(
    broker: "Broker", request: AlterConfigsRequest, context: "RequestContext"
) -> Awaitable[AlterConfigsResponse]:
    change = broker.change_in_turns(lambda: broker.controller.altering_configs(request))
    return or_refused(change, lambda error: configs_not_altered(request, error))


def incremental_alter_configs(
    broker: "Broker", request: IncrementalAlterConfigsRequest, context: "RequestContext"
) -> Awaitable[IncrementalAlterConfigsResponse]:
    change = _alter_incrementally(broker, request)
    return or_refused(change, lambda error: configs_not_changed(request, error))


async def _alter_incrementally(
    broker: "Broker", request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change log levels in this broker; the controller decides on everything else."""
    others = await broker.turns.complete(_without_loggers(request))
    rest = request
    if len(others) < len(request.resources):
        rest = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
    controller = broker.controller
    response = await broker.change_in_turns(lambda: controller.incrementally_altering_configs(rest))
    if rest is not request:
        response = await broker.turns.complete(_with_loggers(broker, request, response))
    return response


def _without_loggers(request: IncrementalAlterConfigsRequest) -> Steps[list[AlterConfigsResource]]:
    others = []
    for each in request.resources:
        if each.resource_type != BROKER_LOGGER_RESOURCE:
            others.append(each)
        yield
    return others


def _with_loggers(
    broker: "Broker",
    request: IncrementalAlterConfigsRequest,
    decided: IncrementalAlterConfigsResponse,
) -> Steps[IncrementalAlterConfigsResponse]:
    answers = iter(decided.responses)
    response = IncrementalAlterConfigsResponse()
    for each in request.resources:
        response.responses.append(
            _alter_loggers(broker, each, request.validate_only)
            if each.resource_type == BROKER_LOGGER_RESOURCE
            else next(answers)
        )
        yield
    return response


def _alter_loggers(
    broker: "Broker", resource: AlterConfigsResource, validate_only: bool
) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
    try:
        log_levels.check(resource.resource_name, broker.node_id, changes)
    except ApiError as error:
        response.error_code = error.code
        response.error_message = error.message
    else:
        if not validate_only:
            log_levels.apply(changes)
    return response


def elect_leaders(
    broker: "Broker", request: ElectLeadersRequest, context: "RequestContext"
) -> Awaitable[ElectLeadersResponse]:
    return broker.change_in_turns(lambda: broker.controller.electing_leaders(request))


def alter_reassignments(
    broker: "Broker", request: AlterPartitionReassignmentsRequest, context: "RequestContext"
) -> Awaitable[AlterPartitionReassignmentsResponse]:
    return broker.change_in_turns(
        lambda: broker.controller.altering_partition_reassignments(request)
    )


def list_reassignments(
    broker: "Broker", request: ListPartitionReassignmentsRequest, context: "RequestContext"
) -> ListPartitionReassignmentsResponse:
    return broker.controller.list_partition_reassignments(request)


def update_features(
    broker: "Broker", request: UpdateFeaturesRequest, context: "RequestContext"
) -> Awaitable[UpdateFeaturesResponse]:
    version = context.api_version
    kraft_version = broker.metadata.quorum.kraft_version
    return broker.change(lambda: broker.controller.update_features(request, version, kraft_version))


def alter_client_quotas(
    broker: "Broker", request: AlterClientQuotasRequest, context: "RequestContext"
) -> Awaitable[AlterClientQuotasResponse]:
    return _alter_client_quotas(broker, request)


async def _alter_client_quotas(
    broker: "Broker", request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    kept = await broker.turns.complete(_not_enforced(request))
    if kept and not request.validate_only:
        logger.warning("quotas are stored but not enforced by this broker: %s", ", ".join(kept))
    controller = broker.controller
    return await broker.change_in_turns(lambda: controller.altering_client_quotas(request))


def _not_enforced(request: AlterClientQuotasRequest) -> Steps[list[str]]:
    """The quotas in the request that are stored but not enforced, including unknown ones."""
    kept: set[str] = set()
    for entry in request.entries:
        kept.update(op.key for op in entry.ops if not op.remove)
        yield
    return sorted(kept - ENFORCED_QUOTAS)[:REPORTED_QUOTAS]


def describe_client_quotas(
    broker: "Broker", request: DescribeClientQuotasRequest, context: "RequestContext"
) -> DescribeClientQuotasResponse:
    return broker.controller.describe_client_quotas(request)


def alter_user_scram_credentials(
    broker: "Broker", request: AlterUserScramCredentialsRequest, context: "RequestContext"
) -> Awaitable[AlterUserScramCredentialsResponse]:
    return broker.change_in_turns(
        lambda: broker.controller.altering_user_scram_credentials(request)
    )


def describe_user_scram_credentials(
    broker: "Broker", request: DescribeUserScramCredentialsRequest, context: "RequestContext"
) -> DescribeUserScramCredentialsResponse | Awaitable[DescribeUserScramCredentialsResponse]:
    return context.in_turns(broker.controller.describe_user_scram_credentials(request))
