"""Clients of librdkafka that write numbered records and read them in groups, as threads."""

import itertools
import logging
import re
import threading
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.cluster.history import Assigned, Committed, History, Logs, Read

COMMIT_EVERY_S = 0.3
POLL_S = 0.1
# Longer than any fault: a record that is not acknowledged in this time is a failure.
PATIENCE_S = 120.0
MOST_TOLD = 60
# As in "ERRSEQ [rdkafka#producer-3] [thrd:127.0.0.1:22771/103]: ...".
MISSED_SEQUENCE = re.compile(r"ERRSEQ .*?\[thrd:[^\]]*/(\d+)\]")
QUIET: dict[str, Any] = {"log_level": 0}


class NumberedProducer(threading.Thread):
    """Writes ``number.0``, ``number.1``, ... to the partitions in turn, with idempotence."""

    def __init__(
        self, number: int, bootstrap: str, topic: str, partitions: int, rate: float, log: History
    ) -> None:
        super().__init__(name=f"producer {number}", daemon=True)
        self.number = number
        self.last_ack_s = time.monotonic()
        # The longest time without an acknowledgement.
        self.longest_gap_s = 0.0
        self._topic = topic
        self._partitions = partitions
        self._pause_s = 1 / rate
        self._history = log
        self._stopping = threading.Event()
        # What librdkafka says of its sequences and epochs, lately.
        self.told: deque[str] = deque(maxlen=MOST_TOLD)
        # The nodes that missed a sequence: librdkafka then begins another epoch.
        self.missed_at: set[int] = set()
        self._producer = Producer(
            {
                "debug": "eos",
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": int(PATIENCE_S * 1000),
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.fast.interval.ms": 50,
            },
            logger=self._logger(),
        )

    def run(self) -> None:
        for index in itertools.count():
            if self._stopping.wait(self._pause_s):
                break
            self._send(f"{self.number}.{index}", index % self._partitions)
            self._producer.poll(0)
        left = self._producer.flush(PATIENCE_S)
        if left:
            self._history.failed(f"{self.name}: {left} records were never acknowledged")

    def _logger(self) -> logging.Logger:
        handler = logging.Handler()
        handler.emit = self._tell  # type: ignore[method-assign]
        logger = logging.Logger("librdkafka")
        logger.addHandler(handler)
        return logger

    def _tell(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        self.told.append(f"{time.strftime('%H:%M:%S')} {line}")
        missed = MISSED_SEQUENCE.match(line)
        if missed:
            self.missed_at.add(int(missed[1]))

    def stop(self) -> None:
        """Write no more; returns when everything is acknowledged or has failed."""
        self._stopping.set()
        self.join()

    def _send(self, value: str, partition: int) -> None:
        while True:
            try:
                self._producer.produce(
                    self._topic, value.encode(), partition=partition, on_delivery=self._delivered
                )
            except BufferError:
                self._producer.poll(POLL_S)
            else:
                return

    def _delivered(self, error: Any, message: Any) -> None:
        now = time.monotonic()
        if error is not None:
            self._history.failed(f"{self.name}: {message.value().decode()}: {error}")
            return
        self.longest_gap_s = max(self.longest_gap_s, now - self.last_ack_s)
        self.last_ack_s = now
        offset = message.offset()
        self._history.acknowledged(
            message.value().decode(), message.partition(), -1 if offset is None else offset
        )


class GroupMember(threading.Thread):
    """Reads a topic as a member of a group, and commits now and then what it has read."""

    def __init__(
        self, name: str, bootstrap: str, topic: str, group: str, protocol: str, log: History
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._topic = topic
        self._group = group
        self._history = log
        self._stopping = threading.Event()
        self._positions: dict[int, int] = {}
        settings: dict[str, Any] = {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}
        self._consumer = Consumer(settings)

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def run(self) -> None:
        self._consumer.subscribe(
            [self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )
        next_commit = time.monotonic()
        while not self._stopping.is_set():
            message = self._consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                self._read(message)
            if time.monotonic() >= next_commit:
                self._commit()
                next_commit = time.monotonic() + COMMIT_EVERY_S
        self._commit()
        self._consumer.close()

    def _read(self, message: Any) -> None:
        partition, offset = message.partition(), message.offset()
        event = Read(self.name, partition, offset, message.value().decode())
        self._history.of_group(self._group, event)
        self._positions[partition] = offset + 1

    def _commit(self) -> None:
        offsets = [TopicPartition(self._topic, *each) for each in self._positions.items()]
        if not offsets:
            return
        try:
            done = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return  # It may have been committed or not; the next commit goes further.
        for each in done:
            if each.error is None:
                self._history.of_group(self._group, Committed(each.partition, each.offset))
                if self._positions.get(each.partition) == each.offset:
                    del self._positions[each.partition]

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._history.of_group(self._group, Assigned(self.name, each.partition))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        self._lost(_, partitions)

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            self._positions.pop(each.partition, None)


def send_all(bootstrap: str, topic: str, values: Iterable[str]) -> None:
    """Write to partition 0, and return when everything is acknowledged."""
    failed: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "acks": "all"})
    for value in values:
        producer.produce(topic, value.encode(), partition=0, on_delivery=delivered)
    assert producer.flush(PATIENCE_S) == 0
    assert not failed, failed[:3]


def read_logs(bootstrap: str, topic: str, partitions: int) -> Logs:
    """Everything below the high watermark, read by a consumer without a group."""
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "judge"})
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for partition in range(partitions):
            found[partition] = _read_log(consumer, TopicPartition(topic, partition))
    finally:
        consumer.close()
    return found


def _read_log(consumer: Consumer, place: TopicPartition) -> list[tuple[int, str]]:
    _, end = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
    consumer.assign([TopicPartition(place.topic, place.partition, OFFSET_BEGINNING)])
    log: list[tuple[int, str]] = []
    deadline = time.monotonic() + PATIENCE_S
    while not log or log[-1][0] < end - 1:
        if end == 0:
            break
        assert time.monotonic() < deadline, f"{place} ends at {end}, read only {len(log)} records"
        log += [
            (message.offset(), message.value().decode())
            for message in consumer.consume(1000, timeout=1.0)
            if message.error() is None
        ]
    return log
