"""A replicated topic under load while the nodes of its cluster fail, and the verdict afterwards."""

import itertools
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from confluent_kafka.admin import AdminClient, NewTopic
from tools.clusters import MOLDAU, Cluster, eventually

from moldau.record.header import BatchHeader
from tests.cluster.faults import ClusterView, Faults
from tests.cluster.history import History, Logs, violations
from tests.cluster.java_load import JavaProgram, VerifiableConsumer, VerifiableProducer
from tests.cluster.load import GroupMember, NumberedProducer, read_logs
from tests.cluster.namespaces import Namespaces
from tests.cluster.partition_logs import batch_at, described, differences

TOPIC = "torment"
PARTITIONS = 4
RATE = 150.0
SEED = int(os.environ.get("TORMENT_SEED", "1"))
CATCHING_UP_LIMIT_S = 180.0
LINE_WIDTH = 250
MOST_DOUBLED = 20
# Short sessions, so that a minute has many failovers.
SETTINGS = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1500",
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "4000",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}


def create_topic(
    cluster: Cluster, name: str = TOPIC, partitions: int = PARTITIONS, min_isr: int = 2
) -> None:
    """A topic with three replicas, all of which are in sync."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    topic = NewTopic(name, partitions, 3, config={"min.insync.replicas": str(min_isr)})
    admin.create_topics([topic])[name].result(120)
    ClusterView(cluster, name).wait_until_whole()


class Load(Protocol):
    """A client that runs until it is stopped."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Torment:
    """Producers and groups on a topic of a running cluster with three brokers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.history = History()
        self.groups: list[str] = []
        self.producers: list[Load] = []
        self.members: list[Load] = []
        self.faults: Faults | None = None
        # Another look at the topic, while its brokers still run.
        self.last_check: Callable[[], None] | None = None

    def add_librdkafka(self, producers: Sequence[int] = (1, 2), members: int = 2) -> None:
        """Idempotent producers, and a group of each protocol."""
        servers, history = self.cluster.bootstrap, self.history
        for number in producers:
            self.producers.append(
                NumberedProducer(number, servers, TOPIC, PARTITIONS, RATE, history)
            )
        for protocol in ("classic", "consumer"):
            self.groups.append(f"rd-{protocol}")
            for index in range(members):
                name = f"{protocol}-{index}"
                self.members.append(
                    GroupMember(name, servers, TOPIC, self.groups[-1], protocol, history)
                )

    def add_java(self, folder: Path) -> None:
        """An idempotent producer, and a group of one member of each protocol."""
        servers, history = self.cluster.bootstrap, self.history
        self.producers.append(VerifiableProducer(9, servers, TOPIC, RATE, history, folder))
        for protocol in ("classic", "consumer"):
            self.groups.append(f"java-{protocol}")
            self.members.append(
                VerifiableConsumer(self.groups[-1], protocol, servers, TOPIC, history, folder)
            )

    def run(self, seconds: float, namespaces: Namespaces | None = None, seed: int = SEED) -> None:
        """Faults for so many seconds under load; raises with the whole story if a check fails."""
        self._run(lambda faults: faults.run(seconds), namespaces, seed)

    def run_each_broker(self, rounds: int, seed: int = SEED) -> None:
        """Every broker is killed and rolled in every round, and leads every partition."""

        def run(faults: Faults) -> None:
            led = faults.each_broker(rounds)
            brokers = {node.node_id for node in self.cluster.brokers}
            missing = {index: brokers - leaders for index, leaders in led.items()}
            assert not any(missing.values()), f"never led, by partition: {missing}"

        self._run(run, None, seed)

    def _run(
        self, run_faults: Callable[[Faults], None], namespaces: Namespaces | None, seed: int
    ) -> None:
        self.faults = Faults(self.cluster, TOPIC, seed, namespaces)
        for each in [*self.members, *self.producers]:
            each.start()
        try:
            # A leader takes any first sequence number from a producer that it does not know, in
            # Apache Kafka too. If the very first batch is still at a former leader that hangs, the
            # second may arrive before it, and the first is refused as out of order until the Java
            # client gives up. So every leader knows every producer before the first fault.
            eventually(
                "every producer has written to every partition",
                lambda: len(self.history.written()) == len(self.producers) * PARTITIONS,
                CATCHING_UP_LIMIT_S,
            )
            run_faults(self.faults)
            for each in self.producers:
                each.stop()
            logs = read_logs(self.cluster.bootstrap, TOPIC, PARTITIONS)
            ends = {partition: len(log) and log[-1][0] + 1 for partition, log in logs.items()}
            for group in self.groups:
                eventually(
                    f"group {group} has read everything",
                    lambda group=group: self.history.read_offsets(group) == ends,
                    CATCHING_UP_LIMIT_S,
                )
            for each in self.members:
                each.stop()
            doubled = self._doubled(logs)
            resent = self._resent(logs, doubled)
            found = violations(self.history, logs, resent)
            found += found and [
                f"  {value}: {described(each)}"
                for (_, value), headers in itertools.islice(doubled.items(), MOST_DOUBLED)
                for each in headers
            ]
            assert not found, "\n".join(found)
            self.faults.view.wait_until_whole()
            if self.last_check is not None:
                self.last_check()
            # Killed, not stopped: a node that is the last of its quorum would wait for the others.
            self.cluster.__exit__()
            found = differences(self.cluster.brokers, TOPIC, PARTITIONS)
            assert not found, "\n".join(found)
        except BaseException as error:
            told = "\n".join(self.faults.told)
            raise AssertionError(
                f"{error}\n{len(self.history.acks)} records acknowledged, seed {seed}, "
                f"at {time.strftime('%H:%M:%S')}\n{told}\n{self._log_tails()}"
            ) from error
        finally:
            for each in [*self.producers, *self.members]:
                if isinstance(each, JavaProgram):
                    each.kill()

    def _doubled(self, logs: Logs) -> dict[tuple[int, str], list[BatchHeader]]:
        """The batches of every record that is stored twice, from the log of any broker."""
        directory = self.cluster.brokers[0].directory
        found = {}
        for partition, records in logs.items():
            places: dict[str, list[int]] = {}
            for offset, value in records:
                places.setdefault(value, []).append(offset)
            for value, offsets in places.items():
                if len(offsets) > 1:
                    folder = directory / f"{TOPIC}-{partition}"
                    found[partition, value] = [batch_at(folder, each) for each in offsets]
        return found

    def _resent(
        self, logs: Logs, doubled: dict[tuple[int, str], list[BatchHeader]]
    ) -> set[tuple[int, int]]:
        """The places of records that librdkafka wrote again, because of a broker of Apache Kafka.

        It pipelines batches to a new leader. If the first one fails, probably because the broker
        does not know yet that it leads, the second one is refused: a sequence is missing.
        librdkafka then begins an epoch of its own and sends everything again that was not
        acknowledged, even what is stored already.
        """
        apache = {node.node_id for node in self.cluster.brokers if node.member.kind != MOLDAU}
        refused = {
            str(each.number)
            for each in self.producers
            if isinstance(each, NumberedProducer) and each.missed_at and each.missed_at <= apache
        }
        acknowledged = {each.value: each.offset for each in self.history.acks}
        found = set()
        for (partition, value), headers in doubled.items():
            epochs = {(each.producer_id, each.producer_epoch) for each in headers}
            if value.partition(".")[0] in refused and len(epochs) == len(headers):
                offsets = [offset for offset, each in logs[partition] if each == value]
                kept = acknowledged.get(value, offsets[-1])
                found |= {(partition, offset) for offset in offsets if offset != kept}
        return found

    def _log_tails(self) -> str:
        lines = self.cluster.log_tails(lines=8).splitlines()
        for each in [*self.producers, *self.members]:
            if isinstance(each, NumberedProducer):
                lines += [f"--- {each.name}", *each.told]
            if isinstance(each, JavaProgram):
                lines += [f"--- {each.name}", *each.log().splitlines()]
        return "\n".join(line[:LINE_WIDTH] for line in lines)

    def summary(self) -> str:
        assert self.faults is not None
        faults = sum("in sync" not in each for each in self.faults.told)
        gaps = [p.longest_gap_s for p in self.producers if isinstance(p, NumberedProducer)]
        longest = f"{max(gaps, default=0.0):.1f} s"
        return f"{len(self.history.acks)} acknowledged, {faults} faults, longest gap {longest}"
