"""librdkafka through confluent-kafka; also the reference reader of the other clients' tests."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call, union-attr, arg-type, assignment, index"

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

import confluent_kafka
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from tests.compat.clients.base import EARLIEST, LATEST, NOT_FOUND, Client, ClientError, Record

PATIENCE_S = 120.0


class ConfluentClient(Client):
    name: ClassVar[str] = "confluent-kafka"

    def __init__(self, bootstrap: str, settings: Mapping[str, Any] | None = None) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self._settings.update(settings or {})
        self._admin = AdminClient(self._settings)
        # librdkafka wants a group id even when it never joins the group.
        self._consumer = Consumer(
            {**self._settings, "group.id": "unused", "enable.auto.commit": False}
        )
        library = confluent_kafka.libversion()[0]
        self.version = f"{confluent_kafka.version()} (librdkafka {library})"

    def close(self) -> None:
        self._consumer.close()

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = NewTopic(topic, num_partitions=partitions, config=dict(configs or {}))
        _result(self._admin.create_topics([wanted])[topic])

    def delete_topic(self, topic: str) -> None:
        _result(self._admin.delete_topics([topic])[topic])

    def list_topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    def topic_config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = _result(self._admin.describe_configs([resource])[resource])
        return {name: entry.value for name, entry in entries.items()}

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        for name, value in configs.items():
            entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            resource.add_incremental_config(entry)
        _result(self._admin.incremental_alter_configs([resource])[resource])

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: str | None = None,
        acks: str | None = None,
    ) -> list[int]:
        settings = dict(self._settings)
        if codec is not None:
            settings["compression.type"] = codec
        if acks is not None:
            settings["acks"] = acks
        producer = Producer(settings)
        offsets: list[int] = [NOT_FOUND] * len(records)
        errors: list[ClientError] = []

        for index, record in enumerate(records):

            def delivered(error: Any, message: Message, index: int = index) -> None:
                if error is not None:
                    errors.append(ClientError(error.code(), error.str()))
                elif acks != "0":
                    offsets[index] = message.offset()

            producer.produce(
                topic,
                partition=record.partition,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp=record.timestamp,
                on_delivery=delivered,
            )
        unsent = producer.flush(PATIENCE_S)
        if errors:
            raise errors[0]
        if unsent:
            raise ClientError(-1, f"{unsent} records were not sent in {PATIENCE_S} s")
        return offsets

    def consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        self._consumer.assign([TopicPartition(topic, *start) for start in starts.items()])
        return _poll(self._consumer, count)

    def consume_topics(
        self, starts: Mapping[tuple[str, int], int], count: int
    ) -> dict[str, list[Record]]:
        """``count`` records of many partitions, by topic."""
        places = [TopicPartition(*place, offset) for place, offset in starts.items()]
        self._consumer.assign(places)
        found: dict[str, list[Record]] = {topic: [] for topic, _ in starts}
        for message in _messages(self._consumer, count):
            found[message.topic()].append(_record(message))
        return found

    def end_offsets(self, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        wanted = {TopicPartition(*place): OffsetSpec.latest() for place in places}
        listed = self._admin.list_offsets(wanted)
        return {
            (place.topic, place.partition): int(_result(future).offset)
            for place, future in listed.items()
        }

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Record]:
        consumer = Consumer({**self._settings, "group.id": group, "auto.offset.reset": "earliest"})
        try:
            consumer.subscribe([topic])
            return _poll(consumer, count)
        finally:
            consumer.close()

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        wanted = TopicPartition(topic, partition, timestamp)
        try:
            if timestamp in (EARLIEST, LATEST):
                low, high = self._consumer.get_watermark_offsets(wanted, timeout=PATIENCE_S)
                return int(low if timestamp == EARLIEST else high)
            found = self._consumer.offsets_for_times([wanted], timeout=PATIENCE_S)[0]
        except KafkaException as failure:
            raise _error(failure) from failure
        if found.error is not None:
            raise ClientError(found.error.code(), found.error.str())
        return int(found.offset) if found.offset >= 0 else NOT_FOUND


def _poll(consumer: Consumer, count: int) -> list[Record]:
    return [_record(message) for message in _messages(consumer, count)]


def _messages(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(messages) < count and time.monotonic() < deadline:
        for message in consumer.consume(count - len(messages), timeout=0.2):
            if message.error() is not None:
                raise ClientError(message.error().code(), message.error().str())
            messages.append(message)
    return messages


def _record(message: Message) -> Record:
    return Record(
        partition=message.partition(),
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
        timestamp=message.timestamp()[1],
        offset=message.offset(),
    )


def _result(future: "Future[Any]") -> Any:
    try:
        return future.result(PATIENCE_S)
    except KafkaException as failure:
        raise _error(failure) from failure


def _error(failure: KafkaException) -> ClientError:
    return ClientError(failure.args[0].code(), failure.args[0].str())
