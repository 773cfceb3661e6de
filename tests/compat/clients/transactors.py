"""Transactional producers of every library, behind one small surface.

A transactor has producers by name, so that two of them can claim the same transactional id. Those
of other languages are programs behind a pipe, like the clients of ``driver``:
``java/Transactor.java``, ``go/transactor.go``, ``node/transactor.js``.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined, no-untyped-call, union-attr, arg-type"

import asyncio
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors
from kafka.structs import OffsetAndMetadata

from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.errors import ApiError
from moldau.ids import TopicPartition
from tests.compat.clients.base import ClientError
from tests.compat.clients.driver import DriverClient
from tests.compat.clients.programs import build_go, build_java, build_node

PATIENCE_S = 120.0
TIMEOUT_MS = 120_000
# What a transaction that is aborted and one that is committed have in common is written twice.
ABORT_THEN_COMMIT = (False, True)


class Transactor:
    """A library's transactional producers. Failures are ClientErrors."""

    name: ClassVar[str]
    # The newest protocol that it speaks: 2 with KIP-890.
    transaction_version: ClassVar[int] = 1

    def open(self, producer: str, transactional_id: str) -> None:
        """Take over a transactional id."""
        raise NotImplementedError

    def begin(self, producer: str) -> None:
        raise NotImplementedError

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        """Write records and wait until they are there."""
        raise NotImplementedError

    def end(self, producer: str, *, commit: bool) -> None:
        raise NotImplementedError

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        """Copy what a member of a group reads, each transaction a second time after an abort."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections and processes."""

    def write(
        self, producer: str, topic: str, partition: int, values: Sequence[str], *, commit: bool
    ) -> None:
        """A whole transaction."""
        self.begin(producer)
        self.send(producer, topic, partition, values)
        self.end(producer, commit=commit)


class DriverTransactor(Transactor):
    """A program of another language."""

    def __init__(self, command: Sequence[str], log_path: Path) -> None:
        self._driver = DriverClient(command, log_path)
        self._driver.name = self.name  # type: ignore[misc]

    def open(self, producer: str, transactional_id: str) -> None:
        self._driver.call("open", producer=producer, id=transactional_id)

    def begin(self, producer: str) -> None:
        self._driver.call("begin", producer=producer)

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        self._driver.call(
            "send", producer=producer, topic=topic, partition=partition, values=list(values)
        )

    def end(self, producer: str, *, commit: bool) -> None:
        self._driver.call("end", producer=producer, commit=commit)

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        self._driver.call(
            "copy", source=source, target=target, group=group, id=transactional_id, count=count
        )

    def close(self) -> None:
        self._driver.close()


class JavaTransactor(DriverTransactor):
    name: ClassVar[str] = "java"
    transaction_version: ClassVar[int] = 2


class FranzGoTransactor(DriverTransactor):
    name: ClassVar[str] = "franz-go"
    transaction_version: ClassVar[int] = 2


class KafkaJsTransactor(DriverTransactor):
    name: ClassVar[str] = "kafkajs"


class ConfluentTransactor(Transactor):
    name: ClassVar[str] = "confluent-kafka"

    def __init__(self, bootstrap: str) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 2}
        self._producers: dict[str, confluent_kafka.Producer] = {}

    def open(self, producer: str, transactional_id: str) -> None:
        self._producers[producer] = self._opened(transactional_id)

    def _opened(self, transactional_id: str) -> confluent_kafka.Producer:
        own = {"transactional.id": transactional_id, "transaction.timeout.ms": TIMEOUT_MS}
        opened = confluent_kafka.Producer({**self._settings, **own})
        with _errors(confluent_kafka.KafkaException):
            opened.init_transactions(PATIENCE_S)
        return opened

    def begin(self, producer: str) -> None:
        with _errors(confluent_kafka.KafkaException):
            self._producers[producer].begin_transaction()

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        errors: list[ClientError] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                errors.append(ClientError(error.code(), error.str()))

        for value in values:
            self._producers[producer].produce(
                topic, value, partition=partition, on_delivery=delivered
            )
        self._producers[producer].flush(PATIENCE_S)
        if errors:
            raise errors[0]

    def end(self, producer: str, *, commit: bool) -> None:
        chosen = self._producers[producer]
        with _errors(confluent_kafka.KafkaException):
            (chosen.commit_transaction if commit else chosen.abort_transaction)(PATIENCE_S)

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        self.open("copier", transactional_id)
        producer = self._producers["copier"]
        member = confluent_kafka.Consumer(
            {
                **self._settings,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        deadline = time.monotonic() + PATIENCE_S
        try:
            member.subscribe([source])
            while count > 0 and time.monotonic() < deadline:
                messages = member.consume(count, 0.3)
                if not messages:
                    continue
                for commit in ABORT_THEN_COMMIT:
                    with _errors(confluent_kafka.KafkaException):
                        producer.begin_transaction()
                        for message in messages:
                            producer.produce(target, message.value(), partition=message.partition())
                        producer.send_offsets_to_transaction(
                            member.position(member.assignment()), member.consumer_group_metadata()
                        )
                    self.end("copier", commit=commit)
                count -= len(messages)
        finally:
            member.close()


class AioKafkaTransactor(Transactor):
    name: ClassVar[str] = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._loop = asyncio.new_event_loop()
        self._producers: dict[str, Any] = {}

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        with _errors(aiokafka.errors.KafkaError, aiokafka.errors.ProducerFenced):
            return self._loop.run_until_complete(asyncio.wait_for(work, 2 * PATIENCE_S))

    def close(self) -> None:
        for producer in self._producers.values():
            # A transaction that is open is not waited for.
            producer._sender._sender_task.cancel()
            self._loop.run_until_complete(producer.client.close())
            producer._closed = True
        self._loop.close()

    async def _opened(self, transactional_id: str) -> Any:
        opened = aiokafka.AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
        )
        await opened.start()
        return opened

    def open(self, producer: str, transactional_id: str) -> None:
        self._producers[producer] = self._run(self._opened(transactional_id))

    def begin(self, producer: str) -> None:
        self._run(self._producers[producer].begin_transaction())

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        async def send() -> None:
            for value in values:
                await self._producers[producer].send_and_wait(
                    topic, value.encode(), partition=partition
                )

        self._run(send())

    def end(self, producer: str, *, commit: bool) -> None:
        chosen = self._producers[producer]
        self._run(chosen.commit_transaction() if commit else chosen.abort_transaction())

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        self._run(self._copy(source, target, group, transactional_id, count))

    async def _copy(
        self, source: str, target: str, group: str, transactional_id: str, count: int
    ) -> None:
        producer = self._producers["copier"] = await self._opened(transactional_id)
        member = aiokafka.AIOKafkaConsumer(
            source,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        await member.start()
        deadline = time.monotonic() + PATIENCE_S
        try:
            while count > 0 and time.monotonic() < deadline:
                found = await member.getmany(timeout_ms=300)
                records = [record for each in found.values() for record in each]
                if not records:
                    continue
                for commit in ABORT_THEN_COMMIT:
                    await producer.begin_transaction()
                    for record in records:
                        await producer.send(target, record.value, partition=record.partition)
                    following = {where: each[-1].offset + 1 for where, each in found.items()}
                    await producer.send_offsets_to_transaction(following, group)
                    await (
                        producer.commit_transaction() if commit else producer.abort_transaction()
                    )
                count -= len(records)
        finally:
            await member.stop()


class KafkaPythonTransactor(Transactor):
    name: ClassVar[str] = "kafka-python"

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producers: dict[str, Any] = {}

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close(timeout=0)

    def open(self, producer: str, transactional_id: str) -> None:
        opened = kafka.KafkaProducer(
            bootstrap_servers=self._bootstrap,
            transactional_id=transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
        )
        self._producers[producer] = opened
        with _errors(kafka.errors.KafkaError):
            opened.init_transactions()

    def begin(self, producer: str) -> None:
        with _errors(kafka.errors.KafkaError):
            self._producers[producer].begin_transaction()

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        with _errors(kafka.errors.KafkaError):
            sent = [
                self._producers[producer].send(topic, value.encode(), partition=partition)
                for value in values
            ]
            for one in sent:
                one.get(timeout=PATIENCE_S)

    def end(self, producer: str, *, commit: bool) -> None:
        chosen = self._producers[producer]
        with _errors(kafka.errors.KafkaError):
            (chosen.commit_transaction if commit else chosen.abort_transaction)()

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        self.open("copier", transactional_id)
        producer = self._producers["copier"]
        member = kafka.KafkaConsumer(
            source,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        deadline = time.monotonic() + PATIENCE_S
        try:
            while count > 0 and time.monotonic() < deadline:
                found = member.poll(timeout_ms=300)
                records = [record for each in found.values() for record in each]
                if not records:
                    continue
                for commit in ABORT_THEN_COMMIT:
                    with _errors(kafka.errors.KafkaError):
                        producer.begin_transaction()
                        for record in records:
                            producer.send(target, record.value, partition=record.partition)
                        following = {
                            where: OffsetAndMetadata(each[-1].offset + 1, "", -1)
                            for where, each in found.items()
                        }
                        producer.send_offsets_to_transaction(following, member.group_metadata())
                    self.end("copier", commit=commit)
                count -= len(records)
        finally:
            member.close()


class OurTransactor(Transactor):
    """``moldau.client``."""

    name: ClassVar[str] = "moldau"
    transaction_version: ClassVar[int] = 2

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producers: dict[str, Producer] = {}

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()

    def open(self, producer: str, transactional_id: str) -> None:
        opened = self._producers[producer] = Producer(
            self._bootstrap, transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS
        )
        # The id is taken over by the first transaction.
        with _errors(ApiError):
            opened.begin_transaction()
            opened.abort_transaction()

    def begin(self, producer: str) -> None:
        with _errors(ApiError):
            self._producers[producer].begin_transaction()

    def send(self, producer: str, topic: str, partition: int, values: Sequence[str]) -> None:
        chosen = self._producers[producer]
        with _errors(ApiError):
            sent = [chosen.send(topic, value.encode(), partition=partition) for value in values]
            chosen.flush()
            for one in sent:
                if one.error is not None:
                    raise one.error

    def end(self, producer: str, *, commit: bool) -> None:
        chosen = self._producers[producer]
        with _errors(ApiError):
            (chosen.commit_transaction if commit else chosen.abort_transaction)()

    def copy(self, source: str, target: str, group: str, transactional_id: str, count: int) -> None:
        self.open("copier", transactional_id)
        producer = self._producers["copier"]
        deadline = time.monotonic() + PATIENCE_S
        with GroupConsumer(
            self._bootstrap,
            group,
            [source],
            auto_offset_reset="earliest",
            commit_interval_ms=None,
            read_committed=True,
        ) as member:
            while count > 0 and time.monotonic() < deadline:
                records = member.poll(0.3)
                if not records:
                    continue
                for commit in ABORT_THEN_COMMIT:
                    producer.begin_transaction()
                    for record in records:
                        producer.send(target, record.value, partition=record.partition)
                    following = {
                        TopicPartition(record.topic, record.partition): record.offset + 1
                        for record in records
                    }
                    producer.send_offsets_to_transaction(following, member)
                    self.end("copier", commit=commit)
                count -= len(records)


@contextmanager
def _errors(*kinds: type[BaseException]) -> Iterator[None]:
    """A library's error as a ClientError, with Kafka's code where it has one."""
    try:
        yield
    except kinds as failure:
        code = getattr(failure, "errno", None) or getattr(failure, "code", None)
        if isinstance(failure, confluent_kafka.KafkaException):
            code = failure.args[0].code()
        raise ClientError(int(code or -1), repr(failure)) from failure


TRANSACTOR_NAMES = (
    "confluent-kafka",
    "aiokafka",
    "kafka-python",
    "kafkajs",
    "franz-go",
    "java",
    "moldau",
)


def start_transactor(name: str, bootstrap: str, build_dir: Path, log_dir: Path) -> Transactor:
    """A transactor for a broker; UnavailableError where this machine lacks what it needs."""
    log = log_dir / f"transactor-{name}.log"
    match name:
        case "java":
            return JavaTransactor([*build_java(build_dir, "Transactor"), bootstrap], log)
        case "franz-go":
            return FranzGoTransactor([build_go(build_dir), "transactor", bootstrap], log)
        case "kafkajs":
            return KafkaJsTransactor([*build_node(build_dir, "transactor.js"), bootstrap], log)
        case "confluent-kafka":
            return ConfluentTransactor(bootstrap)
        case "aiokafka":
            return AioKafkaTransactor(bootstrap)
        case "kafka-python":
            return KafkaPythonTransactor(bootstrap)
    return OurTransactor(bootstrap)
