"""A member of a classic consumer group: reads its partitions and commits offsets.

Partitions are assigned in rebalances. In each, every member sends its subscription (JoinGroup),
the member that the coordinator chose as leader assigns the partitions, and all members receive
theirs (SyncGroup). The response to a heartbeat announces the next rebalance; the member then
commits, gives up its partitions and joins again (the eager protocol).

Rules this module keeps:

* Records returned by ``poll`` count as processed when ``poll`` is called again, and not before:
  after a crash a record may be read twice, but none is skipped.
* ``poll`` sends the heartbeats. A member that does not call it for ``session_timeout_ms`` is
  removed from the group; the next call joins again.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, Self, TypeVar

from moldau.client import group_offsets
from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import ConnectionFailed
from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.consumer_protocol import (
    PROTOCOL_TYPE,
    RANGE,
    Member,
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from moldau.client.coordinators import Coordinators
from moldau.client.group_offsets import CommittedOffset, Membership
from moldau.client.offsets import EARLIEST, LATEST
from moldau.client.security import PLAINTEXT, Security
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
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

T = TypeVar("T")

_LEAVE_GROUP_KEY: Final = 13
_FIRST_WITH_MEMBERS: Final = 3
_PARTITIONS_CHECK_S: Final = 30.0
_MARGIN_S: Final = 10.0
# The membership has ended or is about to end: join again.
_REJOIN: Final = frozenset(
    (
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
    )
)


class GroupConsumer:
    """A group member. Use as a context manager, or call ``close()`` to leave the group."""

    def __init__(
        self,
        bootstrap: str,
        group_id: str,
        topics: Collection[str],
        *,
        client_id: str = "moldau-consumer",
        instance_id: str | None = None,
        session_timeout_ms: int = 45_000,
        rebalance_timeout_ms: int = 60_000,
        heartbeat_interval_ms: int = 3_000,
        commit_interval_ms: int | None = 5_000,
        auto_offset_reset: str = "latest",
        read_committed: bool = False,
        timeout_s: float = 30.0,
        security: Security = PLAINTEXT,
    ) -> None:
        """``commit_interval_ms=None`` turns off automatic commits."""
        self.group_id = group_id
        self.topics = sorted(topics)
        self.member_id = ""
        self.generation_id = -1
        self._instance_id = instance_id
        self._session_timeout_ms = session_timeout_ms
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._heartbeat_interval_s = heartbeat_interval_ms / 1000
        self._commit_interval_s = None if commit_interval_ms is None else commit_interval_ms / 1000
        self._reset = {"earliest": EARLIEST, "latest": LATEST}[auto_offset_reset]
        self._consumer = Consumer(
            bootstrap,
            client_id=client_id,
            read_committed=read_committed,
            auto_offset_reset=auto_offset_reset,
            max_wait_ms=min(500, heartbeat_interval_ms),
            timeout_s=timeout_s,
            security=security,
        )
        # Requests to the coordinator may wait for other members, fetches must not.
        self._cluster = Cluster(
            bootstrap, client_id=client_id, timeout_s=timeout_s, security=security
        )
        self._coordinators = Coordinators(self._cluster)
        self._is_member = False
        self._is_leader = False
        self._partition_counts: dict[str, int] = {}
        self._checked_s = 0.0
        self._heartbeat_s = 0.0
        self._committed_s = 0.0
        self._committed: dict[TopicPartition, int] = {}
        self._epochs: dict[TopicPartition, int] = {}

    @property
    def is_member(self) -> bool:
        """Whether this consumer is a member of the group, as far as it knows."""
        return self._is_member

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The assigned partitions, with the next offset to read in each."""
        return self._consumer.positions if self._is_member else {}

    @property
    def membership(self) -> Membership:
        """Who commits, so that a commit of a former member can be refused."""
        return Membership(self.member_id, self.generation_id, self._instance_id)

    def poll(self, timeout_s: float) -> list[ConsumerRecord]:
        """New records of the assigned partitions; waits up to ``timeout_s`` if there are none.

        Joins the group first if necessary, which takes until the other members have joined
        too. Records returned by the previous call are assumed to be processed.

        Raises:
            ApiError: the group or a partition cannot be used, and retrying cannot fix it.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            self._keep_up()
            remaining_s = max(deadline - time.monotonic(), 0.0)
            wait_s = min(remaining_s, self._heartbeat_interval_s)
            if self._consumer.positions:
                records = self._consumer.poll(wait_s)
            else:
                records = []
                time.sleep(wait_s)
            for record in records:
                self._epochs[TopicPartition(record.topic, record.partition)] = record.leader_epoch
            if records or time.monotonic() >= deadline:
                return records

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Continue at ``offset``; a commit without arguments commits it."""
        self._consumer.seek(partition, offset)

    def rewind(self) -> None:
        """Continue at the committed offsets, as after a transaction that was aborted."""
        if self._is_member:
            self._start_reading(list(self._consumer.positions))

    def offsets_at(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """See ``Consumer.offsets_at``."""
        return self._consumer.offsets_at(timestamps)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic, assigned to this member or not."""
        return self._consumer.partitions_of(topic)

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> None:
        """Commit ``offsets``, or the positions after the last ``poll``.

        Raises:
            ApiError: the commit was refused; with REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION
                or UNKNOWN_MEMBER_ID because the partitions may belong to another member.
        """
        wanted = self._consumer.positions if offsets is None else offsets
        changed = {
            partition: CommittedOffset(offset, self._epochs.get(partition, -1))
            for partition, offset in wanted.items()
            if self._committed.get(partition) != offset
        }
        self._committed_s = time.monotonic()
        if not changed:
            return

        def ask() -> None:
            connection = self._coordinators.connection(self.group_id)
            group_offsets.commit(self._cluster, connection, self.group_id, changed, self.membership)

        self._asking(ask)
        self._committed.update({partition: each.offset for partition, each in changed.items()})

    def close(self, *, commits: bool = True) -> None:
        """Commit, leave the group, and close the connections."""
        # An interrupted call may have left a response unread: use new connections.
        self._cluster.close()
        try:
            if self._is_member and commits and self._commit_interval_s is not None:
                self._commit_quietly()
            # A static member stays in the group: it is expected to return.
            if self.member_id and self._instance_id is None:
                self._leave()
        except (ApiError, ConnectionFailed):
            # The coordinator will notice the missing heartbeats.
            pass
        finally:
            self._cluster.close()
            self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep_up(self) -> None:
        """Join, send a heartbeat, or commit, as necessary."""
        now_s = time.monotonic()
        if self._is_member and now_s >= self._heartbeat_s + self._heartbeat_interval_s:
            self._heartbeat()
        if self._is_leader and now_s >= self._checked_s + _PARTITIONS_CHECK_S:
            self._look_for_partitions()
        if (
            self._is_member
            and self._commit_interval_s is not None
            and now_s >= self._committed_s + self._commit_interval_s
        ):
            self._commit_quietly()
        while not self._is_member:
            self._join()

    def _asking(self, operation: Callable[[], T]) -> T:
        """Retry where that can help, looking up the coordinator again each time."""

        def ask() -> T:
            try:
                return operation()
            except (ApiError, ConnectionFailed):
                self._coordinators.forget(self.group_id)
                raise

        return self._cluster.retrying(ask, self.topics)

    def _heartbeat(self) -> None:
        request = HeartbeatRequest(
            self.group_id, self.generation_id, self.member_id, self._instance_id
        )

        def ask() -> None:
            response = self._coordinators.request(self.group_id, request, HeartbeatResponse)
            raise_for(response.error_code, None, f"heartbeat of group {self.group_id}")

        try:
            self._asking(ask)
        except ApiError as error:
            self._on_lost(error)
        self._heartbeat_s = time.monotonic()

    def _on_lost(self, error: ApiError) -> None:
        """Give up the partitions, after a last commit if the rebalance still allows it."""
        if error.code not in _REJOIN:
            raise error
        if error.code is ErrorCode.REBALANCE_IN_PROGRESS:
            if self._commit_interval_s is not None and self._is_member:
                self._is_member = False
                self._commit_quietly()
        elif error.code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        self._is_member = False

    def _commit_quietly(self) -> None:
        try:
            self.commit()
        except ApiError as error:
            if error.code not in _REJOIN:
                raise
            if error.code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self._is_member = False

    def _look_for_partitions(self) -> None:
        """As group leader, rejoin if topics or partitions were added: they must be assigned."""
        self._checked_s = time.monotonic()
        if self._count_partitions(self.topics) != {
            topic: self._partition_counts.get(topic, 0) for topic in self.topics
        }:
            self._commit_quietly()
            self._is_member = False

    def _count_partitions(self, topics: Collection[str]) -> dict[str, int]:
        counts = {}
        for topic in topics:
            self._cluster.forget([topic])
            try:
                counts[topic] = len(self._cluster.topic(topic).partitions)
            except ApiError as error:
                if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                counts[topic] = 0
        return counts

    def _join(self) -> None:
        """One rebalance. The caller repeats it if it did not make this consumer a member."""
        self._is_leader = False
        self._consumer.assign({})
        try:
            joined = self._asking(self._ask_to_join)
            self.generation_id = joined.generation_id
            assignments = self._share_out(joined) if joined.leader == self.member_id else []
            partitions = decode_assignment(self._sync(joined, assignments))
            self._heartbeat_s = self._committed_s = time.monotonic()
            self._start_reading(partitions)
        except ApiError as error:
            if error.code not in _REJOIN:
                raise
            if error.code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""

    def _ask_to_join(self) -> JoinGroupResponse:
        connection = self._coordinators.connection(self.group_id)
        connection.set_timeout(self._rebalance_timeout_ms / 1000 + _MARGIN_S)
        while True:
            request = JoinGroupRequest(
                group_id=self.group_id,
                session_timeout_ms=self._session_timeout_ms,
                rebalance_timeout_ms=self._rebalance_timeout_ms,
                member_id=self.member_id,
                group_instance_id=self._instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=[JoinGroupRequestProtocol(RANGE, encode_subscription(self.topics))],
            )
            response = connection.request(request, JoinGroupResponse)
            if response.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
            # A join whose response is lost then leaves no unused member behind (KIP-394).
            self.member_id = response.member_id
        raise_for(response.error_code, None, f"joining group {self.group_id}")
        self.member_id = response.member_id
        return response

    def _share_out(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        self._is_leader = True
        members = [
            Member(each.member_id, each.group_instance_id, decode_subscription(each.metadata))
            for each in joined.members
        ]
        self._checked_s = time.monotonic()
        topics = {topic for member in members for topic in member.topics}
        self._partition_counts = self._count_partitions(sorted(topics | set(self.topics)))
        if joined.skip_assignment:
            return []
        return [
            SyncGroupRequestAssignment(member_id, encode_assignment(partitions))
            for member_id, partitions in assign_range(members, self._partition_counts).items()
        ]

    def _sync(
        self, joined: JoinGroupResponse, assignments: list[SyncGroupRequestAssignment]
    ) -> bytes:
        request = SyncGroupRequest(
            self.group_id,
            self.generation_id,
            self.member_id,
            self._instance_id,
            PROTOCOL_TYPE,
            joined.protocol_name,
            assignments,
        )

        def ask() -> bytes:
            connection = self._coordinators.connection(self.group_id)
            connection.set_timeout(self._rebalance_timeout_ms / 1000 + _MARGIN_S)
            response = connection.request(request, SyncGroupResponse)
            raise_for(response.error_code, None, f"assignment of group {self.group_id}")
            return bytes(response.assignment)

        return self._asking(ask)

    def _start_reading(self, partitions: list[TopicPartition]) -> None:
        """Start at the committed offsets, or without one, at ``auto_offset_reset``."""
        committed = self._asking(
            lambda: group_offsets.fetch(
                self._cluster,
                self._coordinators.connection(self.group_id),
                self.group_id,
                partitions,
                require_stable=True,
            )
        )
        self._committed = {partition: each.offset for partition, each in committed.items()}
        missing = [each for each in partitions if each not in committed]
        starts = self._consumer.offsets_at(dict.fromkeys(missing, self._reset))
        self._epochs = {partition: each.leader_epoch for partition, each in committed.items()}
        self._consumer.assign({**self._committed, **starts})
        self._is_member = True

    def _leave(self) -> None:
        connection = self._coordinators.connection(self.group_id)
        request = LeaveGroupRequest(self.group_id)
        if connection.version_of(_LEAVE_GROUP_KEY) >= _FIRST_WITH_MEMBERS:
            request.members = [MemberIdentity(self.member_id, reason="the consumer was closed")]
        else:
            request.member_id = self.member_id
        connection.request(request, LeaveGroupResponse)
