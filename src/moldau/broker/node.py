"""A complete node: builds the components, starts them in order, and stops them in reverse.

Start: open the listeners, lock and read the data directories, replay the metadata, load the logs,
register with the controller, and only then accept connections. The directories of a node that was
never started are formatted first (``first_start``).

Stop: close the listeners, complete the requests in progress, flush every log, and write the clean
shutdown file. After kill -9 there is no such file, and the next start recovers every segment that
was not flushed.
"""

import asyncio
import contextlib
import functools
import gc
import logging
import random
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from moldau.broker.apis import BROKER_HANDLERS, CONTROLLER_HANDLERS
from moldau.broker.background import Background
from moldau.broker.broker import Broker
from moldau.broker.connection_limits import server_limits
from moldau.broker.dispatch import Dispatcher, ListenerRouter
from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatError, metadata_log_dir
from moldau.broker.log_cleaning import LogCleaning
from moldau.broker.metadata_log import MetadataLog
from moldau.broker.record_checks import RecordChecks
from moldau.clock import Clock, SystemClock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.network.memory import keep_freed_memory
from moldau.network.server import Server
from moldau.storage.disk import Disk, FileLock, RealDisk
from moldau.storage.log_manager import LogManager
from moldau.storage.log_upkeep import LogUpkeep

logger = logging.getLogger(__name__)

STOP_GRACE_S = 30.0
ABANDON_GRACE_S = 1.0
DELETED_FILES_CHECK_MS = 5_000
HOST_AGAIN_MS = 1_000
# SIGHUP is sent when a terminal is closed; as in Apache Kafka, it causes a clean shutdown.
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PRODUCER_EXPIRY_CHECK_MS = 600_000


class Node:
    """One process of a cluster. Clock, randomness and disk are passed in."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        rng: random.Random | None = None,
        executor: Executor | None = None,
        make_server: Callable[..., Server] = Server,
    ) -> None:
        """``make_server`` can replace the server, for a simulated network."""
        self.config = config
        self._clock = clock or SystemClock()
        self._disk = disk or RealDisk()
        self._rng = rng or random.Random()
        self._given_executor = executor
        self._executor = executor or ThreadPoolExecutor(
            config.num_recovery_threads_per_data_dir, thread_name_prefix="moldau-disk"
        )
        self._background = Background()
        self._make_server = make_server
        self.ports: dict[str, int] = {}
        # Why the node cannot continue; the caller waits for ``failed`` and calls ``abandon``.
        self.failure: str | None = None
        self.failed = asyncio.Event()
        self._metadata_lock: FileLock | None = None

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
        self.metadata = MetadataLog(
            config,
            self._disk,
            self._clock,
            self._rng,
            self._executor,
            self._handle_metadata_failure,
        )
        self.broker = self._make_broker()
        # First of all: a start that fails because a port is in use must not touch the data.
        await self._bind()

        format_if_empty(config, self._disk, self._rng)
        self._open_directories()
        self.metadata.load()
        image = self.metadata.image
        self.broker.configs.follow(image)
        is_stray = functools.partial(self.broker.replicas.is_stray, image)
        assigned_dir = functools.partial(self.broker.replicas.assigned_dir, image)
        self.logs.load(self.broker.configs.topic, is_stray, assigned_dir)

        await self.metadata.start(
            self._advertised(),
            self._controller_endpoints(),
            list(self.logs.dirs.directory_ids.values()),
            self.broker.cordon(),
        )
        self.broker.start()
        self._start_background()
        self.cleaning = LogCleaning(
            self.logs, self.broker.configs, self._disk, self._clock, self._given_executor
        )
        self.cleaning.start()
        self._limit_connections()
        self.metadata.add_listener(self._on_metadata)
        self.server.accept()
        # Objects alive now are permanent: exclude them from garbage collection.
        gc.collect()
        gc.freeze()

    def _make_broker(self) -> Broker:
        checks = RecordChecks(self._given_executor)
        return Broker(
            self.config, self._clock, self._rng, self._disk, self.logs, self.metadata, checks
        )

    async def stop(self) -> None:
        """Shut down cleanly, so that the next start has nothing to recover."""
        self._background.stop()
        self.broker.stop()
        await self.server.stop(STOP_GRACE_S)
        self.broker.record_checks.stop()
        await self.broker.settle()
        await self.metadata.stop()
        self.cleaning.stop()
        self.logs.shutdown(self.metadata.broker_epoch)
        self._executor.shutdown()
        self._release_metadata()

    async def abandon(self) -> None:
        """Stop after the metadata has failed, flushing what the other disks can store."""
        self._background.stop()
        self.broker.stop()
        await self.server.stop(ABANDON_GRACE_S)
        self.broker.record_checks.stop()
        self.cleaning.stop()
        await self.broker.mover.stop()
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
            raise FormatError(_metadata_failed(path, self.logs.dirs.offline[path]))

    def _release_metadata(self) -> None:
        if self._metadata_lock is not None:
            self._metadata_lock.release()

    def _snapshot_metadata(self, now_ms: int) -> None:
        self.metadata.maybe_snapshot()

    def _handle_disk_failures(self) -> None:
        """Called on any thread."""
        self._loop.call_soon_threadsafe(self.logs.handle_failures)

    def _handle_metadata_failure(self, reason: str) -> None:
        """Called on any thread."""
        self._loop.call_soon_threadsafe(self._on_metadata_failed, reason)

    def _on_directory_offline(self, path: str) -> None:
        """Continue without a failed log directory, unless it was the last or has the metadata."""
        dirs = self.logs.dirs
        if path == metadata_log_dir(self.config):
            self._on_metadata_failed(dirs.offline[path])
        elif not dirs.live:
            self._fail(f"all log directories have failed: {', '.join(dirs.offline)}")
        else:
            self.broker.directory_failed(path)

    def _on_metadata_failed(self, reason: str) -> None:
        self._fail(_metadata_failed(metadata_log_dir(self.config), reason))

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            logger.critical("shutting down: %s", reason)
            self.failed.set()

    async def _bind(self) -> None:
        """Open the listeners, so that their ports are known; connections are not accepted yet."""
        config = self.config
        clients = Dispatcher(self.broker, BROKER_HANDLERS)
        controllers = Dispatcher(self.broker, CONTROLLER_HANDLERS, is_controller=True)
        dispatchers = {
            each.name: controllers if each in config.controller_listeners else clients
            for each in config.listeners
        }
        self.server = self._make_server(
            config.listeners,
            ListenerRouter(dispatchers),
            server_limits(config, EMPTY_IMAGE),
            logging.getLogger("moldau.network"),
        )
        await self.server.bind()
        self.ports = self.server.ports

    def _on_metadata(self, image: MetadataImage, delta: MetadataDelta) -> None:
        if delta.changed_configs or delta.changed_quotas:
            self._limit_connections()

    def _limit_connections(self) -> None:
        """Apply the current limits: dynamic settings and quotas may change them at any time."""
        self.server.limit(server_limits(self.broker.config, self.metadata.image))

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
        upkeep = LogUpkeep(logs)
        jobs: tuple[tuple[int, Callable[[int], object]], ...] = (
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
            (PRODUCER_EXPIRY_CHECK_MS, upkeep.remove_expired_producers),
            (config.metadata_log_max_snapshot_interval_ms, self._snapshot_metadata),
            (config.offsets_retention_check_interval_ms, self.broker.groups.expire_offsets),
        )
        for interval_ms, job in jobs:
            self._background.every(interval_ms, job, self._clock)


def _metadata_failed(path: str, reason: str) -> str:
    return (
        f"the metadata log directory {path} has failed ({reason}). Repair the disk, or restore "
        "the directory, and start again"
    )


def run(config: BrokerConfig, say: Callable[[str], None]) -> int:
    """Serve until a signal or a failure; returns the exit code of the process.

    ``say`` prints messages for the user who starts the broker.
    """
    try:
        import uvloop
    except ImportError:  # a platform without uvloop: slower, otherwise the same
        return asyncio.run(_serve(config, say))
    return uvloop.run(_serve(config, say))


async def _serve(config: BrokerConfig, say: Callable[[str], None]) -> int:
    # Cycles are rare here, so frequent collections cost more than they free. The middle generation
    # stays small: a large request creates a million objects, and inspecting all of them at once
    # would delay every other request.
    gc.set_threshold(10_000, 3, 8_000)
    # How long a busy thread (such as the log cleaner's) may hold the GIL while the loop waits. The
    # default is ten times as long, which clients would notice.
    sys.setswitchinterval(0.0005)
    keep_freed_memory()
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    for number in STOP_SIGNALS:
        # A broker started with nohup must outlive the terminal.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopping.set)
    node = Node(config)
    for warning in config.warnings:
        logger.warning("%s", warning)
    await node.start()
    for listener in config.listeners:
        logger.info("%s listens on port %d", listener.name, node.ports[listener.name])
    say(f"Moldau is ready on {_address(node)} (Ctrl-C stops it)")
    ends = [loop.create_task(event.wait()) for event in (stopping, node.failed)]
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    for end in ends:
        end.cancel()
    if node.failure is not None:
        say(f"Moldau stops: {node.failure}")
        await node.abandon()
        return 1
    logger.info("stopping: finishing requests and flushing logs")
    await node.stop()
    with contextlib.suppress(ValueError):
        loop.remove_signal_handler(signal.SIGTERM)
    return 0


def _address(node: Node) -> str:
    first = node._advertised()[0]
    return f"{first.host}:{first.port}"
