"""DescribeQuorum: what the leader knows, in every version."""

import pytest

from moldau.errors import ErrorCode
from moldau.ids import METADATA_TOPIC, NO_UUID
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from moldau.raft.description import encode_description
from moldau.raft.messages import ReplicaKey
from tests.raft.transcripts import EPOCH, fetch, follower, key, leader

WALL_MS = 1_700_000_000_000
ASKED = DescribeQuorumRequest([TopicData(METADATA_TOPIC, [PartitionData(0)])])


def test_progress_is_told_by_the_wall_clock() -> None:
    elected = leader(is_dynamic=True)
    elected.tick(100)
    elected.receive(fetch(2, 11))
    elected.receive(fetch(9, 8, last_epoch=EPOCH))
    elected.tick(50)
    described = elected.raft.describe(elected.now_ms, WALL_MS)
    assert described is not None
    assert described[:3] == (1, EPOCH + 1, 11)
    assert [(each.key, *each[2:]) for each in described.voters] == [
        (key(1), 11, WALL_MS, WALL_MS),
        (key(2), 11, WALL_MS - 50, WALL_MS - 50),
        (key(3), -1, -1, -1),
    ]
    assert [(each.key, *each[2:]) for each in described.observers] == [
        (key(9), 8, WALL_MS - 50, -1)
    ]


def test_an_observer_that_does_not_fetch_is_forgotten() -> None:
    elected = leader(voters=1)
    elected.receive(fetch(9, 11))
    elected.tick(299_999)
    described = elected.raft.describe(elected.now_ms, WALL_MS)
    assert described is not None
    assert [each.key for each in described.observers] == [key(9)]
    elected.tick(1)
    described = elected.raft.describe(elected.now_ms, WALL_MS)
    assert described is not None
    assert described.observers == ()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_answer_has_what_its_version_has(version: int) -> None:
    elected = leader(is_dynamic=True)
    description = elected.raft.describe(elected.now_ms, WALL_MS)
    response = encode_description(ASKED, description, version)
    response.encode(version)
    own = response.topics[0].partitions[0].current_voters[0]
    directory_id = key(1).directory_id if version >= 2 else NO_UUID
    time_ms = WALL_MS if version >= 1 else -1
    assert own == ReplicaState(1, directory_id, 11, time_ms, time_ms)
    if version >= 2:
        assert response.nodes[1] == Node(2, [Listener("CONTROLLER", "host2", 9093)])
    else:
        assert response.nodes == []


def test_only_the_leader_describes_the_quorum() -> None:
    assert follower().raft.describe(0, WALL_MS) is None
    partition = encode_description(ASKED, None, 2).topics[0].partitions[0]
    assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_other_partitions_are_unknown() -> None:
    asked = DescribeQuorumRequest([TopicData("other", [PartitionData(3)])])
    [topic] = encode_description(asked, leader().raft.describe(0, WALL_MS), 2).topics
    assert topic.topic_name == "other"
    assert topic.partitions[0].partition_index == 3
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_static_voters_have_no_directory() -> None:
    described = leader().raft.describe(0, WALL_MS)
    assert described is not None
    assert described.voters[1].key == ReplicaKey(2)
