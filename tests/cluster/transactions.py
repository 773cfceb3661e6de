"""Transactional clients of a cluster as threads, and whether what is committed is what they wrote.

A writer numbers its records: ``"2.17"`` is record 17 of writer 2. It knows of each transaction that
it was committed, that it was aborted, or neither, if it was fenced while the commit was on its way.
A consumer that reads committed records must see every transaction as a whole or not at all.
"""

import random
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from moldau.errors import ErrorCode
from tests.cluster.history import SHOWN
from tests.cluster.load import PATIENCE_S, QUIET
from tests.compat.clients.base import ClientError
from tests.compat.clients.transactors import Transactor

ABORTED_SHARE = 0.3
MOST_RECORDS = 4
# What is committed in each partition, in the order of the log.
Values = Mapping[int, Sequence[str]]


class Fate(Enum):
    """What a writer knows of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Written(NamedTuple):
    """A transaction, with its values by partition."""

    fate: Fate
    values: Mapping[int, Sequence[str]]


class TransactionalWriter(threading.Thread):
    """Writes one transaction after the other to the partitions of a topic, and aborts some."""

    def __init__(
        self, number: int, transactor: Transactor, topic: str, partitions: int, pause_s: float
    ) -> None:
        super().__init__(name=f"writer {number} ({transactor.name})", daemon=True)
        self.transactions: list[Written] = []
        # Errors that a new producer of the same id was the answer to.
        self.errors: list[str] = []
        self.failure: BaseException | None = None
        # How long the longest transaction took, and when it began.
        self.longest: tuple[float, str] = (0.0, "")
        self._number = number
        self._transactor = transactor
        self._topic = topic
        self._partitions = partitions
        self._pause_s = pause_s
        self._rng = random.Random(number)
        self._stopping = threading.Event()
        self._next_record = 0
        self._producer = ""

    def run(self) -> None:
        try:
            self._open()
            while not self._stopping.wait(self._pause_s):
                self._transact()
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        """Finish the transaction that is running."""
        self._stopping.set()
        self.join()

    def _open(self) -> None:
        """Take over the id, which aborts what a producer before has left open."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self._producer = f"{self._number}-{time.monotonic_ns()}"
            try:
                self._transactor.open(self._producer, f"writer-{self._number}")
            except ClientError as error:
                if time.monotonic() > deadline:
                    raise
                self.errors.append(f"open: {error}")
            else:
                return

    def _transact(self) -> None:
        began, began_at = time.monotonic(), time.strftime("%H:%M:%S")
        chosen = self._rng.sample(
            range(self._partitions), self._rng.randint(1, min(3, self._partitions))
        )
        values = {
            partition: [self._numbered() for _ in range(self._rng.randint(1, MOST_RECORDS))]
            for partition in chosen
        }
        is_commit = self._rng.random() >= ABORTED_SHARE
        self.transactions.append(Written(self._write(values, is_commit), values))
        self.longest = max(self.longest, (time.monotonic() - began, began_at))

    def _numbered(self) -> str:
        self._next_record += 1
        return f"{self._number}.{self._next_record}"

    def _write(self, values: Mapping[int, Sequence[str]], is_commit: bool) -> Fate:
        try:
            self._transactor.begin(self._producer)
            for partition, numbered in values.items():
                self._transactor.send(self._producer, self._topic, partition, numbered)
        except ClientError as error:
            self.errors.append(f"write: {error}")
            self._open()
            return Fate.ABORTED
        try:
            self._end(is_commit)
        except ClientError as error:
            self.errors.append(f"{'commit' if is_commit else 'abort'}: {error}")
            self._open()
            return Fate.UNKNOWN if is_commit else Fate.ABORTED
        return Fate.COMMITTED if is_commit else Fate.ABORTED

    def _end(self, is_commit: bool) -> None:
        """End the transaction; a timeout says nothing, and the same is asked again."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._transactor.end(self._producer, commit=is_commit)
            except ClientError as error:
                is_retriable = error.code in (
                    ErrorCode.REQUEST_TIMED_OUT,
                    KafkaError._TIMED_OUT,
                    KafkaError._TIMED_OUT_QUEUE,
                )
                if not is_retriable or time.monotonic() > deadline:
                    raise
                self.errors.append(f"end again: {error}")
            else:
                return


class CommittedReader(threading.Thread):
    """Reads what is committed in all partitions of a topic, from the beginning, until stopped."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(name=f"reader of {topic}", daemon=True)
        self.errors: list[str] = []
        self._values: dict[int, list[str]] = {index: [] for index in range(partitions)}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._consumer = Consumer(_reading(bootstrap, "reader"))
        self._places = [TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(partitions)]

    def run(self) -> None:
        self._consumer.assign(self._places)
        while not self._stopping.is_set():
            for message in self._consumer.consume(500, 0.1):
                self._take(message)
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def values(self) -> dict[int, list[str]]:
        with self._lock:
            return {index: list(values) for index, values in self._values.items()}

    def _take(self, message: Any) -> None:
        error = message.error()
        if error is None:
            with self._lock:
                self._values[message.partition()].append(message.value().decode())
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            self.errors.append(str(error))


def committed_values(bootstrap: str, topic: str, partitions: int) -> dict[int, list[str]]:
    """What is committed in each partition, up to the last stable offset."""
    settings = {**_reading(bootstrap, "judge"), "enable.partition.eof": True}
    consumer = Consumer(settings)
    values: dict[int, list[str]] = {index: [] for index in range(partitions)}
    unread = set(values)
    deadline = time.monotonic() + PATIENCE_S
    try:
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in values])
        while unread:
            assert time.monotonic() < deadline, f"{topic}-{sorted(unread)} has no end"
            for message in consumer.consume(1000, 0.2):
                error = message.error()
                if error is None:
                    values[message.partition()].append(message.value().decode())
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
    finally:
        consumer.close()
    return values


def violations(transactions: Iterable[Written], read: Values) -> list[str]:
    """In what committed records contradict what one writer knows."""
    places = {value: index for index, values in read.items() for value in values}
    found: list[str] = []
    expected: dict[int, list[str]] = {index: [] for index in read}
    for each in transactions:
        values = [value for numbered in each.values.values() for value in numbered]
        seen = [value for value in values if value in places]
        is_whole = len(seen) == len(values)
        if seen and not is_whole:
            found.append(f"torn: of {values} only {seen} can be read ({each.fate.value})")
        elif seen and each.fate is Fate.ABORTED:
            found.append(f"aborted, but read: {values}")
        elif not seen and each.fate is Fate.COMMITTED:
            found.append(f"lost: {values}")
        if seen:
            for index, numbered in each.values.items():
                expected[index] += numbered
    owners = {value.partition(".")[0] for numbers in expected.values() for value in numbers}
    for index, values in expected.items():
        own = [value for value in read[index] if value.partition(".")[0] in owners]
        if own != values and not found:
            found.append(f"partition {index} has {_difference(own, values)}")
    return found[:SHOWN]


def _difference(read: Sequence[str], expected: Sequence[str]) -> str:
    for position, (one, other) in enumerate(zip(read, expected, strict=False)):
        if one != other:
            return f"{one} instead of {other} as record {position}"
    return f"{len(read)} records instead of {len(expected)}"


def _reading(bootstrap: str, group: str) -> dict[str, Any]:
    return {
        **QUIET,
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "error",
        "reconnect.backoff.max.ms": 500,
        "topic.metadata.refresh.interval.ms": 2000,
    }
