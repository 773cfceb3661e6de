"""Administration of groups."""

from collections.abc import Callable, Iterator

import pytest

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin, GroupListing
from moldau.client.group_consumer import GroupConsumer
from moldau.client.group_offsets import CommittedOffset
from moldau.client.producer import Producer
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition


@pytest.fixture
def admin(bootstrap: str) -> Iterator[Admin]:
    with Admin(bootstrap) as opened:
        yield opened


@pytest.fixture
def groups(admin: Admin) -> GroupAdmin:
    return GroupAdmin(admin.cluster)


@pytest.fixture
def topic(bootstrap: str, admin: Admin, new_topic: Callable[[], str]) -> str:
    """Three partitions, ten records in the first."""
    name = new_topic()
    admin.create_topic(name, 3)
    with Producer(bootstrap) as producer:
        for number in range(10):
            producer.send(name, b"%d" % number, partition=0)
    return name


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


def joined(bootstrap: str, group: str, topic: str) -> GroupConsumer:
    consumer = GroupConsumer(bootstrap, group, [topic], auto_offset_reset="earliest")
    while not consumer.is_member:
        consumer.poll(0.0)
    return consumer


def test_offsets_are_set_for_a_group_without_members(
    groups: GroupAdmin, group: str, topic: str
) -> None:
    first, last = TopicPartition(topic, 0), TopicPartition(topic, 2)
    groups.alter_offsets(group, {first: 4, last: 0})
    assert groups.offsets(group) == {first: CommittedOffset(4), last: CommittedOffset(0)}
    assert groups.offsets(group, [first, TopicPartition(topic, 1)]) == {first: CommittedOffset(4)}
    groups.alter_offsets(group, {first: 2})
    assert groups.offsets(group)[first].offset == 2


def test_a_group_is_listed_with_its_state_and_type(
    groups: GroupAdmin, bootstrap: str, group: str, topic: str
) -> None:
    with joined(bootstrap, group, topic):
        listed = GroupListing(group, "consumer", "Stable", "classic")
        assert listed in groups.list_groups()
        assert listed in groups.list_groups(states=["Stable", "Empty"], types=["classic"])
        assert listed not in groups.list_groups(states=["Empty"])
        assert listed not in groups.list_groups(types=["consumer"])
    assert listed._replace(state="Empty") in groups.list_groups(states=["Empty"])


def test_a_group_is_described_with_its_members(
    groups: GroupAdmin, bootstrap: str, group: str, topic: str
) -> None:
    with joined(bootstrap, group, topic) as consumer:
        described = groups.describe(group)
        assert (described.state, described.type) == ("Stable", "Classic")
        assert (described.protocol_type, described.assignor) == ("consumer", "range")
        (member,) = described.members
        assert member.member_id == consumer.member_id
        assert member.client_id == "moldau-consumer"
        assert member.host == "/127.0.0.1"
        assert member.topics == [topic]
        assert member.assignment == [TopicPartition(topic, n) for n in range(3)]
    described = groups.describe(group)
    assert (described.state, described.members) == ("Empty", [])


def test_a_group_that_is_in_use_is_left_alone(
    groups: GroupAdmin, bootstrap: str, group: str, topic: str
) -> None:
    partition = TopicPartition(topic, 0)
    with joined(bootstrap, group, topic) as consumer:
        consumer.commit({partition: 7})
        with pytest.raises(ApiError, match="has members") as refused:
            groups.alter_offsets(group, {partition: 1})
        assert refused.value.code is ErrorCode.NON_EMPTY_GROUP
        with pytest.raises(ApiError) as refused:
            groups.delete(group)
        assert refused.value.code is ErrorCode.NON_EMPTY_GROUP
        with pytest.raises(ApiError) as refused:
            groups.delete_offsets(group, [partition])
        assert refused.value.code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        assert groups.offsets(group)[partition].offset == 7


def test_offsets_and_groups_are_deleted(groups: GroupAdmin, group: str, topic: str) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    groups.alter_offsets(group, {first: 1, second: 0})
    groups.delete_offsets(group, [second])
    assert groups.offsets(group) == {first: CommittedOffset(1)}
    groups.delete(group)
    assert group not in [each.group_id for each in groups.list_groups()]
    assert groups.offsets(group) == {}


def test_a_group_that_is_not_there_is_named(groups: GroupAdmin) -> None:
    for ask in (groups.describe, groups.delete):
        with pytest.raises(ApiError, match="nobody") as missing:
            ask("nobody")
        assert missing.value.code is ErrorCode.GROUP_ID_NOT_FOUND
    assert groups.offsets("nobody") == {}


def test_offsets_of_a_topic_that_is_not_there_are_refused(groups: GroupAdmin, group: str) -> None:
    with pytest.raises(ApiError, match="nope") as missing:
        groups.alter_offsets(group, {TopicPartition("nope", 0): 1})
    assert missing.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
