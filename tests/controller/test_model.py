"""Any sequence of decisions keeps the promises that replication relies on.

Brokers register, send heartbeats, stop, disappear and return; topics are created, deleted and
reassigned; leaders change their ISRs; the controller fails over. After every decision, what
holds in each image is checked, and what holds from one image to the next.
"""

from typing import Any, ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from moldau.controller.partition_index import PartitionIndex
from moldau.errors import ApiError
from moldau.metadata.delta import apply
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.registrations import NO_LEADER, PartitionRegistration
from moldau.metadata.snapshot import snapshot_records
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.cluster import Cluster, registration, topic

BROKERS = st.integers(1, 4)
NAMES = st.sampled_from(("river", "lake"))
FLAGS = st.booleans()


class ControllerModel(RuleBasedStateMachine):
    """A cluster of four brokers and two topics."""

    LEVEL = 30
    SETTINGS: ClassVar[dict[str, str]] = {"min.insync.replicas": "2"}

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster(3, level=self.LEVEL, settings=self.SETTINGS)
        self.incarnations = 10
        self.before = self.cluster.image
        for name in ("river", "lake"):
            self.cluster.must_create(name, 2, 3)

    @property
    def image(self) -> MetadataImage:
        return self.cluster.image

    def decide(self, request: Message) -> Any:
        try:
            return self.cluster.decide(request)
        except ApiError:
            return None

    # Brokers

    @rule(broker=BROKERS, is_new=FLAGS, is_clean=FLAGS)
    def register(self, broker: int, is_new: bool, is_clean: bool) -> None:
        known = self.image.brokers.get(broker)
        self.incarnations += is_new
        incarnation = self.incarnations
        previous = known.epoch if known is not None and is_clean else -1
        self.decide(registration(broker, incarnation % 250, previous))

    @rule(broker=BROKERS, fence=FLAGS, stop=FLAGS, lag=st.integers(0, 5))
    def heartbeat(self, broker: int, fence: bool, stop: bool, lag: int) -> None:
        known = self.image.brokers.get(broker)
        if known is not None:
            self.decide(
                BrokerHeartbeatRequest(
                    broker_id=broker,
                    broker_epoch=known.epoch,
                    current_metadata_offset=self.cluster.offset - 1 - lag,
                    want_fence=fence,
                    want_shut_down=stop,
                )
            )

    @rule(brokers=st.lists(BROKERS, unique=True))
    def return_of(self, brokers: list[int]) -> None:
        for broker in brokers:
            self.heartbeat(broker=broker, fence=False, stop=False, lag=0)

    @rule(broker=BROKERS)
    def unregister(self, broker: int) -> None:
        self.decide(UnregisterBrokerRequest(broker_id=broker))

    @rule(ms=st.sampled_from((500, 2000, 5000, 400_000)))
    def pass_time(self, ms: int) -> None:
        end_ms = self.cluster.now_ms + ms
        for _ in range(20):
            deadline_ms = self.cluster.controller.deadline_ms
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.cluster.now_ms = max(self.cluster.now_ms, deadline_ms)
            self.cluster.upkeep()
        self.cluster.now_ms = end_ms

    @rule()
    def fail_over(self) -> None:
        image = self.image
        self.cluster.controller.resigned()
        self.cluster.controller.activated(self.cluster.now_ms, image)

    # Partitions

    @rule(name=NAMES, factor=st.integers(1, 4))
    def create(self, name: str, factor: int) -> None:
        self.decide(CreateTopicsRequest(topics=[topic(name, 2, factor)]))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.decide(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)]))

    @rule(name=NAMES)
    def grow(self, name: str) -> None:
        found = self.image.topics_by_name.get(name)
        if found is not None and len(found.partitions) < 4:
            count = len(found.partitions) + 1
            wanted = CreatePartitionsTopic(name=name, count=count, assignments=None)
            self.decide(CreatePartitionsRequest(topics=[wanted]))

    @rule(name=NAMES, isr=st.lists(BROKERS, unique=True), epochs_are_known=FLAGS)
    def alter_isr(self, name: str, isr: list[int], epochs_are_known: bool) -> None:
        found = self.image.topics_by_name.get(name)
        partition = None if found is None else found.partitions[0]
        if found is None or partition is None or partition.leader == NO_LEADER:
            return
        leader = partition.leader
        brokers = self.image.brokers
        wanted = PartitionData(
            partition_index=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            leader_recovery_state=0,
            new_isr_with_epochs=[
                BrokerState(
                    broker_id=each,
                    broker_epoch=brokers[each].epoch
                    if epochs_are_known and each in brokers
                    else -1,
                )
                for each in dict.fromkeys([leader, *isr])
            ],
        )
        self.decide(
            AlterPartitionRequest(
                broker_id=leader,
                broker_epoch=brokers[leader].epoch,
                topics=[TopicData(topic_id=found.id, partitions=[wanted])],
            )
        )

    @rule(name=NAMES, replicas=st.none() | st.lists(BROKERS, unique=True, max_size=4))
    def reassign(self, name: str, replicas: list[int] | None) -> None:
        wanted = ReassignablePartition(partition_index=0, replicas=replicas)
        self.decide(
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name=name, partitions=[wanted])]
            )
        )

    @rule(election=st.sampled_from((0, 1)))
    def elect(self, election: int) -> None:
        self.decide(ElectLeadersRequest(election_type=election, topic_partitions=None))

    # Promises

    @invariant()
    def every_partition_is_sound(self) -> None:
        for found in self.image.topics_by_id.values():
            for partition in found.partitions.values():
                self._check(partition)

    def _check(self, partition: PartitionRegistration) -> None:
        assert len(set(partition.replicas)) == len(partition.replicas) > 0
        assert len(partition.directories) == len(partition.replicas)
        assert set(partition.isr) <= set(partition.replicas)
        assert len(set(partition.isr)) == len(partition.isr)
        assert set(partition.adding_replicas) <= set(partition.replicas)
        assert set(partition.removing_replicas) <= set(partition.replicas)
        assert not set(partition.elr) & set(partition.isr)
        assert set(partition.elr) <= set(partition.replicas)
        if partition.leader != NO_LEADER:
            assert partition.leader in partition.isr
            assert self.image.brokers[partition.leader].is_active
        self._check_fenced(partition)

    def _check_fenced(self, partition: PartitionRegistration) -> None:
        for replica in partition.isr:
            assert self.image.brokers[replica].is_active, (replica, partition)

    @invariant()
    def epochs_grow_with_every_change(self) -> None:
        before, self.before = self.before, self.image
        for topic_id, found in self.image.topics_by_id.items():
            earlier = before.topics_by_id.get(topic_id)
            if earlier is None:
                continue
            for index, old in earlier.partitions.items():
                new = found.partitions[index]
                if new != old:
                    assert new.partition_epoch > old.partition_epoch
                assert new.leader_epoch >= old.leader_epoch
                if new.leader != old.leader:
                    assert new.leader_epoch > old.leader_epoch
        for broker_id, broker in self.image.brokers.items():
            known = before.brokers.get(broker_id)
            if known is not None and known.incarnation_id != broker.incarnation_id:
                assert broker.epoch > known.epoch
                assert broker.fenced

    @invariant()
    def every_unfenced_broker_has_a_session(self) -> None:
        """Otherwise nobody would notice that it is gone."""
        sessions = self.cluster.controller.state.sessions._sessions
        for broker in self.image.brokers.values():
            assert broker.fenced or sessions[broker.id].epoch == broker.epoch

    @invariant()
    def the_index_is_that_of_the_image(self) -> None:
        actual, expected = self.cluster.controller.state.index, PartitionIndex(self.image)
        for index in (actual, expected):
            for _ in index.catch_up():
                pass
        for broker in range(1, 5):
            assert set(actual.in_isr(broker)) == set(expected.in_isr(broker))
            assert set(actual.in_elr(broker)) == set(expected.in_elr(broker))
            assert actual.leads_any(broker) == expected.leads_any(broker)
        assert set(actual.leaderless) == set(expected.leaderless)
        assert set(actual.not_led_by_preferred) == set(expected.not_led_by_preferred)

    @invariant()
    def a_snapshot_is_the_same_image(self) -> None:
        copy, _ = apply(EMPTY_IMAGE, snapshot_records(self.image))
        assert copy.has_same_content(self.image)


class ModelWithoutElr(ControllerModel):
    """Before 4.1 the last in-sync replica stays in the ISR, even fenced."""

    LEVEL = 7

    def _check_fenced(self, partition: PartitionRegistration) -> None:
        active = [each for each in partition.isr if self._is_active(each)]
        assert active == list(partition.isr) or len(partition.isr) == 1

    def _is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active


class ModelWithUncleanElections(ControllerModel):
    """Availability before durability."""

    SETTINGS: ClassVar[dict[str, str]] = {
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "true",
    }

    @rule()
    def wait_for_elections(self) -> None:
        """Every partition with an active replica gets a leader."""
        self.cluster.now_ms = (self.cluster.controller.deadline_ms or 0) + 1_000_000
        for _ in range(20):
            self.cluster.upkeep()
            self.epochs_grow_with_every_change()
        for found in self.image.topics_by_id.values():
            for partition in found.partitions.values():
                if any(self._is_active(each) for each in partition.replicas):
                    assert partition.leader != NO_LEADER

    def _is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.is_active


SETTINGS = settings(max_examples=50, stateful_step_count=40)
TestController = ControllerModel.TestCase
TestController.settings = SETTINGS
TestWithoutElr = ModelWithoutElr.TestCase
TestWithoutElr.settings = SETTINGS
TestWithUncleanElections = ModelWithUncleanElections.TestCase
TestWithUncleanElections.settings = SETTINGS
