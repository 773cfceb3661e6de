"""Whether a member of a consumer group may commit or fetch offsets with the epoch it has."""

from collections.abc import Callable

from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.consumer.group import ConsumerGroup
from moldau.group_coordinator.consumer.member import ConsumerGroupMember

# Called with topic name, topic id and partition; raises ApiError if it may not be committed.
CommitCheck = Callable[[str, bytes, int], None]

# From this version on, an OffsetCommit response can have STALE_MEMBER_EPOCH.
_FIRST_COMMIT_VERSION = 9


def check_offset_commit(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    member_epoch: int,
    api_version: int,
    is_transactional: bool,
) -> CommitCheck | None:
    """None if every partition may be committed, else a check to call for each.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, UNSUPPORTED_VERSION, STALE_MEMBER_EPOCH, or for a member
            with the classic protocol ILLEGAL_GENERATION.
    """
    # Tools and consumers without a group may commit while the group has no members.
    if member_epoch < 0 and group.is_empty:
        return None
    is_anonymous = member_epoch == -1 and member_id == "" and instance_id is None
    if is_transactional and is_anonymous:
        return None
    member = group.member(member_id)
    is_classic = member.uses_classic_protocol
    if not is_transactional and not is_classic and api_version < _FIRST_COMMIT_VERSION:
        message = (
            f"OffsetCommit version {_FIRST_COMMIT_VERSION} or above must be used by members "
            "using the consumer group protocol"
        )
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
    if member_epoch == member.member_epoch:
        return None
    if member_epoch > member.member_epoch:
        what = "generation id" if is_classic else "member epoch"
        message = (
            f"Received {what} {member_epoch} is newer than current member epoch "
            f"{member.member_epoch}."
        )
        raise _stale(member, message)

    def check(topic: str, topic_id: bytes, partition: int) -> None:
        _check_since(member, member_epoch, topic, topic_id, partition)

    return check


def _check_since(
    member: ConsumerGroupMember, epoch: int, topic: str, topic_id: bytes, partition: int
) -> None:
    """An older epoch is valid for a partition that the member has owned since (KIP-1251)."""
    since = member.assigned.get(topic_id, {}).get(partition)
    if since is None:
        since = member.pending_revocation.get(topic_id, {}).get(partition)
    if since is None:
        message = f"Partition {topic}-{partition} is not assigned or pending revocation for member."
        raise _stale(member, message)
    if epoch < since:
        what = "generation id" if member.uses_classic_protocol else "member epoch"
        message = (
            f"Received {what} {epoch} is older than assignment epoch {since} for partition "
            f"{topic}-{partition}."
        )
        raise _stale(member, message)


def check_offset_fetch(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> None:
    """Raises ApiError UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION."""
    if member_id is None and member_epoch < 0:
        return
    member = group.member(member_id or "")
    if member_epoch != member.member_epoch:
        what = "generation id" if member.uses_classic_protocol else "member epoch"
        message = (
            f"The received {what} {member_epoch} does not match the expected member epoch "
            f"{member.member_epoch}."
        )
        raise _stale(member, message)


def _stale(member: ConsumerGroupMember, message: str) -> ApiError:
    if member.uses_classic_protocol:
        return ApiError(ErrorCode.ILLEGAL_GENERATION, message)
    return ApiError(ErrorCode.STALE_MEMBER_EPOCH, message)
