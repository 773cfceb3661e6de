"""Apache Kafka's tools for replicated topics, against one controller and three brokers.

``CLUSTER_KIND=apache`` runs the tests against Apache Kafka, which shows that they are right.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tools.clusters import MOLDAU, Cluster, ClusterNode, eventually, separate_members

from tests.cluster.faults import ClusterView
from tests.cluster.load import send_all
from tests.cluster.torment import SETTINGS, create_topic
from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.java_tools import SHORT_LIVED_JVM, Output, Toolbox
from tests.compat.replica_verification import check_replicas

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
TOPICS = "org.apache.kafka.tools.TopicCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
CONFIGS = "kafka.admin.ConfigCommand"
LIMIT_S = 180.0
RECORDS = 300
PADDING = "x" * 10_000


class Tools:
    """The tools, with the address of the cluster filled in."""

    def __init__(self, box: Toolbox, cluster: Cluster) -> None:
        self.cluster = cluster
        self._box = box

    def attempt(self, tool: str, *arguments: str | Path) -> Output:
        server = ("--bootstrap-server", self.cluster.bootstrap)
        return self._box.run(tool, *server, *arguments)

    def run(self, tool: str, *arguments: str | Path) -> list[str]:
        output = self.attempt(tool, *arguments)
        assert output.status == 0, output.both
        return output.lines

    def partitions(self, option: str, topic: str) -> dict[int, list[int]]:
        """The ISR of each partition that kafka-topics shows with ``option``."""
        lines = self.run(TOPICS, "--describe", option, "--topic", topic)
        shown = [re.search(r"Partition: (\d+)\s.*Isr: ([\d,]*)", line) for line in lines]
        return {
            int(found[1]): sorted(int(each) for each in found[2].split(",") if each)
            for found in shown
            if found is not None
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
        patch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
        folder = tmp_path_factory.mktemp("cluster")
        settings = {**SETTINGS, "auto.leader.rebalance.enable": "false"}
        with Cluster(folder, separate_members(1, 3, KIND), settings) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def tools(
    cluster: Cluster, program_dir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    folder = tmp_path_factory.mktemp("toolbox")
    try:
        command = build_java(program_dir, "Tools")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    box = Toolbox(command, folder / "tools.log")
    yield Tools(box, cluster)
    box.close()


def assigned_topic(cluster: Cluster, name: str, *replicas: list[int]) -> None:
    """A topic whose replicas are on chosen brokers."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    settings = {"min.insync.replicas": "1"}
    topic = NewTopic(name, len(replicas), replica_assignment=list(replicas), config=settings)
    client.create_topics([topic])[name].result(LIMIT_S)
    view = ClusterView(cluster, name)
    wanted = {index: sorted(each) for index, each in enumerate(replicas)}
    eventually(f"{name} has its replicas", lambda: view.in_sync() == wanted, LIMIT_S)


def write(cluster: Cluster, topic: str, count: int, padding: str = "") -> None:
    send_all(cluster.bootstrap, topic, (f"{number}{padding}" for number in range(count)))


def restart(nodes: list[ClusterNode]) -> None:
    for node in nodes:
        node.launch()
    for node in nodes:
        node.wait_until_ready()


@pytest.fixture(autouse=True)
def _all_run(cluster: Cluster) -> None:
    """A test that failed may have left a broker dead."""
    cluster.start()


# kafka-topics


def test_sick_partitions_are_shown(tools: Tools, cluster: Cluster) -> None:
    create_topic(cluster, "pond", 2)
    assigned_topic(cluster, "puddle", [103])
    for option in (
        "--under-replicated-partitions",
        "--at-min-isr-partitions",
        "--under-min-isr-partitions",
        "--unavailable-partitions",
    ):
        assert tools.partitions(option, "pond") == {}

    def shown(option: str, topic: str, expected: dict[int, list[int]]) -> None:
        eventually(
            f"{option} shows {expected}", lambda: tools.partitions(option, topic) == expected
        )

    def is_unavailable(topic: str) -> bool:
        return 0 in tools.partitions("--unavailable-partitions", topic)

    cluster.nodes[103].kill()
    shown("--under-replicated-partitions", "pond", {0: [101, 102], 1: [101, 102]})
    shown("--at-min-isr-partitions", "pond", {0: [101, 102], 1: [101, 102]})
    shown("--under-min-isr-partitions", "pond", {})
    eventually("its only replica is gone", lambda: is_unavailable("puddle"))
    cluster.nodes[102].kill()
    shown("--under-min-isr-partitions", "pond", {0: [101], 1: [101]})
    shown("--unavailable-partitions", "pond", {})
    restart([cluster.nodes[102], cluster.nodes[103]])
    shown("--under-replicated-partitions", "pond", {})
    shown("--at-min-isr-partitions", "pond", {})
    shown("--unavailable-partitions", "puddle", {})


# kafka-leader-election


def test_preferred_leaders_are_elected(tools: Tools, cluster: Cluster) -> None:
    assigned_topic(cluster, "brook", [103, 101, 102])
    view = ClusterView(cluster, "brook")
    cluster.nodes[103].stop()
    eventually("101 leads", lambda: view.leaders() == {0: 101}, LIMIT_S)
    restart([cluster.nodes[103]])
    view.wait_until_whole()
    assert view.leaders() == {0: 101}
    election = ["--election-type", "preferred", "--topic", "brook", "--partition", "0"]
    told = tools.run(ELECTION, *election)
    assert told == [
        "Successfully completed leader election (PREFERRED) for partitions brook-0",
    ]
    eventually("103 leads again", lambda: view.leaders() == {0: 103}, LIMIT_S)
    assert tools.run(ELECTION, *election) == [
        "Valid replica already elected for partitions brook-0"
    ]


def test_an_unclean_leader_is_elected_on_request(tools: Tools, cluster: Cluster) -> None:
    assigned_topic(cluster, "swamp", [102, 103])
    write(cluster, "swamp", 10)
    view = ClusterView(cluster, "swamp")
    cluster.nodes[103].kill()
    eventually("102 is alone", lambda: view.in_sync() == {0: [102]}, LIMIT_S)
    write(cluster, "swamp", 5)
    cluster.nodes[102].kill()
    restart([cluster.nodes[103]])
    eventually("nobody leads", lambda: view.leaders() == {0: -1}, LIMIT_S)
    told = tools.run(ELECTION, "--election-type", "unclean", "--topic", "swamp", "--partition", "0")
    assert told == ["Successfully completed leader election (UNCLEAN) for partitions swamp-0"]
    eventually("103 leads", lambda: view.leaders() == {0: 103}, LIMIT_S)
    # The other one gives up what only it has.
    restart([cluster.nodes[102]])
    eventually("both are in sync", lambda: view.in_sync() == {0: [102, 103]}, LIMIT_S)
    assert sizes(tools, "swamp")[102] == sizes(tools, "swamp")[103]


# kafka-log-dirs


def sizes(tools: Tools, topic: str) -> dict[int, dict[str, int]]:
    """The size of each replica on each broker; none may lag or be on its way."""
    lines = tools.run(LOG_DIRS, "--describe", "--topic-list", topic)
    [found] = [json.loads(line) for line in lines if line.startswith("{")]
    answer = {}
    for broker in found["brokers"]:
        replicas = [each for place in broker["logDirs"] for each in place["partitions"]]
        assert not any(each["isFuture"] or each["offsetLag"] for each in replicas), replicas
        answer[broker["broker"]] = {each["partition"]: each["size"] for each in replicas}
    return answer


def test_replicas_have_the_same_size(tools: Tools, cluster: Cluster) -> None:
    create_topic(cluster, "lake", 1)
    write(cluster, "lake", RECORDS)
    found = sizes(tools, "lake")
    assert found[101]["lake-0"] > RECORDS
    assert found[101] == found[102] == found[103]


# kafka-reassign-partitions


def plan(folder: Path, topic: str, *replicas: int) -> Path:
    path = folder / f"{topic}-{'-'.join(map(str, replicas))}.json"
    partition = {"topic": topic, "partition": 0, "replicas": list(replicas)}
    path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    return path


def throttles(tools: Tools, topic: str) -> list[str]:
    lines = tools.run(CONFIGS, "--describe", "--topic", topic)
    return [line for line in lines if "throttled.replicas" in line]


def test_a_partition_is_moved_with_a_throttle(
    tools: Tools, cluster: Cluster, tmp_path: Path
) -> None:
    assigned_topic(cluster, "river", [101, 102])
    write(cluster, "river", RECORDS, PADDING)
    target: list[str | Path] = ["--reassignment-json-file", plan(tmp_path, "river", 103, 102)]
    # Three megabytes take half a minute at this rate.
    started = tools.run(REASSIGN, "--execute", *target, "--throttle", "100000")
    assert started[-1] == "Successfully started partition reassignment for river-0"
    assert "The inter-broker throttle limit was set to 100000 B/s" in started
    shown = " ".join(throttles(tools, "river"))
    assert "leader.replication.throttled.replicas=0:101,0:102" in shown
    assert "follower.replication.throttled.replicas=0:103" in shown
    listed = tools.run(REASSIGN, "--list")
    assert listed == [
        "Current partition reassignments:",
        "river-0: replicas: 103,102,101. adding: 103. removing: 101.",
    ]
    faster = ["--execute", "--additional", *target, "--throttle", "100000000"]
    assert "The inter-broker throttle limit was set to 100000000 B/s" in tools.run(
        REASSIGN, *faster
    )
    view = ClusterView(cluster, "river")
    eventually("the replicas have moved", lambda: view.in_sync() == {0: [102, 103]}, LIMIT_S)
    verified = tools.run(REASSIGN, "--verify", *target)
    assert "Reassignment of partition river-0 is completed." in verified
    assert "Clearing topic-level throttles on topic river" in verified
    assert throttles(tools, "river") == []
    assert tools.run(REASSIGN, "--list") == ["No partition reassignments found."]
    eventually("its log is gone from 101", lambda: not sizes(tools, "river")[101])
    assert sizes(tools, "river")[102] == sizes(tools, "river")[103]


def test_a_reassignment_is_cancelled(tools: Tools, cluster: Cluster, tmp_path: Path) -> None:
    assigned_topic(cluster, "creek", [101, 102])
    write(cluster, "creek", RECORDS, PADDING)
    target: list[str | Path] = ["--reassignment-json-file", plan(tmp_path, "creek", 103, 102)]
    tools.run(REASSIGN, "--execute", *target, "--throttle", "10000")
    view = ClusterView(cluster, "creek")
    cancelled = tools.run(REASSIGN, "--cancel", *target)
    assert "Successfully cancelled partition reassignment for: creek-0" in cancelled
    eventually("its replicas are as before", lambda: view.in_sync() == {0: [101, 102]}, LIMIT_S)
    assert tools.run(REASSIGN, "--list") == ["No partition reassignments found."]
    assert throttles(tools, "creek") == []
    eventually("its log is gone from 103", lambda: not sizes(tools, "creek")[103])


# kafka-replica-verification


def test_replicas_are_verified(cluster: Cluster) -> None:
    create_topic(cluster, "delta", 1)
    write(cluster, "delta", RECORDS)
    check_replicas(cluster, "delta")
