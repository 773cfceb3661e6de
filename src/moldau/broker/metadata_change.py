"""A large change of the metadata, made ready to be written while others get their turns.

What a change costs grows with its records, and a topic may have thousands of partitions:
encoding them, packing them into a batch and taking them over into the image would hold up
every client. None of it needs the log. So it is done step by step on the image as it is,
which nobody else changes meanwhile (``MetadataLog.change``), and what is left at the end is
one append and one exchange of images.

Given up half-way, because the client that asked for it went away, the change never was.
"""

from collections.abc import Iterator, Sequence

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.framing import encode_record
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.record.records import BatchBuilder


class PreparedChange:
    """The batch that the records make, and what they change."""

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
        """Take these all, in as many turns as you like; then the change is ready."""
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
