"""``moldau storage verify`` and ``dump`` on directories that Apache Kafka wrote.

A tool that finds damage is worth as much as its silence on what is sound: compacted topics with
their gaps, transactions, groups, segments that retention took, and what kill -9 leaves.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from tools.brokers import ApacheKafkaBroker, Broker

from moldau.cli.main import main
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.directory import Contents, fill, open_client
from tests.compat.java_tools import run_tool
from tests.compat.sample import wait_until

SETTINGS = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "100",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "1000",
    "delete.retention.ms": "1000",
}


# Gives the exit code, and the lines of JSON.
Verify = Callable[..., tuple[int, list[dict[str, Any]]]]


class Directories(NamedTuple):
    """The same data after kill -9, and after a clean stop of the broker that recovered it."""

    killed: Path
    stopped: Path


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Directories:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    base = tmp_path_factory.mktemp("apache")
    broker = ApacheKafkaBroker(base / "data", SETTINGS)
    with broker:
        fill(broker, Contents())
        _use(broker)
        broker.kill()
        killed = Path(shutil.copytree(broker.directory, base / "killed"))
        broker.start()
        assert broker.stop() in (0, 143)
    return Directories(killed, broker.directory)


def _use(broker: Broker) -> None:
    client = open_client(broker)
    for topic in ("compacted", "compacted-txn"):
        client.create_topic(topic, 1, COMPACTED)
    client.create_topic("retained", 1, {"segment.bytes": "1048576", "retention.bytes": "1000"})
    wait_until(lambda: "retained" in client.list_topics())
    for codec in ("none", "zstd"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": codec})
        for number in range(2000):
            value = None if number % 50 == 0 else b"%d" % number * 100
            producer.produce("compacted", value, f"key {number % 97}")
            producer.produce("retained", b"x" * 1000)
            if number % 100 == 0:
                producer.flush()
        producer.flush()
    _write_transactions(broker)
    _read_as_group(broker)
    # The newest segment is never cleaned: something must come after it.
    cleaned = broker.directory / "cleaner-offset-checkpoint"

    def is_cleaned() -> bool:
        producer.produce("compacted", b"more", "key 0")
        producer.produce("compacted-txn", b"more", "key 0")
        producer.flush()
        text = cleaned.read_text() if cleaned.exists() else ""
        return "compacted 0" in text and "compacted-txn 0" in text

    wait_until(is_cleaned)
    first = broker.directory / "retained-0" / "00000000000000000000.log"
    wait_until(lambda: not first.exists())
    client.close()


def _write_transactions(broker: Broker) -> None:
    for name in ("one", "two"):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": name})
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            for key in range(10):
                producer.produce("compacted-txn", b"x" * 200, f"key {key}")
                producer.produce("settings", b"x" * 200, f"key {key}")
            producer.flush()
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()


def _read_as_group(broker: Broker) -> None:
    for protocol in ("classic", "consumer"):
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": f"{protocol}-group",
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["compacted", "retained"])

        def read(consumer: Consumer = consumer) -> bool:
            message = consumer.poll(1.0)
            if message is None or message.error():
                return False
            consumer.commit(message, asynchronous=False)
            return True

        wait_until(read)
        consumer.close()


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def run(*arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
        code = main(["storage", "verify", "--format", "json", *map(str, arguments)])
        return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_a_directory_that_apache_kafka_closed_is_sound(verify: Verify, kafka: Directories) -> None:
    code, lines = verify(kafka.stopped)
    damage = [line for line in lines if line.get("severity") == "damage"]
    assert (code, damage) == (0, [])
    summary = lines[-1]["summary"]
    assert summary["partitions"] > 15
    assert summary["index_entries"] > 100
    assert summary["snapshots"] > 3


def test_a_directory_whose_apache_kafka_was_killed_has_no_damage(
    verify: Verify, kafka: Directories
) -> None:
    code, lines = verify(kafka.killed)
    damage = [line for line in lines if line.get("severity") == "damage"]
    assert (code, damage) == (0, [])


def test_what_other_peoples_clients_wrote_through_this_broker_is_sound(
    verify: Verify, broker_kind: type[Broker], tmp_path: Path
) -> None:
    broker = broker_kind(tmp_path / "data")
    with broker:
        fill(broker, Contents())
        broker.kill()
        killed = verify(broker.directory)
        broker.start()
        assert broker.stop() in (0, 143)
    for code, lines in (killed, verify(broker.directory)):
        assert [line for line in lines if line.get("severity") == "damage"] == []
        assert code == 0


def test_a_changed_byte_in_a_compacted_segment_is_found(
    verify: Verify, kafka: Directories, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(kafka.stopped, tmp_path / "copy"))
    (segment, *_) = sorted((copy / "compacted-0").glob("*.log"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    code, lines = verify(copy)
    assert code == 1
    assert [line["file"] for line in lines if line.get("severity") == "damage"] == [str(segment)]


RECORD = re.compile(r"^\| offset: (\d+) .*? key: (\{.*\}) payload: (.*)$", re.MULTILINE)


@pytest.mark.parametrize(
    ("topic", "decoder"),
    [
        ("__consumer_offsets", "--offsets-decoder"),
        ("__transaction_state", "--transaction-log-decoder"),
    ],
)
def test_the_records_of_coordinators_are_dumped_as_apache_kafka_dumps_them(
    kafka: Directories, capsys: pytest.CaptureFixture[str], topic: str, decoder: str
) -> None:
    compared = 0
    for log in sorted(kafka.stopped.glob(f"{topic}-*/*.log")):
        theirs = run_tool("kafka-dump-log", decoder, "--files", log).stdout
        assert main(["storage", "dump", str(log), "--format", "json"]) == 0
        entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        ours = {r["offset"]: r for entry in entries for r in entry["records"]}
        for offset, key, payload in RECORD.findall(theirs):
            record = ours[int(offset)]
            assert _same(json.loads(key)["data"], record["key"])
            if payload == "<DELETE>" or payload == "null":
                assert record["payload"] is None
                continue
            value = json.loads(payload)
            assert int(value["version"]) == record["version"]
            assert _same(value["data"], record["payload"]), (value["data"], record["payload"])
            compared += 1
    assert compared > 5


def _same(theirs: Any, ours: Any) -> bool:
    """Whether every field that their version of the record has is the same in ours."""
    if isinstance(theirs, dict):
        snake = {re.sub(r"([A-Z])", r"_\1", name).lower(): v for name, v in theirs.items()}
        return all(_same(value, ours[name]) for name, value in snake.items())
    if isinstance(theirs, list):
        return len(theirs) == len(ours) and all(map(_same, theirs, ours))
    # They print bytes as base64, and none as an empty text.
    return bool(theirs == ours or (not theirs and not ours))
