"""What tests of a cluster with several nodes ask about its quorum and its metadata."""

from collections.abc import Iterable
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic
from tools.brokers import HOST
from tools.clusters import Cluster, ClusterNode

from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)
from tests.running import WireClient

ANSWER_LIMIT_S = 120.0
METADATA_TOPIC = "__cluster_metadata"
# Words that a log has only if something went wrong inside a node.
_FAILURES = ("Traceback", " ERROR ", " FATAL ")
# Apache Kafka's nodes say this about every partition that is added to a topic, and about a topic
# that is deleted while groups are loaded.
_NO_FAILURES = (
    "to exist, but it was missing. Creating",
    "Could not delete offsets for deleted topics",
    "Unable to cleanup state for the deleted topics",
)
# Apache Kafka's controllers say this about every heartbeat and every registration of a controller,
# their own included, that arrives while they lead the quorum but are not active yet. The next line
# names the exception.
_REFUSED = "Unexpected error handling request RequestHeader(apiKey="
_NOT_ACTIVE = "NotControllerException"


def describe_quorum(port: int, host: str = HOST) -> Any:
    """The quorum as the node at ``port`` (a broker, or the leader) knows it."""
    question = TopicData(topic_name=METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
    with WireClient(port, host) as client:
        answer = client.send(DescribeQuorumRequest(topics=[question]), 2)
    assert answer.error_code == 0, answer
    partition = answer.topics[0].partitions[0]
    assert partition.error_code == 0, answer
    return partition


def admin(node: ClusterNode) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.bootstrap, "log_level": 0})


def create_topic(node: ClusterNode, name: str, partitions: int = 1) -> None:
    client = admin(node)
    client.create_topics([NewTopic(name, partitions, 1)])[name].result(ANSWER_LIMIT_S)


def leaders(node: ClusterNode) -> dict[str, dict[int, int]]:
    """The leader of every partition, by topic, as a broker tells it."""
    topics = admin(node).list_topics(timeout=ANSWER_LIMIT_S).topics
    return {
        name: {index: each.leader for index, each in topic.partitions.items()}
        for name, topic in sorted(topics.items())
        if not name.startswith("__")
    }


def failures(nodes: Iterable[ClusterNode]) -> list[str]:
    """Lines in the logs of the nodes that tell of a failure."""
    return [
        f"{node.kind}: {line}"
        for node in nodes
        for line in failed_lines(node.log_path.read_text(errors="replace"))
    ]


def failed_lines(log: str) -> list[str]:
    """Lines of a log that tell of a failure."""
    lines = log.splitlines()
    return [
        line
        for line, following in zip(lines, [*lines[1:], ""], strict=True)
        if any(word in line for word in _FAILURES)
        and not any(words in line for words in _NO_FAILURES)
        and not (_REFUSED in line and _NOT_ACTIVE in following)
    ]


def stop_in_order(cluster: Cluster) -> None:
    """Stop every node; brokers first, while there are controllers that let them go."""
    running = list(cluster.nodes.values())
    cluster.stop()
    found = failures(running)
    assert not found, "\n".join(found)
