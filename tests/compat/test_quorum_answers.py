"""Controllers of Moldau and Apache Kafka are sent the same bytes, and must answer the same."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.clusters import APACHE, MOLDAU, Cluster, ClusterNode, Member, eventually

from moldau.errors import ErrorCode
from moldau.ids import uuid_to_str
from moldau.metadata.image import BROKER_LOGGER_RESOURCE
from moldau.protocol.message import Struct
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.compat import quorum_requests as ask
from tests.compat.clients.programs import UnavailableError, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED_JVM
from tests.running import WireClient

# What must differ: times, and how far a log has come. Every node has its own ports.
LEFT_OUT = frozenset(
    (
        "end_offset",
        "high_watermark",
        "log_end_offset",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
        "records",
        "size",
        "unaligned_records",
    )
)
# Apache Kafka cannot encode its own refusals of FetchSnapshot: they have no records.
NO_REFUSAL = (
    "FetchSnapshotResponse(throttle_time_ms=0, error_code=UNKNOWN_SERVER_ERROR, topics=[], "
    "node_endpoints=[])"
)
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "500"}
PATIENT = {
    "controller.quorum.election.timeout.ms": "600000",
    "controller.quorum.fetch.timeout.ms": "600000",
}


def text(value: Any, field: str = "") -> str:
    if isinstance(value, Struct):
        fields = [each for each in value.FIELDS if each not in LEFT_OUT]
        said = [f"{each}={text(getattr(value, each), each)}" for each in fields]
        return f"{type(value).__name__}({', '.join(said)})"
    if isinstance(value, list):
        return f"[{', '.join(text(each, field) for each in value)}]"
    if isinstance(value, memoryview | bytes):
        return repr(bytes(value))
    if field == "port" and value > 1024:
        return "<port>"
    if field == "error_code":
        return ErrorCode(int(value)).name
    return re.sub(r"127\.0\.0\.1:\d+", "<address>", repr(value))


class Pair:
    """A controller of each kind, with the same ids and the same voters."""

    def __init__(self, directory: Path, voters: int, settings: dict[str, str]) -> None:
        self.clusters = []
        for kind in (APACHE, MOLDAU):
            members = [Member(1 + index, "controller", kind) for index in range(voters)]
            cluster = Cluster(directory / kind, members, settings)
            cluster.cluster_id = ask.CLUSTER_ID
            for node in cluster.nodes.values():
                node.directory_id = uuid_to_str(ask.DIRECTORY_IDS[node.node_id])
            self.clusters.append(cluster)

    def start(self) -> None:
        for cluster in self.clusters:
            cluster.prepare(cluster.nodes[1])
            cluster.nodes[1].launch()
        for cluster in self.clusters:
            cluster.nodes[1].wait_until_ready()

    def stop(self) -> None:
        for cluster in self.clusters:
            cluster.__exit__()

    def answers(self, request: Any, version: int) -> list[str]:
        """The answers of both; of Apache Kafka first."""
        said = []
        for cluster in self.clusters:
            node = cluster.nodes[1]
            assert node.is_running, f"{node.kind} has ended:\n{node.log_tail()}"
            with WireClient(node.controller_port) as client:
                try:
                    said.append(text(client.send(request, version)))
                except (ConnectionError, AssertionError) as error:
                    said.append(f"closed: {type(error).__name__}")
        return said

    def check(self, questions: Iterable[ask.Question]) -> None:
        """Ask every question, in every version, and tell all differences together."""
        found = []
        for question in questions:
            for version in question.versions:
                theirs, ours = self.answers(question.request, version)
                if ours != theirs and theirs != NO_REFUSAL:
                    found.append(
                        f"{question.name}, version {version}\n"
                        f"  Apache Kafka {theirs}\n  Moldau       {ours}"
                    )
        assert not found, f"{len(found)} answers differ:\n" + "\n".join(found)


@pytest.fixture(scope="module", autouse=True)
def _small_jvms() -> Iterator[None]:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
        patch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
        yield


@pytest.fixture(scope="module")
def leader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """The only voter leads, in epoch 1."""
    pair = Pair(tmp_path_factory.mktemp("leader"), 1, SNAPSHOTS)
    try:
        pair.start()

        def both_lead() -> bool:
            return all(
                "leader_id=1, leader_epoch=1" in said
                for said in pair.answers(ask.describe_request(), 2)
            )

        eventually("both lead", both_lead)
        yield pair
    finally:
        pair.stop()


@pytest.fixture(scope="module")
def voter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """One of three voters, which has heard of no other so far, and has much time."""
    pair = Pair(tmp_path_factory.mktemp("voter"), 3, PATIENT)
    try:
        pair.start()
        yield pair
    finally:
        pair.stop()


def questions(epoch: int) -> Iterator[ask.Question]:
    yield from ask.elections(epoch)
    yield from ask.reading(epoch)
    yield from ask.voter_changes(epoch)
    yield from ask.decisions()


def test_a_leader(leader: Pair) -> None:
    leader.check(questions(1))


@pytest.mark.parametrize("version", range(2))
def test_a_leader_sends_its_snapshot(leader: Pair, version: int) -> None:
    said = []
    for cluster in leader.clusters:
        node = cluster.nodes[1]
        path = newest_snapshot(node)
        end_offset, epoch = map(int, path.stem.split("-"))
        with WireClient(node.controller_port) as client:
            data = b""
            # In two parts; the second one is what is left.
            for position, max_bytes in ((0, 100), (100, 1 << 20)):
                request = ask.snapshot_request(
                    snapshot_id=(end_offset, epoch), position=position, max_bytes=max_bytes
                )
                answer = client.send(request, version)
                said.append(text(answer))
                (partition,) = answer.topics[0].partitions
                assert partition.error_code == ErrorCode.NONE, node.kind
                assert partition.snapshot_id.end_offset == end_offset
                data += bytes(partition.unaligned_records)
                assert len(data) == min(position + max_bytes, partition.size), node.kind
        assert data == path.read_bytes(), node.kind
    assert said[:2] == said[2:]


def newest_snapshot(node: ClusterNode) -> Path:
    folder = node.directory / "__cluster_metadata-0"
    found: list[Path] = []

    def is_there() -> bool:
        found[:] = sorted(folder.glob("*.checkpoint"))[-1:]
        return bool(found) and not found[0].name.startswith("00000000000000000000-")

    eventually(f"{node.kind} has a snapshot", is_there)
    return found[0]


def levels(node: str, *changes: tuple[str, int, str | None]) -> Any:
    configs = [AlterableConfig(name, operation, level) for name, operation, level in changes]
    resource = AlterConfigsResource(BROKER_LOGGER_RESOURCE, node, configs)
    return IncrementalAlterConfigsRequest([resource])


def test_a_controller_changes_the_levels_of_its_loggers(leader: Pair) -> None:
    set_, delete, append = 0, 1, 2
    for request in (
        levels("1", ("root", set_, "INFO")),
        levels("1", ("root", delete, None)),
        levels("1", ("root", append, "INFO")),
        levels("1", ("no.such.logger", set_, "INFO")),
        levels("2", ("root", set_, "INFO")),
        levels("x", ("root", set_, "INFO")),
        levels("1"),
    ):
        theirs, ours = leader.answers(request, 1)
        assert ours == theirs


def test_a_leader_gives_way_to_a_later_epoch(leader: Pair) -> None:
    ahead = ask.vote_request(pre_vote=True, epoch=2, last_epoch=1)
    leader.check([ask.Question("pre-vote of a later epoch", ahead, 2)])


def test_a_voter_without_a_leader(voter: Pair) -> None:
    voter.check(questions(0))


def test_a_follower(voter: Pair) -> None:
    begin = ask.begin_request(epoch=5)
    voter.check([ask.Question("begin", begin)])
    voter.check([ask.Question("begin again", begin)])
    voter.check(questions(5))


def test_a_voter_gives_its_vote_once(voter: Pair) -> None:
    for epoch in (7, 8):
        asked = {"epoch": epoch, "last_epoch": 6}
        granted = ask.vote_request(**asked)
        voter.check([ask.Question("vote", granted), ask.Question("the same again", granted)])
        candidate = {"candidate": 3, "candidate_directory": ask.DIRECTORY_IDS[3]}
        voter.check([ask.Question("for another", ask.vote_request(**asked, **candidate))])
        short = ask.vote_request(epoch=epoch, last_epoch=0, last_offset=0)
        voter.check([ask.Question("a short log", short)])
        voter.check(ask.elections(epoch))
    voter.check([ask.Question("begin", ask.begin_request(epoch=8))])
    voter.check([ask.Question("end", ask.end_request(epoch=8))])
