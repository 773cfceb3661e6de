"""TxnOffsetCommit: offsets that are committed as part of a transaction (KIP-98, KIP-447).

The member that processed the records names itself, so that a zombie whose partitions have moved to
another member cannot commit. Older clients name nobody, which is accepted, as in Kafka.
"""

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError, ErrorCode
from moldau.group_coordinator.classic_group import ClassicGroup
from moldau.group_coordinator.offset_requests import CommitCheck, metadata_length
from moldau.group_coordinator.records import offset_commit_record
from moldau.ids import NO_UUID
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def validate_classic_txn_commit(group: ClassicGroup, request: TxnOffsetCommitRequest) -> None:
    """Whoever names a member or a generation must be right; unlike OffsetCommit, any state will do.

    Raises:
        ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    generation_id = request.generation_id
    if generation_id < 0 and group.is_empty:
        return
    if generation_id >= 0 or request.member_id or request.group_instance_id is not None:
        group.validate_member(request.member_id, request.group_instance_id)
        if generation_id != group.generation_id:
            message = f"{group.group_id} is at generation {group.generation_id}"
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)


def txn_commit(
    request: TxnOffsetCommitRequest,
    check: CommitCheck | None,
    image: MetadataImage,
    max_metadata_size: int,
    wall_ms: int,
) -> tuple[list[CoordinatorRecord], TxnOffsetCommitResponse]:
    """Records and response; ``check`` may raise ApiError for the whole request."""
    records: list[CoordinatorRecord] = []
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        topic_id = NO_UUID
        if check is not None:
            known = image.topics_by_name.get(topic.name)
            if known is None:
                message = f"topic {topic.name} does not exist: it cannot be assigned"
                raise ApiError(ErrorCode.ILLEGAL_GENERATION, message)
            topic_id = known.id
        answers: list[TxnOffsetCommitResponsePartition] = []
        response.topics.append(TxnOffsetCommitResponseTopic(topic.name, answers))
        for partition in topic.partitions:
            index = partition.partition_index
            metadata = partition.committed_metadata or ""
            if metadata_length(metadata) > max_metadata_size:
                too_large = int(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                answers.append(TxnOffsetCommitResponsePartition(index, too_large))
                continue
            if check is not None:
                check(topic.name, topic_id, index)
            answers.append(TxnOffsetCommitResponsePartition(index))
            # As in Kafka, without the id of the topic.
            record = offset_commit_record(
                request.group_id,
                topic.name,
                index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=metadata,
                commit_timestamp_ms=wall_ms,
            )
            records.append(record)
    return records, response


def txn_commit_error(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """A response with the same error for every partition: it has no other error field."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                [
                    TxnOffsetCommitResponsePartition(partition.partition_index, int(error))
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
