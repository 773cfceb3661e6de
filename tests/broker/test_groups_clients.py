"""Groups of librdkafka and aiokafka members that join, leave and crash."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.broker.batches import batch
from tests.broker.grouping import QUICK, committed, find_coordinator
from tests.broker.producing import create_topic, produce
from tests.broker.test_groups_offsets import wait_until_loaded
from tests.running import RunningBroker

confluent_kafka = pytest.importorskip("confluent_kafka")
aiokafka = pytest.importorskip("aiokafka")

SETTINGS = {
    **QUICK,
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
}
PARTITIONS = 6
PER_PARTITION = 50
POLL_S = 0.1
PATIENCE = 150
PROTOCOLS = ["classic", "consumer"]


def fill(broker: RunningBroker, begin: int = 0) -> list[bytes]:
    """Write records to every partition of ``t``; returns their values."""
    values = []
    with broker.connect() as client:
        for partition in range(PARTITIONS):
            for number in range(begin, begin + PER_PARTITION):
                values.append(b"%d-%d" % (partition, number))
                produce(client, "t", batch(values[-1]), partition)
    return values


def consumer(broker: RunningBroker, protocol: str, **settings: Any) -> Any:
    made = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )
    made.subscribe(["t"])
    return made


def poll(member: Any, seen: Counter[bytes]) -> None:
    """Read available records. (``consume`` would lose its position when partitions are added.)"""
    message = member.poll(POLL_S)
    while message is not None:
        assert message.error() is None, message.error()
        seen[message.value()] += 1
        message = member.poll(0)


def share(members: list[Any], seen: Counter[bytes]) -> None:
    """Let the members read until each of them has its share of the partitions."""
    for _ in range(PATIENCE):
        parts = [len(member.assignment()) for member in members]
        if parts == [PARTITIONS // len(members)] * len(members):
            return
        for member in members:
            poll(member, seen)
    raise AssertionError(f"the members have {parts} of {PARTITIONS} partitions")


def take(members: list[Any], wanted: int, seen: Counter[bytes]) -> None:
    """Let the members read in turn until ``wanted`` different records have been seen."""
    for _ in range(PATIENCE):
        for member in members:
            poll(member, seen)
        if len(seen) >= wanted:
            return
    raise AssertionError(f"{len(seen)} of {wanted} records were read")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_share_leave_and_resume_where_they_were(tmp_path: Path, protocol: str) -> None:
    with RunningBroker(tmp_path / "data", SETTINGS) as broker:
        with broker.connect() as client:
            find_coordinator(client)
            create_topic(client, "t", PARTITIONS)
        one, two = consumer(broker, protocol), consumer(broker, protocol)
        seen: Counter[bytes] = Counter()
        share([one, two], seen)
        values = fill(broker)
        take([one, two], len(values), seen)
        assert seen == Counter(values)
        for member in (one, two):
            member.commit(asynchronous=False)
        two.close()
        rest: Counter[bytes] = Counter()
        share([one], rest)
        more = fill(broker, PER_PARTITION)
        take([one], len(more), rest)
        assert rest == Counter(more), "nothing again, nothing missing"
        one.commit(asynchronous=False)
        one.close()
        with broker.connect() as client:
            assert set(committed(client, "g").values()) == {2 * PER_PARTITION}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_goes_on_after_the_broker_was_restarted(tmp_path: Path, protocol: str) -> None:
    with RunningBroker(tmp_path / "data", SETTINGS) as broker:
        with broker.connect() as client:
            find_coordinator(client)
            create_topic(client, "t", PARTITIONS)
        values = fill(broker)
        member = consumer(broker, protocol)
        seen: Counter[bytes] = Counter()
        take([member], len(values), seen)
        member.commit(asynchronous=False)
        member.close()
    with RunningBroker(tmp_path / "data", SETTINGS) as broker:
        with broker.connect() as client:
            wait_until_loaded(client, ["g"])
        more = fill(broker, PER_PARTITION)
        member = consumer(broker, protocol)
        rest: Counter[bytes] = Counter()
        take([member], len(more), rest)
        assert rest == Counter(more)
        member.close()


def test_aiokafka_members_share_a_topic(tmp_path: Path) -> None:
    async def read(bootstrap: str, wanted: int) -> set[bytes]:
        seen: set[bytes] = set()
        members = [
            aiokafka.AIOKafkaConsumer(
                "t",
                bootstrap_servers=bootstrap,
                group_id="g",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            for _ in range(2)
        ]
        await asyncio.gather(*(member.start() for member in members))
        for _ in range(PATIENCE):
            for member in members:
                for records in (await member.getmany(timeout_ms=100)).values():
                    seen.update(record.value for record in records)
            if len(seen) >= wanted:
                break
        for member in members:
            assert len(member.assignment()) == PARTITIONS // 2
            await member.commit()
        for member in members:
            await member.stop()
        return seen

    with RunningBroker(tmp_path / "data", SETTINGS) as broker, broker.connect() as client:
        find_coordinator(client)
        create_topic(client, "t", PARTITIONS)
        values = fill(broker)
        assert asyncio.run(read(broker.bootstrap, len(values))) == set(values)
        assert set(committed(client, "g").values()) == {PER_PARTITION}
