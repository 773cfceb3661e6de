"""Replays the metadata log batch by batch, with its transactions (KIP-868).

Records between BeginTransactionRecord and EndTransactionRecord become visible together. After
an AbortTransactionRecord, or a failure of the controller in between, they are discarded. So they
are buffered until the transaction ends, while the offsets advance.
"""

from collections.abc import Sequence

from moldau.metadata.delta import MetadataDelta, MetadataError
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

_BEGIN = BeginTransactionRecord.RECORD_KEY
_END = EndTransactionRecord.RECORD_KEY
_ABORT = AbortTransactionRecord.RECORD_KEY


class MetadataLoader:
    """Builds images from batches. ``transaction_offset`` is -1 outside a transaction.

    A loader that begins inside a transaction does not have its first records: it can only be
    aborted.
    """

    def __init__(self, image: MetadataImage = EMPTY_IMAGE, transaction_offset: int = -1) -> None:
        self.image = image
        self.transaction_offset = transaction_offset
        self._has_whole_transaction = transaction_offset < 0
        self._pending: list[Message] = []
        self._delta = MetadataDelta(image)
        self._offset = image.offset
        self._epoch = image.epoch
        self._timestamp_ms = image.timestamp_ms

    def add_batch(
        self, base_offset: int, epoch: int, timestamp_ms: int, records: Sequence[Message]
    ) -> None:
        """Replay the records of one batch; the first has ``base_offset``."""
        offset = base_offset
        for record in records:
            key = record.RECORD_KEY
            if key == _BEGIN:
                if self.transaction_offset >= 0:
                    raise MetadataError(
                        f"transaction at offset {offset} inside the one begun at offset "
                        f"{self.transaction_offset}"
                    )
                self.transaction_offset = offset
                self._has_whole_transaction = True
            elif key in (_END, _ABORT):
                self._finish_transaction(offset, is_commit=key == _END)
            elif self.transaction_offset >= 0:
                self._pending.append(record)
            else:
                self._delta.replay(record)
            offset += 1
        self.add_offsets(offset - 1, epoch, timestamp_ms)

    def add_offsets(self, last_offset: int, epoch: int, timestamp_ms: int) -> None:
        """Advance the offset past a control batch, which has no metadata records."""
        self._offset = last_offset
        self._epoch = epoch
        self._timestamp_ms = timestamp_ms

    def add_delta(
        self, delta: MetadataDelta, last_offset: int, epoch: int, timestamp_ms: int
    ) -> None:
        """Add a batch whose records have already been replayed on the current image."""
        assert delta.base is self.image, "the image has changed since"
        assert self._delta.is_empty, "there are records that are not in the image yet"
        assert self.transaction_offset < 0, "a transaction is open"
        self._delta = delta
        self.add_offsets(last_offset, epoch, timestamp_ms)

    def _finish_transaction(self, offset: int, is_commit: bool) -> None:
        if self.transaction_offset < 0:
            raise MetadataError(f"end of a transaction at offset {offset}, but none was begun")
        if is_commit:
            if not self._has_whole_transaction:
                raise MetadataError(
                    f"the transaction begun at offset {self.transaction_offset} has no first "
                    "records: it can only be aborted"
                )
            self._delta.replay_all(self._pending)
        self._pending = []
        self.transaction_offset = -1

    def take(self) -> tuple[MetadataImage, MetadataDelta]:
        """The image as of the last batch, and the changes since the last ``take``."""
        delta = self._delta
        self.image = delta.build(self._offset, self._epoch, self._timestamp_ms)
        self._delta = MetadataDelta(self.image)
        return self.image, delta
