"""Run a broker until Ctrl-C or SIGTERM.

Without arguments this is a cluster of one node on localhost:9092, with its data
in $XDG_DATA_HOME/moldau (~/.local/share/moldau), which is formatted if empty.
A server.properties written for Apache Kafka works unchanged.
"""

import argparse
import gc
import logging
import os
from typing import Final

from moldau import compiled
from moldau.cli.errors import CommandError, UsageError
from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.properties import decode_properties, parse_properties

_LEVELS: Final = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "properties", nargs="?", metavar="server.properties", help="file with Kafka's settings"
    )
    parser.add_argument("--data-dir", metavar="DIR", help="the data directory (log.dirs)")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="the address for clients; no host means all interfaces, port 0 a free port. If the "
        "file names a controller, it gets the next port",
    )
    parser.add_argument(
        "--set",
        "--override",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a setting of the file; may be repeated",
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        help="run N brokers, or one per core (auto), with this machine as their rack. The others "
        "use the ports that follow, ids 1000, 2000, ... above the first, and DIR-2, DIR-3, ...",
    )
    # For processes that run nodes as their children.
    parser.add_argument("--parent", metavar="PID", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--log-level", choices=_LEVELS, default="info", help="what to log (default: info)"
    )


def run(options: argparse.Namespace) -> int:
    if options.parent is not None:
        from moldau.cli.parent_process import end_with

        end_with(options.parent)
    given = (options.properties, options.data_dir, options.listen, options.settings, os.environ)
    if options.processes is not None:
        from moldau.cli.start_processes import process_count, run_processes

        count = process_count(options.processes)
        if count > 1:
            return run_processes(given_properties(*given), _shared_arguments(options), count)
    config = read_config(*given)
    # What is imported now stays, and the collector would look through all of it again and again:
    # a tenth of the start. ``run_node`` turns it on again.
    gc.disable()
    from moldau.broker.log_output import LogOutput
    from moldau.broker.process import run as run_node

    output = LogOutput()
    logging.basicConfig(level=options.log_level.upper(), handlers=[output], force=True)
    try:
        compiled.check()
        return run_node(config, output.say)
    finally:
        output.close()
        # If it has failed before.
        gc.enable()


def read_config(
    path: str | None,
    data_dir: str | None,
    listen: str | None,
    settings: list[str],
    environment: "os._Environ[str] | dict[str, str]",
) -> BrokerConfig:
    """The configuration from the file and the options.

    Raises:
        CommandError: the file cannot be read, or a setting in it is invalid.
    """
    properties = given_properties(path, data_dir, listen, settings, environment)
    return checked_config(properties, path)


def given_properties(
    path: str | None,
    data_dir: str | None,
    listen: str | None,
    settings: list[str],
    environment: "os._Environ[str] | dict[str, str]",
) -> dict[str, str]:
    """The settings of the file and the options, as text."""
    properties = read_properties(path) if path else {}
    if listen is not None:
        properties.update(_listening(listen, has_controller=_names_controller(properties)))
    if data_dir is not None:
        properties["log.dirs"] = os.path.abspath(data_dir)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting}: expected key=value")
        properties[key.strip()] = value.strip()
    if "log.dirs" not in properties and "log.dir" not in properties:
        properties["log.dirs"] = default_data_dir(environment)
    return properties


def _shared_arguments(options: argparse.Namespace) -> list[str]:
    """The arguments for each of several processes; what differs between them comes after these."""
    arguments = [options.properties] if options.properties else []
    for setting in options.settings:
        arguments += ["--set", setting]
    return [*arguments, "--log-level", options.log_level]


def checked_config(properties: dict[str, str], path: str | None = None) -> BrokerConfig:
    """The configuration that ``properties`` describe; ``path`` is the file they are from.

    Raises:
        CommandError: a setting is invalid.
    """
    try:
        return BrokerConfig.from_properties(properties)
    except ConfigError as error:
        where = f"{path}: " if path else ""
        raise CommandError(f"{where}{error}") from None


def read_properties(path: str) -> dict[str, str]:
    """The settings in a file. Errors include its path."""
    try:
        with open(path, "rb") as file:
            return parse_properties(decode_properties(file.read()))
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from None


def default_data_dir(environment: "os._Environ[str] | dict[str, str]") -> str:
    """The directory for persistent data of the user."""
    base = environment.get("XDG_DATA_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".local", "share"
    )
    return os.path.join(base, "moldau")


def _names_controller(properties: dict[str, str]) -> bool:
    """Whether the file has controller settings; without them, no controller port is needed."""
    return "process.roles" in properties or any(
        name.startswith("controller.") for name in properties
    )


def _listening(address: str, *, has_controller: bool) -> dict[str, str]:
    """The settings for ``--listen``: a client listener, and a controller listener if needed."""
    host, number = parse_address(address)
    if not has_controller:
        return {"listeners": f"PLAINTEXT://{host}:{number}"}
    following = number + 1 if number else 0
    controller_host = host or "localhost"
    return {
        "listeners": f"PLAINTEXT://{host}:{number},CONTROLLER://{controller_host}:{following}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"{controller_host}:{following}",
    }


def parse_address(address: str) -> tuple[str, int]:
    """The host and port of ``--listen``. Raises UsageError."""
    host, colon, port = address.rpartition(":")
    if not colon:
        host, port = ("", address) if address.isdigit() else (address, "9092")
    if not port.isdigit() or int(port) > 65535:
        raise UsageError(f"--listen {address}: write host:port, as in localhost:9092")
    return host, int(port)
