"""What is needed to translate a message besides the message."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from moldau.ids import METADATA_TOPIC
from moldau.protocol.file_region import FileRegion, Part
from moldau.raft.messages import CurrentLeader, Endpoints, ReplicaKey
from moldau.raft.quorum_state import NO_NODE
from moldau.raft.voters import VoterEndpoint

METADATA_PARTITION = 0

E = TypeVar("E")


class WireContext(NamedTuple):
    """``listener_name`` is the listener of the request, or the quorum's for requests sent.

    ``leader`` is only needed to refuse requests, ``version`` only to answer them, and
    ``timeout_ms`` (``controller.quorum.request.timeout.ms``) only to send them.
    """

    cluster_id: str
    listener_name: str
    version: int = -1
    leader: CurrentLeader = CurrentLeader()
    timeout_ms: int = 0

    def is_for_us(self, cluster_id: str | None) -> bool:
        """A request without a cluster id is for every cluster."""
        return cluster_id is None or cluster_id == self.cluster_id

    def address(self, endpoints: Endpoints) -> VoterEndpoint | None:
        for endpoint in endpoints:
            if endpoint.name == self.listener_name:
                return endpoint
        return None

    def endpoint_of(
        self, leader: CurrentLeader, make: Callable[[int, str, int], E], first_version: int
    ) -> list[E]:
        """Where the leader listens, for responses that have a list of nodes."""
        address = self.address(leader.endpoints)
        if address is None or self.version < first_version:
            return []
        return [make(leader.id, address.host, address.port)]


class _Address(Protocol):
    host: str
    port: int


class _NodeAddress(_Address, Protocol):
    node_id: int


class _NamedAddress(_Address, Protocol):
    name: str


class _Partition(Protocol):
    partition_index: int


class _Topic(Protocol):
    topic_name: str

    @property
    def partitions(self) -> Sequence[_Partition]: ...


def is_metadata(topics: Sequence[_Topic]) -> bool:
    """Whether exactly the partition of the metadata is named."""
    return (
        len(topics) == 1
        and topics[0].topic_name == METADATA_TOPIC
        and len(topics[0].partitions) == 1
        and topics[0].partitions[0].partition_index == METADATA_PARTITION
    )


def endpoints_of(listeners: Iterable[_NamedAddress]) -> Endpoints:
    return tuple(VoterEndpoint(each.name, each.host, each.port) for each in listeners)


def leader_of(
    leader_id: int, epoch: int, nodes: Iterable[_NodeAddress], context: WireContext
) -> CurrentLeader:
    """The leader of a response, with the one address that is in it."""
    found = tuple(
        VoterEndpoint(context.listener_name, node.host, node.port)
        for node in nodes
        if node.node_id == leader_id
    )
    return CurrentLeader(max(leader_id, NO_NODE), epoch, found)


def in_memory(part: Part | None) -> bytes | memoryview:
    """Received bytes; only what is sent may be a region of a file."""
    if part is None:
        return b""
    return part.read() if isinstance(part, FileRegion) else part


def replica_key(node_id: int, directory_id: bytes) -> ReplicaKey | None:
    """The replica that a request is meant for; None if it does not say."""
    return None if node_id < 0 else ReplicaKey(node_id, directory_id)
