"""The hash that Apache Kafka 4.3 writes next to a group's epoch. Numbers are hash4j's own."""

import pytest

from moldau.group_coordinator.consumer.metadata_hash import MetadataHashes, topic_hash
from moldau.group_coordinator.consumer.xxh3 import xxh3_64
from tests.group_coordinator.consumer.cluster import Cluster


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, 3244421341483603138),
        (1, 5502495245947142431),
        (3, 1582743943441612892),
        (4, -2549016526957988167),
        (8, -2394039629164210130),
        (9, -3754995788605292611),
        (16, 9099606716676871632),
        (17, 2345212530088924167),
        (33, 1844846513307983686),
        (128, -492175581222641016),
        (129, -506823097681485574),
        (200, 1368452603177808973),
        (240, -3690920546649497853),
        (241, 809349449570470400),
        (256, -1403514104434996620),
        (512, -1170120971253711958),
        (1023, -1093476622474739461),
        (1024, 2575082683865311686),
        (1025, -4566685497618039422),
        (1088, -6815162950983329211),
        (2048, 1870957339171033971),
        (4097, -5541268556740443615),
        (5000, 6169931020318013678),
    ],
)
def test_xxh3_gives_the_reference_numbers_at_every_size_class(size: int, expected: int) -> None:
    data = bytes((i * 31 + 7) & 0xFF for i in range(size))
    assert xxh3_64(data) == expected % 2**64


def two_partitions_in_two_racks(swapped: bool = False) -> Cluster:
    cluster = Cluster()
    cluster.add_broker(1, "rack1" if swapped else "rack0")
    cluster.add_broker(2, "rack0" if swapped else "rack1")
    cluster.create_topic("foo", 2, replicas=(1, 2))
    return cluster


def test_a_topic_hashes_as_in_apache_kafka() -> None:
    cluster = two_partitions_in_two_racks()
    topic = cluster.image.topics_by_name["foo"]
    topic.id = bytes.fromhex("01020304050607088102030405060708")
    assert topic_hash(topic, cluster.image) == 4493324071305585110


def test_the_order_of_the_replicas_does_not_matter() -> None:
    hashes = []
    for swapped in (False, True):
        cluster = two_partitions_in_two_racks(swapped)
        hashes.append(topic_hash(cluster.image.topics_by_name["foo"], cluster.image))
    assert hashes[0] == hashes[1]


def test_topics_that_do_not_exist_do_not_count() -> None:
    cluster = two_partitions_in_two_racks()
    hashes = MetadataHashes()
    assert hashes.group_hash([], cluster.image) == 0
    assert hashes.group_hash(["missing"], cluster.image) == 0
    with_foo = hashes.group_hash(["foo"], cluster.image)
    assert hashes.group_hash(["bar", "foo"], cluster.image) == with_foo != 0


def test_partitions_that_are_added_change_the_hash_although_it_is_cached() -> None:
    cluster = two_partitions_in_two_racks()
    hashes = MetadataHashes()
    before = hashes.group_hash(["foo"], cluster.image)
    assert hashes.group_hash(["foo"], cluster.image) == before
    cluster.add_partitions("foo", 1)
    assert hashes.group_hash(["foo"], cluster.image) != before
