"""Requests about groups, said in short."""

from collections.abc import Sequence
from typing import Any

from moldau.errors import ErrorCode
from moldau.protocol.messages import consumer_group_heartbeat as consumer
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.records.client_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from tests.compat.group_talk import Talk

SESSION_MS = 30_000


def join_request(group: str, member_id: str = "", **fields: Any) -> JoinGroupRequest:
    protocols = fields.pop("protocols", {"range": subscription("t")})
    return JoinGroupRequest(
        group_id=group,
        member_id=member_id,
        session_timeout_ms=fields.pop("session_timeout_ms", SESSION_MS),
        rebalance_timeout_ms=fields.pop("rebalance_timeout_ms", SESSION_MS),
        protocol_type=fields.pop("protocol_type", "consumer"),
        protocols=[JoinGroupRequestProtocol(name, data) for name, data in protocols.items()],
        **fields,
    )


def sync_request(
    group: str,
    member_id: str,
    generation: int,
    assignments: dict[str, bytes] | None = None,
    **fields: Any,
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type=fields.pop("protocol_type", "consumer"),
        protocol_name=fields.pop("protocol_name", "range"),
        assignments=[
            SyncGroupRequestAssignment(member, data) for member, data in (assignments or {}).items()
        ],
        **fields,
    )


def commit_request(
    group: str,
    offsets: dict[tuple[str, int], int],
    *,
    metadata: str | None = "",
    ids: dict[str, bytes] | None = None,
    **fields: Any,
) -> OffsetCommitRequest:
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for (topic, partition), offset in offsets.items():
        topic_id = (ids or {}).get(topic, bytes(16))
        entry = topics.setdefault(topic, OffsetCommitRequestTopic(topic, topic_id, []))
        entry.partitions.append(OffsetCommitRequestPartition(partition, offset, -1, metadata))
    return OffsetCommitRequest(group_id=group, topics=list(topics.values()), **fields)


def beat_request(
    group: str, member_id: str, epoch: int, **fields: Any
) -> consumer.ConsumerGroupHeartbeatRequest:
    return consumer.ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member_id, member_epoch=epoch, **fields
    )


def joining_beat(
    group: str, member_id: str, topics: Sequence[str], **fields: Any
) -> consumer.ConsumerGroupHeartbeatRequest:
    return consumer.ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=fields.pop("rebalance_timeout_ms", SESSION_MS),
        subscribed_topic_names=list(topics),
        topic_partitions=[],
        **fields,
    )


def owned(topic_id: bytes, *partitions: int) -> list[consumer.TopicPartitions]:
    return [consumer.TopicPartitions(topic_id=topic_id, partitions=list(partitions))]


def subscription(*topics: str, version: int = 3) -> bytes:
    body = ConsumerProtocolSubscription(topics=list(topics)).encode(version)
    return version.to_bytes(2, "big") + body


def assignment(topic: str, *partitions: int, user_data: bytes | None = None) -> bytes:
    entry = TopicPartition(topic=topic, partitions=list(partitions))
    body = ConsumerProtocolAssignment(assigned_partitions=[entry], user_data=user_data).encode(3)
    return (3).to_bytes(2, "big") + body


def fetch_one(group: str, topic: str | None, *partitions: int, **fields: Any) -> OffsetFetchRequest:
    """OffsetFetch as it is before version 8."""
    topics = None if topic is None else [OffsetFetchRequestTopic(topic, list(partitions))]
    return OffsetFetchRequest(group_id=group, topics=topics, **fields)


def fetch_many(
    groups: list[tuple[str, str | None, int]],
    topics: dict[str, list[int]] | None,
    ids: dict[str, bytes] | None = None,
    *,
    require_stable: bool = False,
) -> OffsetFetchRequest:
    """OffsetFetch from version 8 on; a group is an id, a member id and an epoch."""
    wanted = None
    if topics is not None:
        wanted = [
            OffsetFetchRequestTopics(name, (ids or {}).get(name, bytes(16)), partitions)
            for name, partitions in topics.items()
        ]
    return OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(*group, topics=wanted) for group in groups],
        require_stable=require_stable,
    )


def delete_offsets(group: str, topic: str, *partitions: int) -> OffsetDeleteRequest:
    wanted = [OffsetDeleteRequestPartition(partition) for partition in partitions]
    return OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(topic, wanted)])


def leave_request(group: str, member_id: str, *, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group, member_id)
    return LeaveGroupRequest(group, members=[MemberIdentity(member_id)])


def enter(talk: Talk, group: str, version: int = 9, **fields: Any) -> Any:
    """Join with an id, once one was given out."""
    response = talk.ask(join_request(group, **fields), version)
    if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        response = talk.ask(join_request(group, response.member_id, **fields), version)
    return response


def settle(talk: Talk, group: str, topic: str = "t", **fields: Any) -> Any:
    """A stable group of one member; gives the answer to its join."""
    joined = enter(talk, group, **fields)
    shares = {joined.member_id: assignment(topic, 0, 1, 2)}
    instance = fields.get("group_instance_id")
    request = sync_request(
        group, joined.member_id, joined.generation_id, shares, group_instance_id=instance
    )
    if "protocol_type" in fields:
        request.protocol_type = fields["protocol_type"]
    talk.ask(request, 5)
    return joined
