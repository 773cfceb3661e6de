"""The table of a cluster, as lines of text. Pure: facts in, lines out."""

import textwrap
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from moldau.cli.cluster_layout import ClusterNode
from moldau.cli.cluster_watch import Leaderships, ProcessUsage
from moldau.cli.output import table_lines

# The last column is left out where the terminal is too narrow for it, as one of 80 columns is.
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
_CONNECT: Final = "moldau cluster: --bootstrap-server "
_INDENT: Final = 2
KEYS: Final = "keys: 1-9 or arrows select, k kill -9, p pause, r restart, a add broker, q stop"


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
    width: int,
) -> list[str]:
    """The whole screen: how to connect, the table, the last event, the keys.

    Lines fit into ``width`` columns, as far as that is possible.
    """
    lines = [_connect_line(bootstrap, width), ""]
    table = cluster_lines(rows, seen)
    if max(map(len, table)) + _INDENT > width:
        table = _table(rows, seen, COLUMNS[:-1])
    lines.append(f"  {table[0]}")
    for index, line in enumerate(table[1:]):
        lines.append(f"{'>' if index == selected else ' '} {line}")
    lines.append("")
    if seen is not None and seen.offline:
        lines.append(f"{seen.offline} partitions have no leader")
    lines += textwrap.wrap(message, width, break_on_hyphens=False)
    if selected is not None:
        lines.append(KEYS)
    return lines


def cluster_lines(rows: Sequence[NodeRow], seen: Leaderships | None) -> list[str]:
    """The table with its header."""
    return _table(rows, seen, COLUMNS)


def _table(rows: Sequence[NodeRow], seen: Leaderships | None, columns: Sequence[str]) -> list[str]:
    return table_lines(columns, [_cells(row, seen)[: len(columns)] for row in rows])


def _connect_line(bootstrap: str, width: int) -> str:
    """The option to paste, with as many whole addresses as fit: any of them leads to the others."""
    addresses = bootstrap.split(",")
    while len(addresses) > 1 and len(_CONNECT) + len(",".join(addresses)) > width:
        addresses.pop()
    return _CONNECT + ",".join(addresses)


def _cells(row: NodeRow, seen: Leaderships | None) -> tuple[Any, ...]:
    node = row.node
    is_broker = node.config.is_broker
    usage = row.usage
    return (
        node.node_id,
        row.state,
        controller_state(node, seen) if row.pid is not None else None,
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
