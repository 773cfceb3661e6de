"""``moldau storage``: formatting, and looking into files without changing them."""

import json
from pathlib import Path
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.client.producer import Producer
from tests.cli.conftest import Moldau, Result
from tests.running import RunningBroker


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker leaves behind that took 300 records in 100 batches."""
    directory = tmp_path_factory.mktemp("stopped") / "data"
    with RunningBroker(directory) as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic("orders", 1, configs={"index.interval.bytes": "100"})
        with Producer(running.bootstrap, linger_ms=60_000) as producer:
            for number in range(300):
                producer.send(
                    "orders",
                    b"value-%d" % number,
                    b"\xff%d" % number,
                    timestamp=1_700_000_000_000 + number,
                    headers=[("h", b"x")],
                )
                if number % 3 == 2:
                    producer.flush()
    return directory


@pytest.fixture
def dump(moldau: Moldau) -> "Dump":
    return Dump(moldau)


class Dump:
    """Runs the command and reads what it prints."""

    def __init__(self, moldau: Moldau) -> None:
        self._moldau = moldau

    def text(self, *arguments: str | Path) -> Result:
        return self._moldau("storage", "dump", *map(str, arguments), is_local=True)

    def json(self, *arguments: str | Path) -> list[dict[str, Any]]:
        out = self.text(*arguments, "--format", "json").out
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def copied_log(data_dir: Path, tmp_path: Path) -> Path:
    """A segment with its index, to be damaged."""
    for name in ("00000000000000000000.log", "00000000000000000000.index"):
        (tmp_path / name).write_bytes((data_dir / "orders-0" / name).read_bytes())
    return tmp_path / "00000000000000000000.log"


def test_a_segment_shows_batches_and_on_demand_records(dump: Dump, data_dir: Path) -> None:
    log = data_dir / "orders-0" / "00000000000000000000.log"
    batches = dump.json(log)
    assert len(batches) == 100
    assert [batch["base_offset"] for batch in batches[:3]] == [0, 3, 6]
    assert all(batch["is_valid"] and "records" not in batch for batch in batches)
    (first, *_) = dump.json(log, "--print-data-log")
    assert first["records"][1] == {
        "offset": 1,
        "timestamp": 1_700_000_000_001,
        "key_size": 2,
        "value_size": 7,
        "sequence": 1,
        "header_keys": ["h"],
        "headers": [["h", "x"]],
        "key": "0xff31",
        "payload": "value-1",
    }
    (shallow, *_) = dump.json(log, "--deep-iteration")
    assert "payload" not in shallow["records"][0]


def test_text_is_one_line_per_batch(dump: Dump, data_dir: Path) -> None:
    log = data_dir / "orders-0" / "00000000000000000000.log"
    lines = dump.text("--files", log, "--print-data-log").out.splitlines()
    assert lines[0] == str(log)
    assert lines[1].startswith("  base_offset: 0  last_offset: 2  count: 3  base_sequence: 0")
    assert lines[2].endswith("key: 0xff30  payload: value-0")


def test_indexes_are_shown_and_fit_their_segment(dump: Dump, data_dir: Path) -> None:
    partition = data_dir / "orders-0"
    offsets = dump.json(partition / "00000000000000000000.index")
    assert len(offsets) > 10
    assert offsets == sorted(offsets, key=lambda entry: entry["offset"])
    times = dump.json(partition / "00000000000000000000.timeindex")
    assert times[-1]["timestamp"] == 1_700_000_000_299
    verified = dump.text(partition, "--index-sanity-check")
    assert verified.code == 0
    assert f"sound: {len(offsets)} entries" in verified.out


def test_the_metadata_log_is_shown_as_records(dump: Dump, data_dir: Path) -> None:
    entries = dump.json(data_dir / "__cluster_metadata-0")
    records = [record for entry in entries for record in entry.get("records", ())]
    controls = {record["control"] for record in records if "control" in record}
    types = {record["type"] for record in records if "type" in record}
    assert "LEADER_CHANGE" in controls
    assert {"FeatureLevelRecord", "RegisterBrokerRecord", "TopicRecord", "PartitionRecord"} <= types
    (topic,) = [record for record in records if record.get("type") == "TopicRecord"]
    assert topic["data"]["name"] == "orders"
    assert len(topic["data"]["topic_id"]) == 22


def test_small_files_are_shown(dump: Dump, data_dir: Path) -> None:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for path in (data_dir, data_dir / "orders-0", data_dir / "__cluster_metadata-0"):
        for entry in dump.json(path):
            assert "error" not in entry
            by_name.setdefault(Path(entry["file"]).name, []).append(entry)
    (meta,) = by_name["meta.properties"]
    assert (meta["version"], meta["node_id"]) == (1, 1)
    checkpoint = by_name["replication-offset-checkpoint"]
    assert [(each["topic"], each["offset"]) for each in checkpoint] == [("orders", 300)]
    assert "quorum-state" in by_name
    assert "partition.metadata" in by_name
    (snapshot,) = by_name["00000000000000000300.snapshot"]
    assert snapshot["last_sequence"] == 299
    assert snapshot["last_offset"] == 299
    assert ".kafka_cleanshutdown" in by_name


def test_a_changed_byte_is_found_and_the_rest_still_shown(dump: Dump, copied_log: Path) -> None:
    data = bytearray(copied_log.read_bytes())
    data[-1] ^= 1
    copied_log.write_bytes(data)
    result = dump.text(copied_log)
    assert result.code == 1
    entries = dump.json(copied_log)
    assert len(entries) == 100
    assert "checksum" in entries[-1]["error"]
    assert "error" not in entries[-2]


@pytest.mark.parametrize("cut", [1, 30, 70])
def test_a_torn_batch_is_named_by_its_position(dump: Dump, copied_log: Path, cut: int) -> None:
    data = copied_log.read_bytes()
    copied_log.write_bytes(data[:-cut])
    assert dump.text(copied_log).code == 1
    last = dump.json(copied_log)[-1]
    assert "error" in last
    assert last["position"] < len(data)


def test_room_for_later_batches_is_no_error(dump: Dump, copied_log: Path) -> None:
    copied_log.write_bytes(copied_log.read_bytes() + bytes(500))
    assert dump.text(copied_log).code == 0
    assert dump.json(copied_log)[-1]["padding_bytes"] == 500


def test_an_index_that_does_not_fit_is_found(dump: Dump, copied_log: Path) -> None:
    index = copied_log.with_suffix(".index")
    data = bytearray(index.read_bytes())
    data[7] += 1
    index.write_bytes(data + b"\0\0\0")
    result = dump.text(index, "--verify-index-only")
    assert result.code == 1
    assert "entry 0 says that offset 5 is at position 122: no batch begins there" in result.out
    assert "3 bytes are left over" in result.out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("00000000000000000007.snapshot", b"\x00\x01nonsense"),
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0\n"),
        ("leader-epoch-checkpoint", b"0\n5\n"),
        ("meta.properties", b"version=7\n"),
        ("quorum-state", b"[]"),
        ("quorum-state", b"{"),
        ("nonsense.index", b"\0" * 8),
    ],
)
def test_damage_is_reported_and_not_a_crash(
    dump: Dump, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    result = dump.text(tmp_path / name)
    assert result.code == 1
    assert "error: " in result.out


@pytest.mark.parametrize(
    ("path", "problem"), [("nowhere", "no such file"), ("other.txt", "not a broker file")]
)
def test_what_is_no_file_of_a_broker_is_refused(
    dump: Dump, tmp_path: Path, path: str, problem: str
) -> None:
    (tmp_path / "other.txt").write_text("x")
    result = dump.text(tmp_path / path)
    assert (result.code, problem in result.err) == (1, True)
    assert dump.text().code == 2


def test_a_directory_is_formatted_once(moldau: Moldau, tmp_path: Path, dump: Dump) -> None:
    directory = tmp_path / "new"
    arguments = ("storage", "format", "--data-dir", str(directory))
    made = moldau(*arguments, "-t", "4L6g3nShT-eMCtK--X86sw", is_local=True)
    assert made.code == 0
    assert made.out.endswith("Cluster 4L6g3nShT-eMCtK--X86sw, node 1.\n")
    (meta,) = dump.json(directory / "meta.properties")
    assert meta["cluster_id"] == "4L6g3nShT-eMCtK--X86sw"
    again = moldau(*arguments, is_local=True)
    assert again.code == 1
    assert "already formatted" in again.err
    assert moldau(*arguments, "--ignore-formatted", is_local=True).code == 0
    with RunningBroker(directory) as running, Admin(running.bootstrap) as admin:
        assert admin.describe_cluster().cluster_id == "4L6g3nShT-eMCtK--X86sw"


def test_a_file_for_kafka_needs_its_flag_as_with_kafka(moldau: Moldau, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=3\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        f"controller.quorum.bootstrap.servers=localhost:9093\nlog.dirs={tmp_path / 'd'}\n"
    )
    arguments = ("storage", "format", "-c", str(file))
    refused = moldau(*arguments, is_local=True)
    assert refused.code == 1
    assert "--standalone" in refused.err
    made = moldau(*arguments, "--standalone", "--release-version", "4.0", is_local=True)
    assert made.code == 0
    assert ", node 3." in made.out
    wrong = moldau(*arguments, "-s", "-g", "--feature", "x", is_local=True)
    assert (wrong.code, "write name=level" in wrong.err) == (2, True)


def test_random_uuids_differ(moldau: Moldau) -> None:
    first = moldau("storage", "random-uuid", is_local=True).out
    second = moldau("storage", "random-uuid", is_local=True).out
    assert len(first) == len(second) == 23
    assert first != second
