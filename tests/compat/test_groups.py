"""Consumer groups of every client: members come, leave, die and sleep, and nothing is left out."""

import pytest
from tools.brokers import Broker

from tests.compat.clients.members import (
    BROKER_SETTINGS,
    Kind,
    Member,
    MemberFactory,
    wait_for,
    wait_until_shared,
)
from tests.compat.clients.programs import UnavailableError
from tests.compat.group_reading import GroupTopic, assert_read_once

PARTITIONS = 6
# Longer than a Java virtual machine takes to start on a busy machine.
STATIC_SESSION_MS = 45_000
KINDS = [
    Kind("confluent-kafka"),
    Kind("confluent-kafka", "classic", "cooperative"),
    Kind("confluent-kafka", "consumer"),
    Kind("java"),
    Kind("java", "consumer"),
    Kind("franz-go"),
    Kind("franz-go", "consumer"),
    Kind("sarama"),
    Kind("kafkajs"),
    Kind("aiokafka"),
]


@pytest.fixture
def reading(group_broker: Broker, topic: str) -> GroupTopic:
    return GroupTopic(group_broker.bootstrap, topic, PARTITIONS)


def start(
    members: MemberFactory, kind: Kind, broker: Broker, reading: GroupTopic, count: int = 1
) -> list[Member]:
    try:
        return [
            members.start(kind, broker.bootstrap, group_of(reading), reading.name)
            for _ in range(count)
        ]
    except UnavailableError as reason:
        pytest.skip(f"{kind.library}: {reason}")


def group_of(reading: GroupTopic) -> str:
    return f"group-of-{reading.name}"


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_members_leave_die_and_sleep_and_every_record_is_read(
    kind: Kind, group_broker: Broker, members: MemberFactory, reading: GroupTopic
) -> None:
    reading.write(10)
    everybody = start(members, kind, group_broker, reading, count=4)
    leaver, victim, sleeper, survivor = everybody
    wait_until_shared(everybody, PARTITIONS)
    reading.write(10)

    leaver.leave()
    wait_until_shared([victim, sleeper, survivor], PARTITIONS)
    reading.write(10)

    victim.kill()
    sleeper.pause()
    reading.write(10)
    wait_until_shared([survivor], PARTITIONS)
    reading.wait_until_read(everybody)

    sleeper.resume()
    wait_until_shared([sleeper, survivor], PARTITIONS)
    reading.write(10)
    reading.wait_until_read(everybody)

    for member in (sleeper, survivor):
        member.leave()
    assert_read_once(everybody)
    assert reading.committed(group_of(reading)) == reading.ends


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ten_members_share_twenty_partitions(
    protocol: str, group_broker: Broker, members: MemberFactory, topic: str
) -> None:
    reading = GroupTopic(group_broker.bootstrap, topic, 20)
    reading.write(5)
    kind = Kind("confluent-kafka", protocol)
    everybody = start(members, kind, group_broker, reading, count=10)
    wait_until_shared(everybody, 20)
    wait_for(
        lambda: {len(member.assigned) for member in everybody} == {2},
        lambda: [str(member) for member in everybody],
    )
    first, *others = everybody
    first.leave()
    reading.write(5)
    wait_until_shared(others, 20)
    reading.wait_until_read(everybody)
    for member in others:
        member.close_stdin()
    for member in others:
        member.wait()
    assert_read_once(everybody)
    assert reading.committed(group_of(reading)) == reading.ends


@pytest.mark.parametrize("kind", [Kind("confluent-kafka"), Kind("java", "consumer")], ids=str)
def test_a_static_member_that_restarts_quickly_finds_its_partitions_as_they_were(
    kind: Kind, group_broker: Broker, members: MemberFactory, reading: GroupTopic
) -> None:
    def member(instance: str) -> Member:
        where = (group_broker.bootstrap, group_of(reading), reading.name)
        try:
            return members.start(kind, *where, instance=instance, session_ms=STATIC_SESSION_MS)
        except UnavailableError as reason:
            pytest.skip(f"{kind.library}: {reason}")

    if kind.protocol == "consumer":
        # There the broker decides how long a member may be away, not the member.
        timeout = {"consumer.session.timeout.ms": str(STATIC_SESSION_MS)}
        reading.configure_group(group_of(reading), timeout)
    reading.write(5)
    one, other = member("one"), member("other")
    wait_until_shared([one, other], PARTITIONS)
    reading.wait_until_read([one, other])
    owned, others, seen = one.assigned, other.assigned, len(other.records)
    one.leave()
    again = member("one")
    wait_for(lambda: again.assigned == owned, lambda: f"{again} was {sorted(owned)}")
    assert other.assigned == others
    reading.write(5)
    reading.wait_until_read([one, other, again])
    assert_read_once([one, other, again])
    assert {partition for partition, _ in other.records[seen:]} == others


def test_groups_of_all_libraries_and_protocols_go_on_while_the_broker_is_killed(
    broker_kind: type[Broker], group_broker: Broker, members: MemberFactory, topic: str
) -> None:
    """kill -9 in the middle, twice; commits hold, and what comes later is read as well."""
    libraries = {
        "classic": ("confluent-kafka", "java", "franz-go", "sarama", "aiokafka"),
        # Has no assignor that the others have, so it is in a group of its own.
        "kafkajs": ("kafkajs", "kafkajs"),
        "consumer": ("confluent-kafka", "java", "franz-go"),
    }
    broker = broker_kind(group_broker.directory.parent / f"killed-{topic}", BROKER_SETTINGS)
    with broker:
        reading = GroupTopic(broker.bootstrap, topic, PARTITIONS)
        reading.write(20)
        groups: dict[str, list[Member]] = {}
        for name, used in libraries.items():
            protocol = "consumer" if name == "consumer" else "classic"
            where = (broker.bootstrap, f"{name}-{topic}", topic)
            for library in used:
                try:
                    kind = Kind(library, protocol)
                    member = members.start(kind, *where, assignor="range")
                except UnavailableError:
                    continue
                groups.setdefault(where[1], []).append(member)
        for everybody in groups.values():
            wait_until_shared(everybody, PARTITIONS)
            reading.wait_until_read(everybody)
        for _ in range(2):
            before = {group: reading.committed(group) for group in groups}
            broker.kill()
            broker.start()
            for group, offsets in before.items():
                after = reading.committed(group)
                assert {p: o for p, o in offsets.items() if after.get(p, -1) < o} == {}
            reading.write(20)
            for everybody in groups.values():
                reading.wait_until_read(everybody)
        for group, everybody in groups.items():
            wait_until_shared(everybody, PARTITIONS)
            for member in everybody:
                member.close_stdin()
            for member in everybody:
                member.wait()
            assert_read_once(everybody)
            assert reading.committed(group) == reading.ends


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_goes_on_after_the_broker_was_killed_with_nobody_noticing(
    protocol: str,
    broker_kind: type[Broker],
    group_broker: Broker,
    members: MemberFactory,
    topic: str,
) -> None:
    """A broker that is back within the session knows its members, and need not share out anew."""
    broker = broker_kind(group_broker.directory.parent / f"quick-{topic}", BROKER_SETTINGS)
    with broker:
        reading = GroupTopic(broker.bootstrap, topic, PARTITIONS)
        reading.write(5)
        everybody = start(members, Kind("confluent-kafka", protocol), broker, reading, count=3)
        wait_until_shared(everybody, PARTITIONS)
        reading.wait_until_read(everybody)
        broker.kill()
        broker.start()
        reading.write(5)
        reading.wait_until_read(everybody)
        wait_until_shared(everybody, PARTITIONS)
        for member in everybody:
            member.leave()
        assert_read_once(everybody)
        assert reading.committed(group_of(reading)) == reading.ends


def test_a_group_moves_to_the_new_protocol_and_back_without_losing_a_record(
    group_broker: Broker, members: MemberFactory, reading: GroupTopic
) -> None:
    classic, consumer = Kind("java"), Kind("java", "consumer")
    reading.write(10)
    old = start(members, classic, group_broker, reading, count=2)
    wait_until_shared(old, PARTITIONS)
    assert group_type(reading) == "CLASSIC"

    new = start(members, consumer, group_broker, reading)
    wait_until_shared([*old, *new], PARTITIONS)
    assert group_type(reading) == "CONSUMER"
    reading.write(10)
    old[0].leave()
    wait_until_shared([old[1], *new], PARTITIONS)
    reading.write(10)
    reading.wait_until_read([*old, *new])

    new[0].leave()
    wait_until_shared([old[1]], PARTITIONS)
    assert group_type(reading) == "CLASSIC"
    reading.write(10)
    reading.wait_until_read([*old, *new])
    old[1].leave()
    assert_read_once([*old, *new])
    assert reading.committed(group_of(reading)) == reading.ends


def test_members_of_both_protocols_leave_die_and_sleep_in_one_group(
    group_broker: Broker, members: MemberFactory, reading: GroupTopic
) -> None:
    """Of several libraries: the classic ones come first, and the new ones take the group along."""
    where = (group_broker.bootstrap, group_of(reading), reading.name)
    reading.write(10)
    try:
        leaver, victim = (
            members.start(Kind(library), *where, assignor="range")
            for library in ("confluent-kafka", "franz-go")
        )
        wait_until_shared([leaver, victim], PARTITIONS)
        sleeper, survivor = (
            members.start(Kind(library, "consumer"), *where)
            for library in ("confluent-kafka", "java")
        )
        everybody = [leaver, victim, sleeper, survivor]
        old = members.start(Kind("java"), *where)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    wait_until_shared([*everybody, old], PARTITIONS)
    assert group_type(reading) == "CONSUMER"
    reading.write(10)
    leaver.leave()
    wait_until_shared([victim, sleeper, survivor, old], PARTITIONS)
    reading.write(10)
    victim.kill()
    sleeper.pause()
    reading.write(10)
    wait_until_shared([survivor, old], PARTITIONS)
    reading.wait_until_read([*everybody, old])
    sleeper.resume()
    wait_until_shared([sleeper, survivor, old], PARTITIONS)
    reading.write(10)
    reading.wait_until_read([*everybody, old])
    for member in (old, sleeper, survivor):
        member.leave()
    assert_read_once([*everybody, old])
    assert reading.committed(group_of(reading)) == reading.ends


def group_type(reading: GroupTopic) -> str:
    listed = reading.admin.list_consumer_groups().result(120).valid
    return next(str(each.type.name) for each in listed if each.group_id == group_of(reading))
