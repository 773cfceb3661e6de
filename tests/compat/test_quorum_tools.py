"""Apache Kafka's tools for quorums, against three controllers and a broker.

``CLUSTER_KIND=apache`` runs the tests against Apache Kafka, which shows that they are right.
"""

import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.brokers import read_properties
from tools.clusters import (
    APACHE,
    MOLDAU,
    Cluster,
    ClusterNode,
    Member,
    eventually,
    separate_members,
)

from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.java_tools import SHORT_LIVED_JVM, Output, Toolbox, run_tool
from tests.compat.quorum_talk import admin, create_topic, describe_quorum, failures

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
SETTINGS = {
    "broker.session.timeout.ms": "60000",
    "broker.heartbeat.interval.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "1000",
}
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
STORAGE = "kafka.tools.StorageTool"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
# Does not end in a process that goes on.
SHELL = "kafka-metadata-shell"
METADATA_LOG = "__cluster_metadata-0"
FIRST_VOTERS = "00000000000000000000-0000000000.checkpoint"


@pytest.fixture(scope="module")
def toolbox(program_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("toolbox")
    try:
        command = build_java(program_dir, "Tools")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    box = Toolbox(command, folder / "tools.log")
    yield box
    box.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, toolbox: Toolbox) -> Iterator[Cluster]:
    """The first controller starts on a directory that kafka-storage has formatted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
        patch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
        members = separate_members(3, 1, KIND)
        cluster = Cluster(tmp_path_factory.mktemp("cluster"), members, SETTINGS)
        cluster.prepare(cluster.nodes[1], formatted_by=APACHE)
        with cluster:
            create_topic(cluster.nodes[101], "river", 3)
            yield cluster
            found = failures(cluster.nodes.values())
            assert not found, "\n".join(found)


class Tools:
    """The tools, with the address of the cluster filled in."""

    def __init__(self, toolbox: Toolbox, *server: str) -> None:
        self._toolbox = toolbox
        self._server = server

    def attempt(self, tool: str, *arguments: str | Path) -> Output:
        # kafka-cluster has sub-commands, and wants them first.
        if tool == CLUSTER:
            return self._toolbox.run(tool, *arguments, *self._server)
        return self._toolbox.run(tool, *self._server, *arguments)

    def run(self, tool: str, *arguments: str | Path) -> list[str]:
        """The lines that a tool prints, which must succeed."""
        output = self.attempt(tool, *arguments)
        assert output.status == 0, output.both
        assert not output.stderr, output.stderr
        return output.lines

    def refused(self, tool: str, *arguments: str | Path) -> str:
        output = self.attempt(tool, *arguments)
        assert output.status == 1, output.both
        return output.both


@pytest.fixture(params=["server", "controller"])
def tools(request: pytest.FixtureRequest, cluster: Cluster, toolbox: Toolbox) -> Tools:
    """Through a broker, and directly at the controllers."""
    if request.param == "server":
        return Tools(toolbox, "--bootstrap-server", cluster.bootstrap)
    first = [node.controller_address for node in cluster.controllers if node.node_id <= 3]
    return Tools(toolbox, "--bootstrap-controller", ",".join(first))


def status(tools: Tools) -> dict[str, str]:
    lines = tools.run(QUORUM, "describe", "--status")
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def voter_ids(tools: Tools) -> list[int]:
    return [voter["id"] for voter in json.loads(status(tools)["CurrentVoters"])]


def directory_id(node: ClusterNode) -> str:
    return read_properties(node.directory / "meta.properties")["directory.id"]


def test_the_quorum_is_described(tools: Tools, cluster: Cluster) -> None:
    found = status(tools)
    assert found["ClusterId"] == cluster.cluster_id
    assert found["LeaderId"] in ("1", "2", "3")
    assert int(found["HighWatermark"]) > 0
    assert json.loads(found["CurrentVoters"]) == [
        {
            "id": node.node_id,
            "directoryId": directory_id(node),
            "endpoints": [f"CONTROLLER://{node.controller_address}"],
        }
        for node in cluster.controllers
        if node.node_id <= 3
    ]
    observers = json.loads(found["CurrentObservers"])
    broker = {"id": 101, "directoryId": directory_id(cluster.nodes[101])}
    assert broker in observers


def test_the_replication_of_the_metadata_is_described(tools: Tools, cluster: Cluster) -> None:
    head, *lines = tools.run(QUORUM, "describe", "--replication")
    assert head.split()[:4] == ["NodeId", "DirectoryId", "LogEndOffset", "Lag"]
    rows = {int(line.split()[0]): line.split() for line in lines}
    assert {1, 2, 3, 101} <= set(rows)
    for node_id in (1, 2, 3, 101):
        assert rows[node_id][1] == directory_id(cluster.nodes[node_id])
        assert int(rows[node_id][2]) > 0
    roles = [rows[node_id][-1] for node_id in (1, 2, 3)]
    assert sorted(roles) == ["Follower", "Follower", "Leader"]
    assert rows[101][-1] == "Observer"
    readable = tools.run(QUORUM, "describe", "--replication", "--human-readable")
    assert all(" ms ago" in line for line in readable[1:])


@pytest.fixture(scope="module")
def newcomer(cluster: Cluster) -> Iterator[ClusterNode]:
    """A controller that is not a voter; its log begins with a snapshot of the leader's."""
    node = ClusterNode(cluster.directory / "node-4", Member(4, "controller", KIND))
    cluster.nodes[4] = node
    cluster.prepare(node, is_first=False)
    node.start()
    broker = cluster.nodes[101]
    # Neither kind of controller adds a voter that has never reached the end of the log.
    eventually("the newcomer has caught up", lambda: 4 in caught_up_observers(broker))
    yield node
    node.stop()


def caught_up_observers(broker: ClusterNode) -> list[int]:
    observers = describe_quorum(broker.port).observers
    return [each.replica_id for each in observers if each.last_caught_up_timestamp >= 0]


def test_a_controller_is_added_and_removed(tools: Tools, newcomer: ClusterNode) -> None:
    its_settings = ["--command-config", newcomer.properties_path]
    its_id = directory_id(newcomer)
    added = f"controller 4 with directory id {its_id} and endpoints: "
    place = f"CONTROLLER://{newcomer.controller_address}"
    dry = tools.run(QUORUM, *its_settings, "add-controller", "--dry-run")
    assert dry == [f"DRY RUN of adding {added}{place}"]
    assert tools.run(QUORUM, *its_settings, "add-controller") == [f"Added {added}{place}"]
    assert voter_ids(tools) == [1, 2, 3, 4]
    again = tools.refused(QUORUM, *its_settings, "add-controller")
    assert f"DuplicateVoterException: The voter id for ReplicaKey(id=4, directoryId={its_id})" in (
        again
    )

    remove = ["remove-controller", "--controller-id", "4", "--controller-directory-id"]
    other_id = tools.refused(QUORUM, *remove, "AAAAAAAAAAAAAAAAAAAAAQ")
    assert "VoterNotFoundException" in other_id
    gone = f"KRaft controller 4 with directory id {its_id}"
    assert tools.run(QUORUM, *remove, its_id) == [f"Removed  {gone}"]
    assert voter_ids(tools) == [1, 2, 3]
    assert "VoterNotFoundException" in tools.refused(QUORUM, *remove, its_id)


def test_the_cluster_is_shown(tools: Tools, cluster: Cluster) -> None:
    assert tools.run(CLUSTER, "cluster-id") == [f"Cluster ID: {cluster.cluster_id}"]
    rows = [line.split() for line in tools.run(CLUSTER, "list-endpoints")[1:]]
    if rows[0][-1] == "broker":
        broker = cluster.nodes[101]
        assert rows == [["101", "127.0.0.1", str(broker.port), "null", "unfenced", "broker"]]
        return
    assert [row for row in rows if int(row[0]) <= 3] == [
        [str(node.node_id), "127.0.0.1", str(node.controller_port), "null", "controller"]
        for node in cluster.controllers
        if node.node_id <= 3
    ]


def test_a_broker_that_is_gone_is_unregistered(tools: Tools, cluster: Cluster) -> None:
    broker = ClusterNode(cluster.directory / "node-102", Member(102, "broker", KIND))
    cluster.nodes[102] = broker
    cluster.prepare(broker)
    broker.start()
    listed = admin(cluster.nodes[101]).list_topics(timeout=120).brokers
    assert sorted(listed) == [101, 102]
    broker.stop()
    gone = ["Broker 102 is no longer registered."]
    assert tools.run(CLUSTER, "unregister", "--id", "102") == gone
    again = tools.refused(CLUSTER, "unregister", "--id", "102")
    assert "BrokerIdNotRegisteredException" in again


def test_features_are_described_and_changed(tools: Tools) -> None:
    lines = tools.run(FEATURES, "describe")
    levels = {line.split()[1]: line.split()[3::2] for line in lines}
    assert [values[:3] for values in levels.values()] == [
        ["0", "1", "1"],
        ["0", "1", "1"],
        ["0", "1", "1"],
        ["3.3-IV3", "4.3-IV0", "4.3-IV0"],
        ["0", "1", "1"],
        ["0", "1", "1"],
        ["0", "2", "2"],
    ]
    assert tools.run(FEATURES, "disable", "--feature", "group.version") == [
        "group.version was disabled."
    ]
    assert "group.version was upgraded to 1." in tools.run(
        FEATURES, "upgrade", "--release-version", "4.3"
    )
    assert tools.run(FEATURES, "downgrade", "--feature", "share.version=0", "--dry-run") == [
        "share.version can be downgraded to 0."
    ]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            ["downgrade", "--feature", "kraft.version=0"],
            "Invalid update version 0 for feature kraft.version. Can't downgrade the version of "
            "this feature.",
        ),
        (
            ["upgrade", "--feature", "kraft.version=9"],
            "Invalid update version 9 for feature kraft.version. Local controller N only supports "
            "versions 0-1",
        ),
        (
            ["downgrade", "--feature", "metadata.version=25"],
            "Unsupported metadata.version downgrade from 30 to 25. Refusing to perform the "
            "requested downgrade because it might delete metadata information.",
        ),
        (
            ["upgrade", "--feature", "group.version=7"],
            "Invalid update version 7 for feature group.version. Local controller N only supports "
            "versions 0-1",
        ),
    ],
)
def test_features_that_cannot_be_changed(tools: Tools, command: list[str], reason: str) -> None:
    told = re.sub(r"controller \d+", "controller N", tools.refused(FEATURES, *command))
    assert reason in told, told


def test_the_voters_of_the_settings_move_into_the_log(toolbox: Toolbox, tmp_path: Path) -> None:
    with Cluster(tmp_path, separate_members(3, 1, KIND), SETTINGS, is_dynamic=False) as cluster:
        tools = Tools(toolbox, "--bootstrap-server", cluster.bootstrap)
        voters = json.loads(status(tools)["CurrentVoters"])
        assert [each["id"] for each in voters] == [1, 2, 3]
        assert not any("directoryId" in each for each in voters)
        upgrade = [FEATURES, "upgrade", "--feature", "kraft.version=1"]
        # The leader has to know the directories of all voters, which tell it when they start.
        eventually("kraft.version is upgraded", lambda: tools.run(*upgrade))
        voters = json.loads(status(tools)["CurrentVoters"])
        assert [(each["id"], each["directoryId"]) for each in voters] == [
            (node.node_id, directory_id(node)) for node in cluster.controllers
        ]


# Directories


def test_directories_are_recognised(toolbox: Toolbox, cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        output = toolbox.run(STORAGE, "info", "-c", node.properties_path)
        assert output.status == 0, output.both
        assert f"cluster.id={cluster.cluster_id}" in output.stdout
        assert f"directory.id={directory_id(node)}" in output.stdout
        assert "WARNING" not in output.stdout


def dumped(toolbox: Toolbox, *files: Path) -> list[str]:
    names = ",".join(map(str, files))
    output = toolbox.run(DUMP_LOG, "--cluster-metadata-decoder", "--files", names)
    assert output.status == 0, output.both
    assert "isvalid: false" not in output.stdout
    return output.lines


def snapshots(node: ClusterNode) -> list[Path]:
    paths = sorted((node.directory / METADATA_LOG).glob("*.checkpoint"))
    return [path for path in paths if path.name != FIRST_VOTERS]


def test_logs_and_snapshots_are_dumped(toolbox: Toolbox, cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        eventually(f"{node.kind} has a snapshot", lambda node=node: snapshots(node))
        snapshot = dumped(toolbox, snapshots(node)[-1])
        assert any("KRaftVoters" in line for line in snapshot)
        assert any('"type":"TOPIC_RECORD"' in line and "river" in line for line in snapshot)
        assert "SnapshotFooter" in snapshot[-1]
        segments = sorted((node.directory / METADATA_LOG).glob("*.log"))
        assert dumped(toolbox, segments[-1])


def test_the_metadata_shell_reads_logs_and_snapshots(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.nodes[2]
    eventually("there is a snapshot", lambda: snapshots(node))
    # A node that runs has locked its directory.
    refused = run_tool(SHELL, "--snapshot", snapshots(node)[-1], "ls", "/")
    assert refused.status == 1
    assert "Unable to lock" in refused.stderr

    numbers = itertools.count()

    def copied() -> Path:
        folder = tmp_path / f"copy-{next(numbers)}" / METADATA_LOG
        shutil.copytree(node.directory / METADATA_LOG, folder)
        return folder

    def shows_the_topic(path: Path) -> bool:
        found = run_tool(SHELL, "--snapshot", path, "cat", "/image/topics/byName/river/0")
        return found.status == 0 and "leader=101, " in found.stdout

    def a_snapshot_shows_all() -> bool:
        paths = [path for path in copied().glob("*.checkpoint") if path.name != FIRST_VOTERS]
        found = run_tool(SHELL, "--snapshot", max(paths), "ls", "/image/cluster/controllers")
        return {"1", "2", "3"} <= set(found.stdout.split()) and shows_the_topic(max(paths))

    # The newest may be older than the topic. And the shell does not wait for the end of the file,
    # so it may not have come to what is asked for.
    eventually("a snapshot has the controllers and the topic", a_snapshot_shows_all)
    log = min(copied().glob("*.log"))
    eventually("the log has the topic", lambda: shows_the_topic(log))
