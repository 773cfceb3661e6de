"""Responses to requests that failed as a whole, for APIs that report an error with each item.

There may be no active controller, or its disk may be full. The response then repeats the error for
each item of the request, as in Kafka.
"""

from collections.abc import Callable
from typing import Any, Final

from moldau.errors import ApiError
from moldau.protocol.message import Message
from moldau.protocol.messages import alter_client_quotas as quotas
from moldau.protocol.messages import alter_partition_reassignments as reassignments
from moldau.protocol.messages import alter_user_scram_credentials as scram
from moldau.protocol.messages import create_acls, delete_acls
from moldau.protocol.messages import elect_leaders as elections
from moldau.protocol.messages import list_partition_reassignments as listed
from moldau.protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from moldau.protocol.messages.alter_configs import (
    AlterConfigsResourceResponse as AlteredResource,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def refusal(api_key: int, request: Any, version: int, error: ApiError) -> Message:
    """The response to ``request``, with ``error`` for each of its items."""
    response = _REFUSALS[api_key](request, error)
    if isinstance(response, elections.ElectLeadersResponse) and version == 0:
        # Only the items have an error.
        response.error_code = 0
    return response


def _topics_not_created(request: CreateTopicsRequest, error: ApiError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=each.name, error_code=error.code, error_message=error.message)
            for each in request.topics
        ]
    )


def _topics_not_deleted(request: DeleteTopicsRequest, error: ApiError) -> DeleteTopicsResponse:
    named = [(each.name, each.topic_id) for each in request.topics]
    # Versions up to 5 have names only.
    old = [(name, DeletableTopicResult().topic_id) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
            )
            for name, topic_id in [*named, *old]
        ]
    )


def _partitions_not_created(
    request: CreatePartitionsRequest, error: ApiError
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(
                name=each.name, error_code=error.code, error_message=error.message
            )
            for each in request.topics
        ]
    )


def _configs_not_altered(request: AlterConfigsRequest, error: ApiError) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlteredResource(
                error_code=error.code,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
    )


def _configs_not_changed(
    request: IncrementalAlterConfigsRequest, error: ApiError
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
    )


def _leaders_not_elected(
    request: elections.ElectLeadersRequest, error: ApiError
) -> elections.ElectLeadersResponse:
    return elections.ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            elections.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    elections.PartitionResult(
                        partition_id=index, error_code=error.code, error_message=error.message
                    )
                    for index in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )


def _not_reassigned(
    request: reassignments.AlterPartitionReassignmentsRequest, error: ApiError
) -> reassignments.AlterPartitionReassignmentsResponse:
    return reassignments.AlterPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        responses=[
            reassignments.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    reassignments.ReassignablePartitionResponse(
                        partition_index=partition.partition_index,
                        error_code=error.code,
                        error_message=error.message,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _reassignments_not_listed(
    request: listed.ListPartitionReassignmentsRequest, error: ApiError
) -> listed.ListPartitionReassignmentsResponse:
    return listed.ListPartitionReassignmentsResponse(
        error_code=error.code,
        error_message=error.message,
        topics=[
            listed.OngoingTopicReassignment(
                name=topic.name,
                partitions=[
                    listed.OngoingPartitionReassignment(partition_index=index)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or []
        ],
    )


def _quotas_not_altered(
    request: quotas.AlterClientQuotasRequest, error: ApiError
) -> quotas.AlterClientQuotasResponse:
    return quotas.AlterClientQuotasResponse(
        entries=[
            quotas.EntryDataResponse(
                error_code=error.code, error_message=error.message, entity=entry.entity
            )
            for entry in request.entries
        ]
    )


def _credentials_not_altered(
    request: scram.AlterUserScramCredentialsRequest, error: ApiError
) -> scram.AlterUserScramCredentialsResponse:
    deleted = [each.name for each in request.deletions]
    upserted = [each.name for each in request.upsertions]
    return scram.AlterUserScramCredentialsResponse(
        results=[
            scram.AlterUserScramCredentialsResult(
                user=name, error_code=error.code, error_message=error.message
            )
            for name in sorted({*deleted, *upserted})
        ]
    )


def _acls_not_created(
    request: create_acls.CreateAclsRequest, error: ApiError
) -> create_acls.CreateAclsResponse:
    return create_acls.CreateAclsResponse(
        results=[
            create_acls.AclCreationResult(error_code=error.code, error_message=error.message)
            for _ in request.creations
        ]
    )


def _acls_not_deleted(
    request: delete_acls.DeleteAclsRequest, error: ApiError
) -> delete_acls.DeleteAclsResponse:
    return delete_acls.DeleteAclsResponse(
        filter_results=[
            delete_acls.DeleteAclsFilterResult(error_code=error.code, error_message=error.message)
            for _ in request.filters
        ]
    )


_REFUSALS: Final[dict[int, Callable[[Any, ApiError], Message]]] = {
    CreateTopicsRequest.API_KEY: _topics_not_created,
    DeleteTopicsRequest.API_KEY: _topics_not_deleted,
    create_acls.CreateAclsRequest.API_KEY: _acls_not_created,
    delete_acls.DeleteAclsRequest.API_KEY: _acls_not_deleted,
    AlterConfigsRequest.API_KEY: _configs_not_altered,
    CreatePartitionsRequest.API_KEY: _partitions_not_created,
    elections.ElectLeadersRequest.API_KEY: _leaders_not_elected,
    IncrementalAlterConfigsRequest.API_KEY: _configs_not_changed,
    reassignments.AlterPartitionReassignmentsRequest.API_KEY: _not_reassigned,
    listed.ListPartitionReassignmentsRequest.API_KEY: _reassignments_not_listed,
    quotas.AlterClientQuotasRequest.API_KEY: _quotas_not_altered,
    scram.AlterUserScramCredentialsRequest.API_KEY: _credentials_not_altered,
}
