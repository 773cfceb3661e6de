"""Files of metadata records: snapshots of the metadata log, and ``bootstrap.checkpoint``.

A snapshot is a file of batches like a segment, named after the log end that it represents:
``<end offset>-<epoch>.checkpoint``. It begins with a control batch (header, and the voters of a
dynamic quorum) and ends with one (footer); without the footer it is incomplete. The offsets
inside start at zero and have no meaning.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from moldau.metadata.framing import decode_record, encode_record
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records.client_data import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from moldau.raft.log_view import SnapshotId
from moldau.raft.voters import VoterSet
from moldau.record.control import ControlType, control_batch, decode_control_key
from moldau.record.header import BatchHeader, CorruptBatch, crc_is_valid, iter_headers
from moldau.record.records import BatchBuilder, Record, decode_records

BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
# KRaft's limit; a snapshot is read batch by batch.
MAX_BATCH_BYTES: Final = 8 * 1024 * 1024
_RECORDS_PER_BATCH: Final = 1024
_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshot_name(snapshot: SnapshotId) -> str:
    """The name of the file of a snapshot."""
    return f"{snapshot.end_offset:020d}-{snapshot.epoch:010d}.checkpoint"


def parse_snapshot_name(name: str) -> SnapshotId | None:
    """The id in the name of a file; None if it is not a complete snapshot."""
    match = _NAME.fullmatch(name)
    return None if match is None else SnapshotId(int(match[1]), int(match[2]))


class SnapshotContents(NamedTuple):
    """The contents of a snapshot file."""

    records: list[Message]
    last_log_timestamp_ms: int
    kraft_version: int
    voters: VoterSet | None


class CorruptSnapshot(Exception):  # noqa: N818
    """A snapshot cannot be read; the message has the path, the problem and the remedy."""


def encode_snapshot(
    records: Iterable[Message],
    *,
    metadata_version: int,
    epoch: int,
    last_log_timestamp_ms: int,
    wall_ms: int,
    kraft_version: int = 0,
    voters: VoterSet | None = None,
) -> bytes:
    """The bytes of a snapshot, or of a bootstrap file (epoch 0, no voters)."""
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_log_timestamp_ms)
    opening = [(int(ControlType.SNAPSHOT_HEADER), header.encode(0))]
    if kraft_version > 0:
        opening.append((int(ControlType.KRAFT_VERSION), encode_kraft_version(kraft_version)))
        if voters is not None:
            opening.append((int(ControlType.KRAFT_VOTERS), voters.to_record().encode(0)))
    batches = [control_batch(opening, wall_ms, base_offset=0, leader_epoch=epoch)]
    offset = len(opening)
    builder = BatchBuilder(base_offset=offset, leader_epoch=epoch)
    for record in records:
        value = encode_record(record, metadata_version)
        is_full = builder.count >= _RECORDS_PER_BATCH
        if is_full or builder.size_bytes + len(value) + 32 > MAX_BATCH_BYTES:
            batches.append(builder.build())
            builder = BatchBuilder(base_offset=offset, leader_epoch=epoch)
        builder.append(wall_ms, None, value)
        offset += 1
    if builder.count:
        batches.append(builder.build())
    footer = [(int(ControlType.SNAPSHOT_FOOTER), SnapshotFooterRecord(version=0).encode(0))]
    batches.append(control_batch(footer, wall_ms, base_offset=offset, leader_epoch=epoch))
    return b"".join(batches)


def encode_kraft_version(kraft_version: int) -> bytes:
    return KRaftVersionRecord(version=0, kraft_version=kraft_version).encode(0)


def decode_snapshot(data: bytes, path: str) -> SnapshotContents:
    """The contents of the snapshot in ``data``.

    Raises:
        CorruptSnapshot: with ``path``, the position and the remedy.
    """
    control = ControlState()
    records = [record for batch in snapshot_batches(data, path, control) for record in batch]
    return SnapshotContents(
        records, control.last_log_timestamp_ms, control.kraft_version, control.voters
    )


def snapshot_batches(data: bytes, path: str, control: "ControlState") -> Iterator[list[Message]]:
    """The metadata records of each batch; what control batches hold is added to ``control``.

    Raises:
        CorruptSnapshot: with ``path``, the position and the remedy.
    """
    for position, header in _checked_headers(data, path):
        batch = decode_records(data[position : position + header.size_bytes])
        try:
            if header.is_control:
                control.add(batch)
                continue
            records = metadata_records(batch)
        except MalformedMessage as error:
            raise _corrupt(path, position, str(error)) from error
        yield records
    if not control.has_footer:
        raise _corrupt(path, len(data), "it ends too early")


def snapshot_control(data: bytes, path: str) -> "ControlState":
    """What the control batches of a snapshot hold; the others are only checked for damage.

    Raises:
        CorruptSnapshot: with ``path``, the position and the remedy.
    """
    control = ControlState()
    for position, header in _checked_headers(data, path):
        if header.is_control:
            control.add(decode_records(data[position : position + header.size_bytes]))
    if not control.has_footer:
        raise _corrupt(path, len(data), "it ends too early")
    return control


def _checked_headers(data: bytes, path: str) -> Iterator[tuple[int, BatchHeader]]:
    """The position and header of each batch; its checksum is valid."""
    end = 0
    try:
        for position, header in iter_headers(data):
            end = position + header.size_bytes
            if not crc_is_valid(data, position, header):
                raise CorruptBatch(f"batch at position {position} does not match its checksum")
            yield position, header
    except CorruptBatch as error:
        raise _corrupt(path, end, str(error)) from error
    if end != len(data):
        raise _corrupt(path, end, "it ends too early")


def _corrupt(path: str, position: int, problem: str) -> CorruptSnapshot:
    return CorruptSnapshot(
        f"{path} is damaged near byte {position}: {problem}. Restore the file from another "
        "node or a backup; if an older snapshot and the log after it are there, move it away"
    )


def metadata_records(batch: Sequence[Record]) -> list[Message]:
    """The metadata records in a data batch."""
    records = []
    for record in batch:
        if record.value is None:
            raise MalformedMessage(f"metadata record at offset {record.offset} has no value")
        records.append(decode_record(record.value))
    return records


class ControlState:
    """The contents of control batches, in a snapshot or in the log: the latest is valid."""

    def __init__(self) -> None:
        self.kraft_version = 0
        self.voters: VoterSet | None = None
        self.last_log_timestamp_ms = -1
        self.has_footer = False

    def add(self, batch: Sequence[Record]) -> bool:
        """Apply a control batch; True if it has voters."""
        has_voters = False
        for record in batch:
            kind = decode_control_key(record.key)
            value = record.value or b""
            if kind == ControlType.KRAFT_VERSION:
                self.kraft_version = KRaftVersionRecord.decode(value, 0, 0)[0].kraft_version
            elif kind == ControlType.KRAFT_VOTERS:
                self.voters = VoterSet.from_record(VotersRecord.decode(value, 0, 0)[0])
                has_voters = True
            elif kind == ControlType.SNAPSHOT_HEADER:
                header = SnapshotHeaderRecord.decode(value, 0, 0)[0]
                self.last_log_timestamp_ms = header.last_contained_log_timestamp
            elif kind == ControlType.SNAPSHOT_FOOTER:
                self.has_footer = True
        return has_voters


def batches_of(
    values: Sequence[bytes], *, base_offset: int, epoch: int, timestamp_ms: int, max_records: int
) -> list[tuple[bytes, int]]:
    """Batches of encoded records, each with its number of records."""
    batches: list[tuple[bytes, int]] = []
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for index, value in enumerate(values):
        is_full = builder.count >= max_records
        if is_full or (builder.count and builder.size_bytes + len(value) + 32 > MAX_BATCH_BYTES):
            batches.append((builder.build(), builder.count))
            builder = BatchBuilder(base_offset=base_offset + index, leader_epoch=epoch)
        builder.append(timestamp_ms, None, value)
    if builder.count:
        batches.append((builder.build(), builder.count))
    return batches
