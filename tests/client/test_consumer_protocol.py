"""The embedded consumer protocol, and the range assignor."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.client.consumer_protocol import (
    Member,
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from moldau.ids import TopicPartition
from moldau.protocol.reading import MalformedMessage


def member(name: str, *topics: str, instance: str | None = None) -> Member:
    return Member(name, instance, list(topics))


def test_a_subscription_goes_there_and_back() -> None:
    assert decode_subscription(encode_subscription(["b", "a"])) == ["a", "b"]


def test_a_subscription_of_a_newer_version_is_read_as_far_as_it_is_known() -> None:
    newer = b"\x00\x09" + encode_subscription(["a"])[2:] + b"\x00\x00\x00\x05\xff\xff" + b"later"
    assert decode_subscription(newer) == ["a"]


def test_an_assignment_goes_there_and_back() -> None:
    partitions = [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)]
    assert decode_assignment(encode_assignment(reversed(partitions))) == partitions
    assert decode_assignment(b"") == []


def test_the_first_members_get_the_partitions_that_are_left() -> None:
    shared = assign_range([member("m2", "t"), member("m1", "t"), member("m3", "t")], {"t": 7})
    assert {name: [each.partition for each in mine] for name, mine in shared.items()} == {
        "m1": [0, 1, 2],
        "m2": [3, 4],
        "m3": [5, 6],
    }


def test_static_members_come_first_in_the_order_of_their_names() -> None:
    members = [member("x", "t", instance="b"), member("y", "t", instance="a"), member("a", "t")]
    shared = assign_range(members, {"t": 3})
    assert [shared[name][0].partition for name in ("y", "x", "a")] == [0, 1, 2]


def test_topics_go_only_to_those_who_want_them() -> None:
    shared = assign_range(
        [member("m1", "a", "b"), member("m2", "b"), member("m3", "gone")], {"a": 2, "b": 1}
    )
    assert shared == {
        "m1": [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)],
        "m2": [],
        "m3": [],
    }


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 20)),
    st.lists(st.sets(st.sampled_from("abcde")), max_size=6),
)
def test_every_partition_that_somebody_wants_has_one_owner(
    counts: dict[str, int], subscriptions: list[set[str]]
) -> None:
    members = [member(f"m{n}", *sorted(topics)) for n, topics in enumerate(subscriptions)]
    shared = assign_range(members, counts)
    given_out = [partition for mine in shared.values() for partition in mine]
    wanted = {topic for topics in subscriptions for topic in topics}
    assert sorted(given_out) == sorted(
        TopicPartition(topic, n) for topic in wanted for n in range(counts.get(topic, 0))
    )
    for one in members:
        assert {partition.topic for partition in shared[one.member_id]} <= set(one.topics)


def test_a_member_that_has_not_joined_yet_says_nothing() -> None:
    with pytest.raises(MalformedMessage, match="0 bytes do not say their version"):
        decode_subscription(b"")
