"""A worker: its parts, the order in which they start, and the order in which they stop.

The REST API is there at once and says that the worker is starting; Spark comes up and the internal
topics are read at the same time. A worker that cannot go on (brokers out of reach, an internal
topic that is not compacted, a group of others) ends with the reason.
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from moldau.client.admin import Admin
from moldau.client.connection import ConnectionFailed
from moldau.clock import SystemClock
from moldau.connect.config_checks import Validate
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine_api import Engine, Listener
from moldau.connect.herder import ConnectHerder
from moldau.connect.membership.group_member import GroupMember
from moldau.connect.membership.standing import AlwaysActive
from moldau.connect.plugins import Plugins
from moldau.connect.reporter import Reporter
from moldau.connect.stores.config_store import ConfigStore
from moldau.connect.stores.offset_file import OffsetFile
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.stores.record_log import MemoryLog
from moldau.connect.stores.status_store import StatusStore
from moldau.connect.stores.topic_log import TopicLog
from moldau.connect.supervisor import Supervisor
from moldau.connect.worker_config import WorkerConfig
from moldau.errors import ApiError

log = logging.getLogger(__name__)

_RETRY_S: Final = 1.0
_COMPLAINT_S: Final = 10.0
_NO_BROKER: Final = "Start one (moldau start), or correct bootstrap.servers"


class RestServer(Protocol):
    """The REST API as the worker sees it."""

    @property
    def ports(self) -> list[int]:
        """The port of each listener."""

    def close(self) -> None:
        """Answer no more requests."""


# The worker's settings, who hears of statuses, and where offsets are, to the engine.
MakeEngine = Callable[[WorkerConfig, Listener, OffsetStore], Engine]
MakeRest = Callable[[ConnectHerder, WorkerConfig], RestServer]


class WorkerError(ConnectError):
    """The worker cannot start or go on."""


class Worker:
    """A distributed or standalone worker, from ``start`` to ``stop``."""

    def __init__(
        self,
        config: WorkerConfig,
        *,
        plugins: Plugins,
        make_engine: MakeEngine,
        make_rest: MakeRest,
        validate: Validate,
        on_logger_level: Callable[[str, str], None],
        on_started: Callable[[ConnectHerder], None] | None = None,
    ) -> None:
        """``on_started`` is called when requests can be answered; its error ends the worker."""
        self.config = config
        self._on_started = on_started
        self._make_rest = make_rest
        self._rest: RestServer | None = None
        self._failure: Exception | None = None
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._start_up, name="connect-start", daemon=True)
        self._build_stores()
        self._member: GroupMember | None = None
        membership: GroupMember | AlwaysActive
        if config.is_distributed:
            membership = self._member = self._make_member()
        else:
            membership = AlwaysActive("")
        reporter = Reporter(
            self._statuses,
            tracks_topics=config.values["topic.tracking.enable"],
            secrets=config.secrets,
            may_report=membership.is_active,
            clock=SystemClock(),
        )
        self._reporter = reporter
        self._engine = make_engine(config, reporter, self._offsets)
        self._supervisor = Supervisor(
            config,
            self._engine,
            plugins,
            self._configs,
            self._statuses,
            reporter,
            membership,
            on_logger_level=on_logger_level,
        )
        self.herder = ConnectHerder(
            config,
            engine=self._engine,
            plugins=plugins,
            configs=self._configs,
            statuses=self._statuses,
            offsets=self._offsets,
            reporter=reporter,
            supervisor=self._supervisor,
            membership=membership,
            validate=validate,
        )

    def _build_stores(self) -> None:
        config = self.config
        if not config.is_distributed:
            self._configs = ConfigStore(MemoryLog())
            self._statuses = StatusStore(MemoryLog())
            file = OffsetFile(config.values["offset.storage.file.filename"])
            self._offsets = OffsetStore(file)
            return
        clients = {each: config.client_settings(each) for each in ("config", "status", "offset")}
        self._configs = ConfigStore(
            TopicLog(clients["config"], config.topic("config"), config.transactional_id)
        )
        self._statuses = StatusStore(TopicLog(clients["status"], config.topic("status")))
        topic = config.topic("offset")
        # Sources that are exactly once write to it in transactions of their own.
        records = TopicLog(clients["offset"], topic, awaits_transactions=True)
        self._offsets = OffsetStore(records, topic.name)

    def _make_member(self) -> GroupMember:
        values: Mapping[str, Any] = self.config.values
        return GroupMember(
            self.config.client_settings("group"),
            self.config.group_id,
            session_timeout_ms=values["session.timeout.ms"],
            rebalance_timeout_ms=values["rebalance.timeout.ms"],
            heartbeat_interval_ms=values["heartbeat.interval.ms"],
            on_change=lambda: self._supervisor.wake(),
            on_lost=lambda: self._supervisor.on_lost(),
            on_failed=self.fail,
        )

    @property
    def url(self) -> str:
        """Where this worker's REST API is advertised."""
        assert self._rest is not None, "it listens after start()"
        return self.config.advertised_url(self._rest.ports)

    def start(self) -> None:
        """Listen, and begin to start the rest. Returns at once.

        Raises:
            OSError: the REST API cannot listen there.
            ConfigError: a key or a certificate of a listener cannot be used.
        """
        for warning in self.config.warnings:
            log.warning("%s", warning)
        self._rest = self._make_rest(self.herder, self.config)
        self._reporter.worker_id = urlsplit(self.url).netloc
        self._engine.start()
        self._thread.start()

    def wait(self) -> None:
        """Until ``stop`` is called or the worker has failed.

        Raises:
            WorkerError: it has failed.
        """
        self._ended.wait()
        if self._failure is not None:
            raise WorkerError(str(self._failure)) from self._failure

    def fail(self, error: Exception) -> None:
        """End the worker because of ``error``."""
        log.error("The worker ends: %s", error)
        self.herder.failed(str(error))
        self._failure = self._failure or error
        self._ended.set()

    @property
    def is_ending(self) -> bool:
        """Whether it has been told to end, or has failed."""
        return self._ended.is_set()

    def end(self) -> None:
        """Let ``wait`` return. May be called from a signal handler."""
        self._ended.set()

    def stop(self) -> None:
        """Stop connectors, leave the group, and release everything, in this order."""
        self._stopping.set()
        self._ended.set()
        if self._rest is not None:
            self._rest.close()
        if self._thread.ident is not None:
            self._thread.join(self.config.values["default.api.timeout.ms"] / 1000)
        self._supervisor.close()
        if self._member is not None:
            self._member.close()
        self._engine.close()
        self._statuses.close()
        self._configs.close()
        self._offsets.close()

    def _start_up(self) -> None:
        try:
            cluster_id = self._find_cluster()
            if self._stopping.is_set():
                return
            self._configs.start()
            self._statuses.start()
            self._offsets.start()
        except (ConnectError, ApiError, ConnectionFailed, OSError) as error:
            self.fail(error)
            return
        self.herder.started(cluster_id)
        self._supervisor.start()
        if self._member is not None:
            self._member.start(self.url)
        if self._on_started is not None:
            try:
                self._on_started(self.herder)
            except ConnectError as error:
                self.fail(error)

    def _find_cluster(self) -> str | None:
        """The id of the cluster, as soon as a broker answers; None if it is stopped before."""
        clients = self.config.client_settings("start")
        patience_s = self.config.values["default.api.timeout.ms"] / 1000
        deadline_s = time.monotonic() + patience_s
        complained_s = -math.inf
        while not self._stopping.is_set():
            try:
                with Admin(
                    clients.bootstrap,
                    client_id=clients.client_id,
                    timeout_s=clients.timeout_s,
                    security=clients.security,
                ) as admin:
                    cluster_id = admin.describe_cluster().cluster_id
                self.herder.waiting("it reads the internal topics")
                return cluster_id
            except ConnectionFailed as error:
                if time.monotonic() > deadline_s:
                    raise WorkerError(
                        f"no broker of bootstrap.servers={clients.bootstrap} could be reached for "
                        f"{patience_s:g} s (default.api.timeout.ms): {error}. {_NO_BROKER}"
                    ) from error
                waiting = f"it waits for a broker: {error}. {_NO_BROKER}"
                self.herder.waiting(waiting)
                if time.monotonic() > complained_s + _COMPLAINT_S:
                    complained_s = time.monotonic()
                    log.warning("This worker is starting: %s", waiting)
                self._stopping.wait(_RETRY_S)
        return None
