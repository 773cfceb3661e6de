"""Requests that change the cluster: the controller decides, the metadata log makes it so."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.incremental_alter_configs import (
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


def create_topics(
    broker: "Broker", request: CreateTopicsRequest, context: "RequestContext"
) -> Awaitable[CreateTopicsResponse]:
    return broker.change(lambda: broker.controller.create_topics(request))


def delete_topics(
    broker: "Broker", request: DeleteTopicsRequest, context: "RequestContext"
) -> Awaitable[DeleteTopicsResponse]:
    return broker.change(lambda: broker.controller.delete_topics(request, context.api_version))


def create_partitions(
    broker: "Broker", request: CreatePartitionsRequest, context: "RequestContext"
) -> Awaitable[CreatePartitionsResponse]:
    return broker.change(lambda: broker.controller.create_partitions(request))


def alter_configs(
    broker: "Broker", request: AlterConfigsRequest, context: "RequestContext"
) -> Awaitable[AlterConfigsResponse]:
    return broker.change(lambda: broker.controller.alter_configs(request))


def incremental_alter_configs(
    broker: "Broker", request: IncrementalAlterConfigsRequest, context: "RequestContext"
) -> Awaitable[IncrementalAlterConfigsResponse]:
    return broker.change(lambda: broker.controller.incremental_alter_configs(request))


def elect_leaders(
    broker: "Broker", request: ElectLeadersRequest, context: "RequestContext"
) -> Awaitable[ElectLeadersResponse]:
    return broker.change(lambda: broker.controller.elect_leaders(request))


def alter_reassignments(
    broker: "Broker", request: AlterPartitionReassignmentsRequest, context: "RequestContext"
) -> Awaitable[AlterPartitionReassignmentsResponse]:
    return broker.change(lambda: broker.controller.alter_partition_reassignments(request))


def list_reassignments(
    broker: "Broker", request: ListPartitionReassignmentsRequest, context: "RequestContext"
) -> ListPartitionReassignmentsResponse:
    return broker.controller.list_partition_reassignments(request)


def update_features(
    broker: "Broker", request: UpdateFeaturesRequest, context: "RequestContext"
) -> Awaitable[UpdateFeaturesResponse]:
    return broker.change(lambda: broker.controller.update_features(request, context.api_version))
