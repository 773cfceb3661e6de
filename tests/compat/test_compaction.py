"""Compacted logs between Moldau, Apache Kafka and everybody's clients.

Apache Kafka's tool reads what Moldau cleaned, the two brokers clean one log in turns, and
every client reads across the gaps that cleaning leaves.
"""

import re
import shutil
import time
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tools.brokers import ApacheKafkaBroker, Broker

from tests.compat.clients.base import CODECS, Client, Record
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.programs import ClientFactory, UnavailableError, require_apache_kafka
from tests.compat.java_tools import run_tool
from tests.compat.sample import assert_same_records, wait_until, with_offsets

SEGMENT_MS = 60_000
KEYS = 30
TOPIC_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.ms": str(SEGMENT_MS),
    "min.cleanable.dirty.ratio": "0.01",
    "index.interval.bytes": "512",
}
BROKER_SETTINGS = {"log.cleaner.backoff.ms": "200"}
# A broker with default settings looks for dirty logs every 15 seconds.
CLEANING_LIMIT_S = 180.0
# Gaps in the offsets are what cleaning is about; other complaints of the tool are not.
COMPLAINTS = re.compile(r"mismatch|corrupt|not found|exception|isvalid: false", re.IGNORECASE)
HORIZON = re.compile(r"deleteHorizonMs: OptionalLong\[\d+\]")


class History:
    """All that was written to one compacted partition."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.written: list[Record] = []
        self._time_ms = int(time.time() * 1000) - 3_600_000

    def write_round(self, client: ConfluentClient, codec: str, every: int = 1) -> None:
        """Every key once, or every second, or third; some deleted; in a segment of their own."""
        self._time_ms += 2 * SEGMENT_MS
        round_ = len(self.written)
        records = [
            Record(
                partition=0,
                key=b"key-%d" % number,
                value=None if (number + round_) % 11 == 0 else b"%d-%d " % (round_, number) * 40,
                headers=(("round", b"%d" % round_),),
                timestamp=self._time_ms + number,
            )
            for number in range(0, KEYS, every)
        ]
        self._write(client, records, codec)

    def write_end(self, client: ConfluentClient) -> None:
        """One more record, which lies in the active segment alone."""
        self._time_ms += 2 * SEGMENT_MS
        self._write(client, [Record(0, b"end", b"x", (), self._time_ms)], "none")

    def _write(self, client: ConfluentClient, records: list[Record], codec: str) -> None:
        self.written += with_offsets(records, client.produce(self.topic, records, codec))

    def survivors(self) -> list[Record]:
        """What a cleaned log holds: the last record of each key, and all of the active segment."""
        cleaned = {record.key: record for record in self.written[:-1]}
        return sorted([*cleaned.values(), self.written[-1]], key=lambda record: record.offset)

    def wait_until_cleaned(self, client: Client) -> list[Record]:
        """What ``client`` reads once only survivors are left."""
        expected = self.survivors()
        found: list[Record] = []

        def is_cleaned() -> bool:
            found[:] = client.consume(self.topic, {0: 0}, len(expected))
            return [record.offset for record in found] == [each.offset for each in expected]

        wait_until(is_cleaned, CLEANING_LIMIT_S)
        return found


def fill(bootstrap: str, history: History) -> None:
    """Rounds of every codec, with and without an idempotent producer."""
    admin = ConfluentClient(bootstrap)
    admin.create_topic(history.topic, 1, TOPIC_SETTINGS)
    wait_until(lambda: history.topic in admin.list_topics())
    for number, codec in enumerate(CODECS):
        client = ConfluentClient(bootstrap, {"enable.idempotence": number % 2 == 0})
        history.write_round(client, codec)
        history.write_round(client, codec, every=3)
        client.close()
    history.write_end(admin)
    admin.close()


def names(checkpoint: Path, topic: str) -> bool:
    return checkpoint.exists() and f"{topic} 0 " in checkpoint.read_text()


class Cleaned(NamedTuple):
    directory: Path
    history: History


@pytest.fixture(scope="module")
def _apache_kafka_is_here() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def cleaned(
    broker_kind: type[Broker],
    tmp_path_factory: pytest.TempPathFactory,
    _apache_kafka_is_here: None,
) -> Cleaned:
    """A data directory after a cleaning and a clean stop."""
    directory = tmp_path_factory.mktemp("cleaned") / "data"
    history = History("compacted")
    with broker_kind(directory, BROKER_SETTINGS) as broker:
        fill(broker.bootstrap, history)
        client = ConfluentClient(broker.bootstrap)
        assert_same_records(history.wait_until_cleaned(client), history.survivors())
        client.close()
        assert broker.stop() in (0, 143)
    return Cleaned(directory, history)


def dump(paths: list[Path], *options: str) -> str:
    output = run_tool("kafka-dump-log", *options, "--files", ",".join(map(str, paths)))
    assert output.status == 0, output.both
    complaint = COMPLAINTS.search(output.both)
    assert complaint is None, output.both[max(complaint.start() - 500, 0) :][:1000]
    return output.stdout


def test_the_tool_reads_cleaned_segments(cleaned: Cleaned) -> None:
    logs = sorted((cleaned.directory / "compacted-0").glob("*.log"))
    text = dump(logs, "--deep-iteration")
    offsets = [int(each) for each in re.findall(r"^\| offset: (\d+)", text, re.MULTILINE)]
    assert offsets == [record.offset for record in cleaned.history.survivors()]
    assert HORIZON.search(text), "the tombstones have a delete horizon"
    for codec in CODECS:
        # Each codec's last rounds are superseded but for a few keys, so not all are left.
        if f"compresscodec: {codec}" in text and codec != "none":
            break
    else:
        raise AssertionError("no batch kept its codec")


def test_the_tool_finds_the_indexes_of_cleaned_segments_sane(cleaned: Cleaned) -> None:
    indexes = sorted((cleaned.directory / "compacted-0").glob("*index"))
    dump(indexes, "--index-sanity-check")
    dump(indexes, "--verify-index-only")


def test_the_tool_reads_the_producers_of_a_cleaned_log(cleaned: Cleaned) -> None:
    snapshots = sorted((cleaned.directory / "compacted-0").glob("*.snapshot"))
    assert "producerId: " in dump(snapshots[-1:])


def test_the_place_of_the_cleaner_is_where_kafka_looks_for_it(cleaned: Cleaned) -> None:
    lines = (cleaned.directory / "cleaner-offset-checkpoint").read_text().splitlines()
    assert f"compacted 0 {cleaned.history.written[-1].offset}" in lines[2:]


@pytest.fixture
def running() -> Iterator[list[Broker]]:
    brokers: list[Broker] = []
    yield brokers
    for broker in brokers:
        broker.kill()


def test_both_brokers_clean_one_log_in_turns(
    cleaned: Cleaned, broker_kind: type[Broker], running: list[Broker], tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(cleaned.directory, tmp_path / "data"))
    history = History(cleaned.history.topic)
    history.written = list(cleaned.history.written)
    history._time_ms = cleaned.history._time_ms
    for kind in (ApacheKafkaBroker, broker_kind, ApacheKafkaBroker):
        broker = kind(directory, BROKER_SETTINGS)
        running.append(broker)
        broker.start()
        client = ConfluentClient(broker.bootstrap)
        history.write_round(client, "zstd", every=2)
        history.write_round(client, "none", every=7)
        history.write_end(client)
        assert_same_records(history.wait_until_cleaned(client), history.survivors())
        client.close()
        broker.stop()


def test_each_broker_drops_the_tombstones_the_other_one_dated(
    cleaned: Cleaned, broker_kind: type[Broker], running: list[Broker], tmp_path: Path
) -> None:
    pairs = ((broker_kind, ApacheKafkaBroker), (ApacheKafkaBroker, broker_kind))
    for number, (first, second) in enumerate(pairs):
        directory = tmp_path / str(number) / "data"
        history = History("short-lived")
        settings = {**TOPIC_SETTINGS, "delete.retention.ms": "1"}

        dating = first(directory, BROKER_SETTINGS)
        running.append(dating)
        dating.start()
        client = ConfluentClient(dating.bootstrap)
        client.create_topic(history.topic, 1, settings)
        wait_until(lambda client=client: "short-lived" in client.list_topics())  # type: ignore[misc]
        history.write_round(client, "lz4")
        history.write_end(client)
        # Every key is there once: no record goes, and only the checkpoint tells.
        checkpoint = directory / "cleaner-offset-checkpoint"
        wait_until(partial(names, checkpoint, history.topic), CLEANING_LIMIT_S)
        client.close()
        dating.stop()

        dropping = second(directory, BROKER_SETTINGS)
        running.append(dropping)
        dropping.start()
        client = ConfluentClient(dropping.bootstrap)
        history.write_end(client)
        # Two records with this key now, and no tombstone of the first round.
        history.written = [record for record in history.written if record.value is not None]
        assert_same_records(history.wait_until_cleaned(client), history.survivors())
        client.close()
        dropping.stop()


@pytest.fixture(scope="module")
def cleaned_topic(bootstrap: str, clients: ClientFactory) -> History:
    """A cleaned topic on the broker that all clients talk to."""
    history = History(f"compacted-{uuid.uuid4().hex[:8]}")
    fill(bootstrap, history)
    try:
        history.wait_until_cleaned(clients.get("confluent-kafka"))
    except UnavailableError as reason:
        pytest.skip(str(reason))
    return history


def test_every_client_reads_across_the_gaps(client: Client, cleaned_topic: History) -> None:
    expected = cleaned_topic.survivors()
    found = client.consume(cleaned_topic.topic, {0: 0}, len(expected))
    assert_same_records(found, expected)


def test_every_client_can_begin_in_a_gap(client: Client, cleaned_topic: History) -> None:
    survivors = cleaned_topic.survivors()
    offsets = [record.offset for record in survivors]
    gap = next(offset for offset in range(offsets[3], offsets[-1]) if offset not in offsets)
    expected = [record for record in survivors if record.offset >= gap]
    assert_same_records(client.consume(cleaned_topic.topic, {0: gap}, len(expected)), expected)
