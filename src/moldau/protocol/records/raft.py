"""The raft records. Generated from schema/raft_records.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_nullable_count,
    read_compact_string,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_string,
    write_uuid,
    write_uvarint,
)


class Voter(Struct):
    __slots__ = ("voter_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("voter_id",)

    def __init__(self, voter_id: int = 0) -> None:
        self.voter_id = voter_id


def _read_voter(data: bytes, position: i64, version: i64) -> tuple[Voter, i64]:
    voter_id = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return Voter(voter_id), position


def _write_voter(writer: BytesWriter, message: Voter, version: i64) -> None:
    write_i32_be(writer, message.voter_id)
    writer.append(0)


class QuorumStateData(Message):
    """Versions 0 to 1."""

    __slots__ = ("cluster_id", "leader_id", "leader_epoch", "voted_id", "voted_directory_id", "applied_offset", "current_voters")
    FIELDS: ClassVar[tuple[str, ...]] = ("cluster_id", "leader_id", "leader_epoch", "voted_id", "voted_directory_id", "applied_offset", "current_voters")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, cluster_id: str = "", leader_id: int = -1, leader_epoch: int = -1, voted_id: int = -1, voted_directory_id: bytes = NO_UUID, applied_offset: int = 0, current_voters: list[Voter] | None = NO_ITEMS) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is NO_ITEMS else current_voters

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[QuorumStateData, int]:
        if version < 0 or version > 1:
            raise unknown_version("QuorumStateData", version, 0, 1)
        try:
            message, end = _read_quorum_state_data(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("QuorumStateData", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("QuorumStateData", version, 0, 1)
        writer = BytesWriter()
        _write_quorum_state_data(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("QuorumStateData", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_quorum_state_data(writer, self, version)
        return [writer.getvalue()]


def _read_quorum_state_data(data: bytes, position: i64, version: i64) -> tuple[QuorumStateData, i64]:
    cluster_id: str
    voted_directory_id: bytes
    applied_offset: int
    current_voters: list[Voter] | None
    if version >= 1:
        cluster_id = ""
    else:
        cluster_id, position = read_compact_string(data, position)
    leader_id = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    voted_id = read_i32_be(data, position + 8)
    position += 12
    if version >= 1:
        voted_directory_id = read_uuid(data, position)
        applied_offset = 0
        current_voters = []
        position += 16
    else:
        voted_directory_id = NO_UUID
        applied_offset = read_i64_be(data, position)
        position += 8
        count, position = read_compact_nullable_count(data, position, 5)
        if count < 0:
            current_voters = None
        else:
            current_voters = []
            for nth in range(count):
                current_voters_item, position = _read_voter(data, position, version)
                current_voters.append(current_voters_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return QuorumStateData(cluster_id, leader_id, leader_epoch, voted_id, voted_directory_id, applied_offset, current_voters), position


def _write_quorum_state_data(writer: BytesWriter, message: QuorumStateData, version: i64) -> None:
    if version >= 1:
        if message.cluster_id != "":
            raise unsupported_field("QuorumStateData", "cluster_id", version)
    else:
        write_compact_string(writer, message.cluster_id)
    write_i32_be(writer, message.leader_id)
    write_i32_be(writer, message.leader_epoch)
    write_i32_be(writer, message.voted_id)
    if version >= 1:
        write_uuid(writer, message.voted_directory_id)
        if message.applied_offset != 0:
            raise unsupported_field("QuorumStateData", "applied_offset", version)
        if message.current_voters is None or message.current_voters:
            raise unsupported_field("QuorumStateData", "current_voters", version)
    else:
        if message.voted_directory_id != NO_UUID:
            raise unsupported_field("QuorumStateData", "voted_directory_id", version)
        write_i64_be(writer, message.applied_offset)
        current_voters = message.current_voters
        if current_voters is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(current_voters) + 1)
            for nth, current_voters_item in enumerate(current_voters):
                _write_voter(writer, current_voters_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    writer.append(0)
