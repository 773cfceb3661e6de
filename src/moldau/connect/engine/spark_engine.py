"""The engine: all connectors of a worker on one Spark session (see ``engine_api.Engine``)."""

import threading
from collections.abc import Iterable, Mapping

from moldau.clock import SystemClock
from moldau.connect.engine.runner import Runner
from moldau.connect.engine.runs import remove_abandoned
from moldau.connect.engine.session import SessionHolder
from moldau.connect.engine.start_turns import StartTurns
from moldau.connect.engine_api import ConnectorSpec, Listener, SourceOffsets, State
from moldau.connect.plugins import Plugins


class SparkEngine:
    """Runs connectors as streaming queries."""

    def __init__(
        self,
        worker: Mapping[str, str],
        listener: Listener,
        offsets: SourceOffsets,
        plugins: Plugins | None = None,
    ) -> None:
        self._session = SessionHolder(worker)
        self._listener = listener
        self._offsets = offsets
        self._plugins = plugins or Plugins()
        self._turns = StartTurns()
        self._lock = threading.Lock()
        self._runners: dict[str, Runner] = {}
        # A connector's calls run one after the other; different connectors do not wait.
        self._locks: dict[str, threading.Lock] = {}

    @property
    def is_ready(self) -> bool:
        return self._session.is_ready

    def start(self) -> None:
        remove_abandoned(SystemClock().wall_ms() / 1000)
        self._session.start()

    def run(self, spec: ConnectorSpec) -> None:
        with self._lock_of(spec.name):
            self._stop(spec.name, 5.0)
            self._begin(spec)

    def pause(self, name: str, timeout_s: float = 5.0) -> None:
        with self._lock_of(name):
            self._stop(name, timeout_s)
            for task_id in (None, 0):
                self._listener.on_status(name, task_id, State.PAUSED, None)

    def stop(self, name: str, timeout_s: float = 5.0) -> None:
        with self._lock_of(name):
            self._stop(name, timeout_s)

    def restart(self, name: str) -> None:
        with self._lock_of(name):
            with self._lock:
                runner = self._runners.get(name)
            if runner is None:
                return
            for task_id in (None, 0):
                self._listener.on_status(name, task_id, State.RESTARTING, None)
            self._stop(name, 5.0)
            self._begin(runner.spec)

    def running(self) -> Iterable[str]:
        with self._lock:
            return sorted(self._runners)

    def close(self) -> None:
        stopping = [
            threading.Thread(target=self.stop, args=(name,), daemon=True) for name in self.running()
        ]
        for each in stopping:
            each.start()
        for each in stopping:
            each.join()
        self._session.close()

    def _begin(self, spec: ConnectorSpec) -> None:
        runner = Runner(
            spec, self._session, self._offsets, self._listener, self._plugins, self._turns
        )
        with self._lock:
            self._runners[spec.name] = runner
        runner.start()

    def _stop(self, name: str, timeout_s: float) -> None:
        with self._lock:
            runner = self._runners.pop(name, None)
        if runner is not None:
            runner.stop(timeout_s)

    def _lock_of(self, name: str) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(name, threading.Lock())
