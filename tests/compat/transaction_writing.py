"""Transactional producers on the wire, and what becomes of their transactions in a data directory.

Requests are sent one at a time, so that a test knows where each of them has left its records.
What a loss of power takes is the end of a file: ``lose_last_batch`` takes a marker, or the record
that says that all markers are written.
"""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined"

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from moldau.broker.group_runtime import group_hash
from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.record.header import iter_headers
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.transacting import TV1_END, TV2_END, Producer, describe
from tests.broker.transactional import transactional
from tests.running import WireClient

PATIENCE_S = 120.0
COORDINATOR_PARTITIONS = 40
LATEST = -1
LATER = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


def patiently(ask: Callable[[], ErrorCode]) -> ErrorCode:
    """The answer, once the broker is ready to give one."""
    deadline = time.monotonic() + PATIENCE_S
    while (code := ask()) in LATER and time.monotonic() < deadline:
        time.sleep(0.02)
    return code


class Writer(Producer):
    """A producer of one of the two protocols that writes to one topic."""

    def __init__(self, client: WireClient, name: str, topic: str, protocol: int) -> None:
        super().__init__(client, name)
        self.topic = topic
        self.protocol = protocol
        self.sequences: dict[int, int] = {}
        self.last_batch: dict[int, bytes] = {}

    def begin(self, timeout_ms: int = 600_000) -> None:
        """Take over the id."""
        code = patiently(lambda: ErrorCode(self.init(timeout_ms=timeout_ms).error_code))
        assert code is ErrorCode.NONE, code
        self.sequences.clear()

    def write(self, *values: bytes, partition: int = 0, key: bytes | None = None) -> int:
        """Write one batch and return its offset."""
        if self.protocol == 1:
            place = (self.topic, partition)
            code = patiently(lambda: self.add(place)[place])  # type: ignore[index]
            assert code is ErrorCode.NONE, code
        sequence = self.sequences.get(partition, 0)
        self.last_batch[partition] = transactional(
            self.producer_id, sequence, *values, epoch=self.epoch, timestamp=None, key=key
        )
        self.sequences[partition] = sequence + len(values)
        return self.send_last(partition)

    def send_last(self, partition: int = 0) -> int:
        """Send the last batch of a partition, again perhaps, and return its offset."""
        data = PartitionProduceData(index=partition, records=self.last_batch[partition])
        request = ProduceRequest(
            transactional_id=self.id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=[data])],
        )
        answers: list[Any] = []

        def ask() -> ErrorCode:
            response = self.client.send(request, 12 if self.protocol == 2 else 11)
            answers.append(response.responses[0].partition_responses[0])
            return ErrorCode(answers[-1].error_code)

        code = patiently(ask)
        assert code is ErrorCode.NONE, code
        return int(answers[-1].base_offset)

    def commit_offset(self, group: str, offset: int) -> None:
        """Commit an offset of partition 0 with the transaction."""
        if self.protocol == 1:
            assert patiently(lambda: self.add_offsets(group)) is ErrorCode.NONE
        place = TxnOffsetCommitRequestPartition(0, offset)
        request = TxnOffsetCommitRequest(
            self.id,
            group,
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic(self.topic, [place])],
        )

        def ask() -> ErrorCode:
            response = self.client.send(request, 5 if self.protocol == 2 else 4)
            return ErrorCode(response.topics[0].partitions[0].error_code)

        code = patiently(ask)
        assert code is ErrorCode.NONE, code

    def finish(self, *, commit: bool) -> None:
        """End the transaction and wait until all of its markers are written."""
        version = TV2_END if self.protocol == 2 else TV1_END
        code = patiently(lambda: self.end(commit=commit, version=version))
        assert code is ErrorCode.NONE, code
        if self.protocol == 2:
            self.sequences.clear()
        wait_for_state(self.client, self.id, "CompleteCommit" if commit else "CompleteAbort")


def wait_for_state(client: WireClient, name: str, *states: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (state := describe(client, name)) not in states:
        assert time.monotonic() < deadline, f"{name} is in state {state}, not {states}"
        time.sleep(0.02)


def end_offset(client: WireClient, topic: str, partition: int, *, stable: bool) -> int:
    """The last stable offset, or the high watermark."""
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1 if stable else 0,
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(partition, timestamp=LATEST)])],
    )
    answers: list[Any] = []

    def ask() -> ErrorCode:
        answers.append(client.send(request, 7).topics[0].partitions[0])
        return ErrorCode(answers[-1].error_code)

    assert patiently(ask) is ErrorCode.NONE
    return int(answers[-1].offset)


def group_offset(client: WireClient, group: str, topic: str) -> int | ErrorCode:
    """The offset of partition 0 that no open transaction can change, or the error."""
    request = offsets_request(group, topic, [0])
    request.require_stable = True
    answers: list[Any] = []

    def ask() -> ErrorCode:
        (answer,) = client.send(request, 9).groups
        answers.append(answer)
        return ErrorCode(answer.error_code)

    assert patiently(ask) is ErrorCode.NONE
    each = answers[-1].topics[0].partitions[0]
    return ErrorCode(each.error_code) if each.error_code else int(each.committed_offset)


def read_committed(bootstrap: str, topic: str, partitions: int) -> dict[int, list[Any]]:
    """Keys and values by partition, up to the last stable offset, by somebody else's consumer."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    found: dict[int, list[Any]] = {index: [] for index in range(partitions)}
    at_end: set[int] = set()
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(at_end) < partitions:
            assert time.monotonic() < deadline, found
            message = consumer.poll(0.5)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found[message.partition()].append((message.key(), message.value()))
            elif error.code() == KafkaError._PARTITION_EOF:
                at_end.add(message.partition())
    finally:
        consumer.close()
    return found


# -- files


def states_of(transactional_id: str, directory: Path) -> Path:
    """Where the coordinator of an id keeps its states."""
    number = group_hash(transactional_id) % COORDINATOR_PARTITIONS
    return directory / f"{TRANSACTIONS_TOPIC}-{number}"


def offsets_of(group: str, directory: Path) -> Path:
    """Where the coordinator of a group keeps its offsets."""
    return directory / f"{OFFSETS_TOPIC}-{group_hash(group) % COORDINATOR_PARTITIONS}"


def lose_last_batch(partition: Path) -> None:
    """Cut the last batch off a partition, as when the power went before it was on the device."""
    log = [path for path in sorted(partition.glob("*.log")) if path.stat().st_size][-1]
    (*_, (position, _)) = iter_headers(log.read_bytes())
    with log.open("r+b") as file:
        file.truncate(position)


def name_of_its_own(wish: str, used: set[int]) -> str:
    """A name whose coordinator is in a partition that no other name uses."""
    for number in range(10_000):
        name = f"{wish}-{number}"
        partition = group_hash(name) % COORDINATOR_PARTITIONS
        if partition not in used:
            used.add(partition)
            return name
    raise AssertionError(f"{COORDINATOR_PARTITIONS} partitions are too few for {wish}")
