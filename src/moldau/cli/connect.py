"""Run Kafka Connect workers on Spark, and manage connectors.

moldau connect worker connect-distributed.properties
moldau connect standalone connect-standalone.properties file-source.properties
moldau connect create orders.json
moldau connect create orders --config connector.class=FileStreamSink \\
  --config topics=orders --config file=/tmp/orders.txt
moldau connect list
moldau connect status orders
moldau connect restart orders
moldau connect offsets orders
moldau connect plugins
moldau connect validate orders.json

A connector's file is a properties file, or JSON as for Kafka's REST API. A list
in JSON is several connectors, such as a source and a sink of the same topic.
"""

import argparse
from typing import Any

from moldau.cli import connect_commands as commands
from moldau.cli.command_parser import add_verb
from moldau.cli.connect_client import DEFAULT_URL, ConnectClient
from moldau.cli.output import add_format

_LEVELS = ("debug", "info", "warning", "error")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_workers(verbs)
    listing = _verb(verbs, "list", "list the connectors and their states", commands.list_all)
    add_format(listing)
    create = _verb(verbs, "create", "create a connector", commands.create)
    create.add_argument("what", metavar="FILE|NAME", help="its configuration file, or its name")
    _add_config(create)
    create.add_argument(
        "--initial-state",
        choices=("running", "paused", "stopped"),
        help="what it does at first (default: running)",
    )
    create.add_argument(
        "--replace", action="store_true", help="reconfigure the connector if it exists"
    )
    status = _verb(verbs, "status", "show states, tasks and errors", commands.status)
    status.add_argument("names", nargs="*", metavar="NAME", help="connectors (default: all)")
    add_format(status)
    config = _verb(verbs, "config", "show the configuration of a connector", commands.config)
    _add_name(config)
    add_format(config)
    for name, meaning in (
        ("pause", "pause connectors: they keep their place"),
        ("resume", "resume connectors that were paused or stopped"),
        ("stop", "stop connectors, so that their offsets can be changed"),
        ("delete", "delete connectors; their offsets stay"),
    ):
        each = _verb(verbs, name, meaning, commands.change)
        each.add_argument("names", nargs="+", metavar="NAME", help="names of connectors")
    restart = _verb(verbs, "restart", "restart connectors and their tasks", commands.restart)
    restart.add_argument("names", nargs="+", metavar="NAME", help="names of connectors")
    restart.add_argument("--only-failed", action="store_true", help="only what has failed of each")
    offsets = _verb(verbs, "offsets", "show or change the offsets of a connector", commands.offsets)
    _add_name(offsets)
    how = offsets.add_mutually_exclusive_group()
    how.add_argument("--reset", action="store_true", help="remove all offsets: it starts over")
    how.add_argument(
        "--alter", metavar="FILE", help="set offsets from JSON, as --format json shows them"
    )
    add_format(offsets)
    plugins = _verb(verbs, "plugins", "list the connectors that can be used", commands.plugins)
    plugins.add_argument(
        "--all", action="store_true", help="converters, transforms and predicates too"
    )
    add_format(plugins)
    validate = _verb(
        verbs, "validate", "validate the configuration of a connector", commands.validate
    )
    validate.add_argument("what", metavar="FILE|CLASS", help="a configuration file, or a class")
    _add_config(validate)
    add_format(validate)


def _add_workers(verbs: Any) -> None:
    worker = add_verb(verbs, "worker", "run a worker of a group until Ctrl-C or SIGTERM")
    worker.add_argument("file", metavar="FILE", help="Kafka's connect-distributed.properties")
    worker.set_defaults(action=_run_worker)
    standalone = add_verb(verbs, "standalone", "run a worker by itself, with these connectors")
    standalone.add_argument("file", metavar="FILE", help="Kafka's connect-standalone.properties")
    standalone.add_argument(
        "connectors", nargs="*", metavar="CONNECTOR", help="properties or JSON of a connector"
    )
    standalone.set_defaults(action=_run_standalone)
    for each in (worker, standalone):
        each.add_argument(
            "--set",
            dest="settings",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="overrides a setting of the file; may be repeated",
        )
        each.add_argument(
            "--log-level", choices=_LEVELS, default="info", help="what to log (default: info)"
        )


def _verb(verbs: Any, name: str, meaning: str, action: Any) -> Any:
    parser = add_verb(verbs, name, meaning)
    parser.add_argument(
        "--url",
        default=DEFAULT_URL,
        metavar="URL",
        help=f"the REST API of a worker (default: {DEFAULT_URL})",
    )
    parser.set_defaults(action=lambda options: action(ConnectClient(options.url), options))
    return parser


def _add_name(parser: Any) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of a connector")


def _add_config(parser: Any) -> None:
    parser.add_argument(
        "--config",
        dest="configs",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="an option of the connector; may be repeated",
    )


def run(options: argparse.Namespace) -> int:
    return int(options.action(options) or 0)


def _run_worker(options: argparse.Namespace) -> int:
    from moldau.cli.connect_worker import run_worker

    return run_worker(options)


def _run_standalone(options: argparse.Namespace) -> int:
    from moldau.cli.connect_worker import run_standalone

    return run_standalone(options)
