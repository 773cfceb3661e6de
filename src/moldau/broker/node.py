"""A complete node: builds the components, starts them in order, and stops them in reverse.

Start: open the listeners, lock and read the data directories, replay the metadata, load the logs,
register with the controller, and only then accept connections. The directories of a node that was
never started are formatted first (``first_start``).

Stop: close the listeners, complete the requests in progress, flush every log, and write the clean
shutdown file. After kill -9 there is no such file, and the next start recovers every segment that
was not flushed.
"""

import asyncio
import functools
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from moldau.broker.apis import broker_handlers, controller_handlers
from moldau.broker.background import Background
from moldau.broker.broker import Broker
from moldau.broker.cluster_metadata import ClusterMetadata
from moldau.broker.connection_limits import server_limits
from moldau.broker.dispatch import Dispatcher, ListenerRouter
from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatError, metadata_log_dir
from moldau.broker.log_cleaning import LogCleaning
from moldau.broker.log_levels import LogLevels
from moldau.broker.quorum_failure import metadata_dir_failed
from moldau.broker.record_checks import RecordChecks
from moldau.clock import Clock, SystemClock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.network.network import Network
from moldau.network.server import Server
from moldau.network.socket_network import SocketNetwork
from moldau.network.turns import Turns
from moldau.storage.disk.disk import Disk, FileLock, RealDisk
from moldau.storage.log_manager import LogManager
from moldau.storage.log_upkeep import LogUpkeep

logger = logging.getLogger(__name__)

STOP_GRACE_S = 30.0
ABANDON_GRACE_S = 1.0
DELETED_FILES_CHECK_MS = 5_000
HOST_AGAIN_MS = 1_000
LOG_STARTS_CHECK_MS = 30_000
PRODUCER_EXPIRY_CHECK_MS = 600_000


class Node:
    """One process of a cluster. Clock, randomness, disk, threads and network are passed in."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        rng: random.Random | None = None,
        executor: Executor | None = None,
        network: Network | None = None,
        log_levels: LogLevels | None = None,
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``stopwatch`` measures, in seconds, how long large work keeps others waiting."""
        self.config = config
        self._clock = clock or SystemClock()
        self._disk = disk or RealDisk()
        self._rng = rng or random.SystemRandom()
        self._given_executor = executor
        self._executor = executor or ThreadPoolExecutor(
            config.num_recovery_threads_per_data_dir, thread_name_prefix="moldau-disk"
        )
        self._background = Background()
        self._network = network or SocketNetwork()
        self._log_levels = log_levels or LogLevels()
        self._stopwatch = stopwatch
        self.ports: dict[str, int] = {}
        # Why the node cannot continue; the caller waits for ``failed`` and calls ``abandon``.
        self.failure: str | None = None
        self.failed = asyncio.Event()
        self._metadata_lock: FileLock | None = None
        # Whether the start waits for other nodes, perhaps for ever; it can be cancelled then.
        self.is_waiting = False
        # Whether a thread is loading the logs.
        self._is_loading = False

    async def start(self) -> None:
        """Return when the node is ready for requests.

        Raises:
            ConfigError, FormatError, ListenError: with the reason and the remedy.
        """
        config = self.config
        self._loop = asyncio.get_running_loop()
        self.logs = LogManager(
            config.log_dirs,
            disk=self._disk,
            clock=self._clock,
            rng=self._rng,
            executor=self._executor,
            producer_expiration_ms=config.producer_id_expiration_ms,
            on_offline=self._on_directory_offline,
            wake=self._handle_disk_failures,
        )
        self._turns = Turns(now=self._stopwatch)
        self.metadata = ClusterMetadata(
            config,
            self._disk,
            self._clock,
            self._rng,
            self._executor,
            self._handle_metadata_failure,
            self._turns,
            self._network,
        )
        self.broker = self._make_broker()
        # First of all: a start that fails because a port is in use must not touch the data.
        await self._bind()

        format_if_empty(config, self._disk, self._rng, self._clock)
        self._open_directories()
        self.metadata.load()
        self.is_waiting = not self.metadata.raft.is_alone
        try:
            await self._join_cluster()
        except (Exception, asyncio.CancelledError):
            self.metadata.close()
            raise
        self.is_waiting = False
        self.broker.start()
        self._start_background()
        self.cleaning = self._make_cleaning()
        self.cleaning.start()
        self._limit_connections()
        self.metadata.publisher.add_listener(self._on_metadata)
        self.server.accept()

    async def _join_cluster(self) -> None:
        """Catch up with the metadata, load the logs, and register with the controller."""
        # Other controllers must reach this one, or nobody is elected.
        self.server.accept([each.name for each in self.config.controller_listeners])
        await self.metadata.start(self._controller_endpoints())
        await self._load_logs(self.metadata.image)
        log_dirs = list(self.logs.dirs.directory_ids.values())
        # A setting at the start may cordon directories; a dynamic one overrides it.
        self.metadata.lifecycle.on_registered = self.logs.mark_running
        await self.metadata.register(
            self._advertised(),
            log_dirs,
            self.broker.cordon(),
            has_complete_logs=self.logs.is_complete,
        )
        self.broker.configs.follow(self.metadata.image)

    async def _load_logs(self, image: MetadataImage) -> None:
        """Open the logs of this broker, as the metadata in ``image`` says.

        ``image`` is committed: what is only on this disk may know too few of them.
        """
        self.broker.configs.follow(image)
        load = functools.partial(
            self.logs.load,
            self.broker.configs.topic,
            functools.partial(self.broker.replicas.is_stray, image),
            functools.partial(self.broker.replicas.assigned_dir, image),
        )
        if self.metadata.raft.is_alone or self._given_executor is not None:
            load()
            return
        # Recovery may take minutes, and the quorum needs the votes of this node meanwhile.
        self._is_loading = True
        try:
            await asyncio.to_thread(load)
        finally:
            self._is_loading = False
        self.logs.handle_failures()

    def _make_broker(self) -> Broker:
        return Broker(
            self.config,
            self._clock,
            self._rng,
            self._disk,
            self.logs,
            self.metadata,
            RecordChecks(self._given_executor),
            self._turns,
            self._log_levels,
            self._network,
        )

    def _make_cleaning(self) -> LogCleaning:
        return LogCleaning(
            self.logs,
            self.broker.configs,
            self._disk,
            self._clock,
            self._rng,
            self._given_executor,
        )

    async def stop(self) -> None:
        """Shut down cleanly, so that the next start has nothing to recover."""
        self._background.stop()
        has_others = self.metadata.has_others
        if has_others:
            # Others take over first, while clients and nodes are still served here.
            await self.metadata.leave()
        self.broker.stop()
        await self.server.stop(STOP_GRACE_S)
        self.broker.record_checks.stop()
        await self.broker.settle()
        if not has_others:
            await self.metadata.leave()
        await self.metadata.stop()
        self.cleaning.stop()
        self.logs.shutdown(self.metadata.lifecycle.broker_epoch)
        self._executor.shutdown()
        self._release_metadata()

    async def abandon(self) -> None:
        """Stop after the metadata has failed, flushing what the other disks can store."""
        self._background.stop()
        self.broker.stop()
        await self.server.stop(ABANDON_GRACE_S)
        self.broker.record_checks.stop()
        self.cleaning.stop()
        await self.broker.fetchers.closed()
        await self.broker.mover.stop()
        self.metadata.close()
        self.logs.shutdown()
        self._executor.shutdown()
        self._release_metadata()

    def _open_directories(self) -> None:
        """Lock every directory. Raises FormatError if that of the metadata log has failed."""
        path = metadata_log_dir(self.config)
        if path not in self.config.log_dirs:
            self._metadata_lock = self._disk.lock(path)
        self.logs.open_directories()
        if path in self.logs.dirs.offline:
            raise FormatError(metadata_dir_failed(path, self.logs.dirs.offline[path]))

    def _release_metadata(self) -> None:
        if self._metadata_lock is not None:
            self._metadata_lock.release()

    def _handle_disk_failures(self) -> None:
        """Called on any thread."""
        self._loop.call_soon_threadsafe(self._handle_failures)

    def _handle_failures(self) -> None:
        if not self._is_loading:
            self.logs.handle_failures()

    def _handle_metadata_failure(self, reason: str) -> None:
        """Called on any thread."""
        self._loop.call_soon_threadsafe(self._fail, reason)

    def _on_directory_offline(self, path: str) -> None:
        """Continue without a failed log directory, unless it was the last or has the metadata."""
        dirs = self.logs.dirs
        if path == metadata_log_dir(self.config):
            self._fail(metadata_dir_failed(path, dirs.offline[path]))
        elif not dirs.live:
            self._fail(f"all log directories have failed: {', '.join(dirs.offline)}")
        else:
            self.broker.directory_failed(path)

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            # A device that fails may have dropped what is still in the page cache.
            self.logs.marks.remove()
            logger.critical("shutting down: %s", reason)
            self.failed.set()

    async def _bind(self) -> None:
        """Open the listeners, so that their ports are known; connections are not accepted yet."""
        config = self.config
        threads = self._given_executor
        clients = Dispatcher(broker_handlers(self.broker), self._turns, executor=threads)
        dispatchers = {each.name: clients for each in config.listeners}
        if config.controller_listeners:
            handlers = controller_handlers(self.broker)
            controllers = Dispatcher(handlers, self._turns, executor=threads)
            dispatchers |= {each.name: controllers for each in config.controller_listeners}
        self.server = Server(
            config.listeners,
            ListenerRouter(dispatchers),
            server_limits(config, EMPTY_IMAGE),
            logging.getLogger("moldau.network"),
            self._network,
            self._stopwatch,
        )
        await self.server.bind()
        self.ports = self.server.ports

    def _on_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        if delta.changed_configs or delta.changed_quotas:
            self._limit_connections()

    def _limit_connections(self) -> None:
        """Apply the current limits: dynamic settings and quotas may change them at any time."""
        self.server.limit(server_limits(self.broker.config, self.metadata.image))

    @property
    def address(self) -> str:
        """Where clients connect; for a node that is only a controller, where other nodes do."""
        first = [*self._advertised(), *self._controller_endpoints()][0]
        return f"{first.host}:{first.port}"

    def _advertised(self) -> list[Listener]:
        """The advertised addresses, with the ports that the system chose."""
        return [self._with_port(each) for each in self.config.advertised]

    def _controller_endpoints(self) -> list[Listener]:
        return [
            self._with_port(each if each.host else each._replace(host="localhost"))
            for each in self.config.controller_endpoints
        ]

    def _with_port(self, listener: Listener) -> Listener:
        if listener.port:
            return listener
        # A controller without a listener is advertised at the broker's first one.
        first = self.ports[self.config.listeners[0].name]
        return listener._replace(port=self.ports.get(listener.name, first))

    def _start_background(self) -> None:
        config = self.config
        logs = self.logs
        upkeep = LogUpkeep(logs, self._clock)
        jobs: tuple[tuple[int, Callable[[], object]], ...] = (
            (config.log_flush_scheduler_interval_ms, upkeep.flush_dirty_logs),
            (config.log_flush_offset_checkpoint_interval_ms, logs.checkpoint_recovery_points),
            (
                config.log_flush_start_offset_checkpoint_interval_ms,
                logs.checkpoint_log_start_offsets,
            ),
            (config.replica_high_watermark_checkpoint_interval_ms, logs.checkpoint_high_watermarks),
            (config.log_retention_check_interval_ms, upkeep.delete_old_segments),
            (DELETED_FILES_CHECK_MS, logs.delete_expired_directories),
            (DELETED_FILES_CHECK_MS, upkeep.remove_deleted_files),
            (HOST_AGAIN_MS, self.broker.host_again),
            (LOG_STARTS_CHECK_MS, self.broker.fetchers.note_log_starts),
            (PRODUCER_EXPIRY_CHECK_MS, upkeep.remove_expired_producers),
            (config.metadata_log_max_snapshot_interval_ms, self.metadata.snapshots.maybe_snapshot),
            (config.offsets_retention_check_interval_ms, self.broker.groups.expire_offsets),
            # As in Kafka: a follower that lags is noticed within half as long again.
            (config.replica_lag_time_max_ms // 2, self.broker.led.check_isrs),
        )
        for interval_ms, job in jobs:
            self._background.every(interval_ms, job)
