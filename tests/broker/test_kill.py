"""kill -9 under load: acknowledged records are there after a restart, exactly once.

The broker is a separate process, as a user would run it.
"""

import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moldau.storage.disk.checkpoint import read_clean_shutdown
from moldau.storage.disk.disk import RealDisk
from moldau.storage.running_marks import RUNNING, killed_broker_epoch
from tests.broker.batches import idempotent
from tests.broker.producing import create_topic, produce, read_all, values
from tests.running import WireClient

ROUNDS = 5
READY = re.compile(r"ready on [^:]+:(\d+)")


class Process:
    """``moldau start`` on a port that the system chooses."""

    def __init__(self, data_dir: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moldau", "start"]
            + ["--data-dir", str(data_dir), "--listen", "127.0.0.1:0"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        lines = []
        for line in self._process.stderr:
            lines.append(line)
            found = READY.search(line)
            if found:
                self.port = int(found[1])
                break
        else:
            raise AssertionError("the broker did not start:\n" + "".join(lines))
        # The broker must not block on a full pipe.
        self._drain = threading.Thread(target=self._process.stderr.read, daemon=True)
        self._drain.start()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        os.kill(self._process.pid, number)
        code = self._process.wait(120)
        self._drain.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code


def test_every_acknowledged_record_survives_kill_nine(tmp_path: Path) -> None:
    rng = random.Random(9)
    acknowledged: list[bytes] = []
    uncertain: list[bytes] = []
    sequence = 0
    for round_number in range(ROUNDS):
        process = Process(tmp_path / "data")
        with WireClient(process.port) as client:
            if round_number == 0:
                create_topic(client, "t", segment_bytes="1048576", segment_index_bytes="2048")
            # A batch in flight when the broker was killed is sent again, as producers do.
            for value in uncertain:
                answer = produce(client, "t", idempotent(5, sequence, value))
                assert answer.error_code == 0, answer
                acknowledged.append(value)
                sequence += 1
            uncertain.clear()
            killer = threading.Timer(rng.uniform(0.05, 0.4), process.kill)
            first = sequence
            try:
                while True:
                    # However slow the machine is, each round has some that were acknowledged.
                    if sequence == first + 2:
                        killer.start()
                    value = b"%d-%d" % (round_number, sequence) + rng.randbytes(rng.randrange(2000))
                    uncertain.append(value)
                    answer = produce(client, "t", idempotent(5, sequence, value))
                    assert answer.error_code == 0, answer
                    acknowledged.append(uncertain.pop())
                    sequence += 1
            except (ConnectionError, OSError):
                pass
            killer.join()

    process = Process(tmp_path / "data")
    with WireClient(process.port) as client:
        found = values(read_all(client, "t"))
        assert found[: len(acknowledged)] == acknowledged
        # The last batch may have been written but not acknowledged.
        assert found[len(acknowledged) :] in ([], uncertain)
        assert len(acknowledged) > ROUNDS
    assert process.terminate() == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has marks in memory")
def test_a_killed_broker_can_prove_that_it_has_lost_nothing(tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = Process(data)
    first.kill()
    epoch = killed_broker_epoch(RealDisk(), [str(data)])
    assert epoch >= 0
    second = Process(data)
    assert killed_broker_epoch(RealDisk(), [str(data)]) > epoch
    assert second.terminate() == 0
    assert not (data / RUNNING).exists()
    assert read_clean_shutdown(RealDisk(), str(data)) is not None
