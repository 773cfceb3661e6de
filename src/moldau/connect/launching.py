"""Makes workers of their real parts: Spark, the REST API, the plugins of this installation."""

from collections.abc import Callable, Mapping

from moldau.connect.config.validation import validate
from moldau.connect.engine_api import Engine, Listener
from moldau.connect.herder import ConnectHerder
from moldau.connect.herder_api import Json
from moldau.connect.late_engine import LateEngine
from moldau.connect.log_levels import LogLevels
from moldau.connect.plugins import Plugins
from moldau.connect.rest.forwarding import Forwarding
from moldau.connect.rest.server import RestServer
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.worker import Worker
from moldau.connect.worker_config import WorkerConfig


def make_worker(
    config: WorkerConfig,
    *,
    plugins: Plugins | None = None,
    on_started: Callable[[ConnectHerder], None] | None = None,
) -> Worker:
    """A worker that is ready to start."""
    found = plugins or Plugins()
    levels = LogLevels()

    def make_engine(worker: WorkerConfig, listener: Listener, offsets: OffsetStore) -> Engine:
        def load() -> Engine:
            from moldau.connect.engine.spark_engine import SparkEngine

            return SparkEngine(worker.properties, listener, offsets, found)

        return LateEngine(load)

    def make_rest(herder: ConnectHerder, worker: WorkerConfig) -> RestServer:
        return RestServer(
            herder,
            found,
            worker.listeners,
            worker.properties,
            levels=levels,
            admin_listeners=worker.admin_listeners,
            send_on=Forwarding(worker.forwarding_tls),
        ).start()

    def check(class_name: str, wanted: Mapping[str, str]) -> Json:
        return validate(wanted, found, config.properties)

    return Worker(
        config,
        plugins=found,
        make_engine=make_engine,
        make_rest=make_rest,
        validate=check,
        on_logger_level=levels.apply,
        on_started=on_started,
    )
