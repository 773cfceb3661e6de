"""Kills, pauses, cuts off and rolls the nodes of a cluster, chosen by a seed."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka.admin import AdminClient
from tools.clusters import Cluster, ClusterNode, eventually

from moldau.client.admin import Admin
from moldau.client.partition_admin import ElectionType
from moldau.ids import TopicPartition
from tests.cluster.namespaces import Namespaces
from tests.compat.quorum_talk import describe_quorum

# How long a cluster may take until every replica is in sync again.
HEALING_LIMIT_S = 180.0
_ANSWER_LIMIT_S = 5.0
# So many faults, however slow the machine is.
FEWEST = 3


class ClusterView:
    """What the brokers say about a topic."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self.topic = topic
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def leaders(self) -> dict[int, int]:
        return {index: each.leader for index, each in self._partitions(self.topic).items()}

    def in_sync(self) -> dict[int, list[int]]:
        return {index: sorted(each.isrs) for index, each in self._partitions(self.topic).items()}

    def active_controller(self) -> int:
        """The leader of the metadata quorum, from whichever broker answers first."""
        last: Exception | None = None
        for node in self._cluster.brokers:
            try:
                return int(describe_quorum(node.port, node.host).leader_id)
            except (OSError, AssertionError) as error:
                last = error
        raise AssertionError(f"no broker knows the active controller: {last!r}")

    def is_whole(self) -> bool:
        """Whether every replica is in sync, and every partition is led."""
        brokers = sorted(node.node_id for node in self._cluster.brokers)
        led = all(leader in brokers for leader in self.leaders().values())
        return led and all(isr == brokers for isr in self.in_sync().values())

    def wait_until_whole(self) -> None:
        eventually(f"all replicas of {self.topic} in sync", self.is_whole, HEALING_LIMIT_S)

    def _partitions(self, topic: str) -> dict[int, Any]:
        found = self._admin.list_topics(topic, timeout=_ANSWER_LIMIT_S).topics[topic]
        assert found.error is None, found.error
        return dict(found.partitions)


class Faults:
    """One fault after the other; sometimes the next comes before the last one is healed."""

    def __init__(
        self, cluster: Cluster, topic: str, seed: int, namespaces: Namespaces | None = None
    ) -> None:
        self.view = ClusterView(cluster, topic)
        self.told: list[str] = []
        self._cluster = cluster
        self._namespaces = namespaces
        self._rng = random.Random(seed)
        self._began = time.monotonic()
        self._kinds: list[Callable[[], None]] = [
            self._kill_a_leader,
            self._kill_a_follower,
            self._kill_the_controller,
            self._kill_two,
            self._pause_a_leader,
            self._pause_the_controller,
            self._roll,
        ]
        if namespaces is not None:
            self._kinds += [self._cut_off, self._cut_off_one_way]

    def run(self, seconds: float) -> None:
        """Faults of every kind in turn, in an order of the seed, until the time is over."""
        deadline = time.monotonic() + seconds
        waiting: list[Callable[[], None]] = []
        done = 0
        while time.monotonic() < deadline or done < FEWEST:
            done += 1
            if not waiting:
                waiting = self._rng.sample(self._kinds, len(self._kinds))
            waiting.pop()()
            if self._rng.random() < 0.7:
                self.view.wait_until_whole()
                self._tell("all in sync")
            time.sleep(self._rng.uniform(0.2, 1.0))
        self.view.wait_until_whole()
        self._tell("the end, all in sync")

    def each_broker(self, rounds: int) -> dict[int, set[int]]:
        """Kill and roll every broker in every round, when it leads everything.

        Returns who has led each partition.
        """
        led: dict[int, set[int]] = {}
        for _ in range(rounds):
            for node in self._rng.sample(self._cluster.brokers, len(self._cluster.brokers)):
                for how, end in (("kill -9", node.kill), ("restart", node.stop)):
                    self._lead_everything(node)
                    self._note_leaders(led)
                    self._tell(f"{how} of {_ids([node])}, which leads everything")
                    end()
                    self._note_leaders(led)
                    self._start([node])
                    self.view.wait_until_whole()
                    self._tell("all in sync")
        return led

    def _lead_everything(self, node: ClusterNode) -> None:
        """Make a broker the preferred leader of every partition, and elect it."""
        others = [each for each in self._broker_ids() if each != node.node_id]
        replicas = [node.node_id, *self._rng.sample(others, len(others))]
        partitions = [TopicPartition(self.view.topic, index) for index in self.view.leaders()]

        def leads() -> bool:
            with Admin(self._cluster.bootstrap) as admin:
                admin.partitions.reassign(dict.fromkeys(partitions, replicas))
                admin.partitions.elect_leaders(ElectionType.PREFERRED, partitions)
            return set(self.view.leaders().values()) == {node.node_id}

        eventually(f"node {node.node_id} leads every partition", leads, HEALING_LIMIT_S)

    def _note_leaders(self, led: dict[int, set[int]]) -> None:
        """Wait until the other brokers lead everything."""

        def all_led() -> bool:
            leaders = self.view.leaders()
            for index, leader in leaders.items():
                led.setdefault(index, set()).add(leader)
            down = [node.node_id for node in self._cluster.brokers if not node.is_running]
            return all(leader >= 0 and leader not in down for leader in leaders.values())

        eventually("every partition has a leader that runs", all_led, HEALING_LIMIT_S)

    def _kill_a_leader(self) -> None:
        self._kill("leader", [self._leader()])

    def _kill_a_follower(self) -> None:
        self._kill("follower", [self._follower()])

    def _kill_the_controller(self) -> None:
        self._kill("controller", [self._controller()])

    def _kill_two(self) -> None:
        self._kill("two brokers", self._rng.sample(self._cluster.brokers, 2))

    def _kill(self, what: str, nodes: Sequence[ClusterNode]) -> None:
        self._tell(f"kill -9 of {what}: {_ids(nodes)}")
        for node in nodes:
            node.kill()
        time.sleep(self._rng.choice([0.1, 1.0, 6.0]))
        self._start(nodes)

    def _pause_a_leader(self) -> None:
        self._pause("leader", self._leader())

    def _pause_the_controller(self) -> None:
        self._pause("controller", self._controller())

    def _pause(self, what: str, node: ClusterNode) -> None:
        # Shorter and longer than a session of a broker.
        seconds = self._rng.choice([0.5, 2.0, 7.0])
        self._tell(f"pause of {what}: {_ids([node])} for {seconds} s")
        node.pause()
        time.sleep(seconds)
        node.resume()

    def _roll(self) -> None:
        for node in self._rng.sample(list(self._cluster.nodes.values()), len(self._cluster.nodes)):
            self._tell(f"restart of {_ids([node])}")
            node.stop()
            self._start([node])
            self.view.wait_until_whole()

    def _cut_off(self) -> None:
        assert self._namespaces is not None
        self._cut("from all", self._namespaces.cut)

    def _cut_off_one_way(self) -> None:
        assert self._namespaces is not None
        self._cut("in what it sends", self._namespaces.cut_outgoing)

    def _cut(self, how: str, cut: Callable[[ClusterNode], None]) -> None:
        assert self._namespaces is not None
        node = self._rng.choice([self._leader(), self._follower(), self._controller()])
        seconds = self._rng.choice([1.0, 7.0])
        self._tell(f"cut {how}: {_ids([node])} for {seconds} s")
        cut(node)
        time.sleep(seconds)
        self._namespaces.mend(node)

    def _start(self, nodes: Sequence[ClusterNode]) -> None:
        for node in nodes:
            node.launch()
        for node in nodes:
            node.wait_until_ready()

    def _leader(self) -> ClusterNode:
        """The leader of some partition; any broker while there is none."""
        try:
            leaders = sorted(self.view.leaders().items())
        except Exception:
            leaders = []
        led = [leader for _, leader in leaders if leader in self._cluster.nodes]
        return self._cluster.nodes[self._rng.choice(led or self._broker_ids())]

    def _follower(self) -> ClusterNode:
        leader = self._leader().node_id
        return self._cluster.nodes[
            self._rng.choice([each for each in self._broker_ids() if each != leader])
        ]

    def _controller(self) -> ClusterNode:
        try:
            return self._cluster.nodes[self.view.active_controller()]
        except Exception:
            return self._rng.choice(self._cluster.controllers)

    def _broker_ids(self) -> list[int]:
        return [node.node_id for node in self._cluster.brokers]

    def _tell(self, what: str) -> None:
        self.told.append(f"{time.monotonic() - self._began:7.1f} s  {what}")


def _ids(nodes: Sequence[ClusterNode]) -> str:
    return ", ".join(str(node.node_id) for node in nodes)
