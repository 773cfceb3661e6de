"""Random histories of a consumer group: no partition has two readers, and none is left out.

Clients are correct but slow: they may react to a reply much later, lose replies, stop sending,
or restart. The coordinator may move at any time, with or without compaction of its log.
"""

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moldau.errors import ErrorCode
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, Consumer, topic_id

NAMES = ["a", "b", "c"]
TOPICS = ["foo", "bar"]
SUBSCRIPTIONS = [("foo",), ("bar",), ("foo", "bar"), ()]
REGEXES = [None, "fo.*", ".*"]
LOST = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.FENCED_INSTANCE_ID,
)

# What a client has done about the last reply when it sends a heartbeat.
MANNERS = ["done", "idle", "given up", "answer lost"]

names = st.sampled_from(NAMES)


class ConsumerGroupModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        for name in TOPICS:
            self.cluster.create_topic(name, 3)
        self.consumers: dict[str, Consumer] = {}
        self.restarts = 0

    @initialize()
    def two_members(self) -> None:
        for name in ("a", "b"):
            self.join(name, ("foo", "bar"), None, False)

    def heard(self, name: str) -> None:
        """A fenced client gives up everything before it does anything else."""
        consumer = self.consumers[name]
        if consumer.error in LOST:
            consumer.owned, consumer.told = {}, {}
            del self.consumers[name]
        else:
            assert consumer.error == 0, consumer.error

    @rule(
        name=names,
        topics=st.sampled_from(SUBSCRIPTIONS),
        regex=st.sampled_from(REGEXES),
        is_static=st.booleans(),
    )
    def join(self, name: str, topics: tuple[str, ...], regex: str | None, is_static: bool) -> None:
        if name in self.consumers:
            return
        self.restarts += 1
        instance_id = f"i-{name}" if is_static else None
        consumer = Consumer(
            self.cluster, f"{name}{self.restarts}", topics, regex, instance_id=instance_id
        ).join()
        if consumer.error == ErrorCode.UNRELEASED_INSTANCE_ID:
            return
        assert consumer.error == 0
        self.consumers[name] = consumer

    @rule(beats=st.lists(st.tuples(names, st.sampled_from(MANNERS)), min_size=1, max_size=8))
    def some_send_heartbeats(self, beats: list[tuple[str, str]]) -> None:
        for name, manner in beats:
            if name in self.consumers:
                self.beat(name, manner)

    @rule(slow=names, manner=st.sampled_from(MANNERS[1:]))
    def one_is_slow_while_the_others_are_quick(self, slow: str, manner: str) -> None:
        for _ in range(3):
            for name in sorted(self.consumers):
                if name in self.consumers:
                    self.beat(name, manner if name == slow else "done")

    def beat(self, name: str, manner: str) -> None:
        consumer = self.consumers[name]
        if manner == "done":
            consumer.beat()
        elif manner == "idle":
            consumer.beat_as_is()
        elif manner == "given up":
            consumer.owned = {
                identity: numbers & consumer.told.get(identity, set())
                for identity, numbers in consumer.owned.items()
            }
            consumer.beat_as_is()
        else:
            assert manner == "answer lost"
            epoch, told = consumer.epoch, consumer.told
            consumer.beat_as_is()
            if not consumer.error:
                consumer.epoch, consumer.told = epoch, told
                consumer.must_tell_all = True
        self.heard(name)

    @rule(name=names, topics=st.sampled_from(SUBSCRIPTIONS), regex=st.sampled_from(REGEXES))
    def subscribe_anew(self, name: str, topics: tuple[str, ...], regex: str | None) -> None:
        consumer = self.consumers.get(name)
        if consumer is not None:
            consumer.subscribe(topics, regex or "")
            self.heard(name)

    @rule(name=names)
    def leave(self, name: str) -> None:
        consumer = self.consumers.pop(name, None)
        if consumer is not None:
            consumer.leave(epoch=-1)

    @rule(name=names)
    def restart_a_static_member(self, name: str) -> None:
        consumer = self.consumers.get(name)
        if consumer is not None and consumer.instance_id is not None:
            del self.consumers[name]
            consumer.leave(epoch=-2)

    @rule(name=names)
    def die(self, name: str) -> None:
        self.consumers.pop(name, None)

    @rule(by_ms=st.sampled_from([100, 4_000, 11_000]))
    def time_passes(self, by_ms: int) -> None:
        self.cluster.pass_time(by_ms)
        # A client notices when its session has expired; drop those that were removed.
        known = self.cluster.shard._consumer.groups.get(GROUP)
        for name, consumer in list(self.consumers.items()):
            if known is None or consumer.member_id not in known.members:
                del self.consumers[name]

    @rule(name=st.sampled_from(TOPICS))
    @precondition(lambda self: len(self.cluster.image.topics_by_name["foo"].partitions) < 6)
    def add_a_partition(self, name: str) -> None:
        self.cluster.add_partitions(name, 1)

    @rule(compact=st.booleans())
    def the_broker_changes(self, compact: bool) -> None:
        described = self.cluster.shard.consumer_group_describe([GROUP])
        self.cluster.reload(compact)
        again = self.cluster.shard.consumer_group_describe([GROUP])
        for group in (*described, *again):
            group.members.sort(key=lambda member: member.member_id)
        assert again == described

    @rule()
    def everybody_heartbeats_until_all_is_well(self) -> None:
        """Dead members must expire first; then a few rounds are enough."""
        for _ in range(6):
            for name in list(self.consumers):
                self.consumers[name].beat()
                self.heard(name)
            self.cluster.pass_time(11_000)
        if not self.consumers:
            return
        for _ in range(12):
            for name in list(self.consumers):
                self.consumers[name].beat()
                self.heard(name)
        if not self.consumers:
            return
        assert self.cluster.state == "Stable"
        self.check_everything_is_owned()

    def check_everything_is_owned(self) -> None:
        group = self.cluster.group
        wanted = set()
        for topic in group.subscriptions.topics:
            count = len(self.cluster.image.topics_by_name[topic].partitions)
            wanted |= {(topic_id(topic), number) for number in range(count)}
        has = [
            {(identity, n) for identity, numbers in consumer.owned.items() for n in numbers}
            for consumer in self.consumers.values()
        ]
        assert set().union(*has) == wanted
        assert sum(map(len, has)) == len(wanted)
        if group.subscriptions.is_homogeneous:
            sizes = [len(mine) for mine in has]
            assert max(sizes) - min(sizes) <= 1

    @invariant()
    def no_partition_has_two_readers(self) -> None:
        """Neither among the clients nor in the state of the coordinator."""
        read: set[tuple[bytes, int]] = set()
        for consumer in self.consumers.values():
            for identity, numbers in consumer.owned.items():
                for number in numbers:
                    assert (identity, number) not in read
                    read.add((identity, number))
        group = self.cluster.shard._consumer.groups.get(GROUP)
        if group is None:
            return
        held: set[tuple[bytes, int]] = set()
        for member in group.members.values():
            for assigned in (member.assigned, member.pending_revocation):
                for identity, epochs in assigned.items():
                    for number in epochs:
                        assert (identity, number) not in held
                        assert group.is_held(identity, number)
                        held.add((identity, number))

    @invariant()
    def epochs_are_in_order(self) -> None:
        group = self.cluster.shard._consumer.groups.get(GROUP)
        if group is not None:
            assert group.assignment_epoch <= group.group_epoch
            for member in group.members.values():
                assert member.member_epoch <= group.assignment_epoch


TestConsumerGroupModel = ConsumerGroupModel.TestCase
TestConsumerGroupModel.settings = settings(max_examples=50, stateful_step_count=30)


@pytest.mark.parametrize("seed", range(30))
def test_long_lives_keep_the_same_promises(seed: int) -> None:
    """Two hundred steps each, mostly heartbeats of members that are behind."""
    rng = random.Random(seed)
    model = ConsumerGroupModel()
    model.two_members()
    for _ in range(200):
        name = rng.choice(NAMES)
        step = rng.random()
        if step < 0.70:
            model.some_send_heartbeats([(name, rng.choice(MANNERS))])
        elif step < 0.80:
            regex = rng.choice(REGEXES)
            model.join(name, rng.choice(SUBSCRIPTIONS), regex, rng.random() < 0.5)
        elif step < 0.84:
            model.subscribe_anew(name, rng.choice(SUBSCRIPTIONS), rng.choice(REGEXES))
        elif step < 0.86:
            model.leave(name)
        elif step < 0.88:
            model.restart_a_static_member(name)
        elif step < 0.89:
            model.die(name)
        elif step < 0.95:
            model.time_passes(rng.choice([100, 4_000, 11_000]))
        elif step < 0.97:
            model.the_broker_changes(rng.random() < 0.5)
        elif step < 0.98 and len(model.cluster.image.topics_by_name["foo"].partitions) < 6:
            model.add_a_partition("foo")
        model.no_partition_has_two_readers()
        model.epochs_are_in_order()
    model.everybody_heartbeats_until_all_is_well()
