"""``moldau cluster start``: makes a cluster, or takes up the one in its directory, and runs it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from moldau.cli.cluster_directory import ClusterDirectory
from moldau.cli.cluster_layout import (
    CONTROLLER_PORT_DISTANCE,
    DEFAULT_PORT,
    ClusterNode,
    Role,
    added_broker,
    cluster_properties,
    node_directory,
    roles,
)
from moldau.cli.cluster_ports import ReservedPorts, free_ports, is_free
from moldau.cli.cluster_run import ClusterRun
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.start import checked_config, parse_address, read_properties
from moldau.cli.topics import key_value

_DEFAULT_BROKERS = 3
_DEFAULT_HOST = "localhost"


def start_cluster(path: Path, options: argparse.Namespace) -> int:
    """Run the cluster in ``path``, which is made if there is none; returns the exit code."""
    settings = dict(key_value("--set", text) for text in options.settings)
    directory = ClusterDirectory(path)
    directory.lock()
    ports = ReservedPorts()
    try:
        nodes = directory.nodes()
        if nodes:
            _check_same(nodes, options)
            directory.set_in_all(settings)
            for _ in range(_missing(nodes, options)):
                add_broker(directory)
            nodes = directory.nodes()
            _reserve(ports, nodes)
        else:
            made = _new_cluster(path, options)
            for properties in made.values():
                properties.update(settings)
            # Nothing is written before it is known to be right.
            nodes = [
                ClusterNode(node_directory(path, node_id), checked_config(properties))
                for node_id, properties in made.items()
            ]
            _reserve(ports, nodes)
            directory.write_cluster(made)
        directory.format(nodes)
        running = ClusterRun(
            directory,
            nodes,
            ports,
            lambda: add_broker(directory),
            is_json=options.format == "json",
        )
        return running.run()
    finally:
        ports.close()
        directory.unlock()


def _reserve(ports: ReservedPorts, nodes: Sequence[ClusterNode]) -> None:
    for node in nodes:
        ports.reserve(node)


def _new_cluster(path: Path, options: argparse.Namespace) -> dict[int, dict[str, str]]:
    brokers = _DEFAULT_BROKERS if options.brokers is None else options.brokers
    wanted = roles(brokers, options.controllers, is_separate=options.separate)
    host, port = _DEFAULT_HOST, DEFAULT_PORT
    if options.listen is not None:
        host, port = parse_address(options.listen)
    return cluster_properties(wanted, host, _ports(wanted, host, port), path)


def _ports(wanted: Sequence[Role], host: str, first: int) -> dict[int, tuple[int, int]]:
    """The ports of each node, for clients and for controllers."""
    if first == 0:
        free = free_ports(host, 2 * len(wanted))
        return {each.node_id: (free.pop(), free.pop()) for each in wanted}
    ports: dict[int, tuple[int, int]] = {}
    broker_port, controller_port = first, first + CONTROLLER_PORT_DISTANCE
    for each in wanted:
        ports[each.node_id] = (broker_port, controller_port)
        broker_port += each.is_broker
        controller_port += each.is_controller
    if max(broker_port, controller_port) > 65536:
        raise UsageError(f"--listen: there are not enough ports above {first}; the last is 65535")
    return ports


def _check_same(nodes: Sequence[ClusterNode], options: argparse.Namespace) -> None:
    """Raises UsageError if the options ask for another cluster than the one that is there."""
    brokers = sum(node.config.is_broker for node in nodes)
    controllers = sum(node.config.is_controller for node in nodes)
    where = nodes[0].directory.parent
    if options.brokers is not None and options.brokers < brokers:
        raise UsageError(
            f"--brokers {options.brokers}: the cluster in {where} has {brokers}. Move the "
            "partitions of a broker away ('moldau partitions reassign'), stop it, unregister it "
            "('moldau brokers unregister') and remove its directory, or name another --data-dir"
        )
    if options.controllers is not None and options.controllers != controllers:
        raise UsageError(
            f"--controllers {options.controllers}: the cluster in {where} has {controllers}; "
            "'moldau quorum add-controller' and 'remove-controller' change that"
        )
    if options.separate and any(
        node.config.is_broker and node.config.is_controller for node in nodes
    ):
        raise UsageError(
            f"--separate: in the cluster in {where} brokers are also controllers; name another "
            "--data-dir for a cluster with separate controllers"
        )
    if options.listen is not None:
        host, port = parse_address(options.listen)
        first = next(node for node in nodes if node.config.is_broker)
        listener = first.config.listeners[0]
        if port not in (0, listener.port) or (listener.host or host) != host:
            raise UsageError(
                f"--listen {options.listen}: the cluster in {where} listens on {first.address}; "
                "the server.properties of its nodes have their ports"
            )


def _missing(nodes: Sequence[ClusterNode], options: argparse.Namespace) -> int:
    """How many brokers are to be added to those there are."""
    if not nodes or options.brokers is None:
        return 0
    return int(options.brokers - sum(node.config.is_broker for node in nodes))


def add_broker(directory: ClusterDirectory) -> ClusterNode:
    """Write the settings of one more broker, which takes the next id and the next free port."""
    nodes = directory.nodes()
    brokers = [node for node in nodes if node.config.is_broker]
    last = brokers[-1]
    node_id = nodes[-1].node_id + 1
    listener = last.config.listeners[0]
    taken = [each.port for node in nodes for each in node.config.listeners]
    port = max(node.config.listeners[0].port for node in brokers) + 1
    while port in taken or not is_free(listener.host, port):
        port += 1
        if port > 65535:
            raise CommandError("there is no free port for another broker")
    role = Role(node_id, is_broker=True, is_controller=False)
    like = read_properties(str(last.properties_path))
    settings = added_broker(like, role, listener.host, port, directory.path)
    directory.write_node(node_id, settings)
    return next(node for node in directory.nodes() if node.node_id == node_id)
