"""The client data records. Generated from schema/client_data_records.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import (
    BytesWriter,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_string,
    read_count,
    read_i32_list,
    read_nullable_bytes,
    read_nullable_string,
    read_string,
    read_string_list,
    read_u16,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_string,
    write_i32_list,
    write_nullable_bytes,
    write_nullable_string,
    write_string,
    write_string_list,
    write_u16,
    write_uuid,
    write_uvarint,
)


class TopicPartition(Struct):
    __slots__ = ("topic", "partitions")
    FIELDS: ClassVar[tuple[str, ...]] = ("topic", "partitions")

    def __init__(self, topic: str = "", partitions: list[int] = NO_ITEMS) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NO_ITEMS else partitions


def _read_topic_partition(data: bytes, position: i64, version: i64) -> tuple[TopicPartition, i64]:
    partitions: list[int]
    topic, position = read_string(data, position)
    count, position = read_count(data, position, 4)
    partitions = read_i32_list(data, position, count)
    position += 4 * count
    return TopicPartition(topic, partitions), position


def _write_topic_partition(writer: BytesWriter, message: TopicPartition, version: i64) -> None:
    write_string(writer, message.topic)
    partitions = message.partitions
    write_i32_be(writer, len(partitions))
    write_i32_list(writer, partitions)


class Voter(Struct):
    __slots__ = ("voter_id", "voter_directory_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("voter_id", "voter_directory_id")

    def __init__(self, voter_id: int = 0, voter_directory_id: bytes = NO_UUID) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


def _read_voter(data: bytes, position: i64, version: i64) -> tuple[Voter, i64]:
    voter_directory_id: bytes
    voter_id = read_i32_be(data, position)
    position += 4
    if version >= 1:
        voter_directory_id = read_uuid(data, position)
        position += 16
    else:
        voter_directory_id = NO_UUID
    position = skip_tags(data, position) if data[position] else position + 1
    return Voter(voter_id, voter_directory_id), position


def _write_voter(writer: BytesWriter, message: Voter, version: i64) -> None:
    write_i32_be(writer, message.voter_id)
    if version >= 1:
        write_uuid(writer, message.voter_directory_id)
    else:
        if message.voter_directory_id != NO_UUID:
            raise unsupported_field("Voter", "voter_directory_id", version)
    writer.append(0)


class Endpoint(Struct):
    __slots__ = ("name", "host", "port")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port")

    def __init__(self, name: str = "", host: str = "", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port


def _read_endpoint(data: bytes, position: i64, version: i64) -> tuple[Endpoint, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return Endpoint(name, host, port), position


def _write_endpoint(writer: BytesWriter, message: Endpoint, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    writer.append(0)


class KRaftVersionFeature(Struct):
    __slots__ = ("min_supported_version", "max_supported_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("min_supported_version", "max_supported_version")

    def __init__(self, min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


def _read_kraft_version_feature(data: bytes, position: i64, version: i64) -> tuple[KRaftVersionFeature, i64]:
    min_supported_version = read_i16_be(data, position)
    max_supported_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return KRaftVersionFeature(min_supported_version, max_supported_version), position


def _write_kraft_version_feature(writer: BytesWriter, message: KRaftVersionFeature, version: i64) -> None:
    write_i16_be(writer, message.min_supported_version)
    write_i16_be(writer, message.max_supported_version)
    writer.append(0)


class VotersRecordVoter(Struct):
    __slots__ = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")
    FIELDS: ClassVar[tuple[str, ...]] = ("voter_id", "voter_directory_id", "endpoints", "kraft_version_feature")

    def __init__(self, voter_id: int = 0, voter_directory_id: bytes = NO_UUID, endpoints: list[Endpoint] = NO_ITEMS, kraft_version_feature: KRaftVersionFeature | None = None) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
        self.endpoints = [] if endpoints is NO_ITEMS else endpoints
        self.kraft_version_feature = KRaftVersionFeature() if kraft_version_feature is None else kraft_version_feature


def _read_voters_record_voter(data: bytes, position: i64, version: i64) -> tuple[VotersRecordVoter, i64]:
    endpoints: list[Endpoint]
    voter_id = read_i32_be(data, position)
    voter_directory_id = read_uuid(data, position + 4)
    position += 20
    count, position = read_compact_count(data, position, 5)
    endpoints = []
    for nth in range(count):
        endpoints_item, position = _read_endpoint(data, position, version)
        endpoints.append(endpoints_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    kraft_version_feature, position = _read_kraft_version_feature(data, position, version)
    position = skip_tags(data, position) if data[position] else position + 1
    return VotersRecordVoter(voter_id, voter_directory_id, endpoints, kraft_version_feature), position


def _write_voters_record_voter(writer: BytesWriter, message: VotersRecordVoter, version: i64) -> None:
    write_i32_be(writer, message.voter_id)
    write_uuid(writer, message.voter_directory_id)
    endpoints = message.endpoints
    write_uvarint(writer, len(endpoints) + 1)
    for nth, endpoints_item in enumerate(endpoints):
        _write_endpoint(writer, endpoints_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    _write_kraft_version_feature(writer, message.kraft_version_feature, version)
    writer.append(0)


class ConsumerProtocolAssignment(Message):
    """Versions 0 to 3."""

    __slots__ = ("assigned_partitions", "user_data")
    FIELDS: ClassVar[tuple[str, ...]] = ("assigned_partitions", "user_data")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, assigned_partitions: list[TopicPartition] = NO_ITEMS, user_data: bytes | None = None) -> None:
        self.assigned_partitions = [] if assigned_partitions is NO_ITEMS else assigned_partitions
        self.user_data = user_data

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerProtocolAssignment, int]:
        if version < 0 or version > 3:
            raise unknown_version("ConsumerProtocolAssignment", version, 0, 3)
        try:
            message, end = _read_consumer_protocol_assignment(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerProtocolAssignment", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 3:
            raise unsupported_version("ConsumerProtocolAssignment", version, 0, 3)
        writer = BytesWriter()
        _write_consumer_protocol_assignment(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 3:
            raise unsupported_version("ConsumerProtocolAssignment", version, 0, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_protocol_assignment(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_protocol_assignment(data: bytes, position: i64, version: i64) -> tuple[ConsumerProtocolAssignment, i64]:
    assigned_partitions: list[TopicPartition]
    user_data: bytes | None
    count, position = read_count(data, position, 6)
    assigned_partitions = []
    for nth in range(count):
        assigned_partitions_item, position = _read_topic_partition(data, position, version)
        assigned_partitions.append(assigned_partitions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    user_data, position = read_nullable_bytes(data, position)
    return ConsumerProtocolAssignment(assigned_partitions, user_data), position


def _write_consumer_protocol_assignment(writer: BytesWriter, message: ConsumerProtocolAssignment, version: i64) -> None:
    assigned_partitions = message.assigned_partitions
    write_i32_be(writer, len(assigned_partitions))
    for nth, assigned_partitions_item in enumerate(assigned_partitions):
        _write_topic_partition(writer, assigned_partitions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_nullable_bytes(writer, message.user_data)


class ConsumerProtocolSubscription(Message):
    """Versions 0 to 3."""

    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, topics: list[str] = NO_ITEMS, user_data: bytes | None = None, owned_partitions: list[TopicPartition] = NO_ITEMS, generation_id: int = -1, rack_id: str | None = None) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is NO_ITEMS else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConsumerProtocolSubscription, int]:
        if version < 0 or version > 3:
            raise unknown_version("ConsumerProtocolSubscription", version, 0, 3)
        try:
            message, end = _read_consumer_protocol_subscription(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConsumerProtocolSubscription", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 3:
            raise unsupported_version("ConsumerProtocolSubscription", version, 0, 3)
        writer = BytesWriter()
        _write_consumer_protocol_subscription(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 3:
            raise unsupported_version("ConsumerProtocolSubscription", version, 0, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_consumer_protocol_subscription(writer, self, version)
        return [writer.getvalue()]


def _read_consumer_protocol_subscription(data: bytes, position: i64, version: i64) -> tuple[ConsumerProtocolSubscription, i64]:
    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartition]
    generation_id: int
    rack_id: str | None
    count, position = read_count(data, position, 2)
    topics, position = read_string_list(data, position, count)
    user_data, position = read_nullable_bytes(data, position)
    if version >= 1:
        count, position = read_count(data, position, 6)
        owned_partitions = []
        for nth in range(count):
            owned_partitions_item, position = _read_topic_partition(data, position, version)
            owned_partitions.append(owned_partitions_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        owned_partitions = []
    if version >= 2:
        generation_id = read_i32_be(data, position)
        position += 4
    else:
        generation_id = -1
    if version >= 3:
        rack_id, position = read_nullable_string(data, position)
    else:
        rack_id = None
    return ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, rack_id), position


def _write_consumer_protocol_subscription(writer: BytesWriter, message: ConsumerProtocolSubscription, version: i64) -> None:
    topics = message.topics
    write_i32_be(writer, len(topics))
    write_string_list(writer, topics)
    write_nullable_bytes(writer, message.user_data)
    if version >= 1:
        owned_partitions = message.owned_partitions
        write_i32_be(writer, len(owned_partitions))
        for nth, owned_partitions_item in enumerate(owned_partitions):
            _write_topic_partition(writer, owned_partitions_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        write_i32_be(writer, message.generation_id)
    if version >= 3:
        write_nullable_string(writer, message.rack_id)


class ControlRecordTypeSchema(Message):
    """Version 0."""

    __slots__ = ("type",)
    FIELDS: ClassVar[tuple[str, ...]] = ("type",)
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, type: int = 0) -> None:
        self.type = type

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ControlRecordTypeSchema, int]:
        if version < 0 or version > 0:
            raise unknown_version("ControlRecordTypeSchema", version, 0, 0)
        try:
            message, end = _read_control_record_type_schema(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ControlRecordTypeSchema", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ControlRecordTypeSchema", version, 0, 0)
        writer = BytesWriter()
        _write_control_record_type_schema(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ControlRecordTypeSchema", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_control_record_type_schema(writer, self, version)
        return [writer.getvalue()]


def _read_control_record_type_schema(data: bytes, position: i64, version: i64) -> tuple[ControlRecordTypeSchema, i64]:
    type = read_i16_be(data, position)
    position += 2
    return ControlRecordTypeSchema(type), position


def _write_control_record_type_schema(writer: BytesWriter, message: ControlRecordTypeSchema, version: i64) -> None:
    write_i16_be(writer, message.type)


class DefaultPrincipalData(Message):
    """Version 0."""

    __slots__ = ("type", "name", "token_authenticated")
    FIELDS: ClassVar[tuple[str, ...]] = ("type", "name", "token_authenticated")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, type: str = "", name: str = "", token_authenticated: bool = False) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DefaultPrincipalData, int]:
        if version < 0 or version > 0:
            raise unknown_version("DefaultPrincipalData", version, 0, 0)
        try:
            message, end = _read_default_principal_data(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DefaultPrincipalData", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DefaultPrincipalData", version, 0, 0)
        writer = BytesWriter()
        _write_default_principal_data(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DefaultPrincipalData", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_default_principal_data(writer, self, version)
        return [writer.getvalue()]


def _read_default_principal_data(data: bytes, position: i64, version: i64) -> tuple[DefaultPrincipalData, i64]:
    type, position = read_compact_string(data, position)
    name, position = read_compact_string(data, position)
    token_authenticated = data[position] != 0
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return DefaultPrincipalData(type, name, token_authenticated), position


def _write_default_principal_data(writer: BytesWriter, message: DefaultPrincipalData, version: i64) -> None:
    write_compact_string(writer, message.type)
    write_compact_string(writer, message.name)
    write_bool(writer, message.token_authenticated)
    writer.append(0)


class EndTxnMarker(Message):
    """Version 0."""

    __slots__ = ("coordinator_epoch",)
    FIELDS: ClassVar[tuple[str, ...]] = ("coordinator_epoch",)
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = -1

    def __init__(self, coordinator_epoch: int = 0) -> None:
        self.coordinator_epoch = coordinator_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EndTxnMarker, int]:
        if version < 0 or version > 0:
            raise unknown_version("EndTxnMarker", version, 0, 0)
        try:
            message, end = _read_end_txn_marker(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EndTxnMarker", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("EndTxnMarker", version, 0, 0)
        writer = BytesWriter()
        _write_end_txn_marker(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("EndTxnMarker", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_end_txn_marker(writer, self, version)
        return [writer.getvalue()]


def _read_end_txn_marker(data: bytes, position: i64, version: i64) -> tuple[EndTxnMarker, i64]:
    coordinator_epoch = read_i32_be(data, position)
    position += 4
    return EndTxnMarker(coordinator_epoch), position


def _write_end_txn_marker(writer: BytesWriter, message: EndTxnMarker, version: i64) -> None:
    write_i32_be(writer, message.coordinator_epoch)


class KRaftVersionRecord(Message):
    """Version 0."""

    __slots__ = ("version", "kraft_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "kraft_version")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, version: int = 0, kraft_version: int = 0) -> None:
        self.version = version
        self.kraft_version = kraft_version

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[KRaftVersionRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("KRaftVersionRecord", version, 0, 0)
        try:
            message, end = _read_kraft_version_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("KRaftVersionRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("KRaftVersionRecord", version, 0, 0)
        writer = BytesWriter()
        _write_kraft_version_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("KRaftVersionRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_kraft_version_record(writer, self, version)
        return [writer.getvalue()]


def _read_kraft_version_record(data: bytes, position: i64, version: i64) -> tuple[KRaftVersionRecord, i64]:
    version_ = read_i16_be(data, position)
    kraft_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return KRaftVersionRecord(version_, kraft_version), position


def _write_kraft_version_record(writer: BytesWriter, message: KRaftVersionRecord, version: i64) -> None:
    write_i16_be(writer, message.version)
    write_i16_be(writer, message.kraft_version)
    writer.append(0)


class LeaderChangeMessage(Message):
    """Versions 0 to 1."""

    __slots__ = ("version", "leader_id", "voters", "granting_voters")
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "leader_id", "voters", "granting_voters")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, version: int = 0, leader_id: int = 0, voters: list[Voter] = NO_ITEMS, granting_voters: list[Voter] = NO_ITEMS) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is NO_ITEMS else voters
        self.granting_voters = [] if granting_voters is NO_ITEMS else granting_voters

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[LeaderChangeMessage, int]:
        if version < 0 or version > 1:
            raise unknown_version("LeaderChangeMessage", version, 0, 1)
        try:
            message, end = _read_leader_change_message(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("LeaderChangeMessage", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 1:
            raise unsupported_version("LeaderChangeMessage", version, 0, 1)
        writer = BytesWriter()
        _write_leader_change_message(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 1:
            raise unsupported_version("LeaderChangeMessage", version, 0, 1)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_leader_change_message(writer, self, version)
        return [writer.getvalue()]


def _read_leader_change_message(data: bytes, position: i64, version: i64) -> tuple[LeaderChangeMessage, i64]:
    voters: list[Voter]
    granting_voters: list[Voter]
    version_ = read_i16_be(data, position)
    leader_id = read_i32_be(data, position + 2)
    position += 6
    count, position = read_compact_count(data, position, 5)
    voters = []
    for nth in range(count):
        voters_item, position = _read_voter(data, position, version)
        voters.append(voters_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 5)
    granting_voters = []
    for nth in range(count):
        granting_voters_item, position = _read_voter(data, position, version)
        granting_voters.append(granting_voters_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return LeaderChangeMessage(version_, leader_id, voters, granting_voters), position


def _write_leader_change_message(writer: BytesWriter, message: LeaderChangeMessage, version: i64) -> None:
    write_i16_be(writer, message.version)
    write_i32_be(writer, message.leader_id)
    voters = message.voters
    write_uvarint(writer, len(voters) + 1)
    for nth, voters_item in enumerate(voters):
        _write_voter(writer, voters_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    granting_voters = message.granting_voters
    write_uvarint(writer, len(granting_voters) + 1)
    for nth, granting_voters_item in enumerate(granting_voters):
        _write_voter(writer, granting_voters_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class SnapshotFooterRecord(Message):
    """Version 0."""

    __slots__ = ("version",)
    FIELDS: ClassVar[tuple[str, ...]] = ("version",)
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, version: int = 0) -> None:
        self.version = version

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SnapshotFooterRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("SnapshotFooterRecord", version, 0, 0)
        try:
            message, end = _read_snapshot_footer_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SnapshotFooterRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("SnapshotFooterRecord", version, 0, 0)
        writer = BytesWriter()
        _write_snapshot_footer_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("SnapshotFooterRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_snapshot_footer_record(writer, self, version)
        return [writer.getvalue()]


def _read_snapshot_footer_record(data: bytes, position: i64, version: i64) -> tuple[SnapshotFooterRecord, i64]:
    version_ = read_i16_be(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return SnapshotFooterRecord(version_), position


def _write_snapshot_footer_record(writer: BytesWriter, message: SnapshotFooterRecord, version: i64) -> None:
    write_i16_be(writer, message.version)
    writer.append(0)


class SnapshotHeaderRecord(Message):
    """Version 0."""

    __slots__ = ("version", "last_contained_log_timestamp")
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "last_contained_log_timestamp")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, version: int = 0, last_contained_log_timestamp: int = 0) -> None:
        self.version = version
        self.last_contained_log_timestamp = last_contained_log_timestamp

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[SnapshotHeaderRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("SnapshotHeaderRecord", version, 0, 0)
        try:
            message, end = _read_snapshot_header_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("SnapshotHeaderRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("SnapshotHeaderRecord", version, 0, 0)
        writer = BytesWriter()
        _write_snapshot_header_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("SnapshotHeaderRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_snapshot_header_record(writer, self, version)
        return [writer.getvalue()]


def _read_snapshot_header_record(data: bytes, position: i64, version: i64) -> tuple[SnapshotHeaderRecord, i64]:
    version_ = read_i16_be(data, position)
    last_contained_log_timestamp = read_i64_be(data, position + 2)
    position += 10
    position = skip_tags(data, position) if data[position] else position + 1
    return SnapshotHeaderRecord(version_, last_contained_log_timestamp), position


def _write_snapshot_header_record(writer: BytesWriter, message: SnapshotHeaderRecord, version: i64) -> None:
    write_i16_be(writer, message.version)
    write_i64_be(writer, message.last_contained_log_timestamp)
    writer.append(0)


class VotersRecord(Message):
    """Version 0."""

    __slots__ = ("version", "voters")
    FIELDS: ClassVar[tuple[str, ...]] = ("version", "voters")
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, version: int = 0, voters: list[VotersRecordVoter] = NO_ITEMS) -> None:
        self.version = version
        self.voters = [] if voters is NO_ITEMS else voters

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[VotersRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("VotersRecord", version, 0, 0)
        try:
            message, end = _read_voters_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("VotersRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("VotersRecord", version, 0, 0)
        writer = BytesWriter()
        _write_voters_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("VotersRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_voters_record(writer, self, version)
        return [writer.getvalue()]


def _read_voters_record(data: bytes, position: i64, version: i64) -> tuple[VotersRecord, i64]:
    voters: list[VotersRecordVoter]
    version_ = read_i16_be(data, position)
    position += 2
    count, position = read_compact_count(data, position, 27)
    voters = []
    for nth in range(count):
        voters_item, position = _read_voters_record_voter(data, position, version)
        voters.append(voters_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return VotersRecord(version_, voters), position


def _write_voters_record(writer: BytesWriter, message: VotersRecord, version: i64) -> None:
    write_i16_be(writer, message.version)
    voters = message.voters
    write_uvarint(writer, len(voters) + 1)
    for nth, voters_item in enumerate(voters):
        _write_voters_record_voter(writer, voters_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
