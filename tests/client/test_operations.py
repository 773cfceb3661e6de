"""``Admin.partitions`` and ``Admin.nodes``, with a single broker."""

from collections.abc import Callable

import pytest

from moldau.client import Admin, ApiError, ElectionType, ErrorCode, TopicPartition


def test_partitions_are_described_with_their_replicas(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    first, second = new_topic(), new_topic()
    with Admin(bootstrap) as admin:
        admin.create_topic(first, 2)
        admin.create_topic(second, 1, configs={"min.insync.replicas": "3"})
        states = admin.partitions.describe([second, first])
        assert [each.partition for each in states] == [
            TopicPartition(first, 0),
            TopicPartition(first, 1),
            TopicPartition(second, 0),
        ]
        assert all(each.leader == 1 and each.replicas == each.isr == [1] for each in states)
        everything = admin.partitions.describe()
        assert all(each in everything for each in states)
        assert admin.partitions.describe([]) == []
        assert admin.partitions.min_insync_replicas([first, second]) == {first: 1, second: 3}
        with pytest.raises(ApiError, match="topic nope does not exist"):
            admin.partitions.describe(["nope"])


def test_what_cannot_be_reassigned_or_elected_has_an_error_for_each(
    bootstrap: str, new_topic: Callable[[], str]
) -> None:
    partition = TopicPartition(new_topic(), 0)
    with Admin(bootstrap) as admin:
        admin.create_topic(partition.topic, 1)
        failed = admin.partitions.reassign({partition: [1, 9], TopicPartition("nope", 0): [1]})
        assert {each: error.code for each, error in failed.items()} == {
            partition: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            TopicPartition("nope", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert str(failed[partition]).startswith(f"{partition}: ")
        nothing = admin.partitions.reassign({partition: None})
        assert nothing[partition].code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        assert admin.partitions.reassignments() == {}
        results = admin.partitions.elect_leaders(ElectionType.PREFERRED, [partition])
        error = results[partition]
        assert error is not None
        assert error.code is ErrorCode.ELECTION_NOT_NEEDED


def test_the_quorum_and_the_brokers_are_described(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        quorum = admin.nodes.describe_quorum()
        assert quorum.leader_id == 1
        assert [each.node_id for each in quorum.voters] == [1]
        assert quorum.voters[0].log_end_offset >= quorum.high_watermark > 0
        (broker,) = admin.nodes.brokers()
        assert (broker.node_id, broker.is_fenced) == (1, False)
        with pytest.raises(ApiError) as caught:
            admin.nodes.unregister_broker(9)
        assert caught.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
