"""The transactions that the cleaner tracks while it scans a log.

Records of an aborted transaction can be removed. Its marker must be kept until they are gone: a
consumer that read them without the marker would take them for committed or wait forever. A commit
marker can likewise be removed once no batch of its transaction is left, and after another
``delete.retention.ms``, so that consumers that are already reading the log still see it.

An aborted transaction is listed in the transaction index of the cleaned segment that contains its
marker, if there was still a batch of it to clean.

Batches must be passed in the order of their offsets.
"""

from heapq import heapify, heappop

from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader
from moldau.record.records import decode_payload, read_payload
from moldau.storage.index.txn_index import AbortedTxn


def marker_type(header: BatchHeader, chunk: bytes, position: int) -> int | None:
    """The type of the control batch at ``position``; None if an earlier pass emptied it.

    Raises:
        CorruptBatch: the control batch is malformed.
    """
    records = decode_payload(read_payload(chunk, position, header), header)
    return decode_control_key(records[0].key) if records else None


class CleanedTransactions:
    """The transactions that are open at the current position of the cleaner."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        """``aborted`` are all that overlap the scanned part of the log."""
        # By first offset; the producer id would only break a tie, which cannot happen.
        self._to_come = [(txn.first_offset, txn.producer_id, txn) for txn in aborted]
        heapify(self._to_come)
        # Producer id to the transaction and whether a batch of it was seen.
        self._aborted: dict[int, tuple[AbortedTxn, bool]] = {}
        self._committed: dict[int, None] = {}

    def on_batch(self, header: BatchHeader) -> bool:
        """Whether a data batch belongs to an aborted transaction."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        known = self._aborted.get(header.producer_id)
        if known is None:
            self._committed[header.producer_id] = None
            return False
        self._aborted[header.producer_id] = (known[0], True)
        return True

    def on_marker(
        self, header: BatchHeader, control_type: int | None
    ) -> tuple[bool, AbortedTxn | None]:
        """Whether a control batch is obsolete; if not, also its transaction index entry, if any.

        ``control_type`` is the result of ``marker_type``.
        """
        self._begin_up_to(header.last_offset)
        if control_type is None:
            return True, None
        if control_type == ControlType.ABORT:
            txn, was_met = self._aborted.pop(header.producer_id, (None, False))
            return (False, txn) if was_met else (True, None)
        if control_type == ControlType.COMMIT:
            was_met = header.producer_id in self._committed
            self._committed.pop(header.producer_id, None)
            return not was_met, None
        return False, None

    def _begin_up_to(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            txn = heappop(self._to_come)[2]
            self._aborted.setdefault(txn.producer_id, (txn, False))
