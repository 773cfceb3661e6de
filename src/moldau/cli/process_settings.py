"""The settings of several brokers on one machine that were configured as one. Pure.

The first keeps what was configured, and is the only controller of this machine, if it was to be
one. The others are brokers: with ids, ports and data directories of their own, which are the same
at every start. All have the machine as their rack, so that replicas are on different machines.
"""

from collections.abc import Mapping
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener

# More than a cluster has machines: the ids of their first nodes must not meet those of others.
NODE_ID_DISTANCE: Final = 1000


def process_settings(
    config: BrokerConfig, count: int, rack: str, ports: Mapping[tuple[int, str], int]
) -> list[dict[str, str]]:
    """What differs from ``config`` for each of ``count`` processes.

    ``ports`` has the ports of listeners whose port is 0, by process and listener. The others
    follow those of the process before.
    """
    used = [each.port for each in config.listeners]
    distance = max(used) - min(used) + 1
    shared = {"broker.rack": config.broker_rack or rack}
    first = {
        **shared,
        "process.roles": ",".join(config.process_roles),
        "node.id": str(config.node_id),
        "log.dirs": ",".join(config.log_dirs),
        "controller.listener.names": ",".join(config.controller_listener_names),
        "listeners": _text(config.listeners, 0, 0, ports),
    }
    controllers = [each for each in config.controller_listeners if not each.port]
    if controllers:
        # Otherwise the other processes would look for it at port 0.
        each = controllers[0]
        first["controller.quorum.bootstrap.servers"] = (
            f"{each.host or 'localhost'}:{ports[0, each.name]}"
        )
    elif "controller.quorum.voters" not in config.originals:
        servers = config.originals["controller.quorum.bootstrap.servers"]
        first["controller.quorum.bootstrap.servers"] = servers
    for_clients = [each for each in config.listeners if each not in config.controller_listeners]
    settings = [first]
    for index in range(1, count):
        own = {
            **first,
            "process.roles": "broker",
            "node.id": str(config.node_id + NODE_ID_DISTANCE * index),
            "log.dirs": ",".join(f"{path}-{index + 1}" for path in config.log_dirs),
            "listeners": _text(for_clients, index, distance, ports),
        }
        if "advertised.listeners" in config.originals:
            own["advertised.listeners"] = _text(config.advertised, index, distance, ports)
        if "metadata.log.dir" in config.originals:
            own["metadata.log.dir"] = f"{config.metadata_log_dir}-{index + 1}"
        settings.append(own)
    return settings


def _text(
    listeners: "tuple[Listener, ...] | list[Listener]",
    index: int,
    distance: int,
    ports: Mapping[tuple[int, str], int],
) -> str:
    moved = [
        each._replace(port=each.port + distance * index if each.port else ports[index, each.name])
        for each in listeners
    ]
    return ",".join(map(str, moved))
