"""Rows that cannot be written, left out so that the others are.

What a client can see is sorted out before anything is sent: a topic whose name is invalid, a
partition that does not exist, a row larger than a request may be. The rest is for the brokers to
refuse, record by record (``Sender`` with ``isolates_refused``).

Only faults of records count. A cluster that is away, a missing topic or a missing right are faults
of the place, which would leave out everything: they stay errors.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from moldau.errors import ApiError, ErrorCode
from moldau.spark.outgoing import read_rows
from moldau.spark.routing import Layout

TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_OF_RECORDS: Final = (*TOO_LARGE, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP)

Mask = np.ndarray[Any, np.dtype[np.bool_]]


class LeaveOut(Protocol):
    """Is told of rows that are left out."""

    def __call__(self, count: int, reason: str) -> None: ...


def is_of_record(error: ApiError) -> bool:
    """Whether the record is at fault, and not the place that it was sent to."""
    return error.code in _OF_RECORDS


def writable(
    batch: pa.RecordBatch,
    layout_of: Callable[[str], Layout],
    max_request_size: int,
    leave_out: LeaveOut,
) -> pa.RecordBatch:
    """The rows of ``batch`` that can be sent; the others go to ``leave_out``.

    Every row has a topic. ``layout_of`` should remember what it has found.
    """
    if batch.num_rows == 0:
        return batch
    sizes = read_rows(batch, 0, include_headers="headers" in batch.schema.names).sizes
    keep: Mask = sizes <= max_request_size
    for size in sizes[~keep].tolist():
        leave_out(1, f"a record of {size} bytes is larger than max.request.size={max_request_size}")
    topics = batch.column("topic").dictionary_encode()
    numbers = topics.indices.to_numpy()
    for number, topic in enumerate(topics.dictionary.to_pylist()):
        mine = keep & (numbers == number)
        try:
            count = layout_of(topic).partition_count
        except ApiError as error:
            if error.code is not ErrorCode.INVALID_TOPIC_EXCEPTION:
                raise
            leave_out(int(mine.sum()), str(error))
            keep &= ~mine
            continue
        keep &= ~_elsewhere(batch, mine, topic, count, leave_out)
    return batch if keep.all() else batch.filter(pa.array(keep))


def _elsewhere(
    batch: pa.RecordBatch, mine: Mask, topic: str, count: int, leave_out: LeaveOut
) -> Mask:
    """Which rows of ``topic`` name a partition that it does not have."""
    if "partition" not in batch.schema.names:
        return np.zeros(batch.num_rows, np.bool_)
    said = batch.column("partition")
    given: Mask = pc.is_valid(said).to_numpy(zero_copy_only=False)
    values = said.fill_null(0).to_numpy()
    wrong: Mask = mine & given & ((values < 0) | (values >= count))
    missing: Sequence[int] = values[wrong].tolist()
    for partition in missing:
        leave_out(1, f"a record is for partition {partition} of {topic}: it has 0 to {count - 1}")
    return wrong
