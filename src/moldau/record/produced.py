"""A validated batch, ready for its offset and its leader epoch."""

from librt.strings import BytesWriter, write_i32_be, write_i64_be

from moldau.record.header import LENGTH_OVERHEAD, SMALL_BATCH_BYTES, STAMP_SIZE, BatchHeader


class ProducedBatch:
    """The result of the validation of a produced batch.

    Usually the bytes are the producer's own, a view into the request, and only the first 16 are
    replaced. If the topic requires another codec or other timestamps, the 61 bytes of the header
    are new, and possibly the records too. The request itself is never modified.

    ``header`` describes the batch as it will be in the log, except for the base offset and the
    leader epoch, which are passed to ``parts``.
    """

    __slots__ = ("_rest", "_sealed", "header", "is_checked", "log_append_time")

    def __init__(
        self,
        header: BatchHeader,
        sealed: bytes,
        rest: bytes | memoryview,
        log_append_time: int,
        is_checked: bool = False,
    ) -> None:
        self.header = header
        # Bytes 16 to 61 if they are new, otherwise empty; then the bytes after them.
        self._sealed = sealed
        self._rest = rest
        # -1 if the records keep the timestamps of their producer.
        self.log_append_time = log_append_time
        # Whether it was validated and converted for its topic.
        self.is_checked = is_checked

    @staticmethod
    def unchanged(batch: bytes | memoryview, header: BatchHeader) -> "ProducedBatch":
        """A batch that needs no change."""
        return ProducedBatch(header, b"", batch[STAMP_SIZE:], -1, True)

    @property
    def size_bytes(self) -> int:
        return self.header.size_bytes

    @property
    def max_timestamp(self) -> int:
        return self.header.max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """Relative to the base offset: the time index refers to the last offset of a batch."""
        return self.header.last_offset_delta

    def parts(self, base_offset: int, leader_epoch: int) -> list[bytes | memoryview]:
        """The bytes to append, in order; ``size_bytes`` in total. A small batch is one part."""
        writer = BytesWriter()
        write_i64_be(writer, base_offset)
        write_i32_be(writer, self.header.size_bytes - LENGTH_OVERHEAD)
        write_i32_be(writer, leader_epoch)
        writer.write(self._sealed)
        rest = self._rest
        if isinstance(rest, bytes) and len(rest) <= SMALL_BATCH_BYTES:
            writer.write(rest)
            return [writer.getvalue()]
        return [writer.getvalue(), rest]
