"""DescribeQuorum: the voters of the metadata quorum, and their log ends (KIP-595, 853)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from moldau.broker.metadata_cache import QuorumSource
from moldau.errors import ApiError, ErrorCode
from moldau.ids import METADATA_TOPIC
from moldau.network.turns import Steps
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionDataResponse,
    TopicDataResponse,
)
from moldau.raft.description import encode_description
from moldau.raft.quorum import NOT_LEADER_MESSAGE

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

METADATA_PARTITION: Final = 0
UNKNOWN_PARTITION: Final = "This server does not host this topic-partition."


class Quorum:
    """Describes the metadata quorum, if this node leads it."""

    def __init__(self, source: QuorumSource) -> None:
        self._source = source

    def describe(
        self, request: DescribeQuorumRequest, context: "RequestContext"
    ) -> DescribeQuorumResponse | Awaitable[DescribeQuorumResponse]:
        if context.origin is not None:
            # In an envelope, the error tells the broker to ask another controller.
            return context.in_turns(self.described(request, context.api_version))
        return context.in_turns(self._answered(request, context.api_version))

    def _answered(
        self, request: DescribeQuorumRequest, version: int
    ) -> Steps[DescribeQuorumResponse]:
        """The response; that another node leads is an error of the partition, as in Kafka."""
        try:
            return (yield from self.described(request, version))
        except ApiError as error:
            return (yield from _refused(request, error.code, NOT_LEADER_MESSAGE))

    def described(
        self, request: DescribeQuorumRequest, version: int
    ) -> Steps[DescribeQuorumResponse]:
        """The response. Raises ApiError NOT_LEADER_OR_FOLLOWER: only the leader knows it all."""
        if not _is_metadata_partition(request):
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return (yield from _refused(request, unknown, UNKNOWN_PARTITION))
        description = self._source.describe()
        if description is None:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return encode_description(request, description, version)


def _is_metadata_partition(request: DescribeQuorumRequest) -> bool:
    """Whether the request has the metadata partition, and nothing else, as Kafka demands."""
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return False
    (topic,) = request.topics
    index = topic.partitions[0].partition_index
    return topic.topic_name == METADATA_TOPIC and index == METADATA_PARTITION


def _refused(
    request: DescribeQuorumRequest, code: ErrorCode, message: str
) -> Steps[DescribeQuorumResponse]:
    """Every partition has the same error. One per step."""
    response = DescribeQuorumResponse()
    for topic in request.topics:
        refused = TopicDataResponse(topic_name=topic.topic_name)
        response.topics.append(refused)
        yield
        for wanted in topic.partitions:
            refused.partitions.append(
                PartitionDataResponse(
                    partition_index=wanted.partition_index,
                    error_code=code,
                    error_message=message,
                )
            )
            yield
    return response
