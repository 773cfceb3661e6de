"""``moldau storage dump`` of the broker's own topics: keys and values in words."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.protocol.message import Message
from moldau.protocol.records import share_coordinator, transaction_coordinator
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.records import BatchBuilder
from tests.cli.conftest import Moldau
from tests.running import RunningBroker

TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broker's directory after a group has read a topic."""
    directory = tmp_path_factory.mktemp("dumped") / "data"
    settings = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}
    with RunningBroker(directory, settings) as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic("orders", 1)
        with Producer(running.bootstrap) as producer:
            producer.send("orders", b"line one\nline two", b"\0\1binary")
        with GroupConsumer(
            running.bootstrap, "readers", ["orders"], auto_offset_reset="earliest"
        ) as consumer:
            assert consumer.poll(120)
            consumer.commit()
    return directory


def dump(moldau: Moldau, *arguments: str | Path) -> list[dict[str, Any]]:
    """The records of all batches printed."""
    result = moldau("storage", "dump", *map(str, arguments), "--format", "json", is_local=True)
    assert result.code == 0, result
    entries = [json.loads(line) for line in result.out.splitlines()]
    return [record for entry in entries for record in entry.get("records", ())]


def write(path: Path, *records: tuple[bytes, bytes | None]) -> Path:
    builder = BatchBuilder()
    for key, value in records:
        builder.append(1_700_000_000_000, key, value)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(builder.build())
    return path


def record(key: Message, value: Message | None, version: int = 0) -> tuple[bytes, bytes | None]:
    encoded_key = key.RECORD_KEY.to_bytes(2, "big") + key.encode(0)
    if value is None:
        return encoded_key, None
    return encoded_key, version.to_bytes(2, "big") + value.encode(version)


def test_committed_offsets_are_shown_in_their_directory(moldau: Moldau, data_dir: Path) -> None:
    found = dump(moldau, data_dir / "__consumer_offsets-0")
    (commit, *_) = [each for each in found if each["type"] == "OffsetCommit"]
    assert commit["key"] == {"group": "readers", "topic": "orders", "partition": 0}
    assert commit["payload"]["offset"] == 1
    assert len(commit["payload"]["topic_id"]) == 22
    generations = [each for each in found if each["type"] == "GroupMetadata"]
    members = [member for each in generations for member in each["payload"]["members"]]
    assert members[0]["subscription"]["topics"] == ["orders"]
    assert members[0]["assignment"]["assigned_partitions"] == [
        {"topic": "orders", "partitions": [0]}
    ]


def test_they_are_shown_elsewhere_on_demand(moldau: Moldau, data_dir: Path, tmp_path: Path) -> None:
    name = "00000000000000000000.log"
    copy = shutil.copy(data_dir / "__consumer_offsets-0" / name, tmp_path / name)
    assert dump(moldau, copy) == []
    decoded = dump(moldau, copy, "--offsets-decoder")
    assert decoded == dump(moldau, data_dir / "__consumer_offsets-0" / name)
    plain = dump(moldau, copy, "--print-data-log")
    assert all(each["key"].startswith("0x00") for each in plain)


def test_transactions_are_shown(moldau: Moldau, tmp_path: Path) -> None:
    key = transaction_coordinator.TransactionLogKey("payments")
    value = transaction_coordinator.TransactionLogValue(
        producer_id=7,
        producer_epoch=2,
        transaction_timeout_ms=60_000,
        transaction_status=1,
        transaction_partitions=[transaction_coordinator.PartitionsSchema("orders", [0, 3])],
    )
    log = write(
        tmp_path / "__transaction_state-4" / "00000000000000000000.log",
        record(key, value, version=1),
        record(key, None),
    )
    begun, gone = dump(moldau, log)
    assert (begun["type"], begun["version"]) == ("TransactionLog", 1)
    assert begun["key"] == {"transactional_id": "payments"}
    assert begun["payload"]["producer_id"] == 7
    assert begun["payload"]["transaction_partitions"] == [
        {"topic": "orders", "partition_ids": [0, 3]}
    ]
    assert gone["payload"] is None
    moved = log.rename(tmp_path / log.name)
    assert dump(moldau, moved, "--transaction-log-decoder") == [begun, gone]


def test_share_groups_are_shown(moldau: Moldau, tmp_path: Path) -> None:
    key = share_coordinator.ShareSnapshotKey("workers", bytes(range(16)), 2)
    value = share_coordinator.ShareSnapshotValue(
        snapshot_epoch=1,
        start_offset=40,
        state_batches=[share_coordinator.StateBatch(40, 41, 2, 3)],
    )
    log = write(tmp_path / "00000000000000000000.log", record(key, value))
    (shown,) = dump(moldau, log, "--share-group-state-decoder")
    assert shown["key"] == {"group_id": "workers", "topic_id": TOPIC_ID, "partition": 2}
    assert shown["payload"]["state_batches"] == [
        {"first_offset": 40, "last_offset": 41, "delivery_state": 2, "delivery_count": 3}
    ]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (b"\x00\x63abc", b"x", "type 99"),
        (b"\x00", b"x", "type 0"),
        (b"\x00\x01\x00\x05ab", b"\x00\x04", ""),
        (b"\x00\x02\x00\x01g", b"\x00\x63", "version 99: expected"),
    ],
)
def test_what_cannot_be_decoded_is_shown_as_it_is(
    moldau: Moldau, tmp_path: Path, key: bytes, value: bytes, problem: str
) -> None:
    log = write(tmp_path / "00000000000000000000.log", (key, value))
    (shown,) = dump(moldau, log, "--offsets-decoder")
    assert problem in shown["problem"]
    assert shown["key"] == f"0x{key.hex()}"


def test_markers_of_transactions_are_shown(moldau: Moldau, tmp_path: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(end_txn_batch(ControlType.ABORT, 9, 7, 0, 1_700_000_000_000))
    (marker,) = dump(moldau, log, "--deep-iteration")
    assert (marker["control"], marker["data"]["coordinator_epoch"]) == ("ABORT", 9)
    assert dump(moldau, log, "--skip-record-metadata") == []


def test_text_is_shown_as_text_and_the_rest_as_digits(moldau: Moldau, data_dir: Path) -> None:
    (shown,) = dump(moldau, data_dir / "orders-0" / "00000000000000000000.log", "--print-data-log")
    assert shown["payload"] == "line one\nline two"
    assert shown["key"] == "0x000162696e617279"


def test_record_metadata_can_be_left_out(moldau: Moldau, data_dir: Path) -> None:
    log = data_dir / "orders-0" / "00000000000000000000.log"
    (shown,) = dump(moldau, log, "--skip-record-metadata")
    assert set(shown) == {"key", "payload"}


def test_a_part_of_a_segment_can_be_shown(moldau: Moldau, data_dir: Path) -> None:
    log = data_dir / "__consumer_offsets-0" / "00000000000000000000.log"
    assert 0 < len(dump(moldau, log, "--max-bytes", "1")) < len(dump(moldau, log))


def test_files_on_their_way_out_are_shown_too(
    moldau: Moldau, data_dir: Path, tmp_path: Path
) -> None:
    source = data_dir / "orders-0"
    for name in ("00000000000000000000.log", "00000000000000000000.timeindex"):
        shutil.copy(source / name, tmp_path / f"{name}.deleted")
    out = moldau("storage", "dump", str(tmp_path), is_local=True).out
    assert "base_offset: 0" in out
    assert "timestamp: " in out
