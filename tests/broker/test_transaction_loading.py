"""What a coordinator finds in its log, what it finishes then, and what it does by itself."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.partition import Partition
from moldau.broker.transaction_loading import TransactionLoader
from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ErrorCode
from moldau.ids import TRANSACTIONS_TOPIC
from moldau.protocol.records.transaction_coordinator import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from moldau.record.control import ControlType
from moldau.record.records import BatchBuilder
from moldau.storage.log.producer_state import AppendOrigin
from moldau.transaction_coordinator.records import encode_record
from moldau.transaction_coordinator.status import TransactionStatus
from tests.broker.producing import create_topic
from tests.broker.transacting import QUICK, Producer, describe, find_coordinator, markers
from tests.running import RunningBroker, WireClient

ONE = {**QUICK, "transaction.state.log.num.partitions": "1"}
POLLS = 20_000


def poll(is_true: Callable[[], bool]) -> None:
    """Ask the broker until it is so; each question takes a part of a millisecond."""
    for _ in range(POLLS):
        if is_true():
            return
    raise AssertionError("it has not become true")


class Running(RunningBroker):
    """A broker whose log of transactions the test can write, one partition of it."""

    @property
    def log(self) -> Partition:
        return self.node.broker.replicas.partition(TRANSACTIONS_TOPIC, 0)

    def write(self, *records: tuple[bytes, bytes | None]) -> None:
        """Append records behind the back of the coordinator."""

        async def append() -> None:
            batch = BatchBuilder(0)
            wall_ms = self.node.broker.clock.wall_ms()
            for key, value in records:
                batch.append(wall_ms, key, value)
            self.log.append(batch.build_for_log(), -1, wall_ms, AppendOrigin.COORDINATOR)

        self.call(append())

    def prepare(
        self,
        name: str,
        status: TransactionStatus,
        *topics: str,
        epoch: int = 3,
        version: int = 0,
    ) -> None:
        """Let the log end with the decision about a transaction."""
        value = TransactionLogValue(
            producer_id=4000 + epoch,
            producer_epoch=epoch,
            transaction_timeout_ms=60_000,
            transaction_status=status,
            transaction_partitions=[PartitionsSchema(topic, [0]) for topic in topics],
            transaction_last_update_timestamp_ms=1,
            transaction_start_timestamp_ms=1,
            client_transaction_version=version,
        )
        self.write(encode_record(CoordinatorRecord(TransactionLogKey(name), value)))

    def load_again(self) -> None:
        """Replace the shard by one that is loaded, as after an election."""

        async def reload() -> None:
            (hosted,) = self.node.broker.transactions.all_shards()
            self.node.broker.transactions._runtime._give_up(hosted)

        self.call(reload())


def started(running: Running) -> WireClient:
    client = running.connect()
    create_topic(client, "t")
    create_topic(client, "u")
    find_coordinator(client, "tx")
    return client


def test_every_transaction_that_was_decided_is_finished_after_loading(tmp_path: Path) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        running.prepare("commit", TransactionStatus.PREPARE_COMMIT, "t", "u", epoch=3)
        running.prepare("abort", TransactionStatus.PREPARE_ABORT, "t", epoch=4)
        running.prepare("without-partitions", TransactionStatus.PREPARE_ABORT, epoch=5)
        running.prepare("topic-is-gone", TransactionStatus.PREPARE_COMMIT, "gone", epoch=6)
        running.load_again()
        poll(lambda: describe(client, "commit") == "CompleteCommit")
        assert describe(client, "abort") == "CompleteAbort"
        assert describe(client, "without-partitions") == "CompleteAbort"
        assert describe(client, "topic-is-gone") == "CompleteCommit"
        assert markers(client, "t") == [
            (ControlType.COMMIT, 4003, 3, 0),
            (ControlType.ABORT, 4004, 4, 0),
        ]
        assert [kind for kind, *_ in markers(client, "u")] == [ControlType.COMMIT]


def test_markers_that_were_written_before_a_reload_are_written_again(tmp_path: Path) -> None:
    """KAFKA-19999: if the log refused them, the transaction would never be complete."""
    with Running(tmp_path, ONE) as running, started(running) as client:
        for number in range(1, 4):
            running.prepare("again", TransactionStatus.PREPARE_COMMIT, "t", version=2)
            running.load_again()
            poll(lambda: describe(client, "again") == "CompleteCommit")
            assert len(markers(client, "t")) == number


def test_a_restarted_broker_finishes_what_was_decided_and_continues_what_is_open(
    tmp_path: Path,
) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        producer = Producer(client, "open")
        producer.init()
        producer.add(("t", 0))
        expired = Producer(client, "tombstone")
        expired.init()
        key, _ = encode_record(CoordinatorRecord(TransactionLogKey("tombstone"), None))
        running.write((key, None))
        running.prepare("decided", TransactionStatus.PREPARE_COMMIT, "u")
    with Running(tmp_path, ONE) as running, running.connect() as client:
        poll(lambda: describe(client, "decided") == "CompleteCommit")
        # A start begins a new leader epoch, and that is the epoch of the coordinator.
        epoch = running.log.leader_epoch
        assert epoch > 0
        assert markers(client, "u") == [(ControlType.COMMIT, 4003, 3, epoch)]
        assert describe(client, "tombstone") == "TRANSACTIONAL_ID_NOT_FOUND"
        producer.client = client
        assert producer.state == "Ongoing"
        assert producer.end() is ErrorCode.NONE
        assert markers(client, "t") == [
            (ControlType.COMMIT, producer.producer_id, producer.epoch, epoch)
        ]


def test_records_of_a_newer_release_are_ignored_and_the_others_loaded(tmp_path: Path) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        Producer(client, "kept").init()
        running.write((b"\x00\x09unknown", b"\x00\x00"), (b"\x00\x00\x00\x01x", b"\x00\x63new"))
        running.load_again()
        poll(lambda: describe(client, "kept") == "Empty")


def test_9065_a_log_whose_tail_was_compacted_away_is_loaded(tmp_path: Path) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        Producer(client, "kept").init()

        async def compact_away_the_tail() -> None:
            running.log.log.skip_to(1000)
            running.log.advance(1000)

        running.call(compact_away_the_tail())
        running.load_again()
        poll(lambda: describe(client, "kept") == "Empty")


def test_what_was_read_is_freed_when_the_log_is_loaded(tmp_path: Path) -> None:
    """A shard lives as long as its leader; the records would be there twice."""
    with Running(tmp_path, ONE) as running, started(running) as client:
        Producer(client, "kept").init()
        running.load_again()
        poll(lambda: describe(client, "kept") == "Empty")
        (hosted,) = running.node.broker.transactions.all_shards()
        loader = hosted._load.__self__  # type: ignore[attr-defined]
        assert isinstance(loader, TransactionLoader)
        assert loader._last == {}


def test_a_log_that_cannot_be_read_is_refused_and_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        Producer(client, "kept").init()
        running.write((b"\x00\x00\x00\x01x", b"\x00\x01"))
        running.load_again()
        poll(lambda: describe(client, "kept") == "NOT_COORDINATOR")
        assert "__transaction_state-0 cannot be loaded" in caplog.text


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(
    tmp_path: Path,
) -> None:
    settings = {**ONE, "transaction.abort.timed.out.transaction.cleanup.interval.ms": "10"}
    with Running(tmp_path, settings) as running, started(running) as client:
        producer = Producer(client, "slow")
        producer.init(timeout_ms=1)
        producer.add(("t", 0))
        poll(lambda: producer.state == "CompleteAbort")
        assert [kind for kind, *_ in markers(client, "t")] == [ControlType.ABORT]
        assert producer.end() is ErrorCode.PRODUCER_FENCED


def test_an_id_that_is_not_used_for_long_leaves_a_tombstone(tmp_path: Path) -> None:
    settings = {
        **ONE,
        "transactional.id.expiration.ms": "1",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "10",
    }
    with Running(tmp_path, settings) as running, started(running) as client:
        kept = Producer(client, "open")
        kept.init()
        kept.add(("t", 0))
        Producer(client, "unused").init()
        poll(lambda: describe(client, "unused") == "TRANSACTIONAL_ID_NOT_FOUND")
        assert kept.state == "Ongoing", "only ids at rest expire"
    with Running(tmp_path, ONE) as running, running.connect() as client:
        poll(lambda: describe(client, "unused") == "TRANSACTIONAL_ID_NOT_FOUND")
        assert describe(client, "open") == "Ongoing"


def test_a_broker_that_resigns_answers_not_coordinator_and_finishes_nothing(
    tmp_path: Path,
) -> None:
    with Running(tmp_path, ONE) as running, started(running) as client:
        producer = Producer(client, "tx")
        producer.init()
        producer.add(("t", 0))

        async def resign() -> Any:
            (hosted,) = running.node.broker.transactions.all_shards()
            running.node.broker.transactions.stop()
            await asyncio.sleep(0)
            return hosted

        assert running.call(resign()).is_closed
        assert producer.end() is ErrorCode.NOT_COORDINATOR
        assert markers(client, "t") == []
