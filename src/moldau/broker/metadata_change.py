"""Prepares a large metadata change in steps, so that other requests are served in between.

The cost of a change grows with its records, and a topic may have thousands of partitions:
encoding them, building a batch and applying them to the image would delay every client. None of
this needs the log. So it is done in steps on the current image, which nothing else changes in
the meantime (``ControllerTerm``), and only one append and one replacement of the image remain.

If it is abandoned half-way, because the client disconnected, the change has no effect.
"""

from collections.abc import Iterator, Sequence

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.framing import encode_record
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.record.records import BatchBuilder


class PreparedChange:
    """The batch of the records, and their changes."""

    def __init__(
        self,
        records: Sequence[Message],
        image: MetadataImage,
        *,
        base_offset: int,
        epoch: int,
        timestamp_ms: int,
    ) -> None:
        self._records = records
        self._metadata_version = image.metadata_version
        self._builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch)
        self.delta = MetadataDelta(image)
        self.base_offset = base_offset
        self.epoch = epoch
        self.timestamp_ms = timestamp_ms

    def steps(self) -> Iterator[None]:
        """The steps of the preparation, to be taken in any number of turns."""
        for record in self._records:
            value = encode_record(record, self._metadata_version)
            self._builder.append(self.timestamp_ms, None, value)
            self.delta.replay(record)
            yield

    @property
    def size_bytes(self) -> int:
        return self._builder.size_bytes

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self._records) - 1

    def batch(self) -> bytes:
        return self._builder.build()
