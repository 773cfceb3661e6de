"""Makes the engine run what the config topic says, for as long as this worker is the active one.

One thread reads the internal topics and takes the steps that ``reconcile`` decides. Losing the
group is the one thing that does not wait for that thread, which may itself wait for a broker:
``on_lost`` stops all connectors from the thread that noticed it, and nothing starts until it has.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from moldau.client.connection import ConnectionFailed
from moldau.connect.connector_views import RestartPlan
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import ConnectorSpec, Engine, State
from moldau.connect.membership.standing import Membership
from moldau.connect.plugin_table import PluginType
from moldau.connect.plugins import Plugins
from moldau.connect.providers import Providers
from moldau.connect.reconcile import Action, Applied, Step, decide, task_configs
from moldau.connect.reporter import Reporter
from moldau.connect.stores import config_records
from moldau.connect.stores.config_records import RestartRequest, TargetState
from moldau.connect.stores.config_state import Config, LoggerLevel
from moldau.connect.stores.config_store import ConfigStore
from moldau.connect.stores.status_store import StatusStore
from moldau.connect.worker_config import WorkerConfig
from moldau.connect.zombie_fencing import fence, ids_to_fence
from moldau.errors import ApiError
from moldau.version import VERSION

log = logging.getLogger(__name__)

# How often changes by others are looked for. One's own are acted upon at once.
_POLL_S: Final = 1.0
_STOP_S: Final = 5.0
# At the end of the lease: a third of the default session.timeout.ms is left until another worker
# may start them.
_LOST_STOP_S: Final = 3.0
_COMPLAINT_S: Final = 30.0


class Supervisor:
    """The thread between the stores and the engine."""

    def __init__(
        self,
        worker: WorkerConfig,
        engine: Engine,
        plugins: Plugins,
        configs: ConfigStore,
        statuses: StatusStore,
        reporter: Reporter,
        membership: Membership,
        *,
        on_logger_level: Callable[[str, str], None],
    ) -> None:
        self._worker = worker
        self._engine = engine
        self._plugins = plugins
        self._configs = configs
        self._statuses = statuses
        self._reporter = reporter
        self._membership = membership
        self._providers = Providers.from_settings(worker.properties)
        self._on_logger_level = on_logger_level
        self._lock = threading.Lock()
        self._has_stopped = threading.Condition(self._lock)
        self._applied: dict[str, Applied] = {}
        # The connectors that were given to the engine and may still move records.
        self._in_engine: set[str] = set()
        # The connector that the thread is about to start, stop or leave as it is.
        self._at_hand: str | None = None
        self._restarts: list[tuple[str, list[int]]] = []
        self._requests: list[RestartRequest] = []
        # How many calls of ``on_lost`` are still stopping connectors.
        self._losses = 0
        self._generation: int | None = None
        self._is_closing = False
        self._wake = threading.Event()
        self._complained_s = -_COMPLAINT_S
        self._thread = threading.Thread(target=self._run, name="connect-supervisor", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look at the config topic now."""
        self._wake.set()

    def restart_soon(self, name: str, tasks: Iterable[int]) -> None:
        """Restart tasks of a connector, or without any the connector."""
        with self._lock:
            self._restarts.append((name, list(tasks)))
        self.wake()

    def wait_until_stopped(self, name: str, timeout_s: float) -> bool:
        """Whether the engine does nothing about a connector any more, or will not in time."""
        with self._has_stopped:
            return self._has_stopped.wait_for(
                lambda: name not in self._in_engine and name != self._at_hand, timeout_s
            )

    def on_lost(self) -> None:
        """Stop all connectors: another worker starts them soon. Returns when they have stopped."""
        with self._lock:
            names, self._applied = list(self._applied), {}
            self._losses += 1
        try:
            self._stop_all(names, _LOST_STOP_S)
        finally:
            with self._lock:
                self._losses -= 1
            self.wake()

    def close(self) -> None:
        """Stop all connectors and report them unassigned."""
        self._is_closing = True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(2 * _STOP_S)
        with self._lock:
            applied, self._applied = self._applied, {}
        self._stop_all(applied, _STOP_S)
        for name, each in sorted(applied.items()):
            if each.target is not TargetState.STOPPED:
                self._reporter.report_all(name, State.UNASSIGNED)
        self._statuses.flush(_STOP_S)

    def _stop_all(self, names: Iterable[str], timeout_s: float) -> None:
        wanted = list(names)
        if not wanted:
            return
        with ThreadPoolExecutor(len(wanted), "connect-stop") as pool:
            for each in wanted:
                pool.submit(self._stop_quietly, each, timeout_s)

    def _stop(self, name: str, timeout_s: float = _STOP_S) -> None:
        self._engine.stop(name, timeout_s)
        with self._has_stopped:
            self._in_engine.discard(name)
            self._has_stopped.notify_all()

    def _stop_quietly(self, name: str, timeout_s: float = _STOP_S) -> None:
        try:
            self._stop(name, timeout_s)
        except Exception:
            log.exception("Connector %s could not be stopped", name)

    def _run(self) -> None:
        while not self._is_closing:
            try:
                self._turn()
            except (ApiError, ConnectionFailed) as error:
                self._complain(error)
            except Exception:
                log.exception("The connectors cannot be looked after now; trying again")
            self._wake.wait(_POLL_S)
            self._wake.clear()

    def _complain(self, error: Exception) -> None:
        now_s = time.monotonic()
        if now_s >= self._complained_s + _COMPLAINT_S:
            self._complained_s = now_s
            log.warning("The internal topics cannot be used now, trying again: %s", error)

    def _turn(self) -> None:
        self._configs.refresh()
        self._statuses.refresh()
        for request in self._configs.take_requests():
            if isinstance(request, LoggerLevel):
                self._on_logger_level(*request)
            else:
                self._requests.append(request)
        if not self._membership.is_active():
            # They are for the one that was active when they were written.
            self._requests.clear()
            return
        standing = self._membership.standing
        if standing is not None and standing.generation != self._generation:
            self._configs.claim()
            self._configs.refresh()
            self._generation = standing.generation
            self._forget_removed()
        with self._lock:
            applied = dict(self._applied)
        for action in decide(self._configs.snapshot(), applied):
            with self._looking_after(action.name):
                self._take(action)
        while self._requests:
            with self._looking_after(self._requests[0].connector):
                self._carry_out(self._requests[0])
            del self._requests[0]
        with self._lock:
            restarts, self._restarts = self._restarts, []
        for name, tasks in restarts:
            with self._looking_after(name):
                self._restart(name, tasks, is_connector_restarted=not tasks)

    @contextmanager
    def _looking_after(self, name: str) -> Iterator[None]:
        """What goes wrong with one connector does not keep the others waiting.

        What the config topic says must be looked at in here: whoever stops the connector after that
        finds it at hand, and waits until it has also been stopped by the engine.
        """
        with self._lock:
            self._at_hand = name
        try:
            yield
        except (ApiError, ConnectionFailed):
            raise
        except Exception:
            log.exception("Connector %s cannot be looked after", name)
        finally:
            with self._has_stopped:
                self._at_hand = None
                self._has_stopped.notify_all()

    def _forget_removed(self) -> None:
        """Remove statuses of connectors that were deleted while no worker was active."""
        known = self._configs.snapshot().connectors
        for name in sorted(self._statuses.snapshot().connectors):
            if name not in known:
                self._reporter.remove(name)

    def _take(self, action: Action) -> None:
        name = action.name
        state = self._configs.snapshot()
        with self._lock:
            applied = dict(self._applied)
        if action not in decide(state, applied):
            # Other connectors came first, and this one was changed meanwhile: see the next turn.
            self.wake()
            return
        log.info("Connector %s: %s", name, action.step)
        if action.step is Step.REMOVE:
            if self._note(name, None):
                self._stop(name)
                self._reporter.remove(name)
            return
        wanted = Applied(state.connectors[name], state.target(name))
        self._reporter.begin(name, self._version(wanted.config), self._generation or 0)
        match action.step:
            # What may fail comes before what is noted: it is then tried again. But a connector that
            # is to move no more records stops first.
            case Step.STOP:
                self._stop(name)
                self._write_tasks(name, wanted)
                if self._note(name, wanted):
                    self._reporter.report_all(name, State.STOPPED, tasks=0)
            case Step.PAUSE:
                if self._note(name, wanted):
                    self._engine.pause(name, _STOP_S)
            case Step.HOLD:
                # As in Kafka, one that has never run has no tasks.
                has_tasks = bool(state.task_configs(name))
                self._stop(name)
                if has_tasks:
                    self._write_tasks(name, wanted)
                if self._note(name, wanted):
                    self._reporter.report_all(name, State.PAUSED, tasks=int(has_tasks))
            case Step.RUN:
                # It is listed from now on, although Spark may not be ready for a while.
                if name not in self._statuses.snapshot().connectors:
                    self._reporter.on_status(name, None, State.UNASSIGNED)
                self._write_tasks(name, wanted)
                self._fence(name, wanted.config)
                self._reporter.remove_tasks(name, 1)
                self._start(name, wanted)

    def _note(self, name: str, applied: Applied | None) -> bool:
        """Remember what is done about a connector; False if this worker may not do it any more."""
        with self._lock:
            if self._losses or self._is_closing or not self._membership.is_active():
                return False
            if applied is None:
                self._applied.pop(name, None)
            else:
                self._applied[name] = applied
            return True

    def _start(self, name: str, wanted: Applied) -> None:
        try:
            resolved = self._providers.resolve(wanted.config)
        except ConnectError as error:
            if self._note(name, wanted):
                self._stop(name)
                self._reporter.on_status(name, None, State.FAILED, str(error))
                self._reporter.on_status(name, 0, State.FAILED, str(error))
            return
        self._reporter.keep_secrets(name, resolved)
        # A worker of Apache's may have stored an option without a value.
        config = {key: value for key, value in resolved.config.items() if value is not None}
        secrets = {**self._worker.secrets, **resolved.secrets}
        spec = ConnectorSpec(name, config, self._worker.properties, self._generation or 0, secrets)
        if not self._note(name, wanted):
            return
        with self._lock:
            self._in_engine.add(name)
        try:
            self._engine.run(spec)
        except Exception:
            log.exception("Connector %s could not be started", name)
            trace = traceback.format_exc()
            self._reporter.on_status(name, None, State.FAILED, trace)
        with self._lock:
            is_kept = name in self._applied
        # The group was lost in between, and the connector started after all were stopped.
        if not is_kept:
            self._stop_quietly(name)

    def _write_tasks(self, name: str, wanted: Applied) -> None:
        state = self._configs.snapshot()
        tasks = task_configs(wanted.config, self._class_name(wanted.config), wanted.target)
        is_known = name in state.task_counts and name not in state.inconsistent
        if not is_known or state.task_configs(name) != tasks:
            self._configs.write(config_records.task_configs(name, tasks))

    def _fence(self, name: str, config: Config) -> None:
        """Where sources are exactly once: fence what ran before, and note what will run."""
        if not self._worker.exactly_once_source or not self._is_source(config):
            return
        count = self._configs.snapshot().task_count_records.get(name, 0)
        if count != 1:
            ids = ids_to_fence(self._worker.group_id, name, count)
            fence(self._worker.client_settings("fencing"), ids)
            self._configs.write([config_records.task_count(name, 1)])

    def _is_source(self, config: Config) -> bool:
        try:
            plugin = self._plugins.find_connector(config.get("connector.class", ""))
        except ConnectError:
            return False
        return plugin.type is PluginType.SOURCE

    def _carry_out(self, request: RestartRequest) -> None:
        """Restart what the request is about.

        A connector and its task are one query. It is restarted with its task; or, if the connector
        itself failed, with the connector.
        """
        statuses = self._statuses.snapshot()
        if request.connector not in statuses.connectors:
            return
        plan = RestartPlan(request, statuses)
        has_failed = statuses.connectors[request.connector].state == "FAILED"
        if plan.tasks or (plan.restarts_connector and has_failed):
            self._restart(
                request.connector, plan.tasks, is_connector_restarted=plan.restarts_connector
            )

    def _restart(self, name: str, tasks: Iterable[int], *, is_connector_restarted: bool) -> None:
        """Run a connector again from its stored progress, with its secrets looked up again."""
        with self._lock:
            applied = self._applied.get(name)
        if applied is None or applied.target is not TargetState.STARTED:
            return
        if self._configs.snapshot().target(name) is not TargetState.STARTED:
            # It is stopped or paused by the next turn.
            return
        self._stop(name)
        if is_connector_restarted:
            self._reporter.on_status(name, None, State.RESTARTING)
        for number in tasks:
            self._reporter.on_status(name, number, State.RESTARTING)
        self._start(name, applied)

    def _class_name(self, config: Config) -> str:
        try:
            return self._plugins.find_connector(config.get("connector.class", "")).class_name
        except ConnectError:
            # Stored by a worker that has it: it will fail here, and say why.
            return config.get("connector.class", "")

    def _version(self, config: Config) -> str:
        try:
            return self._plugins.find_connector(config.get("connector.class", "")).version
        except ConnectError:
            return VERSION
