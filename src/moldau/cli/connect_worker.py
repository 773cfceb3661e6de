"""Runs Connect workers: ``moldau connect worker`` and ``moldau connect standalone``."""

import argparse
import logging
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moldau.cli.connect_files import read_connectors
from moldau.cli.errors import CommandError
from moldau.cli.start import read_properties
from moldau.cli.topics import key_value
from moldau.connect.config.errors import ConfigError
from moldau.connect.providers import HidingFormatter
from moldau.connect.standalone import GivenConnector, create_all
from moldau.connect.worker_config import WorkerConfig
from moldau.spark.session import require_spark

if TYPE_CHECKING:
    from moldau.connect.worker import Worker

log = logging.getLogger("moldau.connect")


def run_worker(options: argparse.Namespace) -> int:
    return _run(_config(options, distributed=True), [], options.log_level)


def run_standalone(options: argparse.Namespace) -> int:
    given = [each for path in options.connectors for each in _connectors(path)]
    return _run(_config(options, distributed=False), given, options.log_level)


def _config(options: argparse.Namespace, *, distributed: bool) -> WorkerConfig:
    properties = read_properties(options.file)
    properties.update(key_value("--set", text) for text in options.settings)
    try:
        return WorkerConfig.from_properties(properties, distributed=distributed)
    except ConfigError as error:
        raise CommandError(f"{options.file}: {error}") from None


def _connectors(path: str) -> list[GivenConnector]:
    found = []
    for each in read_connectors(path):
        if not each.name:
            raise CommandError(f"{path}: a connector has no name: add name=...")
        found.append(GivenConnector(path, each.name, each.config, each.initial_state))
    return found


def _end(worker: "Worker") -> None:
    """End in good order; whoever asks again does not want to wait for that."""
    if worker.is_ending:
        raise KeyboardInterrupt
    worker.end()


def _start_log(level: str) -> None:
    output = logging.StreamHandler()
    output.setFormatter(HidingFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[output], force=True)
    # The connection to the JVM logs every command.
    logging.getLogger("py4j").setLevel(logging.WARNING)


def _run(config: WorkerConfig, connectors: Sequence[GivenConnector], level: str) -> int:
    # Said before anything is started, if Spark is not installed.
    require_spark()
    from moldau.connect.launching import make_worker

    _start_log(level)
    worker = make_worker(config, on_started=lambda herder: create_all(herder, connectors))
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: _end(worker))
    try:
        worker.start()
        role = f"group {config.group_id}" if config.is_distributed else "standalone"
        log.info("REST API at %s (%s); Spark is starting", worker.url, role)
        worker.wait()
        log.info("Stopping the connectors")
    finally:
        worker.stop()
    return 0
