"""``moldau start --processes N``: one broker is one event loop, so a machine may run several.

Their logs go to standard error, each line with the id of its node. They stop together: on a signal,
or when one of them fails.
"""

import os
import random
import selectors
import socket
import subprocess
import sys
import time
from typing import Final

from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatError, FormatOptions, format_directories, read_directories
from moldau.cli.cluster_ports import free_ports
from moldau.cli.cluster_processes import READY, STOP_TIMEOUT_S
from moldau.cli.cluster_run import StopSignals
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.process_settings import process_settings
from moldau.cli.start import checked_config
from moldau.config.broker import STANDALONE, BrokerConfig, standalone_properties
from moldau.storage.disk.disk import RealDisk

_TICK_S: Final = 0.1


def process_count(text: str) -> int:
    """The value of ``--processes``; ``auto`` means one for each core. Raises UsageError."""
    if text == "auto":
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"--processes {text}: write 1 or greater, or auto for one per core")
    return int(text)


def run_processes(
    properties: dict[str, str], arguments: list[str], count: int, machine: str | None = None
) -> int:
    """Run ``count`` brokers; returns the exit code.

    ``arguments`` are those of ``moldau start`` that all of them get, and ``properties`` is what
    they say.
    """
    is_lone = "process.roles" not in properties
    config = _configured(properties)
    rack = machine or socket.gethostname()
    # What a node on its own has by default, others that join it need as well.
    defaults = {
        key: config.originals[key] for key in STANDALONE if is_lone and key not in properties
    }
    settings = [
        {**defaults, **each}
        for each in process_settings(config, count, rack, _chosen_ports(config, count))
    ]
    configs = [checked_config({**properties, **each}) for each in settings]
    _format(configs)
    commands = [
        [*arguments, *(part for key, value in each.items() for part in ("--set", f"{key}={value}"))]
        for each in settings
    ]
    ids = [each.node_id for each in configs]
    return Processes(dict(zip(ids, commands, strict=True))).run()


def _configured(properties: dict[str, str]) -> BrokerConfig:
    """What is configured; a node on its own gets a listener at which the others find it."""
    given = dict(properties)
    if "process.roles" not in given:
        given = standalone_properties({"controller.listener.names": "CONTROLLER", **given})
    config = checked_config(given)
    if not config.is_broker:
        raise CommandError(
            f"process.roles={','.join(config.process_roles)}: --processes is for brokers; a "
            "controller is one process"
        )
    return config


def _chosen_ports(config: BrokerConfig, count: int) -> dict[tuple[int, str], int]:
    ports: dict[tuple[int, str], int] = {}
    for listener in config.listeners:
        if not listener.port:
            free = free_ports(listener.host, count)
            ports |= {(index, listener.name): port for index, port in enumerate(free)}
    return ports


def _format(configs: list[BrokerConfig]) -> None:
    """Format the directories that are new, for the cluster of the first process."""
    disk, rng = RealDisk(), random.SystemRandom()
    first = configs[0]
    try:
        format_if_empty(first, disk, rng)
        known = read_directories(first.log_dirs, disk).values()
        cluster_id = next(each.cluster_id for each in known if each is not None)
        for config in configs[1:]:
            if not all(read_directories(config.log_dirs, disk).values()):
                options = FormatOptions(cluster_id=cluster_id, ignore_formatted=True)
                format_directories(config, options, disk, rng)
    except FormatError as error:
        raise CommandError(str(error)) from None


class Processes:
    """The processes by node id; their output is read here, so that lines do not mix."""

    def __init__(self, commands: dict[int, list[str]]) -> None:
        self._commands = commands
        self._signals = StopSignals()
        self._selector = selectors.DefaultSelector()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._rests: dict[int, bytes] = {}
        self._addresses: dict[int, str] = {}

    def run(self) -> int:
        with self._signals.caught():
            try:
                for node_id, command in self._commands.items():
                    self._start(node_id, command)
                while not self._signals.is_stopping and not self._failed():
                    self._read(_TICK_S)
                failed = self._failed()
                if failed and not self._signals.is_stopping:
                    _write(f"Moldau stops: node {failed[0]} has failed")
                self._stop()
            finally:
                for process in self._processes.values():
                    process.kill()
                    process.wait()
                self._selector.close()
        return 1 if failed else 0

    def _start(self, node_id: int, command: list[str]) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "moldau", "start", *command, "--parent", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is for this process, which stops them in order.
            process_group=0,
        )
        self._processes[node_id] = process
        self._rests[node_id] = b""
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, node_id)

    def _failed(self) -> list[int]:
        return [node_id for node_id, each in self._processes.items() if each.poll() is not None]

    def _read(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            data = os.read(key.fd, 65536)
            if not data:
                self._selector.unregister(key.fileobj)
            *lines, rest = (self._rests[key.data] + data).split(b"\n")
            self._rests[key.data] = rest
            for line in lines:
                self._on_line(key.data, line.decode("utf-8", "replace"))

    def _on_line(self, node_id: int, line: str) -> None:
        if not line.startswith(READY):
            _write(f"{node_id}: {line}")
            return
        self._addresses[node_id] = line.removeprefix(READY).split()[0]
        if len(self._addresses) == len(self._commands):
            servers = ",".join(self._addresses[each] for each in self._commands)
            _write(f"{READY}{servers} (Ctrl-C stops it)")

    def _stop(self) -> None:
        """The first one is the controller, to whom the others say that they leave."""
        first, *others = self._processes.values()
        for group in (others, [first]):
            for process in group:
                process.terminate()
            deadline_s = time.monotonic() + STOP_TIMEOUT_S
            while any(process.poll() is None for process in group):
                self._read(_TICK_S)
                if self._signals.is_urgent or time.monotonic() > deadline_s:
                    return
        self._read(0)


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
