"""The directory of a cluster on one machine.

    DIR/cluster.properties         the cluster id, and the first voters until they have started
    DIR/running.json               who runs it, while somebody does
    DIR/node-1/server.properties   the settings of a node: what counts from the second start on
    DIR/node-1/data                its data directory
    DIR/node-1/node.log            its log

A first start that was interrupted is continued by the next one. Once all nodes have started, a
controller whose data is gone is not formatted as one of the first voters again: it may have voted
and acknowledged what it no longer knows.
"""

import json
import os
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from moldau.broker.format import FormatError, FormatOptions, format_directories, read_directories
from moldau.cli.cluster_layout import ClusterNode, bootstrap_servers, node_directory
from moldau.cli.errors import CommandError
from moldau.cli.start import checked_config, read_config, read_properties
from moldau.config.properties import decode_properties, format_properties, parse_properties
from moldau.ids import new_uuid, uuid_to_str
from moldau.storage.disk.checkpoint import META_PROPERTIES
from moldau.storage.disk.directory_lock import LOCK_FILE, DirectoryInUse, DirectoryLock
from moldau.storage.disk.disk import RealDisk

CLUSTER_PROPERTIES: Final = "cluster.properties"
RUNNING: Final = "running.json"
_CLUSTER_ID: Final = "cluster.id"
_FIRST_VOTERS: Final = "initial.controllers"
_NODE_DIRECTORY: Final = re.compile(r"node-(\d+)")


class ClusterDirectory:
    """The files of a cluster. ``lock`` before anything is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: DirectoryLock | None = None
        self._disk = RealDisk()

    def lock(self) -> None:
        """Keep others from running this cluster, until this process ends.

        Raises:
            CommandError: another process runs it.
        """
        if (self.path / META_PROPERTIES).exists():
            raise CommandError(
                f"{self.path} is the data directory of a single node: name another --data-dir for "
                "a cluster, or run the node with 'moldau start --data-dir'"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = DirectoryLock(str(self.path))
        except DirectoryInUse:
            pid = (self.running() or {}).get("pid", "unknown")
            raise CommandError(
                f"the cluster in {self.path} is running already (process {pid}): "
                f"'moldau cluster stop --data-dir {self.path}' stops it"
            ) from None
        # A run that was killed has left it; its process id may be somebody else's by now.
        self.remove_running()

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def is_running(self) -> bool:
        """Whether a process has locked the directory."""
        if not (self.path / LOCK_FILE).exists():
            return False
        try:
            DirectoryLock(str(self.path)).release()
        except DirectoryInUse:
            return True
        return False

    # -- nodes

    def nodes(self) -> list[ClusterNode]:
        """Every node, in the order of their ids. Raises CommandError for a wrong setting."""
        if not self.path.is_dir():
            return []
        found = []
        for name in os.listdir(self.path):
            file = self.path / name / "server.properties"
            if _NODE_DIRECTORY.fullmatch(name) and file.exists():
                config = read_config(str(file), None, None, [], os.environ)
                found.append(ClusterNode(self.path / name, config))
        return sorted(found, key=lambda node: node.node_id)

    def write_cluster(self, properties: Mapping[int, Mapping[str, str]]) -> None:
        """Write what makes a new cluster: its id, its first voters and the settings of its nodes.

        The directories of nodes come last: where one exists, the rest is known.
        """
        rng = random.SystemRandom()
        voters = [
            f"{node_id}@{_controller_address(settings)}:{uuid_to_str(new_uuid(rng))}"
            for node_id, settings in properties.items()
            if "controller" in settings["process.roles"]
        ]
        self._write_identity(
            {_CLUSTER_ID: uuid_to_str(new_uuid(rng)), _FIRST_VOTERS: ",".join(voters)}
        )
        for node_id, settings in properties.items():
            self.write_node(node_id, settings)

    def write_node(self, node_id: int, properties: Mapping[str, str]) -> None:
        directory = node_directory(self.path, node_id)
        directory.mkdir(exist_ok=True)
        text = (
            f"# Node {node_id} of a cluster that 'moldau cluster start' made. This file counts:\n"
            "# edit it while the node is stopped, or copy it to another machine and change the\n"
            "# addresses and log.dirs in it.\n"
        )
        self._disk.write_atomically(
            str(directory / "server.properties"), (text + format_properties(properties)).encode()
        )

    def set_in_all(self, settings: Mapping[str, str]) -> None:
        """Change settings in the file of every node; the other lines stay as they are.

        Raises:
            CommandError: one of them is wrong; nothing was written then.
        """
        texts = {}
        for node in self.nodes() if settings else ():
            path = node.properties_path
            texts[path] = changed_properties(decode_properties(path.read_bytes()), settings)
            checked_config(parse_properties(texts[path]), str(path))
        for path, text in texts.items():
            self._disk.write_atomically(str(path), text.encode())

    # -- formatting

    @property
    def cluster_id(self) -> str:
        return self._identity().get(_CLUSTER_ID, "")

    def format(self, nodes: Sequence[ClusterNode]) -> None:
        """Format the data directories that are not formatted."""
        identity = self._identity()
        rng = random.SystemRandom()
        for node in nodes:
            config = node.config
            if all(read_directories(config.log_dirs, self._disk).values()):
                continue
            is_dynamic = config.is_controller and not config.controller_quorum_voters
            voters = identity.get(_FIRST_VOTERS) or None if is_dynamic else None
            options = FormatOptions(
                cluster_id=identity.get(_CLUSTER_ID),
                ignore_formatted=True,
                initial_controllers=voters,
                no_initial_controllers=is_dynamic and voters is None,
            )
            try:
                format_directories(config, options, self._disk, rng)
            except (FormatError, OSError) as error:
                raise CommandError(f"node {node.node_id}: {error}") from None

    def all_have_started(self) -> None:
        """Forget the first voters: from now on the quorum itself knows its voters."""
        identity = self._identity()
        if identity.pop(_FIRST_VOTERS, None) is not None:
            self._write_identity(identity)

    def _identity(self) -> dict[str, str]:
        path = self.path / CLUSTER_PROPERTIES
        if not path.exists():
            raise CommandError(f"{path} is missing: it has the id of the cluster ({_CLUSTER_ID})")
        return read_properties(str(path))

    def _write_identity(self, identity: Mapping[str, str]) -> None:
        text = format_properties(identity)
        self._disk.write_atomically(str(self.path / CLUSTER_PROPERTIES), text.encode())

    # -- who runs it

    def write_running(
        self,
        nodes: Sequence[ClusterNode],
        pids: Mapping[int, int | None],
        states: Mapping[int, str],
    ) -> None:
        document = describe(nodes, pids, cluster_id=self.cluster_id)
        for each in document["nodes"]:
            each["state"] = states.get(each["id"])
        data = json.dumps({"pid": os.getpid(), **document}, indent=2).encode()
        self._disk.write_atomically(str(self.path / RUNNING), data)

    def running(self) -> dict[str, Any] | None:
        """What the process that runs the cluster wrote; None if there is nothing to read."""
        try:
            document = json.loads((self.path / RUNNING).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    def remove_running(self) -> None:
        (self.path / RUNNING).unlink(missing_ok=True)


def describe(
    nodes: Sequence[ClusterNode], pids: Mapping[int, int | None], *, cluster_id: str
) -> dict[str, Any]:
    """A cluster for programs: how to connect to it, and its nodes."""
    return {
        "cluster_id": cluster_id,
        "bootstrap_servers": bootstrap_servers(nodes),
        "nodes": [
            {
                "id": node.node_id,
                "pid": pids.get(node.node_id),
                "port": node.port,
                "address": node.address,
                "roles": node.roles,
                "data_dir": node.config.log_dirs[0],
                "properties": str(node.properties_path),
                "log": str(node.log_path),
            }
            for node in nodes
        ],
    }


def changed_properties(text: str, settings: Mapping[str, str]) -> str:
    """``text`` of a properties file with other values; what is new comes at the end."""
    left = dict(settings)
    lines = []
    for line in text.splitlines():
        name = re.split(r"[=:\s]", line.strip(), maxsplit=1)[0]
        if name not in settings:
            lines.append(line)
        elif name in left:
            lines.append(format_properties({name: left.pop(name)}).rstrip("\n"))
    return "\n".join(lines) + "\n" + format_properties(left)


def _controller_address(settings: Mapping[str, str]) -> str:
    return settings["listeners"].rpartition("CONTROLLER://")[2]
