"""One start of a connector: what its parts in this process share, and a directory of its own.

The directory has the checkpoint of the query, which is thrown away with it: progress is in the
group or the offsets topic, so what an earlier run left is never read.
"""

import fcntl
import json
import os
import pickle
import shutil
import tempfile
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from moldau.connect.connector import SourceOffset, SourcePartition
from moldau.connect.engine_api import ConnectorSpec

_SPEC: Final = "spec"
_FAILURE: Final = "failure"
_DURABLE: Final = "durable"
_PROCESS: Final = "process"

_PREFIX: Final = "moldau-connect-run-"
# A directory that is younger may not be locked yet.
_YOUNG_S: Final = 60.0

StoredOffsets = list[tuple[dict[str, Any], dict[str, Any]]]


class RunDirectory:
    """The files by which the driver and the reader process of a source know of each other.

    Both are on the machine of the driver. The directory has mode 0700: it has the config, with its
    secrets.
    """

    def __init__(self, path: Path, lock: int | None = None) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def make(cls) -> "RunDirectory":
        """A new one, which is locked as long as this process lives."""
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = os.open(path, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return cls(Path(path), lock)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def checkpoint(self) -> str:
        return str(self.path / "checkpoint")

    def put_spec(self, spec: ConnectorSpec, offsets: StoredOffsets) -> None:
        """Before the reader starts: what it runs, and from where."""
        self._put(_SPEC, pickle.dumps((spec, offsets)))

    def spec(self) -> tuple[ConnectorSpec, StoredOffsets]:
        spec, offsets = pickle.loads((self.path / _SPEC).read_bytes())  # our own file
        return spec, offsets

    def put_failure(self, trace: str) -> None:
        """Why the reader ends: the connector's own error, not one of Spark's."""
        self._put(_FAILURE, trace.encode())

    def failure(self) -> str | None:
        return self._text(_FAILURE)

    def put_durable(self, offsets: Sequence[tuple[SourcePartition, SourceOffset]]) -> None:
        """Records up to ``offsets`` are in the topics and the offsets are stored.

        What the reader has not taken yet stays. If it takes that just now, it finds it twice.
        """
        waiting = json.loads(self._text(_DURABLE) or "[]")
        last = {
            json.dumps(each, sort_keys=True): [each, at]
            for each, at in [*waiting, *((dict(each), dict(at)) for each, at in offsets)]
        }
        self._put(_DURABLE, json.dumps(list(last.values())).encode())

    def take_durable(self) -> StoredOffsets | None:
        """What became durable since the last call; None if nothing."""
        taken = self.path / f"{_DURABLE}.taken"
        try:
            (self.path / _DURABLE).rename(taken)
        except FileNotFoundError:
            return None
        return [(each, at) for each, at in json.loads(taken.read_bytes())]

    def put_process(self) -> None:
        """The id of this process, which runs the connector's code."""
        self._put(_PROCESS, str(os.getpid()).encode())

    def process(self) -> int | None:
        text = self._text(_PROCESS)
        return None if text is None else int(text)

    def _put(self, name: str, data: bytes) -> None:
        # Renamed into place: the other process sees all of it or nothing.
        partial = self.path / f"{name}.{os.getpid()}.partial"
        partial.write_bytes(data)
        partial.rename(self.path / name)

    def _text(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text()
        except FileNotFoundError:
            return None


def remove_abandoned(now_s: float) -> None:
    """Remove what workers left that were killed: it has configs, with their secrets."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if now_s - path.stat().st_mtime < _YOUNG_S:
                continue
            lock = os.open(path, os.O_RDONLY)
        except OSError:
            # Somebody else's, or gone meanwhile.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except OSError:
            # Its worker lives.
            continue
        finally:
            os.close(lock)


class Run:
    """One start of a connector, in the process of the worker."""

    def __init__(self, spec: ConnectorSpec) -> None:
        self.spec = spec
        self.run_id = uuid.uuid4().hex
        # Set when the connector is to stop: from then on nothing is committed.
        self.stopping = threading.Event()
        # What a batch raised first.
        self.error: BaseException | None = None
        # Whether a batch was completed: the start was a success.
        self.has_progress = False
        self.directory = RunDirectory.make()
        # The topics that were reported as active.
        self.topics: set[str] = set()
        # One line, for a run that is started again.
        self.last_error: str | None = None
