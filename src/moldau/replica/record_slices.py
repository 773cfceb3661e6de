"""Records of a leader in slices, so that appending them does not hold up other requests."""

from collections.abc import Iterator
from struct import Struct
from typing import Final

from moldau.protocol.primitives import FileRegion, Part

# If batches are small, appending so much takes a millisecond.
SLICE_BYTES: Final = 128 * 1024

_LENGTH: Final = Struct(">i")
_LENGTH_AT: Final = 8
# The length field excludes itself and the base offset before it.
_LENGTH_OVERHEAD: Final = 12


def slices(records: Part | None) -> Iterator[memoryview | bytes]:
    """Whole batches, about ``SLICE_BYTES`` at a time, or a single one that is larger.

    Only the lengths of the batches are read; everything else is for the log to check. What cannot
    be a batch is part of the last slice.
    """
    if not records:
        return
    assert not isinstance(records, FileRegion), "a response has its records in it"
    size = len(records)
    if size <= SLICE_BYTES:
        yield records
        return
    view = memoryview(records)
    start = end = 0
    while size - end >= _LENGTH_OVERHEAD:
        length = _LENGTH.unpack_from(view, end + _LENGTH_AT)[0] + _LENGTH_OVERHEAD
        if length <= _LENGTH_OVERHEAD or length > size - end:
            break
        if start < end and end + length - start > SLICE_BYTES:
            yield view[start:end]
            start = end
        end += length
    yield view[start:]
