"""Run a whole cluster on this machine, and check the health of any cluster.

moldau cluster start --brokers 3
moldau cluster start --brokers 3 --data-dir ./cluster --listen localhost:9092
moldau cluster status
moldau cluster stop
moldau cluster health --bootstrap-server localhost:9092

Every node is a process with a server.properties of its own, in the data
directory of the cluster. To run the nodes on several machines, copy these
files and change the addresses in them.
"""

import argparse
import os
from pathlib import Path
from typing import Any

from moldau.cli.command_parser import add_verb
from moldau.cli.output import add_bootstrap, add_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    start = _verb(verbs, "start", "run a cluster until Ctrl-C or SIGTERM", _start)
    start.add_argument(
        "--brokers", metavar="N", type=int, help="default: 3, or as many as the cluster has"
    )
    start.add_argument(
        "--controllers",
        metavar="N",
        type=int,
        help="how many of the brokers are also controllers (default: 3, or 1 if there are fewer "
        "than three brokers)",
    )
    start.add_argument("--separate", action="store_true", help="run controllers as separate nodes")
    start.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="the address of the first broker; the others get the ports after it, controllers "
        "those 100 above. Port 0 chooses free ports (default: localhost:9092)",
    )
    start.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a setting for all nodes, written to their files; may be repeated",
    )
    add_format(start)
    add_format(_verb(verbs, "status", "show the nodes of a cluster on this machine", _status))
    _verb(verbs, "stop", "stop a cluster on this machine", _stop)
    health = add_verb(verbs, "health", "show what is wrong with a cluster, and how to fix it")
    health.set_defaults(action=_health)
    add_bootstrap(health)
    add_format(health)


def _verb(verbs: Any, name: str, meaning: str, action: Any) -> Any:
    parser = add_verb(verbs, name, meaning)
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="the directory of the cluster (default: moldau-cluster in $XDG_DATA_HOME)",
    )
    parser.set_defaults(action=action)
    return parser


def run(options: argparse.Namespace) -> int:
    return int(options.action(options))


def _directory(options: argparse.Namespace) -> Path:
    if options.data_dir is not None:
        return Path(os.path.abspath(options.data_dir))
    from moldau.cli.start import default_data_dir

    return Path(default_data_dir(os.environ)).with_name("moldau-cluster")


def _start(options: argparse.Namespace) -> int:
    from moldau.cli.cluster_start import start_cluster

    return start_cluster(_directory(options), options)


def _status(options: argparse.Namespace) -> int:
    from moldau.cli.cluster_status import show_status

    return show_status(_directory(options), is_json=options.format == "json")


def _stop(options: argparse.Namespace) -> int:
    from moldau.cli.cluster_status import stop_cluster

    return stop_cluster(_directory(options))


def _health(options: argparse.Namespace) -> int:
    from moldau.cli.cluster_health import show_health

    return show_health(options)
