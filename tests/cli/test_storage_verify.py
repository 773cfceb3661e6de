"""``moldau storage verify``: what it says about directories that a broker wrote."""

import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.record.records import BatchBuilder
from tests.cli.conftest import Moldau, Result
from tests.running import RunningBroker


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker leaves behind: codecs, several segments, a group's offsets, two directories."""
    base = tmp_path_factory.mktemp("verified")
    first, second = base / "one", base / "two"
    settings = {
        "log.dirs": f"{first},{second}",
        "offsets.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
    }
    with RunningBroker(first, settings) as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic(
                "orders", 4, configs={"index.interval.bytes": "200", "segment.bytes": "1048576"}
            )
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            with Producer(running.bootstrap, compression=codec) as producer:
                for number in range(200):
                    producer.send("orders", b"%d" % number * 50, b"k%d" % number)
        with GroupConsumer(
            running.bootstrap, "readers", ["orders"], auto_offset_reset="earliest"
        ) as consumer:
            assert consumer.poll(120)
            consumer.commit()
    return base


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    """To be damaged."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


class Verify:
    """Runs the command and reads what it prints."""

    def __init__(self, moldau: Moldau) -> None:
        self._moldau = moldau

    def text(self, *arguments: str | Path) -> Result:
        return self._moldau("storage", "verify", *map(str, arguments), is_local=True)

    def json(self, *arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
        result = self.text(*arguments, "--format", "json")
        return result.code, [json.loads(line) for line in result.out.splitlines()]


@pytest.fixture
def verify(moldau: Moldau) -> Verify:
    return Verify(moldau)


def directories(base: Path) -> list[Path]:
    return [base / "one", base / "two"]


def a_segment(base: Path) -> Path:
    (*_, largest) = sorted(base.glob("*/orders-*/*.log"), key=lambda path: path.stat().st_size)
    return largest


def contents(base: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in base.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_a_broker_leaves_sound_directories(verify: Verify, written: Path) -> None:
    result = verify.text(*directories(written))
    assert (result.code, result.err) == (0, "")
    counted, verdict = result.out.splitlines()
    assert verdict == "sound: no damage, 0 notes"
    assert counted.startswith("7 partitions, ")


def test_a_terminal_sees_how_far_it_is(
    verify: Verify, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("moldau.cli.progress._INTERVAL_S", 0.0)
    assert verify.text(*directories(written)).code == 0
    assert re.search(r"\d+%  [\d.]+ of [\d.]+ MB  [\d,]+ records", terminal.getvalue())
    # The line is gone when the summary comes.
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nothing_is_changed(verify: Verify, copy: Path) -> None:
    before = contents(copy)
    assert verify.text(*directories(copy)).code == 0
    assert contents(copy) == before


def test_damage_is_named_by_its_place_and_ends_with_code_1(verify: Verify, copy: Path) -> None:
    segment = a_segment(copy)
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    result = verify.text(*directories(copy))
    assert result.code == 1
    first, problem, follows, remedy, *_ = result.out.splitlines()
    assert first.startswith(f"DAMAGE  {segment}, position ")
    assert "checksum" in problem
    assert "    follows: " in follows
    assert "    remedy: " in remedy
    assert result.out.splitlines()[-1] == "1 damaged place found, 0 notes"
    code, lines = verify.json(*directories(copy))
    assert (code, len(lines)) == (1, 2)
    assert (lines[0]["severity"], lines[0]["file"]) == ("damage", str(segment))
    assert 0 < lines[0]["position"] < len(data)
    assert lines[1]["summary"]["damages"] == 1
    assert lines[1]["summary"]["bytes"] > len(data)


def test_one_partition_can_be_verified_alone(verify: Verify, copy: Path) -> None:
    damaged = a_segment(copy)
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert verify.text(damaged.parent).code == 1
    (other, *_) = [path for path in copy.glob("*/orders-*") if path != damaged.parent]
    result = verify.text(other)
    assert (result.code, result.out.startswith("1 partition, ")) == (0, True)


def test_the_directories_of_a_configuration_are_verified(
    verify: Verify, written: Path, tmp_path: Path
) -> None:
    properties = tmp_path / "server.properties"
    dirs = ",".join(map(str, directories(written)))
    properties.write_text(f"log.dirs={dirs}\nlisteners=PLAINTEXT://127.0.0.1:0\n")
    result = verify.text("-c", properties)
    assert (result.code, result.out.startswith("7 partitions, ")) == (0, True)


def test_quick_leaves_records_closed_and_still_finds_changed_bytes(
    verify: Verify, copy: Path
) -> None:
    assert verify.text("--quick", *directories(copy)).code == 0
    segment = a_segment(copy)
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    assert verify.text("--quick", *directories(copy)).code == 1


def test_a_metadata_record_that_makes_no_sense_is_damage(verify: Verify, copy: Path) -> None:
    """The batch around it is whole: only whoever decodes the record can tell."""
    (log,) = copy.glob("one/__cluster_metadata-0/*.log")
    _, lines = verify.json(copy / "one" / "__cluster_metadata-0")
    assert lines[-1]["summary"]["damages"] == 0
    (end,) = [int(path.stem) for path in log.parent.glob("*.snapshot")][-1:]
    epoch = int((log.parent / "leader-epoch-checkpoint").read_text().split()[-2])
    builder = BatchBuilder(base_offset=end, leader_epoch=epoch)
    builder.append(0, None, b"\x01\x7f\x00")
    log.write_bytes(log.read_bytes() + builder.build())
    code, lines = verify.json(*directories(copy))
    assert code == 1
    assert any("key 127 is not known" in line.get("problem", "") for line in lines)


def test_the_quorum_state_is_read(verify: Verify, copy: Path) -> None:
    (copy / "one" / "__cluster_metadata-0" / "quorum-state").write_text("{")
    result = verify.text(*directories(copy))
    assert (result.code, "quorum-state is not JSON" in result.out) == (1, True)


def test_a_directory_in_use_is_refused(verify: Verify, tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data"):
        result = verify.text(tmp_path / "data")
    assert result.code == 1
    assert "in use" in result.err
    assert "Stop the broker first" in result.err
    assert verify.text(tmp_path / "data").code == 0


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("nowhere", "it does not exist"),
        ("file", "storage dump"),
        ("empty", "neither a data directory"),
    ],
)
def test_what_is_no_data_directory_is_refused(
    verify: Verify, tmp_path: Path, path: str, problem: str
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    result = verify.text(tmp_path / path)
    assert (result.code, problem in result.err) == (1, True)
    assert verify.text().code == 2
