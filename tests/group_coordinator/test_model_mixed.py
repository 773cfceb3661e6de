"""Random histories of a group that changes its protocol, with members of both kinds.

Clients are correct but slow, and the coordinator may move at any time, with or without compaction
of its log. Whatever happens:

* no two members of the current epoch own the same partition;
* no member commits for a partition that has since been assigned to another;
* without further changes, the group becomes stable and every partition has one owner;
* a committed offset is the last one that was acknowledged, unless it was reset.
"""

import random
from collections.abc import Iterator

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.classic_group import ClassicState
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.delete_groups import DeleteGroupsResponse
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, topic_id
from tests.group_coordinator.mixed_clients import (
    SESSION_MS,
    TOPIC,
    ClassicClient,
    Fenced,
    MixedClient,
    ModernClient,
    commit,
)

INSTANCES = (None, None, None, "one", "two")
SETTINGS = {
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "500",
}


class MixedGroup:
    """A coordinator, its clients, and what is known of them from outside."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.cluster = Cluster(SETTINGS)
        self.cluster.create_topic(TOPIC, 4)
        self.is_eager = self.rng.random() < 0.5
        self.clients: list[MixedClient] = []
        # Clients that did not notice their removal: they still commit occasionally.
        self.ghosts: list[MixedClient] = []
        self.takers: dict[int, MixedClient] = {}
        self.committed: dict[int, int] = {}
        self.types_seen: set[str] = set()
        self._names = 0

    # --- what may happen

    def step(self) -> None:
        """Usually a client acts; sometimes the environment changes."""
        chance = self.rng.random()
        if chance < 0.70:
            self.somebody_acts()
        elif chance < 0.76:
            self.somebody_arrives()
        elif chance < 0.79:
            self.somebody_leaves()
        elif chance < 0.81:
            self.somebody_vanishes()
        elif chance < 0.87:
            self.somebody_commits()
        elif chance < 0.92:
            self.cluster.pass_time(self.rng.choice([1, 100, 600, 3_000]))
        elif chance < 0.93:
            self.cluster.pass_time(SESSION_MS + 1)
        elif chance < 0.96:
            self.the_broker_changes()
        elif chance < 0.97:
            self.an_administrator_resets_or_deletes()
        elif chance < 0.98 and self.partition_count < 8 and self.is_watched:
            self.cluster.add_partitions(TOPIC, 1)
        self.check()

    def somebody_arrives(self) -> None:
        if len(self.clients) >= 5:
            return
        self._names += 1
        name = f"c{self._names}"
        instance_id = self.rng.choice(INSTANCES)
        for other in list(self.clients):
            if instance_id is not None and other.instance_id == instance_id:
                # A static member restarts: perhaps as another kind of client.
                self.clients.remove(other)
                self.ghosts.append(other)
        if self.rng.random() < 0.5:
            self.clients.append(ModernClient(self.cluster, name, instance_id))
        else:
            classic = ClassicClient(
                self.cluster, name, is_eager=self.is_eager, instance_id=instance_id
            )
            self.clients.append(classic)

    def somebody_acts(self) -> None:
        if self.clients:
            self.act(self.rng.choice(self.clients))

    def act(self, client: MixedClient) -> None:
        before = set(client.owned)
        try:
            client.act()
        except Fenced:
            self.clients.remove(client)
        for gained in client.owned - before:
            self.takers[gained] = client

    def somebody_leaves(self) -> None:
        if self.clients:
            client = self.rng.choice(self.clients)
            self.clients.remove(client)
            client.leave()

    def somebody_vanishes(self) -> None:
        if self.clients:
            client = self.rng.choice(self.clients)
            self.clients.remove(client)
            self.ghosts.append(client)

    def somebody_commits(self) -> None:
        everybody = [each for each in self.clients + self.ghosts if each.owned]
        if not everybody:
            return
        client = self.rng.choice(everybody)
        partition = self.rng.choice(sorted(client.owned))
        offset = self.committed.get(partition, 0) + self.rng.randrange(3)
        if client.commit(partition, offset) is ErrorCode.NONE:
            assert self.takers[partition] is client, f"{client.name} committed for {partition}"
            self.committed[partition] = offset

    def the_broker_changes(self) -> None:
        for client in self.clients:
            client.lose_connection()
        self.cluster.reload(compact=self.rng.random() < 0.5)

    def an_administrator_resets_or_deletes(self) -> None:
        is_empty = self.state in ("Empty", "Dead")
        if self.rng.random() < 0.5:
            code = commit(self.cluster, "", -1, None, 0, 0)
            assert (code is ErrorCode.NONE) == is_empty
            if is_empty:
                self.committed[0] = 0
            return
        token = self.cluster.token()
        context = GroupRequestContext(2, "admin", "/127.0.0.1")
        out = self.cluster.shard.handle_delete_groups(token, [GROUP], context, self.cluster.now)
        self.cluster.take(out)
        response = self.cluster.answers.pop(token)
        assert isinstance(response, DeleteGroupsResponse)
        code = ErrorCode(response.results[0].error_code)
        assert code in (ErrorCode.NONE, ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND)
        if code is not ErrorCode.NON_EMPTY_GROUP:
            assert is_empty
            self.committed.clear()

    def left_in_peace(self) -> None:
        """For longer than all sessions, with all clients acting."""
        for _ in range(120):
            for client in self.rng.sample(self.clients, len(self.clients)):
                if client in self.clients:
                    self.act(client)
            self.cluster.pass_time(400)
            self.check()
        if self.clients:
            assert self.state == "Stable"
            owned = sorted(p for client in self.clients for p in client.owned)
            assert owned == list(range(self.partition_count))
            assert sorted(self.member_ids()) == sorted(c.member_id for c in self.clients)

    # --- what is known

    @property
    def partition_count(self) -> int:
        return len(self.cluster.image.topics_by_name[TOPIC].partitions)

    @property
    def is_watched(self) -> bool:
        """Whether new partitions will be noticed.

        In a classic group that is the leader's task. In a group that became classic without a
        rebalance, no member knows that it leads: as in Kafka, new partitions wait for the next one.
        """
        classic = self.cluster.shard._classic.groups.get(GROUP)
        if classic is None or classic.state is not ClassicState.STABLE:
            return True
        return any(isinstance(each, ClassicClient) and each.is_leader for each in self.clients)

    @property
    def state(self) -> str:
        listed = self.cluster.shard.list_groups([], [])
        return next((group.group_state for group in listed if group.group_id == GROUP), "Dead")

    def member_ids(self) -> Iterator[str]:
        shard = self.cluster.shard
        consumer = shard._consumer.groups.get(GROUP)
        classic = shard._classic.groups.get(GROUP)
        assert consumer is None or classic is None, "a group is of one type"
        if consumer is not None:
            yield from consumer.members
        elif classic is not None:
            yield from classic.members

    def is_current(self, client: MixedClient) -> bool:
        """Whether coordinator and client agree about the client's membership."""
        shard = self.cluster.shard
        consumer = shard._consumer.groups.get(GROUP)
        if consumer is not None:
            member = consumer.members.get(client.member_id)
            # A member of the new protocol may be behind until the reply arrives.
            is_modern = isinstance(client, ModernClient)
            return member is not None and (is_modern or client.epoch == member.member_epoch)
        classic = shard._classic.groups.get(GROUP)
        if classic is None or client.member_id not in classic.members:
            return False
        return client.epoch == classic.generation_id

    # --- what must hold

    def check(self) -> None:
        self.types_seen.update(
            group.group_type for group in self.cluster.shard.list_groups(["Stable"], [])
        )
        self.check_owners()
        self.check_books()
        self.check_offsets()

    def check_owners(self) -> None:
        owners: dict[int, str] = {}
        for client in self.clients + self.ghosts:
            if self.is_current(client):
                for partition in client.owned:
                    other = owners.setdefault(partition, client.name)
                    assert other == client.name, f"{partition} is {other}'s and {client.name}'s"

    def check_books(self) -> None:
        group = self.cluster.shard._consumer.groups.get(GROUP)
        if group is None:
            return
        held: set[int] = set()
        for member in group.members.values():
            assert member.member_epoch <= group.assignment_epoch <= group.group_epoch
            for assigned in (member.assigned, member.pending_revocation):
                numbers = assigned.get(topic_id(TOPIC), {}).keys()
                assert not held & numbers
                held |= numbers

    def check_offsets(self) -> None:
        asked = [OffsetFetchRequestTopics(TOPIC, partition_indexes=list(range(8)))]
        request = OffsetFetchRequestGroup(GROUP, topics=asked)
        answer = self.cluster.shard.handle_offset_fetch(request, False)
        found = answer.topics[0].partitions
        known = {each.partition_index: each.committed_offset for each in found}
        assert {p: offset for p, offset in known.items() if offset >= 0} == self.committed


def live(seed: int, steps: int) -> MixedGroup:
    world = MixedGroup(seed)
    world.somebody_arrives()
    for _ in range(steps):
        world.step()
    world.left_in_peace()
    return world


@pytest.mark.parametrize("seed", range(40))
def test_a_group_of_both_protocols_keeps_its_promises(seed: int) -> None:
    live(seed, 200)


def test_the_lives_are_eventful() -> None:
    """Groups of both types become stable; otherwise the histories would prove nothing."""
    seen = [live(seed, 200).types_seen for seed in range(10)]
    assert sum(types == {"classic", "consumer"} for types in seen) >= 5
