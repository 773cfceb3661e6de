"""Administration of the nodes of a cluster: brokers, and the controllers that form its quorum."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster, raise_for
from moldau.ids import METADATA_TOPIC
from moldau.protocol.messages import add_raft_voter
from moldau.protocol.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ReplicaState,
    TopicData,
)
from moldau.protocol.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from moldau.protocol.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

_FIRST_VERSION_WITH_FENCED: Final = 2
_DESCRIBE_CLUSTER_KEY: Final = 60


class RegisteredBroker(NamedTuple):
    """A broker that is registered with the controller; ``is_fenced`` if it is not in service."""

    node_id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


class QuorumReplica(NamedTuple):
    """A node that replicates the metadata log; times are in milliseconds, or -1."""

    node_id: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class NodeEndpoint(NamedTuple):
    """An address of a controller."""

    listener: str
    host: str
    port: int


class QuorumDescription(NamedTuple):
    """The metadata quorum, as its leader (the active controller) sees it."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    endpoints: dict[int, list[NodeEndpoint]]


class NodeAdmin:
    """Administers brokers and controllers; requests are sent to brokers, which forward them."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def brokers(self) -> list[RegisteredBroker]:
        """All registered brokers, sorted by id; a broker before Kafka 4.0 omits fenced ones."""
        version = self.cluster.connection().version_of(_DESCRIBE_CLUSTER_KEY)
        request = DescribeClusterRequest()
        if version >= _FIRST_VERSION_WITH_FENCED:
            request.include_fenced_brokers = True
        response = self.cluster.request(request, DescribeClusterResponse)
        raise_for(response.error_code, response.error_message, "cluster")
        return sorted(
            RegisteredBroker(each.broker_id, each.host, each.port, each.rack, each.is_fenced)
            for each in response.brokers
        )

    def unregister_broker(self, node_id: int) -> None:
        """Remove the registration of a broker that does not come back."""
        response = self.cluster.request(UnregisterBrokerRequest(node_id), UnregisterBrokerResponse)
        raise_for(response.error_code, response.error_message, f"broker {node_id}")

    def describe_quorum(self) -> QuorumDescription:
        """The leader, voters and observers of the metadata log."""
        request = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [PartitionData(0)])])
        response = self.cluster.request(request, DescribeQuorumResponse)
        raise_for(response.error_code, response.error_message, "quorum")
        partition = response.topics[0].partitions[0]
        raise_for(partition.error_code, partition.error_message, "quorum")
        return QuorumDescription(
            partition.leader_id,
            partition.leader_epoch,
            partition.high_watermark,
            _replicas(partition.current_voters),
            _replicas(partition.observers),
            {
                node.node_id: [
                    NodeEndpoint(each.name, each.host, each.port) for each in node.listeners
                ]
                for node in response.nodes
            },
        )

    def add_voter(
        self, node_id: int, directory_id: bytes, endpoints: Sequence[NodeEndpoint]
    ) -> None:
        """Add a controller to the voters (KIP-853); it must be replicating the metadata log."""
        request = AddRaftVoterRequest(
            cluster_id=self.cluster.cluster_id,
            timeout_ms=int(self.cluster.timeout_s * 1000),
            voter_id=node_id,
            voter_directory_id=directory_id,
            listeners=[add_raft_voter.Listener(*endpoint) for endpoint in endpoints],
        )
        response = self.cluster.request(request, AddRaftVoterResponse)
        raise_for(response.error_code, response.error_message, f"controller {node_id}")

    def remove_voter(self, node_id: int, directory_id: bytes) -> None:
        """Remove a controller from the voters."""
        request = RemoveRaftVoterRequest(
            cluster_id=self.cluster.cluster_id,
            voter_id=node_id,
            voter_directory_id=directory_id,
        )
        response = self.cluster.request(request, RemoveRaftVoterResponse)
        raise_for(response.error_code, response.error_message, f"controller {node_id}")


def _replicas(states: Sequence[ReplicaState]) -> list[QuorumReplica]:
    return sorted(
        QuorumReplica(
            each.replica_id,
            each.replica_directory_id,
            each.log_end_offset,
            each.last_fetch_timestamp,
            each.last_caught_up_timestamp,
        )
        for each in states
    )
