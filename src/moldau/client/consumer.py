"""Reads records from given partitions, starting at given offsets.

``assign`` sets the partitions and offsets, ``poll`` returns new records. With
``read_committed``, records of aborted transactions are skipped. Transaction markers are never
returned.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple, Self

from moldau.client.cluster import Cluster, error_code, raise_for
from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.client.security import PLAINTEXT, Security
from moldau.client.visibility import visible_batches
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.record.header import iter_headers
from moldau.record.records import Headers, decode_records

_FETCH_KEY: Final = 1
_FIRST_WITH_TOPIC_IDS: Final = 13
_RETRY_BACKOFF_S: Final = 0.1
_RESETS: Final = {"earliest": EARLIEST, "latest": LATEST}

_Question = tuple[Connection, FetchRequest]


class ConsumerRecord(NamedTuple):
    """One record with its topic, partition and offset."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    is_log_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: Headers
    leader_epoch: int


class Consumer:
    """Reads assigned partitions. Use as a context manager, or call ``close()``."""

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "moldau-consumer",
        min_bytes: int = 1,
        max_bytes: int = 52_428_800,
        max_partition_bytes: int = 1_048_576,
        max_wait_ms: int = 500,
        read_committed: bool = False,
        auto_offset_reset: str = "none",
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        """``auto_offset_reset`` is where to continue if an offset is out of range."""
        if auto_offset_reset not in ("none", *_RESETS):
            raise ValueError(f"auto_offset_reset={auto_offset_reset}: earliest, latest or none")
        self.cluster = Cluster(
            bootstrap, client_id=client_id, timeout_s=timeout_s, security=security
        )
        self._min_bytes = min_bytes
        self._max_bytes = max_bytes
        self._max_partition_bytes = max_partition_bytes
        self._max_wait_ms = max_wait_ms
        self._read_committed = read_committed
        self._reset = auto_offset_reset
        self._positions: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets on. Replaces earlier assignments.

        Raises:
            ApiError: a topic or a partition does not exist.
        """
        topics = {partition.topic for partition in offsets}
        self.cluster.retrying(lambda: self.cluster.by_leader(offsets), topics)
        self._positions = dict(offsets)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        metadata = self.cluster.retrying(lambda: self.cluster.topic(topic), [topic])
        return [TopicPartition(topic, each.partition) for each in metadata.partitions]

    def offsets_at(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The first offset at or after a timestamp; the log end offset if there is none.

        ``EARLIEST`` and ``LATEST`` mean the start and the end of the log.
        """
        found = list_offsets(self.cluster, timestamps, read_committed=self._read_committed)
        beyond = {partition: LATEST for partition, each in found.items() if each.offset < 0}
        ends = list_offsets(self.cluster, beyond, read_committed=self._read_committed)
        return {partition: each.offset for partition, each in {**found, **ends}.items()}

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition in self._positions, f"{partition} is not assigned"
        self._positions[partition] = offset

    def unassign(self, partition: TopicPartition) -> None:
        """Stop reading this partition."""
        self._positions.pop(partition, None)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset to read, by partition."""
        return dict(self._positions)

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        """New records; waits up to ``timeout_s`` if there are none.

        Raises:
            ApiError: a partition cannot be read, and retrying cannot fix it.
        """
        deadline = time.monotonic() + timeout_s
        while self._positions:
            remaining_s = max(deadline - time.monotonic(), 0.0)
            wait_ms = min(self._max_wait_ms, int(remaining_s * 1000))
            records = self._fetch(wait_ms)
            if records or time.monotonic() >= deadline:
                return records
        return []

    def close(self) -> None:
        self.cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fetch(self, wait_ms: int) -> list[ConsumerRecord]:
        """Send one request to every leader before reading the first response.

        All responses are read before the first is processed: processing may raise or send
        other requests, and an unread response would be taken for theirs.
        """
        topics = {partition.topic for partition in self._positions}
        groups = self.cluster.retrying(lambda: self.cluster.by_leader(self._positions), topics)
        questions, has_lost = self._questions(groups, wait_ms)
        answers = _exchange(questions)
        for connection, response in answers:
            raise_for(response.error_code, None, f"fetch from {connection}")
        records = self._take([response for _, response in answers])
        if has_lost or len(answers) < len(questions):
            self._pause(topics)
        return records

    def _questions(
        self, groups: Mapping[int, list[TopicPartition]], wait_ms: int
    ) -> tuple[list[_Question], bool]:
        """The requests to send, and whether some leader could not be reached.

        Connecting and building a request may fetch metadata: that must be finished before the
        first fetch is sent.
        """
        questions: list[_Question] = []
        for leader, partitions in groups.items():
            try:
                connection = self.cluster.connection(leader)
                questions.append((connection, self._request(connection, partitions, wait_ms)))
            except ConnectionFailed:
                continue
        return questions, len(questions) < len(groups)

    def _request(
        self, connection: Connection, partitions: list[TopicPartition], wait_ms: int
    ) -> FetchRequest:
        with_ids = connection.version_of(_FETCH_KEY) >= _FIRST_WITH_TOPIC_IDS
        topics: dict[str, FetchTopic] = {}
        for partition in partitions:
            if partition.topic not in topics:
                topic = FetchTopic()
                if with_ids:
                    topic.topic_id = self.cluster.topic(partition.topic).topic_id
                else:
                    topic.topic = partition.topic
                topics[partition.topic] = topic
            topics[partition.topic].partitions.append(
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=self._positions[partition],
                    partition_max_bytes=self._max_partition_bytes,
                )
            )
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._max_bytes,
            isolation_level=int(self._read_committed),
            topics=list(topics.values()),
        )

    def _take(self, responses: list[FetchResponse]) -> list[ConsumerRecord]:
        """The records in ``responses``; if an error is raised, no position is changed."""
        names = {topic.topic_id: topic.name for topic in self.cluster.topics.values()}
        found: list[tuple[TopicPartition, PartitionData]] = []
        for response in responses:
            for topic in response.responses:
                name = topic.topic or names.get(topic.topic_id, "")
                found += [
                    (TopicPartition(name, data.partition_index), data) for data in topic.partitions
                ]
        found = [each for each in found if each[0] in self._positions]
        for partition, data in found:
            if data.error_code != ErrorCode.NONE:
                self._on_error(partition, error_code(data.error_code))
        records: list[ConsumerRecord] = []
        for partition, data in found:
            if data.error_code == ErrorCode.NONE:
                self.high_watermarks[partition] = data.high_watermark
                records += self._decode(partition, data)
        return records

    def _on_error(self, partition: TopicPartition, code: ErrorCode) -> None:
        """Reset the position, retry later, or raise."""
        offset = self._positions[partition]
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and self._reset in _RESETS:
            found = self.offsets_at({partition: _RESETS[self._reset]})
            self._positions[partition] = found[partition]
        elif code is ErrorCode.OFFSET_OUT_OF_RANGE:
            ends = {
                end: list_offsets(self.cluster, {partition: timestamp})[partition].offset
                for end, timestamp in _RESETS.items()
            }
            message = (
                f"{partition} has no offset {offset}: "
                f"it begins at {ends['earliest']} and ends before {ends['latest']}"
            )
            raise ApiError(code, message)
        elif code.retriable:
            self._pause({partition.topic})
        else:
            raise_for(code, None, f"{partition} at offset {offset}")

    def _pause(self, topics: set[str]) -> None:
        self.cluster.forget(topics)
        time.sleep(_RETRY_BACKOFF_S)

    def _decode(self, partition: TopicPartition, data: PartitionData) -> list[ConsumerRecord]:
        records: list[ConsumerRecord] = []
        if not data.records:
            return records
        assert isinstance(data.records, bytes | memoryview), "a slice of the frame"
        batches = memoryview(data.records)
        start = self._positions[partition]
        for position, header in visible_batches(
            data, batches, start, read_committed=self._read_committed
        ):
            records.extend(
                ConsumerRecord(
                    partition.topic,
                    partition.partition,
                    record.offset,
                    record.timestamp,
                    header.is_log_append_time,
                    record.key,
                    record.value,
                    record.headers,
                    header.partition_leader_epoch,
                )
                for record in decode_records(batches, position)
                if record.offset >= start
            )
        # Past the last batch, even if its records were compacted away or are not visible.
        for _, header in iter_headers(batches):
            self._positions[partition] = max(start, header.next_offset)
        return records


def _exchange(questions: list[_Question]) -> list[tuple[Connection, FetchResponse]]:
    """The responses of the leaders that answered; no connection has an unread response."""
    asked: list[Connection] = []
    answers: list[tuple[Connection, FetchResponse]] = []
    try:
        for connection, request in questions:
            with suppress(ConnectionFailed):
                connection.post(request)
                asked.append(connection)
        while asked:
            with suppress(ConnectionFailed):
                answers.append((asked[0], asked[0].receive(FetchResponse)))
            del asked[0]
    finally:
        for connection in asked:
            connection.close()
    return answers
