"""One member of a consumer group, through a Python library: ``member.py LIBRARY OPTIONS``.

What it says on stdout is told in ``members.py``; it leaves the group when its stdin ends.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call, union-attr, arg-type"

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any

stdin_ended = threading.Event()


def say(**event: Any) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


class Owned:
    """The partitions of this member, told whenever they change."""

    def __init__(self) -> None:
        self.partitions: set[int] = set()

    def add(self, came: Iterable[int]) -> None:
        self.partitions |= set(came)
        say(assigned=sorted(self.partitions))

    def remove(self, gone: Iterable[int]) -> None:
        self.partitions -= set(gone)
        say(assigned=sorted(self.partitions))


def run_confluent(options: dict[str, Any]) -> None:
    from confluent_kafka import Consumer, KafkaException

    settings: dict[str, Any] = {
        "bootstrap.servers": options["bootstrap"],
        "group.id": options["group"],
        "group.protocol": options["protocol"],
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "topic.metadata.refresh.interval.ms": 5000,
        "reconnect.backoff.max.ms": 500,
        "log_level": 3,
    }
    if options["protocol"] == "classic":
        settings["session.timeout.ms"] = options["session_ms"]
        settings["heartbeat.interval.ms"] = options["heartbeat_ms"]
        if options.get("assignor") == "cooperative":
            settings["partition.assignment.strategy"] = "cooperative-sticky"
    if options.get("instance"):
        settings["group.instance.id"] = options["instance"]
    owned = Owned()

    def assigned(_: Any, partitions: Any) -> None:
        owned.add(each.partition for each in partitions)

    def revoked(_: Any, partitions: Any) -> None:
        owned.remove(each.partition for each in partitions)

    consumer = Consumer(settings)
    consumer.subscribe([options["topic"]], on_assign=assigned, on_revoke=revoked, on_lost=revoked)
    while not stdin_ended.is_set():
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error() is not None:
            print(message.error(), file=sys.stderr)
            continue
        say(records=[[message.partition(), message.offset()]])
        try:
            consumer.commit(message=message, asynchronous=False)
        except KafkaException as lost:
            # Whoever has the partition now reads this record again.
            print(lost, file=sys.stderr)
    consumer.close()


async def run_aiokafka(options: dict[str, Any]) -> None:
    import aiokafka
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.errors import KafkaError

    owned = Owned()

    class Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            owned.add(each.partition for each in assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            owned.remove(each.partition for each in revoked)

    settings: dict[str, Any] = {}
    if options.get("assignor") == "range":
        settings["partition_assignment_strategy"] = [RangePartitionAssignor]
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=options["bootstrap"],
        group_id=options["group"],
        group_instance_id=options.get("instance"),
        session_timeout_ms=options["session_ms"],
        heartbeat_interval_ms=options["heartbeat_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        metadata_max_age_ms=5000,
        **settings,
    )
    await consumer.start()
    consumer.subscribe([options["topic"]], listener=Listener())
    while not stdin_ended.is_set():
        found = await consumer.getmany(timeout_ms=100)
        records = [[each.partition, each.offset] for several in found.values() for each in several]
        if records:
            say(records=records)
            try:
                await consumer.commit()
            except KafkaError as lost:
                print(repr(lost), file=sys.stderr)
    await consumer.stop()


def run_kafka_python(options: dict[str, Any]) -> None:
    import kafka
    from kafka.errors import KafkaError

    owned = Owned()

    class Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
        def on_partitions_assigned(self, assigned: Any) -> None:
            owned.add(each.partition for each in assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            owned.remove(each.partition for each in revoked)

    consumer = kafka.KafkaConsumer(
        bootstrap_servers=options["bootstrap"],
        group_id=options["group"],
        session_timeout_ms=options["session_ms"],
        heartbeat_interval_ms=options["heartbeat_ms"],
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        metadata_max_age_ms=5000,
    )
    consumer.subscribe([options["topic"]], listener=Listener())
    while not stdin_ended.is_set():
        found = consumer.poll(timeout_ms=100)
        records = [[each.partition, each.offset] for several in found.values() for each in several]
        if records:
            say(records=records)
            try:
                consumer.commit()
            except KafkaError as lost:
                print(repr(lost), file=sys.stderr)
    consumer.close()


def watch_stdin() -> None:
    sys.stdin.buffer.read()
    stdin_ended.set()


def main() -> None:
    library, options = sys.argv[1], json.loads(sys.argv[2])
    threading.Thread(target=watch_stdin, daemon=True).start()
    if library == "confluent-kafka":
        run_confluent(options)
    elif library == "aiokafka":
        asyncio.run(run_aiokafka(options))
    else:
        run_kafka_python(options)
    say(left=True)


if __name__ == "__main__":
    main()
