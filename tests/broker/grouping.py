"""Helpers for tests of groups: find a coordinator, join, commit and fetch offsets."""

from typing import Any

from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.running import WireClient

# No waiting for members that will not join.
QUICK = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "offsets.topic.num.partitions": "4",
}
COMMIT_VERSION = 9
FETCH_VERSION = 9


def find_coordinator(client: WireClient, *groups: str) -> Any:
    """Find the coordinators, creating the offsets topic if necessary."""
    response = client.send(FindCoordinatorRequest(coordinator_keys=list(groups or ("g",))), 6)
    assert all(each.error_code == 0 for each in response.coordinators), response
    return response.coordinators


class Member:
    """A member of a classic group with its own connection and one request at a time."""

    def __init__(
        self,
        client: WireClient,
        group: str = "g",
        *,
        session_timeout_ms: int = 30_000,
        rebalance_timeout_ms: int = 30_000,
        instance_id: str | None = None,
        version: int = 9,
    ) -> None:
        self.client = client
        self.group = group
        self.version = version
        self.member_id = ""
        self.generation = -1
        self.instance_id = instance_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms

    def join(self) -> Any:
        """Join, in two steps if the protocol requires it (KIP-394)."""
        self.post_join()
        response = self.joined()
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.post_join()
            response = self.joined()
        return response

    def post_join(self) -> None:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"subscription")],
        )
        self.client.post(request, self.version)

    def joined(self) -> Any:
        response = self.client.receive(JoinGroupRequest.API_KEY, self.version)
        if response.error_code in (0, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = response.member_id
            self.generation = response.generation_id
        return response

    def sync(self, assignments: dict[str, bytes] | None = None) -> Any:
        self.post_sync(assignments)
        return self.synced()

    def post_sync(self, assignments: dict[str, bytes] | None = None) -> None:
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in (assignments or {}).items()
            ],
        )
        self.client.post(request, min(self.version, 5))

    def synced(self) -> Any:
        return self.client.receive(SyncGroupRequest.API_KEY, min(self.version, 5))

    def heartbeat(self) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        return ErrorCode(self.client.send(request, min(self.version, 4)).error_code)

    def leave(self) -> Any:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        version = min(self.version, 5)
        request = LeaveGroupRequest(group_id=self.group, member_id=self.member_id)
        if version >= 3:
            request = LeaveGroupRequest(group_id=self.group, members=[identity])
        return self.client.send(request, version)

    def commit(self, topic: str, partition: int, offset: int) -> ErrorCode:
        request = commit_request(self.group, topic, {partition: offset})
        request.member_id = self.member_id
        request.generation_id_or_member_epoch = self.generation
        request.group_instance_id = self.instance_id
        response = self.client.send(request, COMMIT_VERSION)
        return ErrorCode(response.topics[0].partitions[0].error_code)


def commit_request(
    group: str, topic: str, offsets: dict[int, int], metadata: str = "", topic_id: bytes = bytes(16)
) -> OffsetCommitRequest:
    """A commit of a client that is not a member, as of tools and simple consumers."""
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=metadata
                    )
                    for index, offset in offsets.items()
                ],
            )
        ],
    )


def commit(client: WireClient, group: str, topic: str, offsets: dict[int, int]) -> None:
    response = client.send(commit_request(group, topic, offsets), COMMIT_VERSION)
    codes = [each.error_code for each in response.topics[0].partitions]
    assert codes == [0] * len(offsets), response


def fetch_request(group: str, topic: str | None, partitions: list[int]) -> OffsetFetchRequest:
    """Without a topic, the request is for all offsets of the group."""
    topics = None
    if topic is not None:
        topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=partitions)]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=topics)])


def committed(client: WireClient, group: str) -> dict[tuple[str, int], int]:
    """Every offset of the group."""
    (answer,) = client.send(fetch_request(group, None, []), FETCH_VERSION).groups
    assert answer.error_code == 0, answer
    return {
        (topic.name, each.partition_index): each.committed_offset
        for topic in answer.topics
        for each in topic.partitions
    }
