"""The table of a cluster, as lines of text. Pure: facts in, lines out."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from moldau.cli.cluster_layout import ClusterNode
from moldau.cli.cluster_watch import Leaderships, ProcessUsage
from moldau.cli.output import table_lines

# In a terminal of 80 columns only the roles are cut off.
COLUMNS: Final = (
    "NODE",
    "STATE",
    "CONTROLLER",
    "PID",
    "PORT",
    "LEADERS",
    "UNDER-REPL",
    "RSS",
    "CPU",
    "ROLES",
)
KEYS: Final = "keys: 1-9 or arrows select, k kill -9, p pause, r restart, a add a broker, q stop"


class NodeRow(NamedTuple):
    """What is known about one node."""

    node: ClusterNode
    state: str
    pid: int | None
    usage: ProcessUsage | None


def screen_lines(
    bootstrap: str,
    rows: Sequence[NodeRow],
    seen: Leaderships | None,
    *,
    selected: int | None,
    message: str,
) -> list[str]:
    """The whole screen: how to connect, the table, the last event, the keys."""
    lines = [f"moldau cluster: --bootstrap-server {bootstrap}", ""]
    table = cluster_lines(rows, seen)
    lines.append(f"  {table[0]}")
    for index, line in enumerate(table[1:]):
        lines.append(f"{'>' if index == selected else ' '} {line}")
    lines.append("")
    if seen is not None and seen.offline:
        lines.append(f"{seen.offline} partitions have no leader")
    if message:
        lines.append(message)
    if selected is not None:
        lines.append(KEYS)
    return lines


def cluster_lines(rows: Sequence[NodeRow], seen: Leaderships | None) -> list[str]:
    """The table with its header."""
    return table_lines(COLUMNS, [_cells(row, seen) for row in rows])


def _cells(row: NodeRow, seen: Leaderships | None) -> tuple[Any, ...]:
    node = row.node
    is_broker = node.config.is_broker
    usage = row.usage
    return (
        node.node_id,
        row.state,
        controller_state(node, seen),
        row.pid,
        node.port,
        seen.leaders.get(node.node_id, 0) if seen is not None and is_broker else None,
        seen.under_replicated.get(node.node_id, 0) if seen is not None and is_broker else None,
        f"{usage.rss_bytes / 1e6:.0f} MB" if usage is not None else None,
        f"{usage.cpu:.0%}" if usage is not None and usage.cpu is not None else None,
        ",".join(node.roles),
    )


def controller_state(node: ClusterNode, seen: Leaderships | None) -> str | None:
    """``active`` for the controller that decides, ``standby`` for those that could."""
    if not node.config.is_controller:
        return None
    if seen is None:
        return "unknown"
    return "active" if seen.controller_id == node.node_id else "standby"
