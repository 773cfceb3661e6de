"""The metadata of a cluster on disk is KRaft's: Apache Kafka and Moldau take turns on it."""

# confluent-kafka marks itself as typed, but not all of what it exports is.
# mypy: disable-error-code="attr-defined"

import asyncio
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic
from tools.brokers import ApacheKafkaBroker

from moldau.broker.cluster_metadata import ClusterMetadata
from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatOptions, format_directories
from moldau.broker.metadata_snapshot import BOOTSTRAP_CHECKPOINT, parse_snapshot_name
from moldau.clock import SystemClock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.ids import uuid_to_str
from moldau.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataImage
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.record.header import iter_headers
from moldau.storage.disk.checkpoint import (
    read_meta_properties,
    remove_clean_shutdown,
    write_clean_shutdown,
)
from moldau.storage.disk.disk import RealDisk
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import run_tool

FIRST_VOTERS = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
LOG = "__cluster_metadata-0/00000000000000000000.log"
COMPLAINTS = re.compile(r"exception|isvalid: false|corrupt|Could not", re.IGNORECASE)
CLUSTER_ID = "Q8iz1nzKR4Wq8YoVMRjTrw"


@pytest.fixture(scope="module", autouse=True)
def _apache_kafka_is_here() -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def node(data: Path, settings: Mapping[str, str] | None = None) -> BrokerConfig:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:29092,CONTROLLER://127.0.0.1:29093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:29093",
        "log.dirs": str(data),
    }
    return BrokerConfig.from_properties({**properties, **(settings or {})})


STATIC = {
    "controller.quorum.voters": "1@127.0.0.1:29093",
    "controller.quorum.bootstrap.servers": "",
}


async def fill(log: ClusterMetadata) -> None:
    """Topics, settings of all kinds, a quota, a deleted topic."""
    runtime = log.runtime
    for name, partitions in (("river", 3), ("lake", 1), ("gone", 2)):
        wanted = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name="retention.ms", value="123456")],
        )
        response = await runtime.handle(CreateTopicsRequest(topics=[wanted]), 7)
        assert response.topics[0].error_code == 0, response
    await runtime.handle(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=60_000), 5)
    change = AlterConfigsResource(
        resource_type=BROKER_RESOURCE,
        resource_name="",
        configs=[AlterableConfig(name="log.retention.ms", value="777777")],
    )
    await runtime.handle(IncrementalAlterConfigsRequest(resources=[change]), 1)
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name="ada")],
        ops=[OpData(key="producer_byte_rate", value=1024.0)],
    )
    await runtime.handle(AlterClientQuotasRequest(entries=[entry]), 1)


def moldau(
    data: Path,
    settings: Mapping[str, str] | None = None,
    *,
    fill_it: bool = False,
    snapshot: bool = False,
) -> MetadataImage:
    """Start Moldau's metadata on the directory and stop it again; gives what it knows."""
    config = node(data, settings)
    disk = RealDisk()

    async def live() -> MetadataImage:
        format_if_empty(config, disk, random.Random())
        log = ClusterMetadata(config, disk, SystemClock(), random.Random())
        log.load()
        remove_clean_shutdown(disk, str(data))
        await log.start([Listener("CONTROLLER", "127.0.0.1", 29093)])
        await log.register([Listener("PLAINTEXT", "127.0.0.1", 29092)])
        if fill_it:
            await fill(log)
        if snapshot:
            log.snapshots.maybe_snapshot()
        image = log.image
        await log.leave()
        await log.stop()
        write_clean_shutdown(disk, str(data), log.lifecycle.broker_epoch)
        return image

    return asyncio.run(live())


def dumped(data: Path, files: Iterable[str]) -> list[dict[str, object]]:
    """The records that kafka-dump-log finds, all of them without complaint."""
    names = ",".join(str(data / name) for name in files)
    output = run_tool("kafka-dump-log", "--cluster-metadata-decoder", "--files", names)
    assert output.status == 0, output.both
    assert not COMPLAINTS.search(output.both), output.both
    return [json.loads(match) for match in re.findall(r"payload: (\{.*\})", output.stdout)]


def without_times(data: bytes) -> bytes:
    blank = bytearray(data)
    for position, _ in iter_headers(data):
        blank[position + 17 : position + 21] = bytes(4)
        blank[position + 27 : position + 43] = bytes(16)
    return bytes(blank)


def snapshots(data: Path) -> Iterator[Path]:
    for path in sorted((data / "__cluster_metadata-0").iterdir()):
        found = parse_snapshot_name(path.name)
        if found is not None and found.end_offset > 0:
            yield path


def check_on_kafka(broker: ApacheKafkaBroker, image: MetadataImage, new_topic: str) -> None:
    """Apache Kafka shows what the image holds, and takes a new topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    names = list(image.topics_by_name)
    described = admin.describe_topics(TopicCollection(names))
    for name, future in described.items():
        topic = future.result(timeout=120)
        known = image.topics_by_name[name]
        assert len(topic.partitions) == len(known.partitions)
        assert all(partition.leader.id == 1 for partition in topic.partitions)
    listed = run_tool("kafka-topics", "--bootstrap-server", broker.bootstrap, "--describe").stdout
    for name, topic in image.topics_by_name.items():
        assert re.search(rf"Topic: {name}\s+TopicId: {uuid_to_str(topic.id)}\s", listed), listed
        for key, value in image.config(TOPIC_RESOURCE, name).items():
            assert f"{key}={value}" in listed
    assert set(admin.list_topics(timeout=120).topics) == set(names)
    configs = run_tool(
        "kafka-configs",
        "--bootstrap-server",
        broker.bootstrap,
        "--describe",
        "--entity-type",
        "brokers",
        "--entity-default",
    ).stdout
    for key, value in image.config(BROKER_RESOURCE, "").items():
        assert f"{key}={value}" in configs
    admin.create_topics([NewTopic(new_topic, 2, 1)])[new_topic].result(timeout=120)


def kafka_storage_format(config: BrokerConfig, properties: Path, *options: str) -> None:
    settings = config.originals.items()
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings if value))
    arguments = ("format", "-c", properties, "-t", CLUSTER_ID, *options)
    output = run_tool("kafka-storage", *arguments)
    assert output.status == 0, output.both


def test_format_writes_what_kafka_storage_writes(data: Path, tmp_path: Path) -> None:
    config = node(data)
    format_directories(
        config,
        FormatOptions(cluster_id=CLUSTER_ID, standalone=True),
        RealDisk(),
        random.Random(),
    )
    theirs = tmp_path / "theirs"
    properties = tmp_path / "server.properties"
    kafka_storage_format(node(theirs), properties, "--standalone")
    ours_id = read_meta_properties(RealDisk(), str(data))
    their_id = read_meta_properties(RealDisk(), str(theirs))
    assert ours_id is not None
    assert their_id is not None
    assert ours_id._replace(directory_id=None) == their_id._replace(directory_id=None)
    bootstrap = [(each / BOOTSTRAP_CHECKPOINT).read_bytes() for each in (data, theirs)]
    assert without_times(bootstrap[0]) == without_times(bootstrap[1])
    # The snapshot header holds a time of its own, before the first directory id.
    voters = [
        bytearray(without_times((each / FIRST_VOTERS).read_bytes())) for each in (data, theirs)
    ]
    for contents, properties_of in zip(voters, (ours_id, their_id), strict=True):
        assert properties_of.directory_id is not None
        contents[:] = contents.replace(properties_of.directory_id, bytes(16))
        contents[73:81] = bytes(8)
    assert voters[0] == voters[1]
    again = run_tool("kafka-storage", "info", "-c", properties)
    assert CLUSTER_ID in again.stdout


def test_the_dump_tool_reads_log_and_snapshot(data: Path) -> None:
    image = moldau(data, fill_it=True, snapshot=True)
    names = [LOG, FIRST_VOTERS, *(str(path.relative_to(data)) for path in snapshots(data))]
    assert len(names) == 3
    found = dumped(data, names)
    kinds = [record["type"] for record in found]
    assert kinds[0] == "BEGIN_TRANSACTION_RECORD"
    topics = [record["data"] for record in found if record["type"] == "TOPIC_RECORD"]
    river = uuid_to_str(image.topics_by_name["river"].id)
    assert topics.count({"name": "river", "topicId": river}) == 2
    assert "CLIENT_QUOTA_RECORD" in kinds


@pytest.mark.parametrize(
    ("has_snapshot", "is_static"), [(False, False), (True, False), (False, True)]
)
def test_kafka_goes_on_where_moldau_stopped_and_back(
    data: Path, has_snapshot: bool, is_static: bool
) -> None:
    settings = STATIC if is_static else {}
    image = moldau(data, settings, fill_it=True, snapshot=has_snapshot)
    with ApacheKafkaBroker(data) as broker:
        assert isinstance(broker, ApacheKafkaBroker)
        check_on_kafka(broker, image, "from-kafka")
        assert broker.stop() in (0, 143)
    back = moldau(data, settings)
    assert list(back.topics_by_name) == [*image.topics_by_name, "from-kafka"]
    assert back.configs == image.configs
    assert back.client_quotas == image.client_quotas
    assert back.features == image.features
    for name, topic in image.topics_by_name.items():
        assert back.topics_by_name[name].id == topic.id
        for partition, before in topic.partitions.items():
            after = back.topics_by_name[name].partitions[partition]
            assert after.leader == 1
            assert after.leader_epoch > before.leader_epoch
    # Once more: what Moldau wrote on top of what Kafka wrote.
    with ApacheKafkaBroker(data) as broker:
        assert isinstance(broker, ApacheKafkaBroker)
        check_on_kafka(broker, back, "once-more")


def test_a_snapshot_alone_is_enough_for_both(data: Path) -> None:
    image = moldau(data, fill_it=True, snapshot=True)
    kept = {path.name for path in snapshots(data)}
    for path in (data / "__cluster_metadata-0").iterdir():
        if path.name not in kept:
            path.unlink()
    with ApacheKafkaBroker(data) as broker:
        assert isinstance(broker, ApacheKafkaBroker)
        check_on_kafka(broker, image, "from-kafka")
        assert broker.stop() in (0, 143)
    assert list(moldau(data).topics_by_name) == [*image.topics_by_name, "from-kafka"]


@pytest.mark.parametrize("is_static", [False, True])
def test_moldau_starts_on_what_kafka_formatted_and_wrote(data: Path, is_static: bool) -> None:
    if is_static:
        kafka_storage_format(node(data, STATIC), data.parent / "static.properties")
    # Kafka writes a snapshot after almost every change.
    settings = {"metadata.log.max.record.bytes.between.snapshots": "1"}
    with ApacheKafkaBroker(data, settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        new = NewTopic("from-kafka", 3, 1, config={"cleanup.policy": "compact"})
        admin.create_topics([new])["from-kafka"].result(timeout=120)
        broker.kill()
    quorum_state = data / "__cluster_metadata-0" / "quorum-state"
    assert json.loads(quorum_state.read_text())["data_version"] == (0 if is_static else 1)
    assert list(snapshots(data))
    image = moldau(data, STATIC if is_static else {})
    assert list(image.topics_by_name) == ["from-kafka"]
    assert image.config(TOPIC_RESOURCE, "from-kafka") == {"cleanup.policy": "compact"}
    assert [p.leader for p in image.topics_by_name["from-kafka"].partitions.values()] == [1, 1, 1]
    assert json.loads(quorum_state.read_text())["data_version"] == (0 if is_static else 1)
