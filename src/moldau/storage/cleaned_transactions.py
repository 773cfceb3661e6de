"""What the cleaner must know of transactions while it walks through a log.

Records of an aborted transaction are nobody's and can go. Its marker must stay until they
are gone: a consumer that meets them without the marker would take them for committed or
wait for ever. The same holds for the marker of a commit, which may go once no batch of
its transaction is left, and not before ``delete.retention.ms`` have passed since then, so
that a reader which is on its way through the log still meets it.

The transaction index of a segment follows: an aborted transaction is listed in the
cleaned segment that holds its marker, as long as a batch of it was there to be cleaned.

The batches must be shown in the order of their offsets.
"""

from heapq import heapify, heappop

from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader
from moldau.record.records import decode_payload, read_payload
from moldau.storage.txn_index import AbortedTxn


def marker_type(header: BatchHeader, chunk: bytes, position: int) -> int | None:
    """What the control batch at ``position`` says; None if it was emptied by an earlier pass.

    Raises:
        CorruptBatch: it is not built as a control batch is.
    """
    records = decode_payload(read_payload(chunk, position, header), header)
    return decode_control_key(records[0].key) if records else None


class CleanedTransactions:
    """The transactions that are open at the place the cleaner has reached."""

    def __init__(self, aborted: list[AbortedTxn]) -> None:
        """``aborted`` are all that reach into the part of the log to be walked."""
        # By first offset; the producer id only settles what cannot happen, a tie.
        self._to_come = [(txn.first_offset, txn.producer_id, txn) for txn in aborted]
        heapify(self._to_come)
        # Producer id to the transaction and whether a batch of it was met.
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
        """Whether a control batch is needed no longer, and what to list in the index if it is.

        ``control_type`` is what ``marker_type`` says of it.
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
