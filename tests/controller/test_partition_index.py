"""The index from brokers to partitions. ``test_model`` compares it with the image throughout."""

from itertools import islice

from moldau.controller.partition_index import PartitionIndex
from moldau.metadata.delta import apply
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.registrations import PartitionRegistration
from moldau.protocol.records.metadata import (
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
)

TOPIC = b"t" * 16
MANY = 1000


def image_of(count: int) -> MetadataImage:
    registration = PartitionRegistration((1, 2), (b"d" * 16,) * 2, (1, 2), leader=1)
    records = [TopicRecord(name="river", topic_id=TOPIC)]
    partitions = [registration.to_record(TOPIC, index) for index in range(count)]
    image, _ = apply(EMPTY_IMAGE, [*records, *partitions])
    return image


def steps(index: PartitionIndex, limit: int = 10_000) -> int:
    """Take up to ``limit`` steps; returns how many there were."""
    return len(list(islice(index.catch_up(), limit)))


def test_an_image_is_indexed_in_steps() -> None:
    index = PartitionIndex(image_of(MANY))
    assert not index.in_isr(1)
    assert steps(index) == MANY
    assert len(index.in_isr(1)) == len(index.in_isr(2)) == MANY
    assert (index.leads_any(1), index.leads_any(2)) == (True, False)
    assert steps(index) == 0


def test_steps_that_were_abandoned_are_taken_up_again() -> None:
    index = PartitionIndex(image_of(MANY))
    assert steps(index, limit=300) == 300
    assert steps(index) == MANY - 300
    assert len(index.in_isr(1)) == MANY


def test_a_small_change_is_indexed_at_once_and_a_large_one_with_the_next_decision() -> None:
    image = image_of(MANY)
    index = PartitionIndex(image)
    steps(index)
    change = PartitionChangeRecord(
        topic_id=TOPIC, partition_id=0, isr=[2], leader=-1, eligible_leader_replicas=[1]
    )
    image, delta = apply(image, [change])
    index.changed(delta)
    assert list(index.leaderless) == [(TOPIC, 0)] == list(index.in_elr(1))
    _, delta = apply(image, [RemoveTopicRecord(topic_id=TOPIC)])
    index.changed(delta)
    assert len(index.in_isr(2)) == MANY
    assert steps(index) == MANY
    assert not index.in_isr(2)
    assert not index.leaderless
    assert not index.leads_any(1)


def test_changes_are_indexed_in_order_even_behind_a_large_one() -> None:
    image = image_of(MANY)
    index = PartitionIndex(image)
    change = PartitionChangeRecord(topic_id=TOPIC, partition_id=5, isr=[2], leader=2)
    _, delta = apply(image, [change])
    index.changed(delta)
    assert steps(index) == MANY + 1
    assert (TOPIC, 5) not in index.in_isr(1)
    assert index.leads_any(2)
    assert list(index.not_led_by_preferred) == [(TOPIC, 5)]
