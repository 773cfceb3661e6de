"""The difference between two images names what replaying the records in between would name."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moldau.metadata.delta import MetadataDelta, apply
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.image_diff import delta_between
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import RemoveTopicRecord, TopicRecord
from tests.metadata.strategies import histories
from tests.metadata.test_snapshot import possible

OLD, NEW = b"o" * 16, b"n" * 16


def changed(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> set[Any]:
    return {key for key in {**old, **new} if old.get(key) != new.get(key)}


@given(histories, st.integers(0, 40))
def test_everything_that_is_different_is_named_and_nothing_else(
    history: list[Message], cut: int
) -> None:
    kept = possible(history)
    old, _ = apply(EMPTY_IMAGE, kept[:cut])
    new, replayed = apply(old, kept[cut:])
    delta = delta_between(old, new)
    assert set(delta.changed_brokers) == changed(old.brokers, new.brokers)
    assert set(delta.changed_configs) == changed(old.configs, new.configs)
    assert set(delta.changed_features) == changed(old.features, new.features)
    assert set(delta.changed_quotas) == changed(old.client_quotas, new.client_quotas)
    assert delta.deleted_topics == replayed.deleted_topics
    assert delta.created_topics == replayed.created_topics
    assert partitions(delta) == {
        key: registration
        for key, registration in partitions(replayed).items()
        if before(old, key) != registration
    }


def partitions(delta: MetadataDelta) -> dict[tuple[bytes, int], PartitionRegistration]:
    return {
        (topic_id, index): registration
        for topic_id, found in delta.changed_partitions.items()
        for index, registration in found.items()
    }


def before(image: MetadataImage, key: tuple[bytes, int]) -> PartitionRegistration | None:
    topic = image.topics_by_id.get(key[0])
    return None if topic is None else topic.partitions.get(key[1])


@given(histories)
def test_equal_images_have_no_difference(history: list[Message]) -> None:
    image, _ = apply(EMPTY_IMAGE, possible(history))
    assert delta_between(image, image).is_empty


def test_a_topic_created_again_is_gone_under_one_id_and_new_under_another() -> None:
    """KAFKA-14616: a node that missed both must not take the old log for the new topic's."""
    registration = PartitionRegistration((1,), (b"d" * 16,), (1,), leader=1)
    old, _ = apply(
        EMPTY_IMAGE,
        [TopicRecord(name="river", topic_id=OLD), registration.to_record(OLD, 0)],
    )
    again = [
        RemoveTopicRecord(topic_id=OLD),
        TopicRecord(name="river", topic_id=NEW),
        registration.to_record(NEW, 0),
    ]
    new, replayed = apply(old, again)
    for delta in (replayed, delta_between(old, new)):
        assert list(delta.deleted_topics) == [OLD]
        assert delta.created_topics == {NEW: "river"}
        assert list(delta.changed_partitions) == [NEW]
