"""Formatting: the same files and errors as ``kafka-storage format`` of Apache Kafka 4.3.1."""

import random

import pytest

from moldau.broker.first_start import format_if_empty
from moldau.broker.format import (
    FormatError,
    FormatOptions,
    feature_levels,
    format_directories,
)
from moldau.broker.metadata_snapshot import decode_snapshot, encode_snapshot
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.ids import uuid_from_str
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from moldau.record.header import iter_headers
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk.checkpoint import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)

CLUSTER = "Q8iz1nzKR4Wq8YoVMRjTrw"
VOTERS_FILE = "/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"

# Written by kafka-storage of Apache Kafka 4.3.1.
BOOTSTRAP = bytes.fromhex(
    "00000000000000000000004700000000026fe00e2f002000000000000001a1e10df57a000001a1e10df57afffffff"
    "fffffffffffffffffffff000000012a00000008000000031600000000000000000000000000000000000000010000"
    "00f1000000000250a21285000000000005000001a1e10df5d6000001a1e10df5d6fffffffffffffffffffffffffff"
    "f000000063a000000012e010c00116d657461646174612e76657273696f6e001e00005a000002014e010c0021656c"
    "696769626c652e6c65616465722e7265706c696361732e76657273696f6e00010000340000040128010c000e67726"
    "f75702e76657273696f6e00010000340000060128010c000e73686172652e76657273696f6e000100003800000801"
    "2c010c001073747265616d732e76657273696f6e000100004000000a0134010c00147472616e73616374696f6e2e7"
    "6657273696f6e0002000000000000000000070000003f0000000002ec12150e002000000000000001a1e10df5d800"
    "0001a1e10df5d8ffffffffffffffffffffffffffff000000011a00000008000000040600000000"
)
FIRST_VOTERS = bytes.fromhex(
    "00000000000000000000009a0000000002111bb8b7002000000002000001a1e10df64f000001a1e10df64ffffffff"
    "fffffffffffffffffffff000000032a0000000800000003160000000001a1e10df61f00001e000002080000000"
    "50a000000010000820100000408000000066e00000200000001eb629adb8a534966b9f045cfa16eb30a020b434f4e"
    "54524f4c4c45520a3132372e302e302e3172d100000000010000000000000000000000030000003f00000000026c0"
    "f787c002000000000000001a1e10df65d000001a1e10df65dffffffffffffffffffffffffffff000000011a000000"
    "08000000040600000000"
)


def node(log_dirs: str = "/data", **settings: str) -> BrokerConfig:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://127.0.0.1:29392,CONTROLLER://127.0.0.1:29393",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "127.0.0.1:29393",
        "log.dirs": log_dirs,
    }
    properties.update({name.replace("_", "."): value for name, value in settings.items()})
    return BrokerConfig.from_properties(properties)


def formatted(
    disk: SimulatedDisk, config: BrokerConfig, options: FormatOptions
) -> tuple[str, list[str]]:
    lines: list[str] = []
    cluster_id = format_directories(
        config, options, disk, random.Random(1), clock=ManualClock(), report=lines.append
    )
    return cluster_id, lines


def without_times(data: bytes) -> bytes:
    """Batches without checksum and timestamps, which differ between runs."""
    blank = bytearray(data)
    for position, _ in iter_headers(data):
        blank[position + 17 : position + 21] = bytes(4)
        blank[position + 27 : position + 43] = bytes(16)
    return bytes(blank)


def test_the_bootstrap_file_is_kafkas() -> None:
    disk = SimulatedDisk()
    formatted(disk, node(), FormatOptions(cluster_id=CLUSTER, standalone=True))
    written = disk.read_bytes("/data/bootstrap.checkpoint")
    assert without_times(written) == without_times(BOOTSTRAP)


def test_the_first_voters_are_written_as_kafka_writes_them() -> None:
    directory_id = uuid_from_str("62Ka24pTSWa58EXPoW6zCg")
    voter = Voter(1, directory_id, (VoterEndpoint("CONTROLLER", "127.0.0.1", 29393),))
    written = encode_snapshot(
        [],
        metadata_version=30,
        epoch=0,
        last_log_timestamp_ms=0x1A1E10DF61F,
        wall_ms=0,
        kraft_version=1,
        voters=VoterSet.of(voter),
    )
    assert without_times(written) == without_times(FIRST_VOTERS)
    contents = decode_snapshot(FIRST_VOTERS, "file")
    assert contents.voters == VoterSet.of(voter)
    assert (contents.kraft_version, contents.records) == (1, [])


def test_a_standalone_node_is_its_own_first_voter() -> None:
    disk = SimulatedDisk()
    cluster_id, lines = formatted(disk, node(), FormatOptions(standalone=True))
    properties = read_meta_properties(disk, "/data")
    assert properties is not None
    assert (properties.cluster_id, properties.node_id) == (cluster_id, 1)
    contents = decode_snapshot(disk.read_bytes(VOTERS_FILE), VOTERS_FILE)
    assert contents.voters is not None
    assert contents.voters.voters[1].directory_id == properties.directory_id
    assert lines == [
        "Formatting dynamic metadata voter directory /data with metadata.version 4.3-IV0."
    ]


def test_every_log_directory_gets_its_own_id() -> None:
    disk = SimulatedDisk()
    _, lines = formatted(disk, node("/a,/b", metadata_log_dir="/m"), FormatOptions(standalone=True))
    ids = {path: read_meta_properties(disk, path) for path in ("/a", "/b", "/m")}
    assert len({each.directory_id for each in ids.values() if each}) == 3
    assert [line.split()[1] for line in lines] == ["data", "data", "dynamic"]
    assert disk.exists("/m/__cluster_metadata-0")
    assert not disk.exists("/a/__cluster_metadata-0")


def test_a_static_quorum_has_no_first_voters() -> None:
    disk = SimulatedDisk()
    config = node(
        controller_quorum_voters="1@127.0.0.1:29393", controller_quorum_bootstrap_servers=""
    )
    _, lines = formatted(disk, config, FormatOptions(cluster_id=CLUSTER))
    assert lines == ["Formatting metadata directory /data with metadata.version 4.3-IV0."]
    assert not disk.exists("/data/__cluster_metadata-0")


def test_other_first_controllers_can_be_named() -> None:
    disk = SimulatedDisk()
    controllers = ",".join(f"{n}@h{n}:9093:{CLUSTER[:-2]}{n}A" for n in (1, 2, 3))
    formatted(disk, node(), FormatOptions(initial_controllers=controllers))
    contents = decode_snapshot(disk.read_bytes(VOTERS_FILE), VOTERS_FILE)
    assert contents.voters is not None
    assert contents.voters.ids == (1, 2, 3)


def test_a_release_version_chooses_the_levels() -> None:
    levels = feature_levels(FormatOptions(release_version="3.9"), has_dynamic_quorum=True)
    assert levels["metadata.version"] == 21
    assert levels["group.version"] == 0
    assert levels["kraft.version"] == 1
    chosen = FormatOptions(features={"share.version": 0})
    assert feature_levels(chosen, has_dynamic_quorum=False)["share.version"] == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (FormatOptions(), "you must specify one of the following: --standalone"),
        (FormatOptions(standalone=True, no_initial_controllers=True), "exclude each other"),
        (FormatOptions(standalone=True, release_version="1.0"), "Unknown metadata.version '1.0'"),
        (FormatOptions(standalone=True, release_version="4.4-IV0"), "is not yet stable"),
        (FormatOptions(standalone=True, features={"no.such": 1}), "Unsupported feature: no.such"),
        (FormatOptions(standalone=True, features={"group.version": 9}), "feature level 9"),
        (FormatOptions(standalone=True, features={"kraft.version": 0}), "kraft.version to 0"),
        (
            FormatOptions(standalone=True, release_version="4.0", features={"metadata.version": 7}),
            "to avoid ambiguity",
        ),
        (FormatOptions(initial_controllers="1@h"), "expected id@host:port:directory-id"),
    ],
)
def test_what_cannot_be_formatted_says_why_and_writes_nothing(
    options: FormatOptions, problem: str
) -> None:
    disk = SimulatedDisk()
    with pytest.raises(FormatError, match=problem):
        formatted(disk, node(), options)
    assert not disk.exists("/data/meta.properties")


def test_a_formatted_directory_is_not_formatted_again() -> None:
    disk = SimulatedDisk()
    options = FormatOptions(cluster_id=CLUSTER, standalone=True)
    formatted(disk, node(), options)
    with pytest.raises(FormatError, match="Log directory /data is already formatted"):
        formatted(disk, node(), options)
    options.ignore_formatted = True
    before = disk.read_bytes("/data/meta.properties")
    _, lines = formatted(disk, node(), options)
    assert lines == ["All of the log directories are already formatted."]
    _, lines = formatted(disk, node("/data,/more"), options)
    assert lines == ["Formatting data directory /more with metadata.version 4.3-IV0."]
    assert disk.read_bytes("/data/meta.properties") == before
    options.cluster_id = "another"
    with pytest.raises(FormatError, match=f"Expected another, but read {CLUSTER}"):
        formatted(disk, node(), options)


def test_a_start_formats_what_is_empty_and_refuses_what_is_anothers() -> None:
    disk = SimulatedDisk()
    format_if_empty(node(), disk, random.Random(1))
    before = disk.read_bytes("/data/meta.properties")
    format_if_empty(node(), disk, random.Random(2))
    assert disk.read_bytes("/data/meta.properties") == before
    write_meta_properties(disk, "/data", MetaProperties(1, CLUSTER, 7, None))
    with pytest.raises(FormatError, match="Stored node id 7"):
        format_if_empty(node(), disk, random.Random(1))
