"""Selects the batches of a fetch response that are visible to the user.

Transaction markers are never visible. With ``read_committed``, records of aborted transactions are
not visible either: the broker lists the aborted transactions of the range with their first
offsets, and each ends at the abort marker of its producer.
"""

from collections.abc import Iterator

from moldau.protocol.messages.fetch import PartitionData
from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader, iter_headers
from moldau.record.records import decode_records


def visible_batches(
    data: PartitionData, batches: memoryview, start: int, *, read_committed: bool
) -> Iterator[tuple[int, BatchHeader]]:
    """The position and header of each visible batch with records at or after ``start``."""
    upcoming = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
    aborted: set[int] = set()
    for position, header in iter_headers(batches):
        while upcoming and upcoming[0].first_offset <= header.last_offset:
            aborted.add(upcoming.pop(0).producer_id)
        if header.is_control:
            first = next(iter(decode_records(batches, position)), None)
            if first is not None and decode_control_key(first.key) == ControlType.ABORT:
                aborted.discard(header.producer_id)
        elif header.last_offset >= start and not (
            read_committed and header.is_transactional and header.producer_id in aborted
        ):
            yield position, header
