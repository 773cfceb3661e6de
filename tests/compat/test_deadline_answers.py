"""Apache Kafka and the broker refuse alike what comes too late: requests name their timeout."""

import uuid
from collections.abc import Callable

import pytest

from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.compat.broker_talk import Both


def creation(name: str, timeout_ms: int) -> Message:
    topic = CreatableTopic(name=f"{name}-new", num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms)


def growth(name: str, timeout_ms: int) -> Message:
    return CreatePartitionsRequest([CreatePartitionsTopic(name, 2)], timeout_ms)


def election(name: str, timeout_ms: int) -> Message:
    partitions = [TopicPartitions(name, [0])]
    return ElectLeadersRequest(topic_partitions=partitions, timeout_ms=timeout_ms)


def election_everywhere(name: str, timeout_ms: int) -> Message:
    return ElectLeadersRequest(topic_partitions=None, timeout_ms=timeout_ms)


def reassignment(name: str, timeout_ms: int) -> Message:
    topic = ReassignableTopic(name, [ReassignablePartition(0, [1])])
    return AlterPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=[topic])


def deletion(name: str, timeout_ms: int) -> Message:
    states = [DeleteTopicState(name), DeleteTopicState(f"{name}-unknown")]
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


@pytest.mark.parametrize(
    ("question", "version"),
    [
        (creation, 7),
        (growth, 3),
        (election, 2),
        (election_everywhere, 2),
        (reassignment, 0),
        (deletion, 6),
    ],
)
@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_nothing_is_done_in_no_time(
    both: Both, question: Callable[[str, int], Message], version: int, timeout_ms: int
) -> None:
    name = f"late-{uuid.uuid4().hex[:8]}"
    both.create(name)
    answer = both.same(question(name, timeout_ms), version, with_messages=True)
    assert "REQUEST_TIMED_OUT" in answer
    assert "NONE" not in answer
