"""Three real nodes in one process agree on metadata, whoever of them leads or dies."""

import asyncio
import random
import shutil
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tools.brokers import free_port

from moldau.broker.format import FormatOptions, format_directories
from moldau.broker.node import Node
from moldau.config.broker import BrokerConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import new_uuid, uuid_to_str
from moldau.metadata.image import MetadataImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.raft.messages import BeginQuorumEpochRequest, CurrentLeader
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log_manager import LogManager

TIMEOUT_S = 120
FAST = {
    "controller.quorum.election.timeout.ms": "200",
    "controller.quorum.election.backoff.max.ms": "100",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.request.timeout.ms": "1000",
    "broker.heartbeat.interval.ms": "100",
    "broker.session.timeout.ms": "1000",
}


COMBINED = dict.fromkeys((1, 2, 3), "broker,controller")
SEPARATE = {1: "controller", 2: "controller", 3: "controller", 4: "broker", 5: "broker"}


def directory_id(node_id: int) -> str:
    return uuid_to_str(bytes([node_id]) * 16)


def free_ports(count: int) -> list[int]:
    return [free_port() for _ in range(count)]


class Cluster:
    """Nodes with the roles that are given, by default three that are voter and broker."""

    def __init__(
        self,
        tmp_path: Path,
        roles: Mapping[int, str] = COMBINED,
        first_voters: Sequence[int] = (),
        **settings: str,
    ) -> None:
        """With ``first_voters`` the voters are in the log, not in the settings (KIP-853)."""
        self.roles = roles
        self.first_voters = first_voters
        self.is_dynamic = bool(first_voters)
        self.ids = list(roles)
        voters = [node_id for node_id, role in roles.items() if "controller" in role]
        self.ports = dict(zip(voters, free_ports(len(voters)), strict=True))
        self._path = tmp_path
        self._settings = settings
        self.nodes: dict[int, Node] = {}
        self.cluster_id = uuid_to_str(new_uuid(random.Random(7)))
        for node_id in self.ids:
            self.format(node_id)

    def format(self, node_id: int) -> None:
        options = FormatOptions(cluster_id=self.cluster_id)
        if self.is_dynamic:
            is_first = node_id in self.first_voters
            voters = [self.voter(each) for each in self.first_voters]
            options.initial_controllers = ",".join(voters) if is_first else None
            options.no_initial_controllers = not is_first
        format_directories(self.config(node_id), options, RealDisk(), random.Random(node_id))

    def voter(self, node_id: int) -> str:
        """A voter of ``--initial-controllers``."""
        return f"{node_id}@127.0.0.1:{self.ports[node_id]}:{directory_id(node_id)}"

    def wipe(self, node_id: int) -> None:
        shutil.rmtree(self.directory(node_id))
        self.format(node_id)

    def directory(self, node_id: int) -> Path:
        return self._path / f"node-{node_id}"

    def config(self, node_id: int) -> BrokerConfig:
        roles = self.roles[node_id]
        voters = [f"{voter}@127.0.0.1:{port}" for voter, port in self.ports.items()]
        listeners = []
        if "broker" in roles:
            listeners.append("PLAINTEXT://127.0.0.1:0")
        if "controller" in roles:
            listeners.append(f"CONTROLLER://127.0.0.1:{self.ports[node_id]}")
        properties = {
            "process.roles": roles,
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.directory(node_id)),
            **FAST,
            **{name.replace("_", "."): value for name, value in self._settings.items()},
        }
        if self.is_dynamic:
            servers = [f"127.0.0.1:{port}" for port in self.ports.values()]
            properties["controller.quorum.bootstrap.servers"] = ",".join(servers)
        else:
            properties["controller.quorum.voters"] = ",".join(voters)
        return BrokerConfig.from_properties(properties)

    async def start(self, *ids: int) -> None:
        started = ids or tuple(self.ids)
        for node_id in started:
            self.nodes[node_id] = Node(self.config(node_id), rng=random.Random(node_id))
        await asyncio.gather(*(self.nodes[node_id].start() for node_id in started))

    async def stop(self, *ids: int) -> None:
        for node_id in ids or tuple(self.nodes):
            await self.nodes.pop(node_id).stop()

    async def kill(self, node_id: int) -> None:
        """The node is gone from one moment to the next."""
        node = self.nodes.pop(node_id)
        node.metadata.close()
        await node.abandon()

    @property
    def leader(self) -> int | None:
        for node_id, node in self.nodes.items():
            if node.metadata.runtime.is_active:
                return node_id
        return None

    async def elected(self) -> int:
        await self.until(lambda: self.leader is not None)
        assert self.leader is not None
        return self.leader

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def create(self, through: int, name: str) -> int:
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        request = CreateTopicsRequest(topics=[topic])
        channel = self.nodes[through].metadata.forwarding_channel
        code = int(ErrorCode.NOT_CONTROLLER)
        while code == ErrorCode.NOT_CONTROLLER:
            response = await channel.send(request)
            code = int(response.topics[0].error_code)
        return code

    def voters(self, node_id: int) -> list[int]:
        return sorted(self.nodes[node_id].metadata.raft.quorum.voters.ids)

    def image(self, node_id: int) -> MetadataImage:
        return self.nodes[node_id].metadata.image

    async def agree(self, *names: str) -> None:
        """Return when all nodes that run have the same image, with these topics."""

        def is_same() -> bool:
            images = [node.metadata.image for node in self.nodes.values()]
            has_all = all(set(names) == set(image.topics_by_name) for image in images)
            return has_all and all(image.has_same_content(images[0]) for image in images)

        await self.until(is_same)


def run(cluster: Cluster, body: Callable[[Cluster], Awaitable[object]]) -> None:
    async def live() -> None:
        try:
            await asyncio.wait_for(body(cluster), TIMEOUT_S)
        finally:
            for node_id in list(cluster.nodes):
                await cluster.kill(node_id)

    asyncio.run(live())


def test_three_nodes_elect_one_controller_and_agree(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        for node_id in cluster.ids:
            assert await cluster.create(node_id, f"through-{node_id}") == 0
        await cluster.agree("through-1", "through-2", "through-3")
        image = cluster.image(leader)
        assert sorted(image.brokers) == sorted(image.controllers) == cluster.ids
        assert all(broker.is_active for broker in image.brokers.values())
        await cluster.stop()

    run(Cluster(tmp_path), body)


def test_the_others_go_on_when_the_leader_dies(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        first = await cluster.elected()
        assert await cluster.create(first, "before") == 0
        await cluster.kill(first)
        second = await cluster.elected()
        assert second != first
        for node_id in cluster.nodes:
            assert await cluster.create(node_id, f"through-{node_id}") == 0
        # Its session expires with the new controller.
        await cluster.until(lambda: cluster.image(second).brokers[first].fenced)
        await cluster.start(first)
        names = [f"through-{node_id}" for node_id in cluster.ids if node_id != first]
        await cluster.agree("before", *names)
        assert not cluster.image(first).brokers[first].fenced

    run(Cluster(tmp_path), body)


def test_a_stopped_leader_hands_over_at_once(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        first = await cluster.elected()
        epoch = cluster.nodes[first].metadata.raft.leader_epoch
        await cluster.stop(first)
        second = await cluster.elected()
        raft = cluster.nodes[second].metadata.raft
        # Nobody waited until a timeout, which is longer than this test.
        assert raft.leader_epoch > epoch
        assert cluster.image(second).brokers[first].fenced
        assert await cluster.create(second, "after") == 0

    slow = {"controller_quorum_fetch_timeout_ms": "30000"}
    run(Cluster(tmp_path, **slow), body)


def test_a_broker_that_stops_does_not_wait_for_the_next_heartbeats_of_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        await cluster.elected()
        led = set[int]()
        while 4 not in led:
            assert await cluster.create(4, f"river-{len(cluster.image(4).topics_by_name)}") == 0
            topics = cluster.image(4).topics_by_name.values()
            led = {each.leader for topic in topics for each in topic.partitions.values()}
        await cluster.stop(4)
        # Confirmed by the controller, and long before the other broker's next heartbeat.
        assert "before its shutdown is confirmed" not in caplog.text

    # Longer than a broker waits for the confirmation.
    rare = {"broker_heartbeat_interval_ms": "60000", "broker_session_timeout_ms": "180000"}
    run(Cluster(tmp_path, SEPARATE, **rare), body)


def test_a_leader_that_is_left_alone_does_not_wait_for_a_majority_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        for node_id in cluster.ids:
            if node_id != leader:
                await cluster.stop(node_id)
        # By its timeouts it leads until long after this test.
        assert cluster.nodes[leader].metadata.raft.is_leader
        await cluster.stop(leader)
        assert f"node {leader} stops without a controller" in caplog.text
        assert "before its shutdown is confirmed" not in caplog.text

    long = {"controller_quorum_fetch_timeout_ms": "60000", "broker_session_timeout_ms": "60000"}
    run(Cluster(tmp_path, **long), body)


def test_a_broker_without_controllers_does_not_wait_for_them_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        await cluster.elected()
        for node_id in (1, 2, 3):
            await cluster.kill(node_id)
        await cluster.stop(4)
        assert "node 4 stops without a controller" in caplog.text
        assert "broker 4 stops without a shutdown" not in caplog.text

    # That is how long its last heartbeats would look for a controller.
    run(Cluster(tmp_path, SEPARATE, broker_session_timeout_ms="30000"), body)


def test_a_node_that_is_told_of_a_second_leader_says_so(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        told, other = (node_id for node_id in cluster.ids if node_id != leader)
        await cluster.until(lambda: cluster.nodes[told].metadata.raft.leader_id == leader)
        node = cluster.nodes[told]
        raft = node.metadata.raft
        second = CurrentLeader(other, raft.leader_epoch, raft.quorum.voters.endpoints(other))
        raft.ask(BeginQuorumEpochRequest(second, None))
        await node.failed.wait()
        facts = f"epoch {second.epoch} has two leaders: {leader} and {other}"
        assert f"the metadata quorum contradict each other: {facts}." in (node.failure or "")
        assert "disk" not in (node.failure or "")

    run(Cluster(tmp_path), body)


def test_everything_is_there_after_all_have_stopped(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        for number in range(5):
            assert await cluster.create(1 + number % 3, f"topic-{number}") == 0
        await cluster.stop()
        await cluster.start()
        await cluster.agree(*(f"topic-{number}" for number in range(5)))

    run(Cluster(tmp_path), body)


def test_a_voter_that_lost_its_disk_gets_everything_again(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        lost = next(node_id for node_id in cluster.ids if node_id != leader)
        assert await cluster.create(leader, "kept") == 0
        await cluster.kill(lost)
        cluster.wipe(lost)
        await cluster.start(lost)
        await cluster.agree("kept")

    run(Cluster(tmp_path), body)


def test_a_voter_that_is_far_behind_gets_a_snapshot(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        late = next(node_id for node_id in cluster.ids if node_id != leader)
        await cluster.kill(late)
        for number in range(20):
            assert await cluster.create(leader, f"topic-{number}") == 0
        raft = cluster.nodes[leader].metadata.raft
        await cluster.until(lambda: raft.store.log.log_start_offset > 30)
        await cluster.start(late)
        await cluster.agree(*(f"topic-{number}" for number in range(20)))
        store = cluster.nodes[late].metadata.raft.store
        assert store.log.log_start_offset > 0
        # It goes on from the snapshot, after another restart too.
        await cluster.kill(late)
        assert await cluster.create(leader, "last") == 0
        await cluster.start(late)
        await cluster.agree("last", *(f"topic-{number}" for number in range(20)))

    settings = {
        "metadata_log_max_record_bytes_between_snapshots": "1000",
        "metadata_max_retention_bytes": "3000",
        "metadata_log_segment_bytes": "8388608",
        "metadata_log_segment_ms": "50",
    }
    run(Cluster(tmp_path, **settings), body)


def test_brokers_and_controllers_may_be_different_nodes(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        assert leader in (1, 2, 3)
        assert await cluster.create(4, "through-4") == 0
        await cluster.kill(leader)
        assert await cluster.create(5, "through-5") == 0
        await cluster.agree("through-4", "through-5")
        image = cluster.image(4)
        assert sorted(image.brokers) == [4, 5]
        assert sorted(image.controllers) == [1, 2, 3]
        await cluster.stop(4)
        await cluster.until(lambda: cluster.image(5).brokers[4].fenced)
        await cluster.start(4)
        await cluster.until(lambda: not cluster.image(5).brokers[4].fenced)

    run(Cluster(tmp_path, SEPARATE), body)


def test_nothing_is_decided_without_a_majority(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        for node_id in cluster.ids:
            if node_id != leader:
                await cluster.kill(node_id)
        creating = asyncio.ensure_future(cluster.create(leader, "never"))
        # The leader finds out that nobody fetches, and resigns.
        await cluster.until(lambda: cluster.leader is None)
        assert "never" not in cluster.image(leader).topics_by_name
        creating.cancel()

    run(Cluster(tmp_path), body)


def test_voters_in_the_log_come_and_go(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        leader = await cluster.elected()
        assert await cluster.create(leader, "before") == 0
        await cluster.start(4)
        assert cluster.voters(leader) == [1, 2, 3]
        metadata = cluster.nodes[4].metadata
        endpoint = metadata.raft.current_leader
        assert endpoint.id == leader
        # A voter that is added has all records first.
        listener = Listener("CONTROLLER", "127.0.0.1", cluster.ports[4])
        added = AddRaftVoterRequest(
            cluster_id=cluster.cluster_id,
            voter_id=4,
            voter_directory_id=metadata.raft.directory_id,
            listeners=[listener],
        )
        await cluster.nodes[1].metadata.forwarding_channel.send(added)
        assert cluster.voters(leader) == [1, 2, 3, 4]
        removed = RemoveRaftVoterRequest(
            cluster_id=cluster.cluster_id,
            voter_id=leader,
            voter_directory_id=cluster.nodes[leader].metadata.raft.directory_id,
        )
        await cluster.nodes[4].metadata.forwarding_channel.send(removed)
        await cluster.until(lambda: cluster.leader not in (None, leader))
        second = await cluster.elected()
        assert cluster.voters(second) == [node_id for node_id in (1, 2, 3, 4) if node_id != leader]
        assert await cluster.create(second, "after") == 0
        await cluster.agree("before", "after")
        quorum = cluster.nodes[second].metadata.raft.describe()
        assert quorum is not None
        assert [each.key.id for each in quorum.observers] == [leader]

    roles = dict.fromkeys((1, 2, 3, 4), "broker,controller")
    run(Cluster(tmp_path, roles, first_voters=(1, 2, 3)), body)


def test_the_voters_of_the_settings_can_move_into_the_log(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        leader = await cluster.elected()
        raft = cluster.nodes[leader].metadata.raft
        assert raft.quorum.kraft_version == 0
        # Voters tell the leader what they support.
        await cluster.until(lambda: raft.max_kraft_version(raft.leader_epoch) == 1)
        update = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
        request = UpdateFeaturesRequest(feature_updates=[update])
        await cluster.nodes[leader].metadata.forwarding_channel.send(request)
        assert raft.quorum.kraft_version == 1
        await cluster.stop()
        await cluster.start()
        assert {node.metadata.raft.quorum.kraft_version for node in cluster.nodes.values()} == {1}
        assert cluster.voters(await cluster.elected()) == [1, 2, 3]

    run(Cluster(tmp_path), body)


def test_a_node_votes_while_it_recovers_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    load = LogManager.load

    def slowly(logs: LogManager, *arguments: Any) -> None:
        assert may_go_on.wait(TIMEOUT_S)
        load(logs, *arguments)

    async def body(cluster: Cluster) -> None:
        monkeypatch.setattr(LogManager, "load", slowly)
        starting = asyncio.ensure_future(cluster.start(1, 2))
        # Both votes are needed, and neither node is ready.
        first = await cluster.elected()
        assert not starting.done()
        raft = cluster.nodes[first].metadata.raft
        raft.resign(raft.leader_epoch)
        await cluster.until(lambda: cluster.leader is not None and raft.leader_epoch > 1)
        may_go_on.set()
        await starting

    run(Cluster(tmp_path), body)


def test_a_controller_without_room_on_its_disk_makes_way_for_another(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        first = await cluster.elected()

        def no_room(batches: bytes | memoryview) -> Any:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "no room")

        cluster.nodes[first].metadata.raft.store.append = no_room  # type: ignore[method-assign]
        other = next(node_id for node_id in cluster.ids if node_id != first)
        assert await cluster.create(other, "river") == 0
        assert cluster.leader not in (None, first)

    run(Cluster(tmp_path), body)


def test_a_broker_that_died_leads_its_partitions_again_and_has_recovered(tmp_path: Path) -> None:
    async def body(cluster: Cluster) -> None:
        await cluster.start()
        names: list[str] = []

        def led_by(broker_id: int) -> list[PartitionRegistration]:
            topics = cluster.image(5).topics_by_name.values()
            partitions = [topic.partitions[0] for topic in topics]
            return [each for each in partitions if each.replicas == (broker_id,)]

        # The first broker that is ready gets everything until the other one is, too.
        while not led_by(4):
            names.append(f"topic-{len(names)}")
            assert await cluster.create(4, names[-1]) == 0
            await cluster.agree(*names)
        await cluster.kill(4)
        await cluster.until(lambda: all(each.leader == NO_LEADER for each in led_by(4)))
        await cluster.start(4)
        await cluster.until(lambda: all(each.leader == 4 for each in led_by(4)))
        await cluster.until(lambda: {each.leader_recovery_state for each in led_by(4)} == {0})

    run(Cluster(tmp_path, SEPARATE), body)
