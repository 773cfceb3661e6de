"""The two clients written in Python: aiokafka and kafka-python."""

import asyncio
import importlib.metadata
import re
import time
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, ClassVar

import aiokafka
import aiokafka.admin
import aiokafka.errors
import kafka
import kafka.admin
import kafka.errors

from tests.compat.clients.base import EARLIEST, LATEST, NOT_FOUND, Client, ClientError, Record

PATIENCE_S = 120.0


class AioKafkaClient(Client):
    """aiokafka on an event loop of its own, one call at a time."""

    name: ClassVar[str] = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._loop = asyncio.new_event_loop()
        self.version = importlib.metadata.version("aiokafka")

    def close(self) -> None:
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(work, 2 * PATIENCE_S))
        except aiokafka.errors.KafkaError as failure:
            raise ClientError(getattr(failure, "errno", None) or -1, repr(failure)) from failure

    async def _with_admin(self, method: str, *arguments: Any) -> Any:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        try:
            return await getattr(admin, method)(*arguments)
        finally:
            await admin.close()

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = aiokafka.admin.NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))
        answer = self._run(self._with_admin("create_topics", [wanted]))
        _raise_for(answer.topic_errors)

    def delete_topic(self, topic: str) -> None:
        answer = self._run(self._with_admin("delete_topics", [topic]))
        _raise_for(answer.topic_error_codes)

    def list_topics(self) -> set[str]:
        return set(self._run(self._with_admin("list_topics")))

    def topic_config(self, topic: str) -> dict[str, str]:
        resource = aiokafka.admin.config_resource.ConfigResource("TOPIC", topic)
        answers = self._run(self._with_admin("describe_configs", [resource]))
        code, message, _, _, entries = answers[0].resources[0]
        if code:
            raise ClientError(code, message)
        return {entry[0]: entry[1] for entry in entries}

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = aiokafka.admin.config_resource.ConfigResource(
            "TOPIC", topic, configs=dict(configs)
        )
        answers = self._run(self._with_admin("alter_configs", [resource]))
        _raise_for([(one[2], one[0], one[1]) for one in answers[0].resources])

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: str | None = None,
        acks: str | None = None,
    ) -> list[int]:
        settings: dict[str, Any] = {}
        if codec is not None and codec != "none":
            settings["compression_type"] = codec
        if acks is not None:
            settings["acks"] = acks if acks == "all" else int(acks)
        offsets: list[int] = self._run(self._produce(topic, records, settings))
        return offsets

    async def _produce(
        self, topic: str, records: Sequence[Record], settings: dict[str, Any]
    ) -> list[int]:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=self._bootstrap, **settings)
        await producer.start()
        try:
            futures = [
                await producer.send(
                    topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers),
                )
                for record in records
            ]
            sent = [await future for future in futures]
            return [NOT_FOUND if one is None else one.offset for one in sent]
        finally:
            await producer.stop()

    def consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        records: list[Record] = self._run(self._consume(topic, starts, count))
        return records

    async def _consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
        await consumer.start()
        try:
            wanted = {aiokafka.TopicPartition(topic, p): offset for p, offset in starts.items()}
            consumer.assign(list(wanted))
            for partition, offset in wanted.items():
                consumer.seek(partition, offset)
            return await _take(consumer, count)
        finally:
            await consumer.stop()

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Record]:
        async def join_and_take() -> list[Record]:
            consumer = aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=self._bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
            )
            await consumer.start()
            try:
                return await _take(consumer, count)
            finally:
                await consumer.stop()

        records: list[Record] = self._run(join_and_take())
        return records

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        async def ask() -> int:
            consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=self._bootstrap)
            await consumer.start()
            try:
                wanted = aiokafka.TopicPartition(topic, partition)
                if timestamp == LATEST:
                    return int((await consumer.end_offsets([wanted]))[wanted])
                if timestamp == EARLIEST:
                    return int((await consumer.beginning_offsets([wanted]))[wanted])
                found = (await consumer.offsets_for_times({wanted: timestamp}))[wanted]
                return NOT_FOUND if found is None else int(found.offset)
            finally:
                await consumer.stop()

        return int(self._run(ask()))


async def _take(consumer: Any, count: int) -> list[Record]:
    """Up to ``count`` records of an aiokafka consumer, for as long as patience lasts."""
    records: list[Record] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(records) < count and time.monotonic() < deadline:
        for found in (await consumer.getmany(timeout_ms=500)).values():
            records += [_record(one) for one in found]
    return records


class KafkaPythonClient(Client):
    name: ClassVar[str] = "kafka-python"
    sends_null_headers: ClassVar[bool] = False

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        self._consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap)
        self.version = importlib.metadata.version("kafka-python")

    def close(self) -> None:
        self._consumer.close()
        self._admin.close()

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None
    ) -> None:
        wanted = kafka.admin.NewTopic(topic, partitions, 1, topic_configs=dict(configs or {}))
        self._call(self._admin.create_topics, [wanted])

    def delete_topic(self, topic: str) -> None:
        self._call(self._admin.delete_topics, [topic])

    def list_topics(self) -> set[str]:
        return set(self._call(self._admin.list_topics))

    def topic_config(self, topic: str) -> dict[str, str]:
        resource = kafka.admin.ConfigResource("TOPIC", topic)
        answer = self._call(self._admin.describe_configs, [resource], config_filter="all")
        return {name: entry["value"] for name, entry in answer["topic"][topic].items()}

    def set_topic_config(self, topic: str, configs: Mapping[str, str]) -> None:
        resource = kafka.admin.ConfigResource("TOPIC", topic, configs=dict(configs))
        answer = self._call(self._admin.alter_configs, [resource])["topic"][topic]
        # kafka-python tells of a refused setting in words.
        if code := re.match(r"\[Error (\d+)\]", answer):
            raise ClientError(int(code[1]), answer)

    @staticmethod
    def _call(method: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except kafka.errors.KafkaError as failure:
            raise ClientError(getattr(failure, "errno", None) or -1, repr(failure)) from failure

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        codec: str | None = None,
        acks: str | None = None,
    ) -> list[int]:
        settings: dict[str, Any] = {"bootstrap_servers": self._bootstrap}
        if codec is not None and codec != "none":
            settings["compression_type"] = codec
        if acks is not None:
            settings["acks"] = acks if acks == "all" else int(acks)
            settings["enable_idempotence"] = acks == "all"
        producer = kafka.KafkaProducer(**settings)
        try:
            futures = [
                self._call(
                    producer.send,
                    topic,
                    value=record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers),
                )
                for record in records
            ]
            sent = [self._call(future.get, timeout=PATIENCE_S) for future in futures]
            return [NOT_FOUND if acks == "0" else one.offset for one in sent]
        finally:
            producer.close(timeout=PATIENCE_S)

    def consume(self, topic: str, starts: Mapping[int, int], count: int) -> list[Record]:
        wanted = {kafka.TopicPartition(topic, p): offset for p, offset in starts.items()}
        self._consumer.assign(list(wanted))
        for partition, offset in wanted.items():
            self._consumer.seek(partition, offset)
        return _poll(self._consumer, count)

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Record]:
        consumer = kafka.KafkaConsumer(
            topic,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
        )
        try:
            return _poll(consumer, count)
        finally:
            consumer.close()

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int:
        wanted = kafka.TopicPartition(topic, partition)
        if timestamp == LATEST:
            return int(self._call(self._consumer.end_offsets, [wanted])[wanted])
        if timestamp == EARLIEST:
            return int(self._call(self._consumer.beginning_offsets, [wanted])[wanted])
        found = self._call(self._consumer.offsets_for_times, {wanted: timestamp})[wanted]
        return NOT_FOUND if found is None else int(found.offset)


def _poll(consumer: Any, count: int) -> list[Record]:
    """Up to ``count`` records of a kafka-python consumer, for as long as patience lasts."""
    records: list[Record] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(records) < count and time.monotonic() < deadline:
        for found in consumer.poll(timeout_ms=500).values():
            records += [_record(one) for one in found]
    return records


def _record(message: Any) -> Record:
    """Both libraries name the fields of a consumed record alike."""
    return Record(
        partition=message.partition,
        key=message.key,
        value=message.value,
        headers=tuple((name, value) for name, value in message.headers),
        timestamp=message.timestamp,
        offset=message.offset,
    )


def _raise_for(errors: Sequence[Sequence[Any]]) -> None:
    """Raise the first failure of ``(name, code, message...)`` entries of an admin answer."""
    for name, code, *message in errors:
        if code:
            raise ClientError(code, f"{name}: {message}")
