"""What one partition answers to a fetch: its records, a diverging epoch, or an error.

The checks come in Kafka's order: the leader epoch that the client knows, leadership, whether a
follower is one; then whether the log of a follower diverges from the leader's (KIP-595), and last
whether the offset is in the log.
"""

from typing import Final

from moldau.broker.partition import LAST_STABLE_OFFSET, LOG_END, Partition
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.message import PackedRows
from moldau.protocol.messages.fetch import EpochEndOffset, FetchPartition, PartitionData
from moldau.storage.index.txn_index import ENTRY_BYTES, PRODUCER_ID_AT

FIRST_VERSION_WITH_STORAGE_ERROR: Final = 6
NO_RECORDS: Final = b""


def read_records(
    partition: Partition,
    fetch: FetchPartition,
    limit: int,
    max_bytes: int,
    min_one_message: bool,
) -> PartitionData:
    """The records from the offset of ``fetch`` on, up to ``limit``.

    Raises:
        ApiError: OFFSET_OUT_OF_RANGE, or an error of the log.
    """
    log = partition.log
    high_watermark = log.high_watermark
    is_committed = limit == LAST_STABLE_OFFSET
    last_stable_offset = log.last_stable_offset
    if is_committed:
        readable = last_stable_offset
    else:
        readable = log.log_end_offset if limit == LOG_END else high_watermark
    read = log.read(
        fetch.fetch_offset,
        max_bytes,
        max_offset=readable,
        min_one_message=min_one_message,
        include_aborted=is_committed,
    )
    answer = PartitionData(
        partition_index=fetch.partition,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None if read.aborted is None else [],
        # An incomplete batch is useless: the client gets complete ones (KIP-74).
        records=NO_RECORDS if read.first_entry_incomplete else read.records,
    )
    if read.aborted:
        # There may be thousands in a megabyte of small batches: they are copied from the index.
        answer.packed_aborted_transactions = PackedRows(read.aborted, ENTRY_BYTES, PRODUCER_ID_AT)
    return answer


def check_follower_has(partition: Partition, offset: int) -> None:
    """Check that a consumer's offset is in the log of this follower.

    Only the leader can say that an offset is out of range: a follower may have lost the end of its
    log, and a consumer that believed it would start somewhere else. Apache Kafka's followers say
    so all the same, and rely on consumers that know whom they ask.

    Raises:
        ApiError: NOT_LEADER_OR_FOLLOWER.
    """
    log = partition.log
    if not log.log_start_offset <= offset <= log.log_end_offset:
        raise ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            f"offset {offset} of {partition.topic_partition} is not in the log of this follower, "
            f"which has {log.log_start_offset} to {log.log_end_offset}",
        )


def diverging(partition: Partition, fetch: FetchPartition) -> PartitionData | None:
    """The answer with the diverging epoch of the reader's log, if it diverges (KIP-595).

    Raises:
        ApiError: OFFSET_OUT_OF_RANGE if the epoch is unknown here, or the offset lies before the
            log, where nothing can be said about epochs (KAFKA-12996).
    """
    log = partition.log
    epoch, end_offset = partition.end_offset_for_epoch(fetch.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"epoch {fetch.last_fetched_epoch} is not known to {partition.topic_partition}",
        )
    if fetch.fetch_offset < log.log_start_offset:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {fetch.fetch_offset} of {partition.topic_partition} lies before its log "
            f"start offset, {log.log_start_offset}",
        )
    if epoch >= fetch.last_fetched_epoch and end_offset >= fetch.fetch_offset:
        return None
    return PartitionData(
        partition_index=fetch.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
        aborted_transactions=None,
        records=NO_RECORDS,
    )


def elsewhere(partition: Partition, fetch: FetchPartition, broker_id: int) -> PartitionData:
    """The answer that sends a consumer to another replica (KIP-392)."""
    log = partition.log
    return PartitionData(
        partition_index=fetch.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=broker_id,
        records=NO_RECORDS,
    )


def refusal(index: int, error: ApiError, version: int) -> PartitionData:
    """The answer with ``error``."""
    code = error.code
    if code == ErrorCode.KAFKA_STORAGE_ERROR and version < FIRST_VERSION_WITH_STORAGE_ERROR:
        # Older clients do not know the code; on this one they retry.
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    answer = PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=-1,
        records=NO_RECORDS,
    )
    if code not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
        # As in Kafka: null for a known partition, and an empty list for an unknown one.
        answer.aborted_transactions = None
    return answer
