"""Clients of both protocols that share one group, each at its own pace.

A ``ClassicClient`` behaves like a real consumer: it joins when required, assigns if it is the
leader, syncs, and revokes partitions in its own style. *Eager* clients revoke everything before
they join; *cooperative* ones keep and report their partitions, and join again after they had to
revoke some. ``ModernClient`` is the same for KIP-848. Both read one topic, and both give up
everything when they notice that their session has expired.
"""

from collections.abc import Sequence

from moldau.errors import ErrorCode
from moldau.group_coordinator.request_context import GroupRequestContext
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
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
from tests.group_coordinator.consumer.cluster import GROUP, Cluster, Consumer, topic_id

TOPIC = "foo"
SESSION_MS = 10_000
REBALANCE_MS = 15_000


class Fenced(Exception):  # noqa: N818  # names the event
    """The client is no longer a member and has given up all partitions."""


class ClassicClient:
    """One request at a time; ``act`` takes the next step."""

    def __init__(
        self, cluster: Cluster, name: str, *, is_eager: bool, instance_id: str | None
    ) -> None:
        self.cluster = cluster
        self.name = name
        self.is_eager = is_eager
        self.instance_id = instance_id
        self.member_id = ""
        self.epoch = -1
        self.owned: set[int] = set()
        self._plan: dict[str, bytes] = {}
        # For a leader: the number of partitions at its last assignment.
        self._planned_for: int | None = None
        self._waits_for: int | None = None
        self._must_sync = False
        self._must_join = True
        self._last_contact_ms = cluster.now_ms

    def act(self) -> None:
        """Raises Fenced; after that ``act`` continues as a new member."""
        now_ms = self.cluster.now_ms
        is_heard = self._waits_for is not None and self._waits_for not in self.cluster.answers
        if not is_heard and now_ms - self._last_contact_ms >= SESSION_MS:
            self._waits_for = None
            self._lose(ErrorCode.UNKNOWN_MEMBER_ID)
        self._last_contact_ms = now_ms
        if self._waits_for is not None:
            response = self.cluster.answers.pop(self._waits_for, None)
            if isinstance(response, JoinGroupResponse):
                self._waits_for = None
                self._joined(response)
            elif isinstance(response, SyncGroupResponse):
                self._waits_for = None
                self._synced(response)
        elif self._must_join:
            self._join()
        elif self._must_sync:
            self._sync()
        else:
            self._beat()

    def lose_connection(self) -> None:
        """A pending request gets no reply; the client sends it again."""
        if self._waits_for is not None:
            self._waits_for = None
            self._must_join = self._must_join or not self._must_sync

    def leave(self) -> None:
        members = [MemberIdentity(self.member_id, self.instance_id)]
        if self.member_id:
            self._send("handle_leave_group", LeaveGroupRequest(GROUP, members=members), 5)
        self.owned = set()

    def commit(self, partition: int, offset: int) -> ErrorCode:
        return commit(self.cluster, self.member_id, self.epoch, self.instance_id, partition, offset)

    # --- joining

    def _join(self) -> None:
        if self.is_eager:
            self.owned = set()
        subscription = ConsumerProtocolSubscription(
            topics=[TOPIC],
            owned_partitions=[TopicPartition(TOPIC, sorted(self.owned))] if self.owned else [],
        )
        metadata = (1).to_bytes(2, "big") + subscription.encode(1)
        name = "range" if self.is_eager else "cooperative-sticky"
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name, metadata)],
        )
        self._must_join = False
        self._waits_for = self._send("handle_join_group", request, 9)

    def _joined(self, response: JoinGroupResponse) -> None:
        code = ErrorCode(response.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._must_join = True
        elif code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._must_join = True
        elif code is not ErrorCode.NONE:
            self._lose(code)
        else:
            self.member_id = response.member_id
            self.epoch = response.generation_id
            self._must_sync = True
            is_leader = response.leader == response.member_id
            self._planned_for = self._partition_count if is_leader else None
            self._plan = self._assign(response.members) if is_leader else {}

    def _assign(self, members: Sequence[JoinGroupResponseMember]) -> dict[str, bytes]:
        """Round robin; partitions that another member still owns are skipped."""
        owners: dict[int, str] = {}
        for member in members:
            data = member.metadata
            subscription, _ = ConsumerProtocolSubscription.decode(data, 2, data[1])
            for item in subscription.owned_partitions:
                owners.update((partition, member.member_id) for partition in item.partitions)
        names = sorted(member.member_id for member in members)
        shares: dict[str, list[int]] = {name: [] for name in names}
        for partition in range(self._partition_count):
            name = names[partition % len(names)]
            if owners.get(partition, name) == name:
                shares[name].append(partition)
        return {name: _assignment(partitions) for name, partitions in shares.items()}

    # --- syncing

    def _sync(self) -> None:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name="range" if self.is_eager else "cooperative-sticky",
            assignments=[SyncGroupRequestAssignment(*share) for share in self._plan.items()],
        )
        self._waits_for = self._send("handle_sync_group", request, 5)

    def _synced(self, response: SyncGroupResponse) -> None:
        code = ErrorCode(response.error_code)
        self._must_sync = False
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._must_join = True
            return
        if code is not ErrorCode.NONE:
            self._lose(code)
            return
        given: set[int] = set()
        if response.assignment:
            share, _ = ConsumerProtocolAssignment.decode(response.assignment, 2, 1)
            given = {p for item in share.assigned_partitions for p in item.partitions}
        # After revoking partitions it joins again, so that others can get them.
        self._must_join = bool(self.owned - given)
        self.owned = given

    # --- living

    @property
    def is_leader(self) -> bool:
        """Whether it is the leader, which watches for new partitions."""
        return self._planned_for is not None

    @property
    def _partition_count(self) -> int:
        return len(self.cluster.image.topics_by_name[TOPIC].partitions)

    def _beat(self) -> None:
        if self._planned_for not in (None, self._partition_count):
            # The leader sees new partitions in the metadata.
            self._join()
            return
        request = HeartbeatRequest(GROUP, self.epoch, self.member_id, self.instance_id)
        token = self._send("handle_heartbeat", request, 4)
        response = self.cluster.answers.pop(token)
        assert isinstance(response, HeartbeatResponse)
        code = ErrorCode(response.error_code)
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._must_join = True
        elif code is not ErrorCode.NONE:
            self._lose(code)

    def _lose(self, code: ErrorCode) -> None:
        self.owned = set()
        self._must_join, self._must_sync = True, False
        if code is not ErrorCode.ILLEGAL_GENERATION:
            self.member_id = ""
        self.epoch = -1
        if code in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.INCONSISTENT_GROUP_PROTOCOL):
            raise Fenced(code.name)
        expected = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
        assert code in expected, code

    def _send(self, handler: str, request: object, version: int) -> int:
        token = self.cluster.token()
        context = GroupRequestContext(version, self.name, "/127.0.0.1")
        handle = getattr(self.cluster.shard, handler)
        self.cluster.take(handle(token, request, context, self.cluster.now))
        return token


class ModernClient:
    """A consumer of KIP-848 with the same interface."""

    def __init__(self, cluster: Cluster, name: str, instance_id: str | None) -> None:
        self.name = name
        self.instance_id = instance_id
        self.member_id = name
        self._cluster = cluster
        self._consumer = Consumer(cluster, name, (TOPIC,), instance_id=instance_id)
        self._is_member = False
        self._last_contact_ms = cluster.now_ms

    @property
    def epoch(self) -> int:
        return self._consumer.epoch

    @property
    def owned(self) -> set[int]:
        return self._consumer.owned.get(topic_id(TOPIC), set())

    def act(self) -> None:
        """Raises Fenced; after that ``act`` continues as a new member."""
        now_ms = self._cluster.now_ms
        if now_ms - self._last_contact_ms >= SESSION_MS:
            self._is_member = False
        self._last_contact_ms = now_ms
        if self._is_member:
            self._consumer.beat()
        else:
            self._consumer.join()
        code = ErrorCode(self._consumer.error)
        if code is ErrorCode.NONE:
            self._is_member = True
            return
        self._consumer.owned, self._consumer.told = {}, {}
        self._is_member = False
        if code in (ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID):
            raise Fenced(code.name)
        lost = (
            ErrorCode.FENCED_MEMBER_EPOCH,
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.GROUP_ID_NOT_FOUND,
        )
        assert code in lost, code

    def lose_connection(self) -> None:
        """It has no pending requests."""

    def leave(self) -> None:
        if self._is_member:
            self._consumer.leave(-1)

    def commit(self, partition: int, offset: int) -> ErrorCode:
        return commit(
            self._cluster, self.member_id, self.epoch, self.instance_id, partition, offset
        )


MixedClient = ClassicClient | ModernClient


def commit(
    cluster: Cluster,
    member_id: str,
    epoch: int,
    instance_id: str | None,
    partition: int,
    offset: int,
) -> ErrorCode:
    """Commit the offset of one partition; for classic groups the epoch is the generation."""
    request = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[
            OffsetCommitRequestTopic(
                TOPIC, partitions=[OffsetCommitRequestPartition(partition, offset)]
            )
        ],
    )
    token = cluster.token()
    context = GroupRequestContext(9, "client", "/127.0.0.1")
    cluster.take(cluster.shard.handle_offset_commit(token, request, context, cluster.now))
    response = cluster.answers.pop(token)
    assert isinstance(response, OffsetCommitResponse)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def _assignment(partitions: Sequence[int]) -> bytes:
    topics = [TopicPartition(TOPIC, list(partitions))] if partitions else []
    return (1).to_bytes(2, "big") + ConsumerProtocolAssignment(topics).encode(1)
