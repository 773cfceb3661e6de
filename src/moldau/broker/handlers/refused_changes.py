"""Responses to changes whose records could not be written to the metadata log.

The controller has accepted the change, but the disk of the metadata is full or has failed. These
responses have no top-level error, so the error is repeated for each item of the request.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from moldau.errors import ApiError
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

Response = TypeVar("Response")


async def or_refused(
    change: Awaitable[Response], refusal: Callable[[ApiError], Response]
) -> Response:
    """The response of ``change``, or ``refusal(error)`` if it raises."""
    try:
        return await change
    except ApiError as error:
        return refusal(error)


def topics_not_created(request: CreateTopicsRequest, error: ApiError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=each.name, error_code=error.code, error_message=error.message)
            for each in request.topics
        ]
    )


def topics_not_deleted(request: DeleteTopicsRequest, error: ApiError) -> DeleteTopicsResponse:
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


def partitions_not_created(
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


def configs_not_altered(request: AlterConfigsRequest, error: ApiError) -> AlterConfigsResponse:
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


def configs_not_changed(
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
