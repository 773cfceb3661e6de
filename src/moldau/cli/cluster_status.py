"""``moldau cluster status`` and ``stop``: a cluster that another process runs on this machine."""

import os
import signal
import time
from pathlib import Path
from typing import Any, Final

from moldau.cli.cluster_directory import ClusterDirectory, describe
from moldau.cli.cluster_processes import STARTING, STOP_TIMEOUT_S
from moldau.cli.cluster_view import NodeRow, cluster_lines, controller_state
from moldau.cli.cluster_watch import Leaderships, ProcessWatch, ask
from moldau.cli.errors import CommandError
from moldau.cli.output import print_json
from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError

_POLL_S: Final = 0.05
_REQUEST_TIMEOUT_S: Final = 5.0


def show_status(path: Path, *, is_json: bool) -> int:
    """Print the nodes of the cluster in ``path``; returns 1 if it does not run."""
    directory = ClusterDirectory(path)
    nodes = directory.nodes()
    if not nodes:
        raise CommandError(
            f"there is no cluster in {path}: 'moldau cluster start --data-dir {path}' makes one"
        )
    is_running = directory.is_running
    document = directory.running() if is_running else None
    known = {each["id"]: each for each in (document or {}).get("nodes", ())}
    pids = {node_id: each["pid"] for node_id, each in known.items()}
    described = describe(nodes, pids, cluster_id=directory.cluster_id)
    bootstrap = described["bootstrap_servers"]
    seen = _seen(bootstrap) if is_running else None
    if is_json:
        by_id = {node.node_id: node for node in nodes}
        for each in described["nodes"]:
            each["state"] = known[each["id"]]["state"] if each["id"] in known else "stopped"
            each["controller"] = controller_state(by_id[each["id"]], seen) if each["pid"] else None
            each["leaders"] = seen.leaders.get(each["id"], 0) if seen else None
            each["under_replicated"] = seen.under_replicated.get(each["id"], 0) if seen else None
        print_json({"running": is_running, "pid": (document or {}).get("pid"), **described})
        return 0 if is_running else 1
    usage = ProcessWatch()
    rows = []
    for node in nodes:
        pid: Any = pids.get(node.node_id)
        state = known[node.node_id]["state"] if node.node_id in known else "stopped"
        rows.append(NodeRow(node, state, pid, usage.sample(pid)))
    if document is not None:
        is_starting = all(each["state"] == STARTING for each in known.values())
        verb = "starting" if is_starting else "running"
        print(f"The cluster in {path} is {verb} (process {document['pid']}).")
        print(f"--bootstrap-server {bootstrap}")
    elif is_running:
        print(f"The cluster in {path} is about to start or stop.")
    else:
        print(f"The cluster in {path} is not running.")
    for line in cluster_lines(rows, seen):
        print(line)
    return 0 if is_running else 1


def _seen(bootstrap: str) -> Leaderships | None:
    try:
        return ask(bootstrap, _REQUEST_TIMEOUT_S)
    except (ConnectionFailed, ApiError):
        return None


def stop_cluster(path: Path) -> int:
    """Stop the cluster in ``path``, and return when all its nodes have stopped."""
    directory = ClusterDirectory(path)
    if not directory.is_running:
        print(f"The cluster in {path} is not running.")
        return 0
    document = directory.running()
    if document is None:
        raise CommandError(f"the cluster in {path} is just starting or stopping: try again")
    os.kill(document["pid"], signal.SIGTERM)
    deadline_s = time.monotonic() + 2 * STOP_TIMEOUT_S
    while directory.is_running:
        if time.monotonic() > deadline_s:
            raise CommandError(
                f"the cluster in {path} (process {document['pid']}) has not stopped after "
                f"{2 * STOP_TIMEOUT_S:g} s: see the node.log of its nodes"
            )
        time.sleep(_POLL_S)
    print(f"Stopped the cluster in {path}.")
    return 0
