"""CreateTopics and DeleteTopics: errors, messages and records."""

import pytest

from moldau.controller.context import DecisionContext
from moldau.errors import ErrorCode
from moldau.ids import NO_UUID
from moldau.metadata.image import TOPIC_RESOURCE
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.records.metadata import (
    ClearElrRecord,
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tests.controller.cluster import Cluster, topic


def assigned(name: str, assignment: dict[int, list[int]], **fields: int) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=fields.get("num_partitions", -1),
        replication_factor=fields.get("replication_factor", -1),
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in assignment.items()
        ],
    )


def test_a_large_assignment_is_decided_in_steps() -> None:
    cluster = Cluster()
    creation = CreateTopicsRequest(topics=[assigned("river", {n: [1] for n in range(900)})])
    steps = cluster.controller.decide(creation, 7, DecisionContext(), 0)
    assert sum(1 for _ in steps) > 900
    cluster.must_create("lake")
    assignments = [CreatePartitionsAssignment(broker_ids=[1])] * 900
    addition = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="lake", count=901, assignments=assignments)]
    )
    steps = cluster.controller.decide(addition, 3, DecisionContext(), 0)
    assert sum(1 for _ in steps) > 900


def test_a_topic_is_its_record_its_settings_and_its_partitions() -> None:
    cluster = Cluster()
    request = CreateTopicsRequest(topics=[topic("river", 2, retention_ms="1000")])
    outcome = cluster.controller.create_topics(request)
    [result] = outcome.response.topics
    assert [type(record) for record in outcome.records] == [
        TopicRecord,
        ConfigRecord,
        PartitionRecord,
        PartitionRecord,
    ]
    assert outcome.records[-1] == PartitionRecord(
        partition_id=1,
        topic_id=result.topic_id,
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[b"\x65" * 16],
    )
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    assert result.error_message is None


def test_the_answer_holds_every_setting_sorted_by_name() -> None:
    outcome = Cluster().controller.create_topics(
        CreateTopicsRequest(topics=[topic("river", retention_ms="1000")])
    )
    configs = {config.name: config for config in outcome.response.topics[0].configs or []}
    assert list(configs) == sorted(configs)
    assert len(configs) == 33
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("1000", 1)
    assert configs["segment.bytes"].config_source == 5
    # It was written by the bootstrap records: a cluster-wide dynamic setting.
    assert configs["min.insync.replicas"].config_source == 3


def test_minus_one_asks_for_the_brokers_defaults() -> None:
    cluster = Cluster(3, settings={"num.partitions": "4", "default.replication.factor": "2"})
    cluster.must_create("river", -1, -1)
    partitions = cluster.image.topics_by_name["river"].partitions
    assert len(partitions) == 4
    assert {len(partition.replicas) for partition in partitions.values()} == {2}


def test_validate_only_answers_alike_and_writes_nothing() -> None:
    cluster = Cluster()
    assert cluster.create(topic("river"), topic("a/b"), validate_only=True) == [
        (0, ""),
        (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: 'a/b' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'",
        ),
    ]
    assert not cluster.image.topics_by_name


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (topic(""), 17, "Topic name is invalid: the empty string is not allowed"),
        (topic("."), 17, "Topic name is invalid: '.' is not allowed"),
        (topic(".."), 17, "Topic name is invalid: '..' is not allowed"),
        (topic("x" * 250), 17, "is longer than the max allowed length 249"),
        (topic("grün"), 17, "contains one or more characters other than ASCII alphanumerics"),
        (topic("there"), 36, "Topic 'there' already exists."),
        (topic("with.dot"), 17, "Topic 'with.dot' collides with existing topic: with_dot"),
        (topic("__cluster_metadata"), 42, "Creation of internal topic __cluster_metadata is"),
        (topic("t", 0), 37, "Number of partitions was set to an invalid non-positive value."),
        (topic("t", -2), 37, "Number of partitions was set to an invalid non-positive value."),
        (topic("t", 1, 0), 38, "Replication factor must be larger than 0, or -1 to use"),
        (
            topic("t", 1, 2),
            38,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 "
            "cannot be reached because only 1 broker(s) are registered",
        ),
        (topic("t", 10_001), 44, "Excessively large number of partitions per request."),
        (topic("t", 10_000), 44, "Unable to perform excessively large batch operation."),
        (topic("t", no_such="1"), 40, "Unknown topic config name: no.such"),
        (topic("t", retention_ms="soon"), 40, "retention.ms"),
        (topic("t", segment_bytes="1"), 40, "segment.bytes"),
        (assigned("t", {0: [1]}, replication_factor=1), 42, "factor was not set to -1."),
        (assigned("t", {0: [1]}, num_partitions=1), 42, "numPartitions was not set to -1."),
        (assigned("t", {0: []}), 39, "includes an empty replica list."),
        (assigned("t", {0: [2]}), 39, "broker 2, but no such broker is registered."),
        (assigned("t", {0: [1, 1]}), 39, "the broker 1 more than once."),
        (assigned("t", {1: [1]}), 39, "partitions should be a consecutive 0-based"),
    ],
)
def test_what_cannot_be_created_says_why(wanted: CreatableTopic, code: int, message: str) -> None:
    cluster = Cluster()
    cluster.must_create("there")
    cluster.must_create("with_dot")
    before = cluster.image
    [(actual_code, actual_message)] = cluster.create(wanted)
    assert (actual_code, message in actual_message) == (code, True), actual_message
    assert cluster.image is before


def test_a_null_setting_is_refused_by_name() -> None:
    wanted = topic("t")
    wanted.configs = [CreatableTopicConfig(name="retention.ms", value=None)]
    message = "Null value not supported for topic configs: retention.ms"
    assert Cluster().create(wanted) == [(ErrorCode.INVALID_CONFIG, message)]


def test_partitions_of_an_assignment_must_agree_on_their_number_of_replicas() -> None:
    [(code, message)] = Cluster(2).create(assigned("t", {0: [1], 1: [1, 2]}))
    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "not consistent with previous partitions, which have 1 replica(s)" in message


def test_an_assignment_is_taken_as_it_is() -> None:
    cluster = Cluster(3)
    assert cluster.create(assigned("t", {1: [2, 3], 0: [3, 1]})) == [(0, "")]
    partitions = cluster.image.topics_by_name["t"].partitions
    assert [partitions[index].replicas for index in (0, 1)] == [(3, 1), (2, 3)]
    assert [partitions[index].leader for index in (0, 1)] == [3, 2]


def test_a_name_given_twice_is_refused_and_the_others_are_created() -> None:
    cluster = Cluster()
    assert cluster.create(topic("a"), topic("b"), topic("a"), topic("a", 2)) == [
        (0, ""),
        (ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    ]
    assert list(cluster.image.topics_by_name) == ["b"]


def test_a_deleted_name_no_longer_collides() -> None:
    cluster = Cluster()
    topic_id = cluster.must_create("a_b")
    cluster.commit([RemoveTopicRecord(topic_id=topic_id)])
    assert cluster.create(topic("a.b")) == [(0, "")]


def test_nothing_is_placed_on_fenced_brokers() -> None:
    cluster = Cluster()
    cluster.heartbeat(fence=True)
    [(code, message)] = cluster.create(topic("t"))
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert "All brokers are currently fenced" in message


def test_a_minimum_of_replicas_in_sync_resets_the_eligible_leaders() -> None:
    outcome = Cluster().controller.create_topics(
        CreateTopicsRequest(topics=[topic("t", min_insync_replicas="2")])
    )
    assert ClearElrRecord(topic_name="t") in outcome.records


def test_an_unknown_name_or_id_cannot_be_deleted() -> None:
    cluster = Cluster()
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="gone"), DeleteTopicState(topic_id=b"x" * 16)]
    )
    outcome = cluster.controller.delete_topics(request, 6)
    assert not outcome.records
    assert [(each.name, each.error_code) for each in outcome.response.responses] == [
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


def test_topics_are_deleted_by_name_and_by_id() -> None:
    cluster = Cluster()
    by_name = cluster.must_create("a", retention_ms="1")
    by_id = cluster.must_create("b")
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="a"), DeleteTopicState(topic_id=by_id)]
    )
    outcome = cluster.controller.delete_topics(request, 6)
    cluster.commit(outcome.records)
    answers = [(each.name, each.topic_id) for each in outcome.response.responses]
    assert sorted(answers) == [("a", by_name), ("b", by_id)]
    assert not cluster.image.topics_by_name
    assert not cluster.image.config(TOPIC_RESOURCE, "a")


def test_ambiguous_deletions_delete_nothing() -> None:
    cluster = Cluster()
    topic_id = cluster.must_create("a")
    states = [
        DeleteTopicState(),
        DeleteTopicState(name="a", topic_id=topic_id),
        DeleteTopicState(name="twice"),
        DeleteTopicState(name="twice"),
        DeleteTopicState(name="a"),
        DeleteTopicState(topic_id=topic_id),
    ]
    outcome = cluster.controller.delete_topics(DeleteTopicsRequest(topics=states), 6)
    assert not outcome.records
    answers = [(each.name, each.error_message) for each in outcome.response.responses]
    assert answers == [
        (None, "Neither topic name nor id were specified."),
        ("a", "You may not specify both topic name and topic id."),
        ("twice", "Duplicate topic name."),
        ("a", "The provided topic name maps to an ID that was already supplied."),
    ]
    assert {each.error_code for each in outcome.response.responses} == {ErrorCode.INVALID_REQUEST}
    assert outcome.response.responses[0].topic_id == NO_UUID


@pytest.mark.parametrize(("version", "code"), [(6, 73), (2, 42)])
def test_deletion_can_be_switched_off(version: int, code: int) -> None:
    cluster = Cluster(settings={"delete.topic.enable": "false"})
    cluster.must_create("a")
    request = DeleteTopicsRequest(topic_names=["a"])
    outcome = cluster.controller.delete_topics(request, version)
    assert not outcome.records
    assert [each.error_code for each in outcome.response.responses] == [code]
