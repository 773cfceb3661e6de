"""A classic group under random joins, leaves, silences, commits and restarts.

Clients behave correctly (join when required, sync when joined), in any order and at any speed,
or they disappear. Whatever happens:

* no two members own a partition in the same generation, and a stable group owns them all;
* without further changes, the group becomes stable and every member has partitions;
* a committed offset is the last one that was acknowledged, before and after a restart.
"""

from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moldau.errors import ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.describe_groups import DescribedGroup
from moldau.protocol.messages.join_group import JoinGroupResponse
from tests.group_coordinator.conversation import GROUP, Client, Conversation

PARTITIONS = 4
_CONTEXT = GroupRequestContext(6, "admin", "/127.0.0.1")
_INSTANCES = [None, None, "one", "two"]
_PICK = st.randoms(use_true_random=False)


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.talk = Conversation(group_max_size=str(PARTITIONS))
        self.clients: list[Client] = []
        # The token of each client's last join or sync.
        self.waits: dict[str, int] = {}
        # Generation -> partition -> instance or member that owns it.
        self.owners: dict[int, dict[int, str]] = {}
        self.committed = -1
        self.names = 0

    # -- what may happen -------------------------------------------------------------------

    @initialize(instances=st.lists(st.sampled_from(_INSTANCES), min_size=1, max_size=4), pick=_PICK)
    def a_group_forms(self, instances: list[str | None], pick: Random) -> None:
        for instance in instances:
            self.somebody_arrives(instance)
        for _ in range(3):
            self._round(pick, 3000)

    @precondition(lambda self: len(self.clients) < 6)
    @rule(instance=st.sampled_from(_INSTANCES))
    def somebody_arrives(self, instance: str | None) -> None:
        self.names += 1
        client = Client(f"c{self.names}", instance)
        self.clients.append(client)
        self.waits[client.name] = self.talk.enter(client)

    @rule(pick=_PICK)
    def somebody_acts(self, pick: Random) -> None:
        if self.clients:
            self._act(pick.choice(self.clients))

    @rule(pick=_PICK)
    def everybody_acts_for_a_while(self, pick: Random) -> None:
        for _ in range(3):
            self._round(pick, 2000)

    @rule(pick=_PICK)
    def the_group_is_left_in_peace(self, pick: Random) -> None:
        """For longer than all rebalance and session timeouts."""
        for _ in range(40):
            self._round(pick, 4000)
        group = self._group()
        assert group.group_state == ("Stable" if self.clients else group.group_state)
        members = [member.member_id for member in group.members]
        assert sorted(members) == sorted(client.member_id for client in self.clients)
        assert all(client.assignment for client in self.clients)

    def _round(self, pick: Random, duration_ms: int) -> None:
        for client in pick.sample(self.clients, len(self.clients)):
            self._act(client)
            self.no_partition_has_two_owners_in_a_generation()
        self.talk.advance(duration_ms)

    def _act(self, client: Client) -> None:
        """The next step of a client: wait, join again, sync, or send a heartbeat."""
        reply = self.talk.replies.get(self.waits.get(client.name, 0))
        if client.name in self.waits and reply is None:
            return
        if isinstance(reply, JoinGroupResponse) and reply.error_code:
            self._start_over(client, ErrorCode(reply.error_code))
            return
        error = self.talk.heartbeat(client)
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            client.assignment = None
            self.waits[client.name] = self.talk.join(client)
        elif error is not ErrorCode.NONE:
            self._start_over(client, error)
        elif client.assignment is None:
            self._sync(client)

    def _start_over(self, client: Client, error: ErrorCode) -> None:
        client.generation_id, client.assignment = -1, None
        if error in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            self.clients.remove(client)
            return
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            client.member_id = ""
        self.waits[client.name] = self.talk.enter(client)

    def _sync(self, client: Client) -> None:
        shares: dict[str, list[int]] = {member: [] for member in client.members}
        for partition in range(PARTITIONS if shares else 0):
            shares[client.members[partition % len(shares)]].append(partition)
        assignment = {member: bytes(owned) for member, owned in shares.items()}
        self.waits[client.name] = self.talk.sync(client, assignment or None)

    @rule(pick=_PICK)
    def somebody_leaves(self, pick: Random) -> None:
        if self.clients:
            client = pick.choice(self.clients)
            self.clients.remove(client)
            self.talk.leave(client)

    @rule(pick=_PICK)
    def somebody_vanishes(self, pick: Random) -> None:
        if self.clients:
            self.clients.remove(pick.choice(self.clients))

    @rule(pick=_PICK)
    def a_static_member_restarts(self, pick: Random) -> None:
        if statics := [client for client in self.clients if client.instance_id is not None]:
            old = pick.choice(statics)
            self.clients.remove(old)
            self.somebody_arrives(old.instance_id)

    @rule(duration_ms=st.sampled_from([1, 500, 3000, 4999, 9000, 61_000]))
    def time_passes(self, duration_ms: int) -> None:
        self.talk.advance(duration_ms)

    @rule(pick=_PICK, step=st.integers(0, 3))
    def somebody_commits(self, pick: Random, step: int) -> None:
        if self.clients:
            client = pick.choice(self.clients)
            is_member = client.generation_id >= 0
            offset = max(self.committed, 0) + step
            errors = self.talk.commit({("rivers", 0): offset}, client) if is_member else []
            if errors == [ErrorCode.NONE]:
                self.committed = offset

    @rule(offset=st.integers(0, 100))
    def an_administrator_resets_the_offset(self, offset: int) -> None:
        is_empty = self._group().group_state in ("Empty", "Dead")
        errors = self.talk.commit({("rivers", 0): offset})
        assert (errors == [ErrorCode.NONE]) == is_empty
        if is_empty:
            self.committed = offset

    @rule()
    def the_broker_restarts(self) -> None:
        """Clients with pending requests lose the connection and retry."""
        for client in self.clients:
            if self.talk.is_waiting(self.waits.get(client.name, 0)):
                self.waits.pop(client.name, None)
        self.talk.reload()

    # -- what must hold --------------------------------------------------------------------

    def _group(self) -> DescribedGroup:
        return self.talk.shard.describe_groups([GROUP], _CONTEXT)[0]

    @invariant()
    def no_partition_has_two_owners_in_a_generation(self) -> None:
        for client in self.clients:
            if client.assignment is not None:
                owners = self.owners.setdefault(client.generation_id, {})
                place = client.instance_id or client.member_id
                for partition in client.assignment:
                    assert owners.setdefault(partition, place) == place

    @invariant()
    def a_stable_group_owns_everything(self) -> None:
        group = self._group()
        if group.group_state == "Stable":
            owned = sorted(p for member in group.members for p in member.member_assignment)
            assert owned == list(range(PARTITIONS))

    @invariant()
    def the_last_acknowledged_offset_is_the_committed_one(self) -> None:
        assert self.talk.committed() == self.committed


TestGroups = GroupMachine.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=30)
