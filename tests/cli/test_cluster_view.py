"""The table of a cluster: what a terminal of 80 columns shows of it."""

from pathlib import Path

from moldau.cli.cluster_layout import (
    ClusterNode,
    bootstrap_servers,
    cluster_properties,
    node_directory,
    roles,
)
from moldau.cli.cluster_view import NodeRow, screen_lines
from moldau.cli.cluster_watch import Leaderships, ProcessUsage
from moldau.cli.start import checked_config

CLUSTER = Path("/c")
NODES = [
    ClusterNode(node_directory(CLUSTER, node_id), checked_config(properties))
    for node_id, properties in cluster_properties(
        roles(3, None, is_separate=False),
        "localhost",
        {1: (29092, 29192), 2: (29093, 29193), 3: (29094, 29194)},
        CLUSTER,
    ).items()
]
SEEN = Leaderships(1, {1: 1, 3: 1}, {1: 1, 3: 1}, 0)


def screen(width: int, message: str = "ready") -> list[str]:
    usage = ProcessUsage(100_000_000, 1.0)
    rows = [
        NodeRow(node, "killed" if node.node_id == 2 else "running", pid, usage if pid else None)
        for node, pid in zip(NODES, (4_000_001, None, 4_000_003), strict=True)
    ]
    bootstrap = bootstrap_servers(NODES)
    return screen_lines(bootstrap, rows, SEEN, selected=0, message=message, width=width)


def test_nothing_is_cut_off_in_80_columns() -> None:
    lines = screen(80)
    assert max(map(len, lines)) <= 80
    # Part of an address would lead nowhere.
    assert lines[0] == "moldau cluster: --bootstrap-server localhost:29092,localhost:29093"
    assert lines[2].split()[-1] == "CPU"
    assert lines[-1].endswith("q stop")


def test_a_wide_terminal_shows_every_address_and_the_roles() -> None:
    lines = screen(120)
    assert lines[0].endswith("localhost:29092,localhost:29093,localhost:29094")
    assert lines[2].split()[-1] == "ROLES"
    assert lines[3].split()[-1] == "broker,controller"


def test_a_long_message_is_wrapped() -> None:
    message = "node 1 failed (1): " + "why " * 30 + "(its log is /c/node-1/node.log)"
    lines = screen(80, message)
    assert max(map(len, lines)) <= 80
    assert " ".join(lines[7:-1]) == message


def test_a_node_that_does_not_run_is_no_controller() -> None:
    lines = screen(80)
    assert lines[3].split()[1:4] == ["1", "running", "active"]
    assert lines[4].split()[:3] == ["2", "killed", "-"]
    assert lines[5].split()[:3] == ["3", "running", "standby"]
