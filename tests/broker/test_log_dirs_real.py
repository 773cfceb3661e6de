"""Several directories on a real disk: moves by real threads, and a directory that disappears."""

import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.broker.format import metadata_log_dir
from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from moldau.protocol.messages.metadata import MetadataRequest
from tests.broker.batches import batch, idempotent
from tests.broker.producing import create_topic, produce, read_all, values
from tests.running import RunningBroker, WireClient

RIVER = TopicPartition("river", 0)


class Disks:
    """Three directories; the metadata is in a fourth."""

    def __init__(self, folder: Path) -> None:
        self.paths = [str(folder / name) for name in ("one", "two", "three")]
        settings = {
            "log.dirs": ",".join(self.paths),
            "metadata.log.dir": str(folder / "meta"),
            "log.segment.bytes": "1048576",
        }
        self._folder, self._settings = folder, settings
        self.broker = self.start()

    def start(self) -> RunningBroker:
        self.broker = RunningBroker(self._folder, self._settings).start()
        return self.broker

    def alter(self, client: WireClient, path: str, topic: str = "river") -> int:
        wanted = AlterReplicaLogDirTopic(name=topic, partitions=[0])
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[wanted])])
        return int(client.send(request, 2).results[0].partitions[0].error_code)

    def moved(self) -> None:
        async def wait() -> None:
            await self.broker.node.broker.mover.idle()

        self.broker.call(wait())

    def settled(self) -> None:
        self.broker.call(self.broker.node.broker.settle())

    def log_dir(self) -> str:
        return self.broker.node.logs.logs[RIVER].log_dir


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    disks = Disks(tmp_path)
    yield disks
    disks.broker.__exit__(None, None, None)


def test_records_keep_their_order_while_their_replica_moves_about(disks: Disks) -> None:
    """A producer with sequence numbers, a reader, and a replica that moves under both."""
    stop = threading.Event()
    acknowledged: list[bytes] = []
    failures: list[Any] = []

    def write() -> None:
        with disks.broker.connect() as client:
            while not stop.is_set() and len(acknowledged) < 1000:
                value = b"%08d" % len(acknowledged) * 512
                data = idempotent(5, len(acknowledged), value)
                answer = produce(client, "river", data)
                if answer.error_code:
                    failures.append(answer)
                    return
                acknowledged.append(value)

    with disks.broker.connect() as client:
        create_topic(client, "river")
        for _ in range(40):
            data = batch(b"x" * 100_000)
            assert produce(client, "river", data).error_code == 0
        writer = threading.Thread(target=write)
        writer.start()
        here = disks.log_dir()
        around = [path for path in disks.paths if path != here] + [here]
        for path in around * 2:
            assert disks.alter(client, path) == 0
            disks.moved()
            assert disks.log_dir() == path
        stop.set()
        writer.join()
        assert failures == []
        assert len(acknowledged) > 10
        found = [value for value in values(read_all(client, "river")) if len(value or b"") == 4096]
        assert found == acknowledged
        duplicate = idempotent(5, len(acknowledged) - 1, acknowledged[-1])
        assert produce(client, "river", duplicate).error_code == 0
        assert len(read_all(client, "river")) == 40 + len(acknowledged), "its producer moved along"
    disks.broker.stop()
    disks.start()
    assert disks.log_dir() == around[-1]
    with disks.broker.connect() as client:
        assert len(read_all(client, "river")) == 40 + len(acknowledged)


def test_a_directory_that_vanishes_is_fenced_and_the_others_serve(disks: Disks) -> None:
    one, two = disks.paths[:2]
    with disks.broker.connect() as client:
        assert disks.alter(client, one) == ErrorCode.REPLICA_NOT_AVAILABLE
        create_topic(client, "river")
        assert disks.alter(client, two, "lake") == ErrorCode.REPLICA_NOT_AVAILABLE
        create_topic(client, "lake")
        disks.settled()
        shutil.rmtree(one)
        # The active segment can still be written to; the next one cannot be created.
        codes = [produce(client, "river", batch(b"x" * 600_000)).error_code for _ in range(3)]
        assert codes[-1] == ErrorCode.KAFKA_STORAGE_ERROR
        assert produce(client, "lake", batch(b"x")).error_code == 0
        disks.settled()
        topics = {t.name: t for t in client.send(MetadataRequest(topics=None), 12).topics}
        assert topics["river"].partitions[0].leader_id == -1
        assert topics["lake"].partitions[0].leader_id == 1
        results = client.send(DescribeLogDirsRequest(topics=None), 4).results
        assert [each.log_dir for each in results] == disks.paths
        assert [each.error_code for each in results] == [ErrorCode.KAFKA_STORAGE_ERROR, 0, 0]
        assert disks.broker.node.failure is None


def test_sizes_are_those_of_the_files(disks: Disks) -> None:
    with disks.broker.connect() as client:
        create_topic(client, "river")
        for _ in range(3):
            assert produce(client, "river", batch(b"x" * 500_000)).error_code == 0
        path = Path(disks.log_dir())
        size = sum(file.stat().st_size for file in path.glob("river-0/*.log"))
        results = {
            r.log_dir: r for r in client.send(DescribeLogDirsRequest(topics=None), 4).results
        }
        result = results[str(path)]
        assert result.topics[0].partitions[0].partition_size == size > 1_500_000
        assert result.total_bytes == shutil.disk_usage(path).total
        assert 0 < result.usable_bytes <= result.total_bytes


def test_the_metadata_has_a_directory_and_a_lock_of_its_own(disks: Disks) -> None:
    meta = Path(metadata_log_dir(disks.broker.config))
    assert (meta / "__cluster_metadata-0").is_dir()
    assert not list(Path(disks.paths[0]).glob("__cluster_metadata-0"))
    second = RunningBroker(meta.parent, {"metadata.log.dir": str(meta), "log.dirs": f"{meta}-2"})
    with pytest.raises(Exception, match="in use"):
        second.start()
    second._end()


def test_a_broker_without_its_metadata_disk_ends_with_the_reason(tmp_path: Path) -> None:
    """A limit on the file size simulates the failed disk."""
    limit = 64 * 1024
    settings = [f"metadata.log.dir={tmp_path / 'meta'}", f"log.dirs={tmp_path / 'data'}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "start", "--listen", "127.0.0.1:0"]
        + [part for setting in settings for part in ("--set", setting)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert process.stderr is not None
    ready = next(
        found for line in process.stderr if (found := re.search(r"ready on .*:(\d+)", line))
    )
    with WireClient(int(ready[1])) as client, pytest.raises(AssertionError, match="File too large"):
        for number in range(50):
            create_topic(client, f"topic-{number}", partitions=100)
    assert process.wait(120) == 1
    errors = process.stderr.read()
    process.stderr.close()
    assert f"Moldau stops: the metadata log directory {tmp_path / 'meta'} has failed" in errors
