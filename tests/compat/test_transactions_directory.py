"""Transactions on disk are Kafka's: either broker finishes what the other has left.

One broker leaves transactions in every state, and is stopped or killed. Then the other broker opens
the directory, finishes everything, and leaves new ones to the first.

A decision without markers is there only for a moment. So it is written into the log of this broker
after it has stopped; and what Apache Kafka has written after it is taken away, as a loss of power
does. Not the other way round: an Apache Kafka that is started after a kill leads no partition for a
moment, takes them for deleted, and may complete transactions without their markers.
"""

import enum
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tools.brokers import HOST, ApacheKafkaBroker, Broker

from moldau.cli.main import main
from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.records.transaction_coordinator import TransactionLogValue
from moldau.record.records import BatchBuilder, decode_all
from moldau.storage.log.producer_state import AppendOrigin
from moldau.transaction_coordinator.records import decode_record, encode_record
from moldau.transaction_coordinator.status import TransactionStatus
from tests.broker.producing import create_topic
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import run_tool
from tests.compat.sample import wait_until
from tests.compat.transaction_writing import (
    COORDINATOR_PARTITIONS,
    Writer,
    end_offset,
    group_offset,
    lose_last_batch,
    name_of_its_own,
    offsets_of,
    patiently,
    read_committed,
    states_of,
    wait_for_state,
)
from tests.running import RunningBroker, WireClient

SETTINGS: Final = {
    "transaction.state.log.num.partitions": str(COORDINATOR_PARTITIONS),
    "offsets.topic.num.partitions": str(COORDINATOR_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # Old segments of all compacted logs are cleaned, those of the coordinators too.
    "log.roll.ms": "400",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "100",
}
# Each in a partition of its own, in both protocols.
KINDS: Final = (
    "committed",
    "aborted",
    "prepared-commit",
    "prepared-abort",
    "prepared-rotation",
    "open-and-committed",
    "open-and-taken-over",
    "open-and-timed-out",
)
PROTOCOLS: Final = (1, 2)
BEFORE, DURING, AFTER = b"before", b"during", b"after"
KEYS: Final = 5
LAST_EPOCH: Final = 32767
NEXT_PRODUCER_ID: Final = 1_000_000
GROUP, TRANSACTION = 0, 1


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


class Place(NamedTuple):
    """A transaction: its producer, its partition and the group whose offset it commits."""

    kind: str
    writer: Writer
    partition: int
    group: str

    def write(self, value: bytes, offset: int) -> None:
        self.writer.write(value, value, partition=self.partition)
        self.writer.commit_offset(self.group, offset)

    @property
    def is_committed(self) -> bool:
        """Whether the transaction that was left is committed in the end."""
        return self.kind not in (
            "aborted",
            "prepared-abort",
            "open-and-taken-over",
            "open-and-timed-out",
        )

    @property
    def is_rotation(self) -> bool:
        """The first protocol takes another producer id with the next initialization."""
        return self.kind == "prepared-rotation" and self.writer.protocol == 2


class Prepared(enum.Enum):
    """Where decisions without markers come from."""

    NOT = "there are none: they are carried out"
    WRITTEN = "written after the stop"
    LOST = "what followed them is lost"


class Left:
    """What one broker leaves to the next."""

    def __init__(self, turn: int, prepared: Prepared, *, times_out: bool = True) -> None:
        self.prepared = prepared
        self.times_out = times_out
        self.topic = f"turn-{turn}"
        self.compacted = f"compacted-{turn}"
        self.latest: dict[bytes, bytes] = {}
        self.places: list[Place] = []
        self._ids: set[int] = set()
        self._groups: set[int] = set()

    def fill(self, broker: Broker) -> None:
        with WireClient(broker.port, HOST) as client:
            create_topic(client, self.topic, len(KINDS) * len(PROTOCOLS))
            create_topic(client, self.compacted, cleanup_policy="compact")
            self._write_compacted(broker, client)
            for kind in KINDS:
                for protocol in PROTOCOLS:
                    self._leave(client, kind, protocol)

    def _write_compacted(self, broker: Broker, client: WireClient) -> None:
        """One id has so many transactions that its states are cleaned, and its records too."""
        writer = self._writer(client, "busy", self.compacted, 2)
        checkpoint = broker.directory / "cleaner-offset-checkpoint"
        states = states_of(writer.id, broker.directory).name.rsplit("-", 1)

        def are_cleaned() -> bool:
            for commit in (True, False):
                for number in range(KEYS):
                    key, value = b"%d" % number, b"%d" % end_of_log()
                    writer.write(value, key=key)
                    if commit:
                        self.latest[key] = value
                writer.finish(commit=commit)
            text = checkpoint.read_text() if checkpoint.exists() else ""
            return f"{self.compacted} 0 " in text and f"{' '.join(states)} " in text

        def end_of_log() -> int:
            return end_offset(client, self.compacted, 0, stable=False)

        wait_until(are_cleaned, 60.0)

    def _leave(self, client: WireClient, kind: str, protocol: int) -> None:
        writer = self._writer(client, f"{kind}-{protocol}", self.topic, protocol)
        group = name_of_its_own(f"group-{kind}-{protocol}", self._groups)
        _find(client, group, GROUP)
        place = Place(kind, writer, len(self.places), group)
        self.places.append(place)
        place.write(BEFORE, 1)
        writer.finish(commit=True)
        if kind == "open-and-timed-out" and self.times_out:
            # The timeout of a transaction is that of the last initialization.
            writer.begin(timeout_ms=5000)
        place.write(DURING, 2)
        is_left = kind.startswith("prepared") and self.prepared is Prepared.WRITTEN
        if not kind.startswith("open") and not is_left:
            writer.finish(commit=place.is_committed)

    def _writer(self, client: WireClient, wish: str, topic: str, protocol: int) -> Writer:
        writer = Writer(client, name_of_its_own(wish, self._ids), topic, protocol)
        _find(client, writer.id, TRANSACTION)
        writer.begin()
        return writer

    def lose_markers(self, directory: Path) -> None:
        """Leave only the decision of what was prepared, or it and the first of the markers."""
        for place in self._prepared():
            lose_last_batch(states_of(place.writer.id, directory))
            lose_last_batch(directory / f"{self.topic}-{place.partition}")
            if place.writer.protocol == 1:
                lose_last_batch(offsets_of(place.group, directory))

    def write_decisions(self, directory: Path) -> None:
        """Decide about open transactions behind the back of their coordinators."""
        decided = [(each, _decision(each, directory)) for each in self._prepared()]
        with RunningBroker(directory, SETTINGS) as running, running.connect() as client:
            for place, record in decided:
                # What is written while it is loaded is finished at once.
                wait_for_state(client, place.writer.id, "Ongoing")
                name = states_of(place.writer.id, directory).name
                topic, _, index = name.rpartition("-")
                running.call(_append(running, TopicPartition(topic, int(index)), record))

    def _prepared(self) -> list[Place]:
        return [each for each in self.places if each.kind.startswith("prepared")]

    def finish_on(self, broker: Broker) -> None:
        """All are finished, by the broker alone or by their producers."""
        with WireClient(broker.port, HOST) as client:
            for place in self.places:
                place.writer.client = client
                _find(client, place.writer.id, TRANSACTION)
                _find(client, place.group, GROUP)
                self._finish(client, place)
            self._assert_outcomes(broker, client)
            # And all of these ids and groups can be used as before.
            for place in self.places:
                place.writer.begin()
                if place.is_rotation and self.prepared is Prepared.WRITTEN:
                    assert place.writer.producer_id == NEXT_PRODUCER_ID + place.partition
                place.write(AFTER, 3)
                place.writer.finish(commit=True)
            self._assert_outcomes(broker, client, AFTER, AFTER)
        found = read_committed(broker.bootstrap, self.compacted, 1)[0]
        assert dict(found) == self.latest

    def _finish(self, client: WireClient, place: Place) -> None:
        writer = place.writer
        if place.kind == "open-and-committed":
            wait_for_state(client, writer.id, "Ongoing")
            assert group_offset(client, place.group, self.topic) is ErrorCode.UNSTABLE_OFFSET_COMMIT
            assert end_offset(client, self.topic, place.partition, stable=True) == 3
            # Repeated by a producer that has not got the answer.
            assert writer.send_last(place.partition) == 3
            writer.write(AFTER, partition=place.partition)
            writer.finish(commit=True)
        elif place.kind == "open-and-taken-over" or (
            place.kind == "open-and-timed-out" and not self.times_out
        ):
            wait_for_state(client, writer.id, "Ongoing")
            writer.begin()
        states = ("CompleteCommit",) if place.is_committed else ("CompleteAbort", "Empty")
        wait_for_state(client, writer.id, *states)

    def _assert_outcomes(self, broker: Broker, client: WireClient, *added: bytes) -> None:
        found = read_committed(broker.bootstrap, self.topic, len(self.places))
        for place in self.places:
            expected = [BEFORE, BEFORE]
            if place.is_committed:
                expected += [DURING, DURING]
            if place.kind == "open-and-committed":
                expected.append(AFTER)
            values = [value for _, value in found[place.partition]]
            assert values == [*expected, *added], place.kind
            stable, end = (
                end_offset(client, self.topic, place.partition, stable=each)
                for each in (True, False)
            )
            assert stable == end, place.kind
            offset = 3 if added else 2 if place.is_committed else 1
            assert group_offset(client, place.group, self.topic) == offset, place.kind


def _find(client: WireClient, name: str, key_type: int) -> None:
    """Wait until there is a coordinator."""
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name])

    def ask() -> ErrorCode:
        return ErrorCode(client.send(request, 6).coordinators[0].error_code)

    assert patiently(ask) is ErrorCode.NONE


def _decision(place: Place, directory: Path) -> tuple[bytes, bytes | None]:
    """The record that follows the last one of an open transaction, as a coordinator writes it."""
    log = _filled(states_of(place.writer.id, directory), "*.log")[-1]
    (*_, (_, (*_, last))) = decode_all(log.read_bytes())
    assert last.key is not None
    record = decode_record(last.key, last.value)
    assert record is not None
    value = record.value
    assert isinstance(value, TransactionLogValue)
    commit, abort = TransactionStatus.PREPARE_COMMIT, TransactionStatus.PREPARE_ABORT
    value.transaction_status = commit if place.is_committed else abort
    if place.writer.protocol == 2:
        value.producer_epoch += 1
    if place.is_rotation:
        # No epoch is left: the next producer id is part of the decision.
        value.producer_epoch = LAST_EPOCH
        value.next_producer_id = NEXT_PRODUCER_ID + place.partition
    return encode_record(record)


async def _append(
    running: RunningBroker, place: TopicPartition, record: tuple[bytes, bytes | None]
) -> None:
    batch = BatchBuilder(0)
    wall_ms = running.node.broker.clock.wall_ms()
    batch.append(wall_ms, *record)
    partition = running.node.broker.replicas.partition(*place)
    partition.append(batch.build_for_log(), -1, wall_ms, AppendOrigin.COORDINATOR)


# Gives the exit code and the lines of JSON of ``moldau storage``.
Storage = Callable[..., tuple[int, list[dict[str, Any]]]]


@pytest.fixture
def storage(capsys: pytest.CaptureFixture[str]) -> Storage:
    def run(command: str, *paths: Path) -> tuple[int, list[dict[str, Any]]]:
        code = main(["storage", command, "--format", "json", *map(str, paths)])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


class Written(NamedTuple):
    """A data directory of the broker under test, and what is in it."""

    directory: Path
    left: Left

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.directory, folder / "data"))


def leave(broker: Broker, left: Left, how: str) -> None:
    left.fill(broker)
    if how == "stopped":
        assert broker.stop() in (0, 143)
    else:
        broker.kill()
    if left.prepared is Prepared.WRITTEN:
        left.write_decisions(broker.directory)
    elif left.prepared is Prepared.LOST:
        left.lose_markers(broker.directory)


def written(how: str, kind: type[Broker], factory: pytest.TempPathFactory) -> Written:
    is_killed = how == "killed"
    left = Left(0, Prepared.NOT if is_killed else Prepared.WRITTEN, times_out=not is_killed)
    with kind(factory.mktemp(how) / "data", SETTINGS) as broker:
        leave(broker, left, how)
    return Written(broker.directory, left)


@pytest.fixture(scope="module")
def stopped(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written("stopped", broker_kind, tmp_path_factory)


@pytest.fixture(scope="module")
def killed(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written("killed", broker_kind, tmp_path_factory)


def assert_sound(storage: Storage, directory: Path) -> None:
    code, lines = storage("verify", directory)
    assert [line for line in lines if line.get("severity") == "damage"] == []
    assert code == 0


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_what_one_broker_leaves_the_other_finishes(
    how: str,
    broker_kind: type[Broker],
    request: pytest.FixtureRequest,
    storage: Storage,
    tmp_path: Path,
) -> None:
    ours: Written = request.getfixturevalue(how)
    directory = ours.copy(tmp_path)
    assert_sound(storage, directory)
    assert_decided(storage, directory, ours.left)
    left = Left(1, Prepared.LOST if how == "killed" else Prepared.NOT)
    with ApacheKafkaBroker(directory, SETTINGS) as apache:
        ours.left.finish_on(apache)
        leave(apache, left, how)
    assert_sound(storage, directory)
    assert_decided(storage, directory, left)
    assert_dumped_alike(storage, directory)
    with broker_kind(directory, SETTINGS) as broker:
        left.finish_on(broker)
        assert broker.stop() in (0, 143)
    assert_sound(storage, directory)


def assert_decided(storage: Storage, directory: Path, left: Left) -> None:
    """The last state of each id is the one in which the next broker must find it."""
    for place in left.places:
        logs = _filled(states_of(place.writer.id, directory), "*.log")
        records = [r for entry in storage("dump", *logs)[1] for r in entry["records"]]
        assert_state(place, left, records[-1]["payload"]["transaction_status"])


def assert_state(place: Place, left: Left, number: int) -> None:
    name = TransactionStatus(number).name
    end = "COMMIT" if place.is_committed else "ABORT"
    if place.kind == "open-and-timed-out":
        # It may have had enough time.
        assert name in ("ONGOING", "PREPARE_ABORT", "COMPLETE_ABORT")
    elif place.kind.startswith("open"):
        assert name == "ONGOING", place.kind
    elif place.kind.startswith("prepared") and left.prepared is not Prepared.NOT:
        assert name == f"PREPARE_{end}"
    else:
        assert name == f"COMPLETE_{end}"


# -- other people's tools, and ours


STATE = re.compile(r'key: (\{.*\}) payload: (\{.*"transactionStatus":(\d+).*\})$', re.MULTILINE)
ABORTED = re.compile(
    r"^version: (\d+) producerId: (\d+) firstOffset: (\d+) lastOffset: (\d+) "
    r"lastStableOffset: (\d+)",
    re.MULTILINE,
)

PRODUCER = re.compile(
    r"^producerId: (\d+) producerEpoch: (\d+) coordinatorEpoch: (-?\d+) "
    r"currentTxnFirstOffset: \w+(?:\[(\d+)\]|\.empty) lastTimestamp: (-?\d+)"
    r"(?: firstSequence: \d+ lastSequence: (\d+) lastOffset: (\d+) offsetDelta: (\d+))?",
    re.MULTILINE,
)
PRODUCER_FIELDS = (
    "producer_id",
    "producer_epoch",
    "coordinator_epoch",
    "txn_first_offset",
    "last_timestamp",
    "last_sequence",
    "last_offset",
    "last_offset_delta",
)


def _producer(found: tuple[str, ...]) -> tuple[int, ...]:
    """The fields as numbers; where there is no transaction or no batch, what the file has."""
    *always, sequence, offset, delta = found
    return tuple(int(each or -1) for each in (*always, sequence, offset)) + (int(delta or 0),)


def _filled(folder: Path, pattern: str) -> list[Path]:
    found = [path for path in sorted(folder.glob(pattern)) if path.stat().st_size]
    assert found, f"no {pattern} in {folder}"
    return found


def _tool(*arguments: str, files: list[Path]) -> str:
    output = run_tool("kafka-dump-log", *arguments, "--files", ",".join(map(str, files)))
    assert output.status == 0, output.both
    assert "Exception" not in output.both
    return output.stdout


def test_kafkas_tool_reads_the_states_of_transactions(stopped: Written) -> None:
    logs = _filled(stopped.directory, "__transaction_state-*/*.log")
    text = _tool("--transaction-log-decoder", files=logs)
    last = {json.loads(k)["data"]["transactionalId"]: int(s) for k, _, s in STATE.findall(text)}
    for place in stopped.left.places:
        assert_state(place, stopped.left, last[place.writer.id])


def test_kafkas_tool_reads_aborted_transactions_and_producers(
    stopped: Written, storage: Storage
) -> None:
    assert_dumped_alike(storage, stopped.directory)


def assert_dumped_alike(storage: Storage, directory: Path) -> None:
    """Apache Kafka's tool and ours find the same in the files beside the logs."""
    indexes = _filled(directory, "*/*.txnindex")
    _, entries = storage("dump", *indexes)
    names = ("version", "producer_id", "first_offset", "last_offset", "last_stable_offset")
    theirs = [tuple(map(int, each)) for each in ABORTED.findall(_tool(files=indexes))]
    assert [tuple(entry[name] for name in names) for entry in entries] == theirs
    assert len(theirs) >= len(PROTOCOLS)
    snapshots = _filled(directory, "turn-*/*.snapshot")
    _, entries = storage("dump", *snapshots)
    theirs = [_producer(found) for found in PRODUCER.findall(_tool(files=snapshots))]
    assert [tuple(entry[name] for name in PRODUCER_FIELDS) for entry in entries] == theirs
    assert any(entry["txn_first_offset"] >= 0 for entry in entries)


@pytest.mark.parametrize("damage", ["changed", "shortened", "emptied"])
def test_a_damaged_index_of_aborted_transactions_is_found(
    stopped: Written, storage: Storage, damage: str, tmp_path: Path
) -> None:
    """Whoever reads committed would read what was aborted, or miss what was committed."""
    directory = stopped.copy(tmp_path)
    (index, *_) = _filled(directory, "turn-0-*/*.txnindex")
    data = index.read_bytes()
    changed = {"changed": data[:17] + b"\x01" + data[18:], "shortened": data[:-1], "emptied": b""}
    index.write_bytes(changed[damage])
    code, lines = storage("verify", directory)
    assert code == 1
    assert {line["file"] for line in lines if line.get("severity") == "damage"} == {str(index)}
