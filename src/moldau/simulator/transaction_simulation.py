"""One simulation of transactions: writers, copiers and readers, faults, calm, and the questions.

Writers write transactions to one topic, copiers copy what is committed to another, readers read
both. In the end everything must have been copied exactly once, no transaction may be open, and the
history of all clients must be free of anomalies.
"""

from contextlib import suppress
from typing import Final

from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, TopicPartition
from moldau.simulator import faults
from moldau.simulator.clients import bookkeeper
from moldau.simulator.clients.admin import Admin
from moldau.simulator.clients.bookkeeper import Bookkeeper
from moldau.simulator.clients.cluster import ClusterClient
from moldau.simulator.clients.transactional import NEVER_MS, TransactionalSession
from moldau.simulator.clients.transactional_copier import COPIES, ClassicCopier, Copier
from moldau.simulator.clients.transactional_reader import TransactionalReader
from moldau.simulator.clients.transactional_visitor import IdInquiry, TransactionalVisitor
from moldau.simulator.clients.transactional_writer import TransactionalWriter
from moldau.simulator.cluster import TOPOLOGIES
from moldau.simulator.history import TopicFacts
from moldau.simulator.simulation import (
    ANY_CLUSTER,
    CHAOS_MS,
    DEFAULT_CLUSTER,
    PARTITIONS,
    TOPIC,
    Plan,
    Result,
    Simulation,
)
from moldau.simulator.transaction_anomalies import find_anomalies, find_copy_anomalies
from moldau.simulator.transaction_history import Outcome, TransactionHistory
from moldau.simulator.transaction_invariants import check_replayed, has_no_open_transaction
from moldau.simulator.world import US_PER_S, World
from moldau.transaction_coordinator.shard import TransactionShard

# The group of the copiers.
COPIERS: Final = "copiers"
WRITERS: Final = {
    # The last two share an id.
    "writer-1": "first",
    "writer-2": "shared",
    "writer-3": "shared",
}
CLIENTS: Final = (
    *WRITERS,
    "visitor-1",
    "reader-1",
    "copier-1",
    "copier-2",
    "bookkeeper-1",
)
# Those that a seed may draw.
SWARM: Final = (
    *("single", "single", "combined", "replicated", "replicated", "coordinated", "coordinated"),
)
_STATE_PARTITIONS: Final = 3
_SETTINGS: Final = {
    "transaction.state.log.num.partitions": str(_STATE_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    # Longer than it takes to ask a coordinator that has just started.
    "transaction.remove.expired.transaction.cleanup.interval.ms": "5000",
}
_EXPIRES_MS: Final = 8_000
# How many of the seeds in which a coordinator has copies separate it from them.
_SEPARATES: Final = 0.7
# Of the ids that must be forgotten, so many are asked for.
_MOST_IDS: Final = 8


def plan_transactions(seed: int, cluster: str = DEFAULT_CLUSTER) -> Plan:
    """``cluster`` is a name in ``TOPOLOGIES``, or "any"."""
    rng = World(seed).random("plan of transactions")
    drawn = rng.choice(SWARM)
    topology = TOPOLOGIES[drawn if cluster == ANY_CLUSTER else cluster]
    drawn_faults = faults.draw(rng, topology, CLIENTS, CHAOS_MS)
    if topology.internal_replicas > 1 and rng.random() < _SEPARATES:
        nodes = [rng.choice(topology.names) for _ in range(rng.randint(2, 4))]
        drawn_faults += [
            faults.draw_one(rng, faults.SEPARATION, [each], (), CHAOS_MS) for each in nodes
        ]
    return Plan(seed, topology, tuple(sorted(drawn_faults)))


class TransactionSimulation(Simulation):
    """Runs one plan."""

    def __init__(self, planned: Plan, tell_from: int | None = None) -> None:
        # In some, ids that are not used are forgotten soon.
        has_expiry = World(planned.seed).random("expiry").random() < 0.5
        self._expires_ms = _EXPIRES_MS if has_expiry else NEVER_MS
        super().__init__(planned, tell_from)
        self._visitor: TransactionalVisitor | None = None
        self.transactions = TransactionHistory()
        self.copiers: list[ClassicCopier | Copier] = []
        # Transactions time out by the wall clock of their coordinator.
        self._has_clock_steps = any(each.kind == "clock step" for each in planned.faults)
        self._has_separations = any(each.kind == faults.SEPARATION for each in planned.faults)
        self.inputs = self.partitions
        self.copies = [TopicPartition(COPIES, each) for each in range(PARTITIONS)]
        self.partitions = [*self.inputs, *self.copies]

    def _settings(self) -> dict[str, str]:
        replicas = self._plan.topology.internal_replicas
        expiry = {"transactional.id.expiration.ms": str(_EXPIRES_MS)}
        return {
            **super()._settings(),
            **_SETTINGS,
            **(expiry if self._expires_ms == _EXPIRES_MS else {}),
            "transaction.state.log.replication.factor": str(replicas),
            "transaction.state.log.min.isr": str(replicas // 2 + 1),
        }

    def run(self) -> Result:
        result = super().run()
        return result._replace(records=self.transactions.count(Outcome.COMMITTED))

    # --- the parts ---

    def _create_topics(self) -> bool:
        client = self._client("admin-0")
        admin = Admin(client, 1, self._plan.topology.replicas)
        for topic in (TOPIC, COPIES):
            client.begin(admin.create(TopicFacts(topic, PARTITIONS)))
        return self._live("create topics", lambda: client.is_done)

    def _start_clients(self) -> None:
        rng = self._rng
        is_classic = rng.random() < 0.5
        for name in CLIENTS:
            client = self._client(name)
            is_v2 = rng.random() < 0.6
            is_alone = list(WRITERS.values()).count(WRITERS.get(name, "")) != 2
            is_alone = is_alone and not self._has_clock_steps
            if name in WRITERS:
                TransactionalWriter(
                    client,
                    self.transactions,
                    WRITERS[name],
                    self.inputs,
                    pause_ms=rng.choice((20, 100, 500)),
                    is_v2=is_v2,
                    is_alone=is_alone,
                    expires_ms=self._expires_ms,
                ).start()
            elif name.startswith("visitor"):
                self._visitor = TransactionalVisitor(
                    client, self.transactions, self.inputs, is_v2=is_v2
                )
                self._visitor.start()
            elif name.startswith("bookkeeper"):
                session = TransactionalSession(
                    client,
                    name,
                    bookkeeper.TIMEOUT_MS,
                    is_v2=is_v2,
                    is_alone=is_alone,
                    expires_ms=self._expires_ms,
                )
                Bookkeeper(client, self.transactions, session, self.inputs[0]).start()
            elif name.startswith("copier"):
                self.copiers.append(self._copier(client, is_classic, is_v2))
                self.copiers[-1].start()
            else:
                TransactionalReader(client, self.transactions).start(self.partitions)
        self.members = [*self.copiers]

    def _copier(
        self, client: ClusterClient, is_classic: bool, is_v2: bool
    ) -> ClassicCopier | Copier:
        pause_ms = self._rng.choice((50, 200))
        copier: ClassicCopier | Copier
        if is_classic:
            copier = ClassicCopier(client, COPIERS, TOPIC, pause_ms, range(PARTITIONS))
        else:
            copier = Copier(client, COPIERS, TOPIC, pause_ms)
        copier.may_be_misled = self._has_separations
        copier.copy_with(
            self.transactions,
            client.name,
            is_v2=is_v2,
            is_alone=not self._has_clock_steps,
            expires_ms=self._expires_ms,
        )
        return copier

    # --- the end ---

    def _calm_down(self) -> None:
        self._wait_for_calm()
        # Clients work for a while, which shows that all is well, and then stop: first writers,
        # and when everything is copied, the others.
        before = self.transactions.count(Outcome.COMMITTED)
        self.world.run_for(5 * US_PER_S)
        self._live("commit something", lambda: self.transactions.count(Outcome.COMMITTED) > before)
        writers = [each for each in self.clients if each.name.startswith(("writer", "visitor"))]
        for client in writers:
            client.stop()
        self._live("finish writing", lambda: all(each.is_done for each in writers))
        self._live("end every transaction", lambda: self._is_all_stable(self.inputs))
        for copier in self.copiers:
            copier.remaining.clear()
        self._live("copy everything", self._is_all_copied)
        for client in self.clients:
            client.stop()
        self._live("finish", lambda: all(each.is_done for each in self.clients))
        self._live("be ready", self._are_nodes_ready)
        self._live("have every replica in sync", self._are_replicas_in_sync)
        offsets = [TopicPartition(OFFSETS_TOPIC, each) for each in range(PARTITIONS)]
        self._live("end every copy", lambda: self._is_all_stable([*self.partitions, *offsets]))

    def _is_all_stable(self, partitions: list[TopicPartition]) -> bool:
        return has_no_open_transaction(self.cluster, partitions)

    def _is_all_copied(self) -> bool:
        return self._is_all_owned() and all(
            copier.remaining.get(each) == 0 for copier in self.copiers for each in copier.owned
        )

    def _check(self, after: str) -> None:
        if self.world.surprises:
            return
        self._live(f"be stable after {after}", lambda: self._is_all_stable(self.partitions))
        client = self._client(f"reader-{len(self.clients)}")
        reader = TransactionalReader(client, self.transactions)
        found: dict[TopicPartition, list[tuple[int, bytes]]] = {}
        for topic_partition in self.partitions:
            client.begin(reader.read_all(topic_partition, found))
        if not self._live(f"read everything after {after}", lambda: client.is_done):
            return
        anomalies = find_anomalies(self.transactions, found)
        for source, copy in zip(self.inputs, self.copies, strict=True):
            anomalies += find_copy_anomalies(found[source], found[copy], str(copy))
        for anomaly in anomalies:
            self.world.surprise("transactions", str(anomaly))
        check_replayed(self.world, self.cluster, self.partitions)
        self._check_forgotten()

    def _check_forgotten(self) -> None:
        """Ids that nobody uses any more are forgotten, and stay so when everybody has restarted."""
        if self._expires_ms != _EXPIRES_MS or self._visitor is None or self.world.surprises:
            return
        if self._has_clock_steps:
            # What was written in the future is not old for a long time.
            return
        ids = self._visitor.ids[-_MOST_IDS:]
        state = [TopicPartition(TRANSACTIONS_TOPIC, each) for each in range(_STATE_PARTITIONS)]
        # It counts when every replica has it: whoever is elected must know.
        if not self._live(
            "forget ids", lambda: self._are_forgotten(ids) and self._is_all_stable(state)
        ):
            return
        for machine in self.cluster.machines:
            machine.kill()
            machine.start()
        self._live("start again", self._are_nodes_ready)
        client = self._client(f"inquirer-{len(self.clients)}")
        inquiry = IdInquiry(client, ids)
        inquiry.start()
        if self._live("say which ids are known", lambda: client.is_done):
            for each in inquiry.known:
                self.world.surprise("expiry", f"the id {each} was forgotten, and is there again")

    def _are_forgotten(self, ids: list[str]) -> bool:
        """Whether each of the ids has a coordinator, and that does not know it."""
        return all(
            [each.describe(one).error_code for each in self._coordinators(one)]
            == [ErrorCode.TRANSACTIONAL_ID_NOT_FOUND]
            for one in ids
        )

    def _coordinators(self, transactional_id: str) -> list[TransactionShard]:
        nodes = [each.node for each in self.cluster.machines if each.node is not None]
        found: list[TransactionShard] = []
        for node in nodes:
            with suppress(ApiError):
                found.append(node.broker.transactions.shard_of(transactional_id).shard)
        return found
