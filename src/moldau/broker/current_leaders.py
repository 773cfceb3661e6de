"""Who leads a partition, for clients that have asked another broker (KIP-951).

A client that is refused because of another leader can go on there at once if the response names it
and says where it listens. Without that it would have to ask for metadata first.
"""

from typing import Final, NamedTuple

from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.replica_manager import ReplicaManager
from moldau.ids import TopicPartition

UNKNOWN: Final = -1


class LeaderAndEpoch(NamedTuple):
    """The leader of a partition; -1 where it is unknown, or there is none."""

    leader_id: int
    leader_epoch: int


class BrokerNode(NamedTuple):
    """A live broker, at the listener of the client that will be told of it."""

    id: int
    host: str
    port: int
    rack: str | None


class CurrentLeaders:
    """Looks up leaders, first where the partition is hosted, then in the metadata."""

    def __init__(self, replicas: ReplicaManager, metadata: MetadataCache) -> None:
        self._replicas = replicas
        self._metadata = metadata

    def find(self, topic: str, index: int) -> LeaderAndEpoch:
        partition = self._replicas.find(TopicPartition(topic, index))
        if partition is not None and not partition.log.is_closed:
            return LeaderAndEpoch(partition.registration.leader, partition.leader_epoch)
        image = self._metadata.image.topics_by_name.get(topic)
        registration = image.partitions.get(index) if image is not None else None
        if registration is None:
            return LeaderAndEpoch(UNKNOWN, UNKNOWN)
        return LeaderAndEpoch(registration.leader, registration.leader_epoch)

    def node(self, broker_id: int, listener: str) -> BrokerNode | None:
        """Where a live broker listens for clients of ``listener``."""
        broker = self._metadata.image.brokers.get(broker_id)
        if broker is None or broker.fenced:
            return None
        endpoint = broker.endpoint(listener)
        if endpoint is None:
            return None
        return BrokerNode(broker_id, endpoint.host, endpoint.port, broker.rack)
