"""A group that moves from the classic protocol to the new one, and back, while it is read."""

from collections.abc import Sequence

import pytest

from moldau.errors import ErrorCode
from moldau.group_coordinator.classic_group import ClassicState
from moldau.group_coordinator.consumer.consumer_protocol import (
    assigned_target,
    decode_assignment,
)
from moldau.group_coordinator.consumer.member import without_epochs
from moldau.protocol.message import Struct
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from moldau.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from moldau.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from moldau.protocol.records.client_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from moldau.protocol.records.group_coordinator import GroupMetadataKey
from tests.group_coordinator.consumer.cluster import (
    GROUP,
    Cluster,
    Consumer,
    topic_id,
)

Partitions = dict[str, list[int]]


def _topics(partitions: Partitions) -> list[TopicPartition]:
    return [TopicPartition(topic=name, partitions=numbers) for name, numbers in partitions.items()]


def assignment(partitions: Partitions, user_data: bytes | None = None) -> bytes:
    body = ConsumerProtocolAssignment(assigned_partitions=_topics(partitions), user_data=user_data)
    return (1).to_bytes(2, "big") + body.encode(1)


class ClassicConsumer:
    """A cooperative consumer of the classic protocol; it assigns what it is given to assign."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Sequence[str] = ("foo",),
        instance_id: str | None = None,
        protocol_type: str = "consumer",
        malformed_protocols: Sequence[str] = (),
    ) -> None:
        self.cluster = cluster
        self.malformed_protocols = malformed_protocols
        self.topics = topics
        self.instance_id = instance_id
        self.protocol_type = protocol_type
        self.protocol_name = "cooperative-sticky"
        self.member_id = ""
        self.generation = -1
        self.owned: Partitions = {}
        self.error = 0
        self.pending = 0
        self.is_leader = False

    def send_join(self) -> None:
        subscription = ConsumerProtocolSubscription(
            topics=list(self.topics), owned_partitions=_topics(self.owned)
        )
        metadata = (1).to_bytes(2, "big") + subscription.encode(1)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=45_000,
            rebalance_timeout_ms=30_000,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=self.protocol_name, metadata=metadata),
                *(JoinGroupRequestProtocol(name, b"") for name in self.malformed_protocols),
            ],
        )
        self.pending = self.cluster.token()
        self.cluster.take(
            self.cluster.shard.handle_join_group(
                self.pending, request, self.cluster.context(9), self.cluster.now
            )
        )
        response = self.cluster.answers.get(self.pending)
        if isinstance(response, JoinGroupResponse) and (
            response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        ):
            self.member_id = response.member_id
            self.send_join()

    def joined(self) -> None:
        response = self.cluster.answers.pop(self.pending)
        assert isinstance(response, JoinGroupResponse)
        response.encode(9)
        self.error = response.error_code
        if not self.error:
            self.member_id = response.member_id
            self.generation = response.generation_id
            self.is_leader = response.leader == response.member_id

    def sync(self, plan: dict[str, Partitions] | None = None) -> None:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=name, assignment=assignment(partitions))
                for name, partitions in (plan or {}).items()
            ],
        )
        self.pending = self.cluster.token()
        self.cluster.take(
            self.cluster.shard.handle_sync_group(
                self.pending, request, self.cluster.context(5), self.cluster.now
            )
        )

    def synced(self) -> None:
        response = self.cluster.answers.pop(self.pending)
        assert isinstance(response, SyncGroupResponse)
        self.error = response.error_code
        if not self.error:
            target = assigned_target(decode_assignment(response.assignment), self.cluster.image)
            names = {topic_id(name): name for name in self.cluster.image.topics_by_name}
            self.owned = {names[identity]: list(ids) for identity, ids in target.items()}

    def join(self) -> "ClassicConsumer":
        """To a consumer group: nobody waits for anybody."""
        self.send_join()
        self.joined()
        if not self.error:
            self.sync()
            self.synced()
        return self

    def beat(self) -> int:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        response = self._ask(self.cluster.shard.handle_heartbeat, request, 4)
        assert isinstance(response, HeartbeatResponse)
        return response.error_code

    def follow(self) -> None:
        """Do what a live consumer does: heartbeat, and join again when told to."""
        while self.beat() == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
            assert self.error == 0

    def leave(self) -> int:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        request = LeaveGroupRequest(group_id=GROUP, members=[identity])
        response = self._ask(self.cluster.shard.handle_leave_group, request, 5)
        assert isinstance(response, LeaveGroupResponse)
        return response.error_code or response.members[0].error_code

    def _ask(self, handle: object, request: object, version: int) -> Struct:
        token = self.cluster.token()
        context = self.cluster.context(version)
        self.cluster.take(handle(token, request, context, self.cluster.now))  # type: ignore[operator]
        return self.cluster.answers.pop(token)


def classic_pair(settings: dict[str, str] | None = None) -> tuple[Cluster, list[ClassicConsumer]]:
    """A stable classic group in which each of two members reads two partitions of foo."""
    cluster = Cluster({"group.initial.rebalance.delay.ms": "100", **(settings or {})})
    cluster.create_topic("foo", 4)
    members = [ClassicConsumer(cluster), ClassicConsumer(cluster)]
    for member in members:
        member.send_join()
    cluster.pass_time(1_000)
    for member in members:
        member.joined()
    members.sort(key=lambda member: not member.is_leader)
    leader, follower = members
    follower.sync()
    leader.sync({leader.member_id: {"foo": [0, 1]}, follower.member_id: {"foo": [2, 3]}})
    for member in members:
        member.synced()
    return cluster, members


def test_the_first_new_consumer_takes_the_group_along() -> None:
    cluster, (leader, follower) = classic_pair()
    generation = leader.generation
    new = Consumer(cluster, "new").join()
    assert (new.error, new.epoch) == (0, generation + 1)
    group = cluster.group
    assert group.members[leader.member_id].member_epoch == generation
    assert group.members[leader.member_id].uses_classic_protocol
    assert leader.beat() == follower.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(3):
        leader.follow()
        follower.follow()
        new.beat()
    assert cluster.state == "Stable"
    owned = leader.owned["foo"] + follower.owned["foo"] + list(new.owned[topic_id("foo")])
    assert sorted(owned) == [0, 1, 2, 3]
    assert {len(leader.owned["foo"]), len(follower.owned["foo"]), new.count} == {1, 2}
    assert cluster.shard.list_groups([], ["consumer"])[0].group_id == GROUP


def test_partitions_do_not_move_that_need_not() -> None:
    cluster, members = classic_pair()
    before = {member.member_id: list(member.owned["foo"]) for member in members}
    new = Consumer(cluster, "new").join()
    for _ in range(3):
        for member in members:
            member.follow()
        new.beat()
    for member in members:
        assert set(member.owned["foo"]) <= set(before[member.member_id])


def test_members_that_wait_for_the_classic_group_are_told_to_join_again() -> None:
    cluster, (leader, follower) = classic_pair()
    leader.send_join()
    assert leader.pending not in cluster.answers
    Consumer(cluster, "new").join()
    leader.joined()
    assert leader.error == ErrorCode.REBALANCE_IN_PROGRESS
    leader.join()
    assert leader.error == 0
    follower.follow()


def test_when_the_last_new_consumer_leaves_the_group_is_classic_again() -> None:
    cluster, members = classic_pair()
    new = Consumer(cluster, "new").join()
    for _ in range(3):
        for member in members:
            member.follow()
        new.beat()
    epoch = cluster.group.group_epoch
    new.leave()
    assert not cluster.shard._consumer.has_group(GROUP)
    classic = cluster.shard._classic.groups[GROUP]
    assert classic.generation_id == epoch
    # What it left must be given to somebody, so they are asked to join.
    assert classic.state is ClassicState.PREPARING_REBALANCE
    assert [member.beat() for member in members] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    for member in members:
        member.send_join()
    for member in members:
        member.joined()
        assert (member.error, member.generation) == (0, epoch + 1)


def test_a_new_consumer_that_dies_turns_the_group_back_too() -> None:
    cluster, members = classic_pair()
    Consumer(cluster, "new").join()
    for member in members:
        member.follow()
    cluster.pass_time(44_000)
    for member in members:
        member.beat()
    cluster.pass_time(2_000)
    assert cluster.shard._classic.groups[GROUP].members.keys() == {
        member.member_id for member in members
    }


def test_a_dead_consumer_is_removed_although_the_group_cannot_become_classic_again() -> None:
    """If a timer fails, the whole shard is loaded again, with all its other groups."""
    cluster = Cluster()
    cluster.create_topic("foo", 4)
    Consumer(cluster, "new").join()
    a = ClassicConsumer(cluster, malformed_protocols=["range"])
    b = ClassicConsumer(cluster, malformed_protocols=["cooperative-sticky"])
    b.protocol_name = "range"
    members = [a.join(), b.join()]
    for _ in range(2):
        for member in members:
            member.follow()
    cluster.pass_time(44_000)
    for member in members:
        member.beat()
    cluster.pass_time(2_000)
    assert cluster.group.members.keys() == {member.member_id for member in members}
    for _ in range(2):
        for member in members:
            member.follow()
    assert sorted(a.owned["foo"] + b.owned["foo"]) == [0, 1, 2, 3]


def test_a_group_too_large_for_the_record_of_a_classic_group_stays_as_it_is() -> None:
    cluster, members = classic_pair()
    new = Consumer(cluster, "new").join()
    for member in members:
        member.follow()
    fits = cluster.shard._consumer._upkeep.fits
    cluster.shard._consumer._upkeep.fits = lambda record: (
        not isinstance(record.key, GroupMetadataKey)
    )
    new.leave()
    assert new.error == 0
    assert cluster.group.members.keys() == {member.member_id for member in members}
    cluster.shard._consumer._upkeep.fits = fits


def test_the_group_survives_a_reload_at_every_stage() -> None:
    cluster, members = classic_pair()
    cluster.reload()
    new = Consumer(cluster, "new").join()
    cluster.reload(compact=True)
    for _ in range(3):
        for member in members:
            member.follow()
        new.beat()
    assert cluster.state == "Stable"
    cluster.reload(compact=True)
    new.leave()
    cluster.reload(compact=True)
    classic = cluster.shard._classic.groups[GROUP]
    assert sorted(classic.members) == sorted(member.member_id for member in members)
    # What the new one had is still to be shared out.
    assert classic.state is ClassicState.PREPARING_REBALANCE


def test_a_classic_consumer_may_join_a_group_of_new_ones() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    new = Consumer(cluster, "new").join()
    new.beat()
    classic = ClassicConsumer(cluster).join()
    assert (classic.error, classic.owned) == (0, {})
    new.beat()
    new.beat()
    classic.follow()
    assert (classic.owned, new.has) == ({"foo": [1]}, "foo:0")
    described = cluster.shard.consumer_group_describe([GROUP])[0]
    assert {member.member_type for member in described.members} == {0, 1}
    assert classic.leave() == 0
    new.beat()
    assert new.has == "foo:0,1"


def test_an_empty_consumer_group_makes_room_for_a_classic_one() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    Consumer(cluster, "new").join().leave()
    classic = ClassicConsumer(cluster)
    classic.send_join()
    cluster.pass_time(3_000)
    classic.joined()
    assert (classic.error, classic.is_leader) == (0, True)
    assert not cluster.shard._consumer.has_group(GROUP)


def test_an_empty_classic_group_makes_room_for_a_consumer_group() -> None:
    cluster, members = classic_pair()
    for member in members:
        assert member.leave() == 0
    new = Consumer(cluster, "new").join()
    assert (new.error, new.epoch, new.has) == (0, 2, "foo:0,1,2,3")
    assert GROUP not in cluster.shard._classic.groups


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_without_upgrades_a_classic_group_is_no_consumer_group(policy: str) -> None:
    cluster, members = classic_pair({"group.consumer.migration.policy": policy})
    new = Consumer(cluster, "new").join()
    assert new.error == ErrorCode.GROUP_ID_NOT_FOUND
    assert [member.beat() for member in members] == [0, 0]


def test_without_migration_a_classic_consumer_cannot_join_a_consumer_group() -> None:
    cluster = Cluster({"group.consumer.migration.policy": "disabled"})
    cluster.create_topic("foo", 2)
    Consumer(cluster, "new").join()
    assert ClassicConsumer(cluster).join().error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_without_downgrades_classic_members_stay_in_the_consumer_group() -> None:
    cluster, members = classic_pair({"group.consumer.migration.policy": "upgrade"})
    new = Consumer(cluster, "new").join()
    for member in members:
        member.follow()
    new.leave()
    # The target is computed when somebody joins, and nobody of the new protocol is there to do it:
    # the others are told to join, or what the one had would stay unread.
    assert cluster.state == "Assigning"
    cluster.pass_time(3_000)
    for _ in range(2):
        for member in members:
            member.follow()
    assert sorted(members[0].owned["foo"] + members[1].owned["foo"]) == [0, 1, 2, 3]
    assert [member.beat() for member in members] == [0, 0]


def test_a_group_of_another_kind_of_protocol_is_not_taken_over() -> None:
    cluster = Cluster({"group.initial.rebalance.delay.ms": "0"})
    worker = ClassicConsumer(cluster, protocol_type="connect")
    worker.send_join()
    cluster.pass_time(1)
    worker.joined()
    assert Consumer(cluster, "new").join().error == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_assignor_that_keeps_data_in_the_assignment_is_not_taken_over() -> None:
    cluster, (leader, _) = classic_pair()
    group = cluster.shard._classic.groups[GROUP]
    group.members[leader.member_id].assignment = assignment({"foo": [0]}, user_data=b"secret")
    assert Consumer(cluster, "new").join().error == ErrorCode.GROUP_ID_NOT_FOUND
    group.members[leader.member_id].assignment = b"\x00"
    assert Consumer(cluster, "new").join().error == ErrorCode.GROUP_ID_NOT_FOUND
    assert GROUP in cluster.shard._classic.groups


def test_a_static_member_may_change_its_protocol_back_and_forth() -> None:
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    new = Consumer(cluster, "new", instance_id="one").join()
    other = ClassicConsumer(cluster).join()
    new.beat()
    new.beat()
    other.follow()
    epoch = cluster.group.group_epoch
    new.leave(epoch=-2)
    # Its instance comes back with the classic protocol: now nobody speaks the new one.
    back = ClassicConsumer(cluster, instance_id="one")
    back.send_join()
    back.joined()
    assert (back.error, back.generation) == (0, epoch)
    assert not cluster.shard._consumer.has_group(GROUP)
    back.sync()
    back.synced()
    assert (back.error, back.owned) == (0, {"foo": [0]})
    assert other.beat() == 0


def test_classic_requests_with_a_wrong_generation_or_member_are_refused() -> None:
    cluster, (leader, follower) = classic_pair()
    new = Consumer(cluster, "new").join()
    leader.follow()
    generation = leader.generation
    leader.generation = generation - 1
    assert leader.beat() == ErrorCode.ILLEGAL_GENERATION
    leader.sync()
    leader.synced()
    assert leader.error == ErrorCode.ILLEGAL_GENERATION
    leader.generation = generation
    # A member of the new protocol cannot be addressed with the classic one.
    follower.member_id, follower.generation = new.member_id, new.epoch
    assert follower.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    follower.member_id = "nobody"
    assert follower.beat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert follower.leave() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_does_not_rejoin_in_time_is_out() -> None:
    cluster, (leader, follower) = classic_pair()
    new = Consumer(cluster, "new").join()
    follower.follow()
    assert leader.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(3):
        cluster.pass_time(10_001)
        leader.beat()
        follower.follow()
        new.beat()
    assert leader.member_id not in cluster.group.members
    assert follower.member_id in cluster.group.members


# Groups that are on their way somewhere when they change their protocol. In the first of these
# cases Apache Kafka 4.3.1 leaves partitions unread.


def test_a_static_member_that_takes_over_a_rebalancing_group_gets_what_is_nobodys() -> None:
    cluster = Cluster({"group.initial.rebalance.delay.ms": "100"})
    cluster.create_topic("foo", 4)
    static, other = ClassicConsumer(cluster, instance_id="i"), ClassicConsumer(cluster)
    for member in (static, other):
        member.send_join()
    cluster.pass_time(1_000)
    for member in (static, other):
        member.joined()
    plan = {static.member_id: {"foo": [0, 1]}, other.member_id: {"foo": [2, 3]}}
    for member in sorted((static, other), key=lambda member: member.is_leader):
        member.sync(plan if member.is_leader else None)
    other.leave()
    new = Consumer(cluster, "new", instance_id="i").join()
    new.beat()
    assert (new.error, new.has, cluster.state) == (0, "foo:0,1,2,3", "Stable")


def test_a_static_member_that_takes_over_before_the_first_generation_has_an_epoch() -> None:
    """With epoch 0 its next heartbeat would be another join."""
    cluster = Cluster({"group.initial.rebalance.delay.ms": "100"})
    cluster.create_topic("foo", 4)
    ClassicConsumer(cluster, instance_id="i").send_join()
    new = Consumer(cluster, "new", instance_id="i").join()
    assert new.epoch > 0
    new.beat()
    assert (new.error, new.has, cluster.state) == (0, "foo:0,1,2,3", "Stable")


def test_a_group_that_moves_back_and_forth_gives_nothing_away_that_is_read() -> None:
    cluster, (leader, follower) = classic_pair()
    Consumer(cluster, "new").join().leave()
    # Nobody has heard of it yet: each still reads what it read.
    again = Consumer(cluster, "again").join()
    assert again.has == ""
    for member in (leader, follower):
        known = cluster.group.members[member.member_id]
        assert without_epochs(known.assigned) == {topic_id("foo"): tuple(member.owned["foo"])}


def test_what_a_member_claims_to_read_in_a_rebalance_is_not_given_to_a_new_consumer() -> None:
    """A cooperative member keeps what it has until it has heard its new assignment."""
    cluster, (leader, follower) = classic_pair()
    for member in (leader, follower):
        member.send_join()
    for member in (leader, follower):
        member.joined()
    # The next generation: the follower has to give one up, and has not heard of it.
    leader.sync({leader.member_id: {"foo": [0, 1]}, follower.member_id: {"foo": [2]}})
    new = Consumer(cluster, "new").join()
    assert new.has == ""
    held = cluster.group.members[follower.member_id]
    assert without_epochs(held.pending_revocation) == {topic_id("foo"): (3,)}
    follower.owned = {"foo": [2]}
    assert follower.beat() == ErrorCode.REBALANCE_IN_PROGRESS
    follower.join()
    new.beat()
    assert new.has == "foo:3"


def test_a_group_that_turns_classic_amid_a_reconciliation_rebalances() -> None:
    """The classic member has not heard yet of its new share, and now it never would."""
    cluster = Cluster()
    cluster.create_topic("foo", 2)
    classic = ClassicConsumer(cluster)
    new = Consumer(cluster, "new", instance_id="i").join()
    new.beat()
    classic.join()
    new.beat()
    new.beat()
    classic.join()
    assert (classic.owned, new.has, cluster.state) == ({"foo": [1]}, "foo:0", "Stable")
    cluster.add_partitions("foo", 1)
    new.beat()
    assert cluster.state == "Reconciling"
    ClassicConsumer(cluster, instance_id="i").send_join()
    assert cluster.shard._classic.groups[GROUP].state is ClassicState.PREPARING_REBALANCE
