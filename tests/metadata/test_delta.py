"""The changes that a delta reports."""

import pytest

from moldau.metadata.delta import MetadataDelta, MetadataError, apply
from moldau.metadata.image import EMPTY_IMAGE, TOPIC_RESOURCE, ConfigResource, MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)

OLD, NEW = b"o" * 16, b"n" * 16


def topic(topic_id: bytes, name: str = "river", partitions: int = 2) -> list[Message]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        ConfigRecord(resource_type=2, resource_name=name, name="retention.ms", value="1"),
        *(
            PartitionRecord(
                topic_id=topic_id,
                partition_id=partition,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[b"d" * 16],
            )
            for partition in range(partitions)
        ),
    ]


def after(image: MetadataImage, *records: Message) -> tuple[MetadataImage, MetadataDelta]:
    return apply(image, records)


def test_a_new_topic_comes_with_its_partitions_and_settings() -> None:
    image, delta = after(EMPTY_IMAGE, *topic(OLD))
    assert delta.created_topics == {OLD: "river"}
    assert list(delta.changed_partitions[OLD]) == [0, 1]
    assert list(delta.changed_configs) == [ConfigResource(TOPIC_RESOURCE, "river")]
    assert image.topics_by_name["river"] is image.topics_by_id[OLD]
    assert image.config(TOPIC_RESOURCE, "river") == {"retention.ms": "1"}


def test_a_deleted_topic_takes_its_settings_along() -> None:
    image, _ = after(EMPTY_IMAGE, *topic(OLD))
    image, delta = after(image, RemoveTopicRecord(topic_id=OLD))
    assert list(delta.deleted_topics) == [OLD]
    assert delta.deleted_topics[OLD].name == "river"
    assert not image.topics_by_name
    assert not image.topics_by_id
    assert not image.configs


def test_a_topic_deleted_and_created_again_shows_both_ids() -> None:
    image, _ = after(EMPTY_IMAGE, *topic(OLD))
    image, delta = after(image, RemoveTopicRecord(topic_id=OLD), *topic(NEW, partitions=1))
    assert list(delta.deleted_topics) == [OLD]
    assert delta.created_topics == {NEW: "river"}
    assert list(image.topics_by_id) == [NEW]
    assert list(image.topics_by_name["river"].partitions) == [0]


def test_a_topic_created_and_deleted_at_once_was_never_there() -> None:
    image, delta = after(EMPTY_IMAGE, *topic(OLD), RemoveTopicRecord(topic_id=OLD))
    assert image.has_same_content(EMPTY_IMAGE)
    assert not delta.created_topics
    assert not delta.deleted_topics
    assert not delta.changed_partitions


def test_naming_the_same_leader_begins_a_new_epoch() -> None:
    image, _ = after(EMPTY_IMAGE, *topic(OLD))
    change = PartitionChangeRecord(topic_id=OLD, partition_id=1, leader=1)
    changed, delta = after(image, change)
    partition = changed.topics_by_id[OLD].partitions[1]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (1, 1, 1)
    assert delta.changed_partitions == {OLD: {1: partition}}
    untouched = changed.topics_by_id[OLD].partitions[0]
    assert untouched is image.topics_by_id[OLD].partitions[0]


def test_what_did_not_change_is_shared_between_images() -> None:
    image, _ = after(EMPTY_IMAGE, *topic(OLD), *topic(NEW, "lake"))
    changed, _ = after(image, PartitionChangeRecord(topic_id=OLD, partition_id=0, leader=1))
    assert changed.configs is image.configs
    assert changed.brokers is image.brokers
    assert changed.topics_by_id[NEW] is image.topics_by_id[NEW]


def test_eligible_leaders_are_cleared_of_one_topic_or_of_all() -> None:
    elr = [
        PartitionChangeRecord(topic_id=each, partition_id=0, eligible_leader_replicas=[1])
        for each in (OLD, NEW)
    ]
    image, _ = after(EMPTY_IMAGE, *topic(OLD), *topic(NEW, "lake"), *elr)
    one, _ = after(image, ClearElrRecord(topic_name="lake"))
    assert one.topics_by_id[OLD].partitions[0].elr == (1,)
    assert one.topics_by_id[NEW].partitions[0].elr == ()
    everything, delta = after(image, ClearElrRecord())
    assert everything.topics_by_id[OLD].partitions[0].elr == ()
    assert [list(partitions) for partitions in delta.changed_partitions.values()] == [[0], [0]]


def test_a_broker_is_unfenced_by_minus_one_and_fenced_by_one() -> None:
    register = RegisterBrokerRecord(broker_id=1, broker_epoch=7, fenced=True)
    image, _ = after(EMPTY_IMAGE, register)
    unfence = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1)
    image, _ = after(image, unfence)
    assert not image.brokers[1].fenced
    fence = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=1)
    image, _ = after(image, fence)
    assert image.brokers[1].fenced
    image, delta = after(image, UnregisterBrokerRecord(broker_id=1, broker_epoch=7))
    assert delta.changed_brokers == {1: None}
    assert not image.brokers


def test_a_feature_at_level_zero_is_not_there() -> None:
    group = FeatureLevelRecord(name="group.version", feature_level=1)
    image, _ = after(EMPTY_IMAGE, group, FeatureLevelRecord(name="kraft.version", feature_level=1))
    assert image.features == {"group.version": 1}
    image, _ = after(image, FeatureLevelRecord(name="group.version", feature_level=0))
    assert image.features == {}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (PartitionRecord(topic_id=NEW), "no topic has the id"),
        (PartitionChangeRecord(topic_id=OLD, partition_id=9), "no partition 9"),
        (RemoveTopicRecord(topic_id=NEW), "no topic has the id"),
        (TopicRecord(name="river", topic_id=NEW), "exists already"),
        (TopicRecord(name="lake", topic_id=OLD), "two topics have the id"),
        (ClearElrRecord(topic_name="lake"), "no topic is named 'lake'"),
        (BrokerRegistrationChangeRecord(broker_id=1), "broker 1 is not registered"),
        (FeatureLevelRecord(name="metadata.version", feature_level=99), "is not supported"),
    ],
)
def test_a_record_that_contradicts_the_image_is_refused(record: Message, problem: str) -> None:
    image, _ = after(EMPTY_IMAGE, *topic(OLD))
    with pytest.raises(MetadataError, match=problem):
        after(image, record)
