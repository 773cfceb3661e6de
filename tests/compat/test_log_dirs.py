"""Several log directories: Apache Kafka's tools move replicas, and both brokers share the disks."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import ApacheKafkaBroker, Broker, MoldauBroker

from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat.clients.base import Record
from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import JavaTools, run_tool
from tests.compat.sample import text_records, wait_until, with_offsets
from tests.running import WireClient

TOPIC = "river"
COUNT = 300
PADDING = b"x" * 20_000
NAMES = ("data", "second", "third")
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"
# A move of some megabytes that takes until somebody lifts it.
SLOW = str(10_000)
BROKER, SET, DELETE = 4, 0, 1

BrokerMaker = Callable[..., Broker]


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[BrokerMaker]:
    """Starts brokers on three directories; none outlives the test."""
    started: list[Broker] = []

    def make(kind: type[Broker], folder: Path | None = None) -> Broker:
        folder = folder or tmp_path
        paths = ",".join(str(folder / name) for name in NAMES)
        broker = kind(folder / NAMES[0], {"log.dirs": paths})
        started.append(broker)
        return broker.start()

    yield make
    for broker in started:
        broker.kill()


class Disks:
    """The directories of a broker: by the tools, or by the wire where a test only waits."""

    def __init__(self, broker: Broker) -> None:
        self.folder = broker.directory.parent
        self.port = broker.port
        self.tools = JavaTools(broker.bootstrap)

    def describe(self) -> dict[str, Any]:
        """What ``kafka-log-dirs`` says of each directory."""
        output = self.tools.run("kafka-log-dirs", "--describe", "--topic-list", TOPIC)
        [found] = [json.loads(line) for line in output.lines if line.startswith("{")]
        [broker] = found["brokers"]
        return {Path(each["logDir"]).name: each for each in broker["logDirs"]}

    def copies(self) -> dict[str, bool]:
        """Where the partition is, and whether as a copy in the making."""
        request = DescribeLogDirsRequest(
            topics=[DescribableLogDirTopic(topic=TOPIC, partitions=[0])]
        )
        with WireClient(self.port) as client:
            results = client.send(request, 4).results
        return {
            Path(each.log_dir).name: each.topics[0].partitions[0].is_future_key
            for each in results
            if each.topics
        }

    def is_at(self, target: str) -> bool:
        return self.copies() == {target: False}

    def current(self) -> str:
        """The name of the directory that holds the partition."""
        return next(name for name, is_future in self.copies().items() if not is_future)

    def elsewhere(self) -> str:
        current = self.current()
        return next(name for name in NAMES if name != current)

    def plan(self, target: str) -> Path:
        """A file for kafka-reassign-partitions."""
        path = self.folder / "plan.json"
        partition = {
            "topic": TOPIC,
            "partition": 0,
            "replicas": [int(self.tools.broker_id)],
            "log_dirs": [str(self.folder / target)],
        }
        path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
        return path

    def reassign(self, target: str, *options: str) -> str:
        plan = self.plan(target)
        return self.tools.run(
            "kafka-reassign-partitions", "--reassignment-json-file", plan, *options
        ).both

    def move(self, target: str) -> None:
        """Ask for a move without a tool."""
        wanted = AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])
        path = str(self.folder / target)
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[wanted])])
        with WireClient(self.port) as client:
            assert client.send(request, 2).results[0].partitions[0].error_code == 0

    def throttle(self, rate: str | None) -> None:
        """Limit what moves may use, or lift the limit."""
        config = AlterableConfig(
            name=THROTTLE, config_operation=DELETE if rate is None else SET, value=rate
        )
        broker = AlterConfigsResource(
            resource_type=BROKER, resource_name=self.tools.broker_id, configs=[config]
        )
        with WireClient(self.port) as client:
            response = client.send(IncrementalAlterConfigsRequest(resources=[broker]), 1)
        assert response.responses[0].error_code == 0


def fill(broker: Broker) -> list[Record]:
    client = ConfluentClient(broker.bootstrap)
    client.create_topic(TOPIC, 1, {"segment.bytes": "1048576"})
    wait_until(lambda: TOPIC in client.list_topics())
    written: list[Record] = []
    for _ in range(5):
        records = [r._replace(value=(r.value or b"") + PADDING) for r in text_records(COUNT // 5)]
        written += with_offsets(records, client.produce(TOPIC, records, "none"))
    client.close()
    return written


def contents(broker: Broker) -> list[Record]:
    client = ConfluentClient(broker.bootstrap)
    wait_until(lambda: client.end_offsets([(TOPIC, 0)])[TOPIC, 0] == COUNT)
    found = client.consume_topics({(TOPIC, 0): 0}, COUNT)[TOPIC]
    client.close()
    return found


def other(kind: type[Broker]) -> type[Broker]:
    return MoldauBroker if kind is ApacheKafkaBroker else ApacheKafkaBroker


def test_the_tool_moves_a_replica_and_verifies_it(
    broker_kind: type[Broker], start: BrokerMaker
) -> None:
    broker = start(broker_kind)
    written = fill(broker)
    disks = Disks(broker)
    target = disks.elsewhere()
    started = disks.reassign(target, "--execute", "--replica-alter-log-dirs-throttle", "50000000")
    assert "Successfully started" in started

    def is_verified() -> bool:
        return "completed successfully" in disks.reassign(target, "--verify")

    wait_until(is_verified)
    found = disks.describe()
    [partition] = found[target]["partitions"]
    assert (partition["partition"], partition["offsetLag"], partition["isFuture"]) == (
        f"{TOPIC}-0",
        0,
        False,
    )
    size = sum(file.stat().st_size for file in (disks.folder / target).glob(f"{TOPIC}-0/*.log"))
    assert partition["size"] == size
    assert contents(broker) == written
    output = disks.tools.run(
        "kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name",
        disks.tools.broker_id,
    )  # fmt: skip
    assert THROTTLE not in output.stdout, "--verify took the throttle away"


def test_a_throttled_move_shows_its_lag_and_ends_when_the_throttle_does(
    broker_kind: type[Broker], start: BrokerMaker
) -> None:
    broker = start(broker_kind)
    written = fill(broker)
    disks = Disks(broker)
    target = disks.elsewhere()
    disks.reassign(target, "--execute", "--replica-alter-log-dirs-throttle", SLOW)
    [future] = disks.describe()[target]["partitions"]
    assert future["isFuture"]
    assert 0 < future["offsetLag"] <= COUNT
    verified = disks.reassign(target, "--verify", "--preserve-throttles")
    assert "is still in progress" in verified
    disks.throttle(None)
    wait_until(lambda: disks.is_at(target))
    assert contents(broker) == written


def test_one_broker_opens_the_directories_of_the_other(
    broker_kind: type[Broker], start: BrokerMaker
) -> None:
    first = start(broker_kind)
    written = fill(first)
    disks = Disks(first)
    target = disks.elsewhere()
    disks.move(target)
    wait_until(lambda: disks.is_at(target))
    assert first.stop() in (0, 143)
    second = start(other(broker_kind))
    assert contents(second) == written
    again = Disks(second)
    assert again.current() == target
    back = again.elsewhere()
    again.move(back)
    wait_until(lambda: again.is_at(back))
    assert second.stop() in (0, 143)
    third = start(broker_kind)
    assert contents(third) == written
    assert Disks(third).current() == back


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("kind", [MoldauBroker, ApacheKafkaBroker])
def test_one_broker_finishes_a_move_of_the_other(
    kind: type[Broker], end: str, start: BrokerMaker
) -> None:
    first = start(kind)
    written = fill(first)
    disks = Disks(first)
    target = disks.elsewhere()
    disks.throttle(SLOW)
    disks.move(target)
    if end == "stop":
        assert first.stop() in (0, 143)
    else:
        first.kill()
    assert list((disks.folder / target).glob(f"{TOPIC}-0.*-future"))
    second = start(other(kind))
    again = Disks(second)
    again.throttle(None)
    wait_until(lambda: again.is_at(target))
    assert contents(second) == written


def test_the_metadata_names_the_directory_of_a_replica(
    broker_kind: type[Broker], start: BrokerMaker
) -> None:
    broker = start(broker_kind)
    fill(broker)
    disks = Disks(broker)
    target = disks.elsewhere()
    disks.move(target)
    wait_until(lambda: disks.is_at(target))
    assert broker.stop() in (0, 143)
    properties = (disks.folder / target / "meta.properties").read_text()
    [directory_id] = [
        line.partition("=")[2] for line in properties.splitlines() if "directory.id" in line
    ]
    copy = shutil.copytree(disks.folder / NAMES[0] / "__cluster_metadata-0", disks.folder / "log")
    logs = ",".join(map(str, sorted(copy.glob("*.log"))))
    output = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", logs)
    changes = [line for line in output.lines if "PARTITION_CHANGE_RECORD" in line]
    assert any(directory_id in line for line in changes)
