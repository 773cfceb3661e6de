"""``moldau cluster start`` as a process of its own, for tests of the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

STOP_TIMEOUT_S = 120


class StartedCluster:
    """Use as a context manager: the cluster is ready within the block, and stopped after it."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.data_dir = data_dir
        self.process = cluster_process(data_dir, *options)
        self.ready: dict[str, Any] = {}

    @property
    def bootstrap(self) -> str:
        return str(self.ready["bootstrap_servers"])

    @property
    def pids(self) -> list[int]:
        return [node["pid"] for node in self.ready["nodes"]]

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_TIMEOUT_S)

    def __enter__(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait(STOP_TIMEOUT_S)
            assert self.process.stderr is not None
            raise AssertionError(self.process.stderr.read())
        self.ready = json.loads(line)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate()
        # Its nodes end with it; where that fails, the test has said so, and leaves none behind.
        for pid in self.pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def cluster_process(data_dir: Path, *options: str) -> "subprocess.Popen[str]":
    """``moldau cluster start``, which prints one line when it is ready."""
    command = [sys.executable, "-m", "moldau", "cluster", "start", "--data-dir", str(data_dir)]
    return subprocess.Popen(
        [*command, "--format", "json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Signals of the test run are not for it.
        process_group=0,
    )


def wait_until_gone(pids: Sequence[int]) -> None:
    """Return when none of these processes runs any more."""
    deadline_s = time.monotonic() + STOP_TIMEOUT_S
    for pid in pids:
        while is_alive(pid):
            assert time.monotonic() < deadline_s, f"process {pid} still runs"
            os.sched_yield()


def pause(pid: int) -> None:
    """Stop a process, and return when all its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    while any(_state(thread) != "T" for thread in threads):
        os.sched_yield()


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for its new parent to take notice."""
    return _state(pid) not in (None, "Z", "X")


def _state(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()[0]
