"""The files on disk are Kafka's: its tools read them, and Apache Kafka itself runs on them."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from tools.brokers import ApacheKafkaBroker, Broker, MoldauBroker

from tests.compat.clients.base import CODECS
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.directory import Contents, fill, open_client, read_everything, shapes, write
from tests.compat.java_tools import Output, run_tool
from tests.compat.sample import PARTITIONS, assert_same_records, wait_until

COMPLAINTS = re.compile(
    r"mismatch|consecutive|corrupt|not found|could not find|exception|isvalid: false",
    re.IGNORECASE,
)
# The tool takes the first record of a segment that does not start at 0 for a gap.
FIRST_OFFSET = re.compile(r"Non-consecutive offsets in .*\n\s+-1 is followed by \d+")

BrokerMaker = Callable[[type[Broker], Path], Broker]


class Written(NamedTuple):
    """A data directory after a clean stop, and what is in it."""

    directory: Path
    contents: Contents


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def written(broker_kind: type[Broker], tmp_path_factory: pytest.TempPathFactory) -> Written:
    directory = tmp_path_factory.mktemp("written") / "data"
    contents = Contents()
    with broker_kind(directory) as broker:
        fill(broker, contents)
        assert broker.stop() in (0, 143)
    return Written(directory, contents)


@pytest.fixture
def start() -> Iterator[BrokerMaker]:
    """Starts brokers, and sees to it that none outlives the test."""
    started: list[Broker] = []

    def make(kind: type[Broker], directory: Path) -> Broker:
        broker = kind(directory)
        started.append(broker)
        return broker.start()

    yield make
    for broker in started:
        broker.kill()


def copy_of(written: Written, folder: Path) -> Path:
    return Path(shutil.copytree(written.directory, folder / "data"))


def files(directory: Path, pattern: str) -> list[Path]:
    found = sorted(directory.glob(pattern))
    assert found, f"no {pattern} in {directory}"
    return found


def dump(paths: list[Path], *options: str) -> Output:
    output = run_tool("kafka-dump-log", *options, "--files", ",".join(map(str, paths)))
    assert output.status == 0, output.both
    text = FIRST_OFFSET.sub("", output.both)
    complaint = COMPLAINTS.search(text)
    assert complaint is None, text[max(complaint.start() - 500, 0) :][:1000]
    return output


def test_the_tool_reads_every_record_of_every_segment(written: Written) -> None:
    logs = files(written.directory, "[cr]o*-*/*.log")
    output = dump(logs, "--deep-iteration")
    count = sum(len(records) for records in written.contents.records.values())
    assert len(re.findall(r"^\| offset: ", output.stdout, re.MULTILINE)) == count
    for codec in CODECS:
        assert f"compresscodec: {codec}" in output.stdout


def test_the_tool_finds_the_indexes_sane(written: Written) -> None:
    indexes = files(written.directory, "[cr]o*-*/*.index")
    time_indexes = files(written.directory, "[cr]o*-*/*.timeindex")
    output = dump(indexes + time_indexes, "--index-sanity-check")
    passed = output.stdout.count(" passed sanity check.")
    empty = output.stdout.count(" is empty.")
    assert passed > 2
    assert passed + empty == len(indexes + time_indexes)


def test_the_tool_verifies_the_indexes_against_the_log(written: Written) -> None:
    indexes = files(written.directory, "rolled-0/*.index")
    assert len(indexes) > 1
    assert any(path.stat().st_size > 0 for path in indexes)
    dump(files(written.directory, "[cr]o*-*/*index"), "--verify-index-only")


def test_the_tool_reads_the_producer_snapshots(written: Written) -> None:
    dump(files(written.directory, "rolled-0/*.snapshot"))


def test_the_tool_reads_the_metadata_log(written: Written) -> None:
    metadata = written.directory / "__cluster_metadata-0"
    logs = files(metadata, "*.log")
    output = run_tool(
        "kafka-dump-log", "--cluster-metadata-decoder", "--files", ",".join(map(str, logs))
    )
    assert output.status == 0, output.both
    assert "Exception" not in output.both
    assert "Could not decode" not in output.both
    for kind in ("REGISTER_BROKER_RECORD", "FEATURE_LEVEL_RECORD", "CONFIG_RECORD"):
        assert kind in output.stdout
    for name, shape in written.contents.shapes.items():
        named = f'"data":{{"name":"{name}","topicId":"{shape.topic_id}"}}'
        assert f'{{"type":"TOPIC_RECORD","version":0,{named}' in output.stdout


def test_apache_kafka_and_this_broker_take_turns_on_one_directory(
    written: Written, broker_kind: type[Broker], start: BrokerMaker, tmp_path: Path
) -> None:
    """Apache Kafka opens what this broker wrote, changes it, and gives it back."""
    directory = copy_of(written, tmp_path)
    contents = Contents()
    contents.records = {name: list(found) for name, found in written.contents.records.items()}

    apache = start(ApacheKafkaBroker, directory)
    assert shapes(apache) == written.contents.shapes
    assert_same_contents(apache, contents)
    client = open_client(apache)
    for codec in CODECS:
        write(client, contents, f"codec-{codec}", codec)
    client.create_topic("codec-by-apache", PARTITIONS, {"segment.ms": "7200000"})
    wait_until(lambda: "codec-by-apache" in client.list_topics())
    write(client, contents, "codec-by-apache", "zstd")
    client.set_topic_config("settings", {"retention.ms": "80000000"})
    wait_until(lambda: client.topic_config("settings")["retention.ms"] == "80000000")
    client.close()
    contents.shapes = shapes(apache)
    apache.stop()

    ours = start(broker_kind, directory)
    assert shapes(ours) == contents.shapes
    assert_same_contents(ours, contents)
    client = open_client(ours)
    write(client, contents, "codec-by-apache", "lz4")
    client.close()
    assert_same_contents(ours, contents)
    ours.stop()

    assert_same_contents(start(ApacheKafkaBroker, directory), contents)


def test_it_starts_from_apache_kafkas_server_properties_on_its_directory(
    broker_kind: type[Broker], start: BrokerMaker, tmp_path: Path
) -> None:
    """The file and the directory as Apache Kafka leaves them, with not a word changed."""
    if broker_kind is not MoldauBroker:
        pytest.skip("only Moldau takes over from Apache Kafka")
    contents = Contents()
    apache = start(ApacheKafkaBroker, tmp_path / "data")
    fill(apache, contents)
    apache.stop()

    assert isinstance(apache, ApacheKafkaBroker)
    ours = MoldauBroker(tmp_path / "data", port=apache.port)
    ours.properties_path = apache.properties_path
    with ours:
        assert shapes(ours) == contents.shapes
        assert_same_contents(ours, contents)


def assert_same_contents(broker: Broker, contents: Contents) -> None:
    found = read_everything(broker)
    for name, records in contents.records.items():
        assert_same_records(found[name], records)


def produce_until_killed(broker: Broker, restart: bool) -> dict[int, bytes]:
    """Send numbered records with acks=all and kill -9 the broker after 4,000 acknowledgements.

    Gives the value of every acknowledged offset. With ``restart`` the broker comes back while the
    producer is still sending, and every one of the 10,000 records must arrive.
    """
    acknowledged: dict[int, bytes] = {}

    def delivered(error: Any, message: Any) -> None:
        if error is None:
            acknowledged[message.offset()] = message.value()

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "batch.num.messages": 50,
            "reconnect.backoff.max.ms": 500,
            "log_level": 2,
        }
    )
    for number in range(10_000):
        producer.produce("numbers", f"number {number}", partition=0, on_delivery=delivered)
    deadline = time.monotonic() + 180
    while len(acknowledged) < 4_000:
        assert time.monotonic() < deadline, broker.log_tail()
        producer.poll(0.01)
    broker.kill()
    if restart:
        broker.start()
        assert producer.flush(60) == 0
    else:
        producer.purge()
        producer.flush(10)
    return acknowledged


def numbers_in(broker: Broker) -> dict[int, bytes | None]:
    return {record.offset: record.value for record in read_everything(broker)["numbers"]}


def test_an_idempotent_producer_goes_on_after_kill_minus_nine(
    broker_kind: type[Broker], start: BrokerMaker, tmp_path: Path
) -> None:
    broker = start(broker_kind, tmp_path / "data")
    client = open_client(broker)
    client.create_topic("numbers")
    wait_until(lambda: "numbers" in client.list_topics())
    client.close()

    produce_until_killed(broker, restart=True)

    assert numbers_in(broker) == {n: f"number {n}".encode() for n in range(10_000)}


def test_apache_kafka_opens_the_directory_after_kill_minus_nine(
    broker_kind: type[Broker], start: BrokerMaker, tmp_path: Path
) -> None:
    broker = start(broker_kind, tmp_path / "data")
    client = open_client(broker)
    client.create_topic("numbers")
    wait_until(lambda: "numbers" in client.list_topics())
    client.close()

    acknowledged = produce_until_killed(broker, restart=False)

    apache = start(ApacheKafkaBroker, tmp_path / "data")
    found = numbers_in(apache)
    assert {offset: found.get(offset) for offset in acknowledged} == acknowledged
    apache.stop()
    ours = start(broker_kind, tmp_path / "data")
    assert numbers_in(ours) == found
