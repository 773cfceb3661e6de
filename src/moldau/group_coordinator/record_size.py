"""Whether a record fits into the log, which refuses batches above ``max.message.bytes``.

If the log refused a record that has been decided on, all groups of the shard would have to be
loaded again. So those that grow with what clients send are checked before.
"""

from collections.abc import Callable, Iterable

from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.records.group_coordinator import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupRegularExpressionKey,
    GroupMetadataKey,
)

Fits = Callable[[CoordinatorRecord], bool]

# The others have numbers of partitions, or little else.
_GROWING = (ConsumerGroupMemberMetadataKey, ConsumerGroupRegularExpressionKey, GroupMetadataKey)


def fits_always(_: CoordinatorRecord) -> bool:
    return True


def check_size(records: Iterable[CoordinatorRecord], fits: Fits) -> None:
    """Raises ApiError UNKNOWN_SERVER_ERROR, as in Kafka, if a record does not fit."""
    for record in records:
        if record.value is not None and isinstance(record.key, _GROWING) and not fits(record):
            message = f"the record of {record.key} would be larger than max.message.bytes"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
