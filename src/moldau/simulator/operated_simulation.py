"""One simulation with an operator: replicas move while clients work, log directories fail.

In the calm every reassignment and every move must end, every replica must be in sync, and the
metadata must name the log directory that has its log.
"""

from typing import Final

from moldau.ids import OFFSETS_TOPIC, TopicPartition
from moldau.simulator.clients.admin import Admin
from moldau.simulator.clients.operator import Operated, Operator
from moldau.simulator.clients.producer import Producer
from moldau.simulator.clients.trimmed_reader import TrimmedReader
from moldau.simulator.deletions import Deletions
from moldau.simulator.history import TopicFacts
from moldau.simulator.invariants import check_order
from moldau.simulator.replica_watch import ReplicaWatch
from moldau.simulator.settled import unsettled
from moldau.simulator.simulation import GROUP, OPERATOR, PARTITIONS, Plan, Simulation

# Its records are deleted while it is written and read.
TRIMMED: Final = "trimmed"
_TRIMMED_PARTITIONS: Final = 2
_PAUSE_MS: Final = 200
_SETTINGS: Final = {
    "replica.lag.time.max.ms": "3000",
    # Moves take a while, so that something happens meanwhile.
    "replica.alter.log.dirs.io.max.bytes.per.second": "8000",
    "log.flush.start.offset.checkpoint.interval.ms": "3000",
    "log.retention.check.interval.ms": "2000",
}


class OperatedSimulation(Simulation):
    """Runs one plan."""

    # Copies make up for a directory that is replaced.
    _admin_replicas = 3
    # There are more machines, clients and copies than in other simulations.
    _producer_pauses_ms = (300, 1_000)

    def __init__(self, planned: Plan, tell_from: int | None = None) -> None:
        super().__init__(planned, tell_from)
        self.trimmed = [TopicPartition(TRIMMED, each) for each in range(_TRIMMED_PARTITIONS)]
        self.deletions = Deletions(self.world, self.cluster)

    def _settings(self) -> dict[str, str]:
        return {**super()._settings(), **_SETTINGS}

    # --- the parts ---

    def _create_topics(self) -> bool:
        if not super()._create_topics():
            return False
        client = self._client("admin-2")
        facts = TopicFacts(TRIMMED, _TRIMMED_PARTITIONS)
        facts.configs["segment.ms"] = "2000"
        client.begin(Admin(client, 1, self._plan.topology.replicas).create(facts))
        # The operator needs the partitions of the coordinators.
        client.begin(client.find(GROUP))
        ReplicaWatch(self.world, self.cluster, self.trimmed)
        return self._live("create more topics", lambda: client.is_done)

    def _start_clients(self) -> None:
        super()._start_clients()
        Producer(self._client("producer-3"), self.trimmed, _PAUSE_MS).start()
        TrimmedReader(self._client("consumer-2"), self.trimmed, self.deletions).start()
        offsets = [TopicPartition(OFFSETS_TOPIC, each) for each in range(PARTITIONS)]
        topology = self._plan.topology
        operated = Operated(
            [*self.partitions, *self.trimmed, *offsets],
            self.trimmed,
            topology.brokers,
            topology.log_dirs,
        )
        Operator(self._client(OPERATOR), operated, self.deletions).start()

    # --- the end ---

    def _wait_for_calm(self) -> None:
        super()._wait_for_calm()
        for machine in self.cluster.machines:
            process = machine.process
            # As the broker's log says: what is offline, after a full disk too, needs a restart.
            if process is not None and process.node.logs.dirs.offline:
                machine.kill()
                machine.start()

    def _calm_down(self) -> None:
        super()._calm_down()
        self._settle("be at rest")

    def _cut_all_power(self) -> None:
        super()._cut_all_power()
        self._settle("be at rest again")

    def _settle(self, what: str) -> None:
        if not self._live(what, lambda: not any(unsettled(self.cluster))):
            for problem in unsettled(self.cluster):
                self.world.surprise("operator", problem)

    def _check(self, after: str) -> None:
        super()._check(after)
        if self.world.surprises:
            return
        client = self._client(f"reader-{len(self.clients)}")
        reader = TrimmedReader(client, self.trimmed, self.deletions)
        for topic_partition in self.trimmed:
            client.begin(reader.read_all(topic_partition))
        self._live(f"read what is not deleted after {after}", lambda: client.is_done)
        for topic_partition in self.trimmed:
            check_order(self.world, self.history, topic_partition)
            self.deletions.check(topic_partition)
