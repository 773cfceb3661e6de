"""A batch that may be appended: checked, and ready for its offset and its leader epoch."""

from librt.strings import BytesWriter, write_i32_be, write_i64_be

from moldau.record.header import LENGTH_OVERHEAD, SMALL_BATCH_BYTES, STAMP_SIZE, BatchHeader


class ProducedBatch:
    """What the validator made of the bytes a producer sent.

    Usually the bytes are the producer's own, a view into the frame they came in, and
    only their first 16 are written anew. Where the topic wants another codec or another
    timestamp, the 61 bytes of the header are new, and perhaps the records too. The frame is
    never written to.

    ``header`` describes the batch as it will lie in the log, except for the base offset and
    the leader epoch, which ``parts`` is given.
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
        # Bytes 16 to 61 when they are new, else nothing; then what follows them.
        self._sealed = sealed
        self._rest = rest
        # -1 when the records keep the timestamps of their producer.
        self.log_append_time = log_append_time
        # Whether the validator has seen it, and made it fit its topic.
        self.is_checked = is_checked

    @staticmethod
    def unchanged(batch: bytes | memoryview, header: BatchHeader) -> "ProducedBatch":
        """A batch that the validator takes as it came."""
        return ProducedBatch(header, b"", batch[STAMP_SIZE:], -1, True)

    @property
    def size_bytes(self) -> int:
        return self.header.size_bytes

    @property
    def max_timestamp(self) -> int:
        return self.header.max_timestamp

    @property
    def offset_of_max_timestamp(self) -> int:
        """Relative to the base offset. A batch counts as one: the time index points at its end."""
        return self.header.last_offset_delta

    def parts(self, base_offset: int, leader_epoch: int) -> list[bytes | memoryview]:
        """The bytes to append, in order; ``size_bytes`` altogether. A small batch is one piece."""
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
