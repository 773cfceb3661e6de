"""Whether a cluster with an operator has come to rest.

Then no reassignment and no move between log directories is under way, every replica is in sync, and
the metadata name the log directory that has its log: otherwise the controller would not know whose
leaders are gone when a directory fails.
"""

from collections.abc import Iterator

from moldau.broker.node import Node
from moldau.ids import TopicPartition
from moldau.metadata.registrations import PartitionRegistration
from moldau.simulator.cluster import Cluster


def unsettled(cluster: Cluster) -> Iterator[str]:
    """What is not at rest yet, in words."""
    for machine in cluster.machines:
        node = machine.node
        if node is None:
            yield f"{machine.name} is not ready"
            continue
        for each in node.logs.future_logs:
            yield f"{machine.name} is moving {each}"
        for path in node.logs.dirs.offline:
            yield f"{path} of {machine.name} is offline"
        for topic in node.metadata.image.topics_by_name.values():
            for index, registration in topic.partitions.items():
                name = TopicPartition(topic.name, index)
                yield from _unsettled_partition(name, registration)
                if node.config.node_id in registration.replicas:
                    yield from _unsettled_replica(node, name, registration)


def _unsettled_partition(
    name: TopicPartition, registration: PartitionRegistration
) -> Iterator[str]:
    if registration.is_reassigning:
        yield f"{name} is being reassigned"
    if registration.leader < 0 or len(registration.isr) < len(registration.replicas):
        yield f"of {registration.replicas} only {registration.isr} have {name} in sync"


def _unsettled_replica(
    node: Node, name: TopicPartition, registration: PartitionRegistration
) -> Iterator[str]:
    node_id = node.config.node_id
    partition = node.broker.replicas.find(name)
    if partition is None or partition.log.is_closed:
        yield f"node-{node_id} has no log of {name}"
        return
    log_dir = partition.log.log_dir
    if registration.directory_of(node_id) != node.logs.dirs.directory_ids.get(log_dir):
        yield f"the metadata do not know that node-{node_id} has {name} in {log_dir}"
