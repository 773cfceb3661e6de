"""DescribeQuorum: the voters of the metadata quorum, and their log ends (KIP-595, 853)."""

from typing import TYPE_CHECKING, Final

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC, NO_UUID
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionDataResponse,
    ReplicaState,
    TopicDataResponse,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

METADATA_PARTITION: Final = 0
FIRST_VERSION_WITH_TIMES: Final = 1
FIRST_VERSION_WITH_NODES: Final = 2
UNKNOWN_PARTITION: Final = "This server does not host this topic-partition."


def describe(
    broker: "Broker", request: DescribeQuorumRequest, context: "RequestContext"
) -> DescribeQuorumResponse:
    version = context.api_version
    response = DescribeQuorumResponse()
    for topic in request.topics:
        described = TopicDataResponse(topic_name=topic.topic_name)
        for wanted in topic.partitions:
            index = wanted.partition_index
            if topic.topic_name == METADATA_TOPIC and index == METADATA_PARTITION:
                described.partitions.append(_quorum(broker, version))
                if version >= FIRST_VERSION_WITH_NODES:
                    response.nodes = _voters_addresses(broker)
            else:
                described.partitions.append(
                    PartitionDataResponse(
                        partition_index=index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message=UNKNOWN_PARTITION,
                    )
                )
        response.topics.append(described)
    return response


def _quorum(broker: "Broker", version: int) -> PartitionDataResponse:
    quorum = broker.metadata.quorum
    # The only voter is the leader, which is always caught up.
    now_ms = broker.clock.now_ms() if version >= FIRST_VERSION_WITH_TIMES else -1
    return PartitionDataResponse(
        partition_index=METADATA_PARTITION,
        leader_id=quorum.leader_id,
        leader_epoch=quorum.leader_epoch,
        high_watermark=quorum.high_watermark,
        current_voters=[
            ReplicaState(
                replica_id=voter.id,
                replica_directory_id=(
                    voter.directory_id if version >= FIRST_VERSION_WITH_NODES else NO_UUID
                ),
                log_end_offset=quorum.log_end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
            for voter in quorum.voters.voters.values()
        ],
    )


def _voters_addresses(broker: "Broker") -> list[Node]:
    return [
        Node(
            node_id=voter.id,
            listeners=[
                Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port)
                for endpoint in voter.endpoints
            ],
        )
        for voter in broker.metadata.quorum.voters.voters.values()
    ]
