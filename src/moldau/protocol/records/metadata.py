"""The metadata records. Generated from schema/metadata_records.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import (
    BytesWriter,
    read_f64_be,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_f64_be,
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
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_i8,
    read_i32_list,
    read_tag,
    read_u16,
    read_uuid,
    read_uuid_list,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_i8,
    write_i32_list,
    write_tag,
    write_u16,
    write_uuid,
    write_uuid_list,
    write_uvarint,
)


class BrokerEndpoint(Struct):
    __slots__ = ("name", "host", "port", "security_protocol")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port", "security_protocol")

    def __init__(self, name: str = "", host: str = "", port: int = 0, security_protocol: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


def _read_broker_endpoint(data: bytes, position: i64, version: i64) -> tuple[BrokerEndpoint, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    security_protocol = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerEndpoint(name, host, port, security_protocol), position


def _write_broker_endpoint(writer: BytesWriter, message: BrokerEndpoint, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    write_i16_be(writer, message.security_protocol)
    writer.append(0)


class BrokerFeature(Struct):
    __slots__ = ("name", "min_supported_version", "max_supported_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_supported_version", "max_supported_version")

    def __init__(self, name: str = "", min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


def _read_broker_feature(data: bytes, position: i64, version: i64) -> tuple[BrokerFeature, i64]:
    name, position = read_compact_string(data, position)
    min_supported_version = read_i16_be(data, position)
    max_supported_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return BrokerFeature(name, min_supported_version, max_supported_version), position


def _write_broker_feature(writer: BytesWriter, message: BrokerFeature, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.min_supported_version)
    write_i16_be(writer, message.max_supported_version)
    writer.append(0)


class EntityData(Struct):
    __slots__ = ("entity_type", "entity_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity_type", "entity_name")

    def __init__(self, entity_type: str = "", entity_name: str | None = "") -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name


def _read_entity_data(data: bytes, position: i64, version: i64) -> tuple[EntityData, i64]:
    entity_name: str | None
    entity_type, position = read_compact_string(data, position)
    entity_name, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return EntityData(entity_type, entity_name), position


def _write_entity_data(writer: BytesWriter, message: EntityData, version: i64) -> None:
    write_compact_string(writer, message.entity_type)
    write_compact_nullable_string(writer, message.entity_name)
    writer.append(0)


class ControllerEndpoint(Struct):
    __slots__ = ("name", "host", "port", "security_protocol")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "host", "port", "security_protocol")

    def __init__(self, name: str = "", host: str = "", port: int = 0, security_protocol: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


def _read_controller_endpoint(data: bytes, position: i64, version: i64) -> tuple[ControllerEndpoint, i64]:
    name, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    port = read_u16(data, position)
    security_protocol = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return ControllerEndpoint(name, host, port, security_protocol), position


def _write_controller_endpoint(writer: BytesWriter, message: ControllerEndpoint, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_compact_string(writer, message.host)
    write_u16(writer, message.port)
    write_i16_be(writer, message.security_protocol)
    writer.append(0)


class ControllerFeature(Struct):
    __slots__ = ("name", "min_supported_version", "max_supported_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_supported_version", "max_supported_version")

    def __init__(self, name: str = "", min_supported_version: int = 0, max_supported_version: int = 0) -> None:
        self.name = name
        self.min_supported_version = min_supported_version
        self.max_supported_version = max_supported_version


def _read_controller_feature(data: bytes, position: i64, version: i64) -> tuple[ControllerFeature, i64]:
    name, position = read_compact_string(data, position)
    min_supported_version = read_i16_be(data, position)
    max_supported_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return ControllerFeature(name, min_supported_version, max_supported_version), position


def _write_controller_feature(writer: BytesWriter, message: ControllerFeature, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.min_supported_version)
    write_i16_be(writer, message.max_supported_version)
    writer.append(0)


class RegisterBrokerRecord(Message):
    """Record type 0, versions 0 to 4."""

    __slots__ = ("broker_id", "is_migrating_zk_broker", "incarnation_id", "broker_epoch", "end_points", "features", "rack", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "is_migrating_zk_broker", "incarnation_id", "broker_epoch", "end_points", "features", "rack", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    RECORD_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, is_migrating_zk_broker: bool = False, incarnation_id: bytes = NO_UUID, broker_epoch: int = 0, end_points: list[BrokerEndpoint] = NO_ITEMS, features: list[BrokerFeature] = NO_ITEMS, rack: str | None = "", fenced: bool = True, in_controlled_shutdown: bool = False, log_dirs: list[bytes] = NO_ITEMS, cordoned_log_dirs: list[bytes] | None = None) -> None:
        self.broker_id = broker_id
        self.is_migrating_zk_broker = is_migrating_zk_broker
        self.incarnation_id = incarnation_id
        self.broker_epoch = broker_epoch
        self.end_points = [] if end_points is NO_ITEMS else end_points
        self.features = [] if features is NO_ITEMS else features
        self.rack = rack
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NO_ITEMS else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RegisterBrokerRecord, int]:
        if version < 0 or version > 4:
            raise unknown_version("RegisterBrokerRecord", version, 0, 4)
        try:
            message, end = _read_register_broker_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RegisterBrokerRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("RegisterBrokerRecord", version, 0, 4)
        writer = BytesWriter()
        _write_register_broker_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("RegisterBrokerRecord", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_register_broker_record(writer, self, version)
        return [writer.getvalue()]


def _read_register_broker_record(data: bytes, position: i64, version: i64) -> tuple[RegisterBrokerRecord, i64]:
    is_migrating_zk_broker: bool
    end_points: list[BrokerEndpoint]
    features: list[BrokerFeature]
    rack: str | None
    in_controlled_shutdown: bool
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    broker_id = read_i32_be(data, position)
    position += 4
    if version >= 2:
        is_migrating_zk_broker = data[position] != 0
        position += 1
    else:
        is_migrating_zk_broker = False
    incarnation_id = read_uuid(data, position)
    broker_epoch = read_i64_be(data, position + 16)
    position += 24
    count, position = read_compact_count(data, position, 7)
    end_points = []
    for nth in range(count):
        end_points_item, position = _read_broker_endpoint(data, position, version)
        end_points.append(end_points_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 6)
    features = []
    for nth in range(count):
        features_item, position = _read_broker_feature(data, position, version)
        features.append(features_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    rack, position = read_compact_nullable_string(data, position)
    fenced = data[position] != 0
    position += 1
    if version >= 1:
        in_controlled_shutdown = data[position] != 0
        position += 1
    else:
        in_controlled_shutdown = False
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0 and version >= 3:
                count, position = read_compact_count(data, position, 16)
                log_dirs = read_uuid_list(data, position, count)
                position += 16 * count
            elif tag == 1 and version >= 4:
                count, position = read_compact_nullable_count(data, position, 16)
                if count < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = read_uuid_list(data, position, count)
                    position += 16 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return RegisterBrokerRecord(broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch, end_points, features, rack, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs), position


def _write_register_broker_record(writer: BytesWriter, message: RegisterBrokerRecord, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    if version >= 2:
        write_bool(writer, message.is_migrating_zk_broker)
    else:
        if message.is_migrating_zk_broker:
            raise unsupported_field("RegisterBrokerRecord", "is_migrating_zk_broker", version)
    write_uuid(writer, message.incarnation_id)
    write_i64_be(writer, message.broker_epoch)
    end_points = message.end_points
    write_uvarint(writer, len(end_points) + 1)
    for nth, end_points_item in enumerate(end_points):
        _write_broker_endpoint(writer, end_points_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    features = message.features
    write_uvarint(writer, len(features) + 1)
    for nth, features_item in enumerate(features):
        _write_broker_feature(writer, features_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_compact_nullable_string(writer, message.rack)
    write_bool(writer, message.fenced)
    if version >= 1:
        write_bool(writer, message.in_controlled_shutdown)
    else:
        if message.in_controlled_shutdown:
            raise unsupported_field("RegisterBrokerRecord", "in_controlled_shutdown", version)
    if version < 3:
        if message.log_dirs:
            raise unsupported_field("RegisterBrokerRecord", "log_dirs", version)
    if version < 4:
        if message.cordoned_log_dirs is not None:
            raise unsupported_field("RegisterBrokerRecord", "cordoned_log_dirs", version)
    count = 0
    if version >= 3 and message.log_dirs:
        count += 1
    if version >= 4 and message.cordoned_log_dirs is not None:
        count += 1
    writer.append(count)
    if count:
        if version >= 3 and message.log_dirs:
            body = BytesWriter()
            log_dirs = message.log_dirs
            write_uvarint(body, len(log_dirs) + 1)
            write_uuid_list(body, log_dirs)
            write_tag(writer, 0, body)
        if version >= 4 and message.cordoned_log_dirs is not None:
            body = BytesWriter()
            cordoned_log_dirs = message.cordoned_log_dirs
            if cordoned_log_dirs is None:
                body.append(0)
            else:
                write_uvarint(body, len(cordoned_log_dirs) + 1)
                write_uuid_list(body, cordoned_log_dirs)
            write_tag(writer, 1, body)


class UnregisterBrokerRecord(Message):
    """Record type 1, version 0."""

    __slots__ = ("broker_id", "broker_epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch")
    RECORD_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = 0) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UnregisterBrokerRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("UnregisterBrokerRecord", version, 0, 0)
        try:
            message, end = _read_unregister_broker_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UnregisterBrokerRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        _write_unregister_broker_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UnregisterBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_unregister_broker_record(writer, self, version)
        return [writer.getvalue()]


def _read_unregister_broker_record(data: bytes, position: i64, version: i64) -> tuple[UnregisterBrokerRecord, i64]:
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return UnregisterBrokerRecord(broker_id, broker_epoch), position


def _write_unregister_broker_record(writer: BytesWriter, message: UnregisterBrokerRecord, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    writer.append(0)


class TopicRecord(Message):
    """Record type 2, version 0."""

    __slots__ = ("name", "topic_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id")
    RECORD_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, name: str = "", topic_id: bytes = NO_UUID) -> None:
        self.name = name
        self.topic_id = topic_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[TopicRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("TopicRecord", version, 0, 0)
        try:
            message, end = _read_topic_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("TopicRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("TopicRecord", version, 0, 0)
        writer = BytesWriter()
        _write_topic_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("TopicRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_topic_record(writer, self, version)
        return [writer.getvalue()]


def _read_topic_record(data: bytes, position: i64, version: i64) -> tuple[TopicRecord, i64]:
    name, position = read_compact_string(data, position)
    topic_id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return TopicRecord(name, topic_id), position


def _write_topic_record(writer: BytesWriter, message: TopicRecord, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_uuid(writer, message.topic_id)
    writer.append(0)


class PartitionRecord(Message):
    """Record type 3, versions 0 to 2."""

    __slots__ = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_id", "topic_id", "replicas", "isr", "removing_replicas", "adding_replicas", "leader", "leader_recovery_state", "leader_epoch", "partition_epoch", "directories", "eligible_leader_replicas", "last_known_elr")
    RECORD_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, partition_id: int = -1, topic_id: bytes = NO_UUID, replicas: list[int] = NO_ITEMS, isr: list[int] = NO_ITEMS, removing_replicas: list[int] = NO_ITEMS, adding_replicas: list[int] = NO_ITEMS, leader: int = -1, leader_recovery_state: int = 0, leader_epoch: int = -1, partition_epoch: int = -1, directories: list[bytes] = NO_ITEMS, eligible_leader_replicas: list[int] | None = None, last_known_elr: list[int] | None = None) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.replicas = [] if replicas is NO_ITEMS else replicas
        self.isr = [] if isr is NO_ITEMS else isr
        self.removing_replicas = [] if removing_replicas is NO_ITEMS else removing_replicas
        self.adding_replicas = [] if adding_replicas is NO_ITEMS else adding_replicas
        self.leader = leader
        self.leader_recovery_state = leader_recovery_state
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = [] if directories is NO_ITEMS else directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[PartitionRecord, int]:
        if version < 0 or version > 2:
            raise unknown_version("PartitionRecord", version, 0, 2)
        try:
            message, end = _read_partition_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("PartitionRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("PartitionRecord", version, 0, 2)
        writer = BytesWriter()
        _write_partition_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("PartitionRecord", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_partition_record(writer, self, version)
        return [writer.getvalue()]


def _read_partition_record(data: bytes, position: i64, version: i64) -> tuple[PartitionRecord, i64]:
    replicas: list[int]
    isr: list[int]
    removing_replicas: list[int]
    adding_replicas: list[int]
    leader_recovery_state: int = 0
    directories: list[bytes]
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    partition_id = read_i32_be(data, position)
    topic_id = read_uuid(data, position + 4)
    position += 20
    count, position = read_compact_count(data, position, 4)
    replicas = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    isr = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    removing_replicas = read_i32_list(data, position, count)
    position += 4 * count
    count, position = read_compact_count(data, position, 4)
    adding_replicas = read_i32_list(data, position, count)
    position += 4 * count
    leader = read_i32_be(data, position)
    leader_epoch = read_i32_be(data, position + 4)
    partition_epoch = read_i32_be(data, position + 8)
    position += 12
    if version >= 1:
        count, position = read_compact_count(data, position, 16)
        directories = read_uuid_list(data, position, count)
        position += 16 * count
    else:
        directories = []
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                leader_recovery_state = read_i8(data, position)
                position += 1
            elif tag == 1 and version >= 2:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    eligible_leader_replicas = None
                else:
                    eligible_leader_replicas = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 2 and version >= 2:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    last_known_elr = None
                else:
                    last_known_elr = read_i32_list(data, position, count)
                    position += 4 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return PartitionRecord(partition_id, topic_id, replicas, isr, removing_replicas, adding_replicas, leader, leader_recovery_state, leader_epoch, partition_epoch, directories, eligible_leader_replicas, last_known_elr), position


def _write_partition_record(writer: BytesWriter, message: PartitionRecord, version: i64) -> None:
    write_i32_be(writer, message.partition_id)
    write_uuid(writer, message.topic_id)
    replicas = message.replicas
    write_uvarint(writer, len(replicas) + 1)
    write_i32_list(writer, replicas)
    isr = message.isr
    write_uvarint(writer, len(isr) + 1)
    write_i32_list(writer, isr)
    removing_replicas = message.removing_replicas
    write_uvarint(writer, len(removing_replicas) + 1)
    write_i32_list(writer, removing_replicas)
    adding_replicas = message.adding_replicas
    write_uvarint(writer, len(adding_replicas) + 1)
    write_i32_list(writer, adding_replicas)
    write_i32_be(writer, message.leader)
    write_i32_be(writer, message.leader_epoch)
    write_i32_be(writer, message.partition_epoch)
    if version >= 1:
        directories = message.directories
        write_uvarint(writer, len(directories) + 1)
        write_uuid_list(writer, directories)
    else:
        if message.directories:
            raise unsupported_field("PartitionRecord", "directories", version)
    if version < 2:
        if message.eligible_leader_replicas is not None:
            raise unsupported_field("PartitionRecord", "eligible_leader_replicas", version)
        if message.last_known_elr is not None:
            raise unsupported_field("PartitionRecord", "last_known_elr", version)
    count = 0
    if message.leader_recovery_state != 0:
        count += 1
    if version >= 2 and message.eligible_leader_replicas is not None:
        count += 1
    if version >= 2 and message.last_known_elr is not None:
        count += 1
    writer.append(count)
    if count:
        if message.leader_recovery_state != 0:
            writer.append(0)
            writer.append(1)
            write_i8(writer, message.leader_recovery_state)
        if version >= 2 and message.eligible_leader_replicas is not None:
            body = BytesWriter()
            eligible_leader_replicas = message.eligible_leader_replicas
            if eligible_leader_replicas is None:
                body.append(0)
            else:
                write_uvarint(body, len(eligible_leader_replicas) + 1)
                write_i32_list(body, eligible_leader_replicas)
            write_tag(writer, 1, body)
        if version >= 2 and message.last_known_elr is not None:
            body = BytesWriter()
            last_known_elr = message.last_known_elr
            if last_known_elr is None:
                body.append(0)
            else:
                write_uvarint(body, len(last_known_elr) + 1)
                write_i32_list(body, last_known_elr)
            write_tag(writer, 2, body)


class ConfigRecord(Message):
    """Record type 4, version 0."""

    __slots__ = ("resource_type", "resource_name", "name", "value")
    FIELDS: ClassVar[tuple[str, ...]] = ("resource_type", "resource_name", "name", "value")
    RECORD_KEY: ClassVar[int] = 4
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, resource_type: int = 0, resource_name: str = "", name: str = "", value: str | None = "") -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ConfigRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("ConfigRecord", version, 0, 0)
        try:
            message, end = _read_config_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ConfigRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ConfigRecord", version, 0, 0)
        writer = BytesWriter()
        _write_config_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ConfigRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_config_record(writer, self, version)
        return [writer.getvalue()]


def _read_config_record(data: bytes, position: i64, version: i64) -> tuple[ConfigRecord, i64]:
    value: str | None
    resource_type = read_i8(data, position)
    position += 1
    resource_name, position = read_compact_string(data, position)
    name, position = read_compact_string(data, position)
    value, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ConfigRecord(resource_type, resource_name, name, value), position


def _write_config_record(writer: BytesWriter, message: ConfigRecord, version: i64) -> None:
    write_i8(writer, message.resource_type)
    write_compact_string(writer, message.resource_name)
    write_compact_string(writer, message.name)
    write_compact_nullable_string(writer, message.value)
    writer.append(0)


class PartitionChangeRecord(Message):
    """Record type 5, versions 0 to 2."""

    __slots__ = ("partition_id", "topic_id", "isr", "leader", "replicas", "removing_replicas", "adding_replicas", "leader_recovery_state", "directories", "eligible_leader_replicas", "last_known_elr")
    FIELDS: ClassVar[tuple[str, ...]] = ("partition_id", "topic_id", "isr", "leader", "replicas", "removing_replicas", "adding_replicas", "leader_recovery_state", "directories", "eligible_leader_replicas", "last_known_elr")
    RECORD_KEY: ClassVar[int] = 5
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, partition_id: int = -1, topic_id: bytes = NO_UUID, isr: list[int] | None = None, leader: int = -2, replicas: list[int] | None = None, removing_replicas: list[int] | None = None, adding_replicas: list[int] | None = None, leader_recovery_state: int = -1, directories: list[bytes] | None = None, eligible_leader_replicas: list[int] | None = None, last_known_elr: list[int] | None = None) -> None:
        self.partition_id = partition_id
        self.topic_id = topic_id
        self.isr = isr
        self.leader = leader
        self.replicas = replicas
        self.removing_replicas = removing_replicas
        self.adding_replicas = adding_replicas
        self.leader_recovery_state = leader_recovery_state
        self.directories = directories
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[PartitionChangeRecord, int]:
        if version < 0 or version > 2:
            raise unknown_version("PartitionChangeRecord", version, 0, 2)
        try:
            message, end = _read_partition_change_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("PartitionChangeRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("PartitionChangeRecord", version, 0, 2)
        writer = BytesWriter()
        _write_partition_change_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("PartitionChangeRecord", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_partition_change_record(writer, self, version)
        return [writer.getvalue()]


def _read_partition_change_record(data: bytes, position: i64, version: i64) -> tuple[PartitionChangeRecord, i64]:
    isr: list[int] | None = None
    leader: int = -2
    replicas: list[int] | None = None
    removing_replicas: list[int] | None = None
    adding_replicas: list[int] | None = None
    leader_recovery_state: int = -1
    directories: list[bytes] | None = None
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None
    partition_id = read_i32_be(data, position)
    topic_id = read_uuid(data, position + 4)
    position += 20
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    isr = None
                else:
                    isr = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 1:
                leader = read_i32_be(data, position)
                position += 4
            elif tag == 2:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    replicas = None
                else:
                    replicas = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 3:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    removing_replicas = None
                else:
                    removing_replicas = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 4:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    adding_replicas = None
                else:
                    adding_replicas = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 5:
                leader_recovery_state = read_i8(data, position)
                position += 1
            elif tag == 6 and version >= 2:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    eligible_leader_replicas = None
                else:
                    eligible_leader_replicas = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 7 and version >= 2:
                count, position = read_compact_nullable_count(data, position, 4)
                if count < 0:
                    last_known_elr = None
                else:
                    last_known_elr = read_i32_list(data, position, count)
                    position += 4 * count
            elif tag == 8 and version >= 1:
                count, position = read_compact_nullable_count(data, position, 16)
                if count < 0:
                    directories = None
                else:
                    directories = read_uuid_list(data, position, count)
                    position += 16 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return PartitionChangeRecord(partition_id, topic_id, isr, leader, replicas, removing_replicas, adding_replicas, leader_recovery_state, directories, eligible_leader_replicas, last_known_elr), position


def _write_partition_change_record(writer: BytesWriter, message: PartitionChangeRecord, version: i64) -> None:
    write_i32_be(writer, message.partition_id)
    write_uuid(writer, message.topic_id)
    if version < 1:
        if message.directories is not None:
            raise unsupported_field("PartitionChangeRecord", "directories", version)
    if version < 2:
        if message.eligible_leader_replicas is not None:
            raise unsupported_field("PartitionChangeRecord", "eligible_leader_replicas", version)
        if message.last_known_elr is not None:
            raise unsupported_field("PartitionChangeRecord", "last_known_elr", version)
    count = 0
    if message.isr is not None:
        count += 1
    if message.leader != -2:
        count += 1
    if message.replicas is not None:
        count += 1
    if message.removing_replicas is not None:
        count += 1
    if message.adding_replicas is not None:
        count += 1
    if message.leader_recovery_state != -1:
        count += 1
    if version >= 2 and message.eligible_leader_replicas is not None:
        count += 1
    if version >= 2 and message.last_known_elr is not None:
        count += 1
    if version >= 1 and message.directories is not None:
        count += 1
    writer.append(count)
    if count:
        if message.isr is not None:
            body = BytesWriter()
            isr = message.isr
            if isr is None:
                body.append(0)
            else:
                write_uvarint(body, len(isr) + 1)
                write_i32_list(body, isr)
            write_tag(writer, 0, body)
        if message.leader != -2:
            writer.append(1)
            writer.append(4)
            write_i32_be(writer, message.leader)
        if message.replicas is not None:
            body = BytesWriter()
            replicas = message.replicas
            if replicas is None:
                body.append(0)
            else:
                write_uvarint(body, len(replicas) + 1)
                write_i32_list(body, replicas)
            write_tag(writer, 2, body)
        if message.removing_replicas is not None:
            body = BytesWriter()
            removing_replicas = message.removing_replicas
            if removing_replicas is None:
                body.append(0)
            else:
                write_uvarint(body, len(removing_replicas) + 1)
                write_i32_list(body, removing_replicas)
            write_tag(writer, 3, body)
        if message.adding_replicas is not None:
            body = BytesWriter()
            adding_replicas = message.adding_replicas
            if adding_replicas is None:
                body.append(0)
            else:
                write_uvarint(body, len(adding_replicas) + 1)
                write_i32_list(body, adding_replicas)
            write_tag(writer, 4, body)
        if message.leader_recovery_state != -1:
            writer.append(5)
            writer.append(1)
            write_i8(writer, message.leader_recovery_state)
        if version >= 2 and message.eligible_leader_replicas is not None:
            body = BytesWriter()
            eligible_leader_replicas = message.eligible_leader_replicas
            if eligible_leader_replicas is None:
                body.append(0)
            else:
                write_uvarint(body, len(eligible_leader_replicas) + 1)
                write_i32_list(body, eligible_leader_replicas)
            write_tag(writer, 6, body)
        if version >= 2 and message.last_known_elr is not None:
            body = BytesWriter()
            last_known_elr = message.last_known_elr
            if last_known_elr is None:
                body.append(0)
            else:
                write_uvarint(body, len(last_known_elr) + 1)
                write_i32_list(body, last_known_elr)
            write_tag(writer, 7, body)
        if version >= 1 and message.directories is not None:
            body = BytesWriter()
            directories = message.directories
            if directories is None:
                body.append(0)
            else:
                write_uvarint(body, len(directories) + 1)
                write_uuid_list(body, directories)
            write_tag(writer, 8, body)


class FenceBrokerRecord(Message):
    """Record type 7, version 0."""

    __slots__ = ("id", "epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "epoch")
    RECORD_KEY: ClassVar[int] = 7
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, id: int = 0, epoch: int = 0) -> None:
        self.id = id
        self.epoch = epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FenceBrokerRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("FenceBrokerRecord", version, 0, 0)
        try:
            message, end = _read_fence_broker_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FenceBrokerRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("FenceBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        _write_fence_broker_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("FenceBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_fence_broker_record(writer, self, version)
        return [writer.getvalue()]


def _read_fence_broker_record(data: bytes, position: i64, version: i64) -> tuple[FenceBrokerRecord, i64]:
    id = read_i32_be(data, position)
    epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return FenceBrokerRecord(id, epoch), position


def _write_fence_broker_record(writer: BytesWriter, message: FenceBrokerRecord, version: i64) -> None:
    write_i32_be(writer, message.id)
    write_i64_be(writer, message.epoch)
    writer.append(0)


class UnfenceBrokerRecord(Message):
    """Record type 8, version 0."""

    __slots__ = ("id", "epoch")
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "epoch")
    RECORD_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, id: int = 0, epoch: int = 0) -> None:
        self.id = id
        self.epoch = epoch

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UnfenceBrokerRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("UnfenceBrokerRecord", version, 0, 0)
        try:
            message, end = _read_unfence_broker_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UnfenceBrokerRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UnfenceBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        _write_unfence_broker_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UnfenceBrokerRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_unfence_broker_record(writer, self, version)
        return [writer.getvalue()]


def _read_unfence_broker_record(data: bytes, position: i64, version: i64) -> tuple[UnfenceBrokerRecord, i64]:
    id = read_i32_be(data, position)
    epoch = read_i64_be(data, position + 4)
    position += 12
    position = skip_tags(data, position) if data[position] else position + 1
    return UnfenceBrokerRecord(id, epoch), position


def _write_unfence_broker_record(writer: BytesWriter, message: UnfenceBrokerRecord, version: i64) -> None:
    write_i32_be(writer, message.id)
    write_i64_be(writer, message.epoch)
    writer.append(0)


class RemoveTopicRecord(Message):
    """Record type 9, version 0."""

    __slots__ = ("topic_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_id",)
    RECORD_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topic_id: bytes = NO_UUID) -> None:
        self.topic_id = topic_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveTopicRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveTopicRecord", version, 0, 0)
        try:
            message, end = _read_remove_topic_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveTopicRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveTopicRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remove_topic_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveTopicRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_topic_record(writer, self, version)
        return [writer.getvalue()]


def _read_remove_topic_record(data: bytes, position: i64, version: i64) -> tuple[RemoveTopicRecord, i64]:
    topic_id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveTopicRecord(topic_id), position


def _write_remove_topic_record(writer: BytesWriter, message: RemoveTopicRecord, version: i64) -> None:
    write_uuid(writer, message.topic_id)
    writer.append(0)


class DelegationTokenRecord(Message):
    """Record type 10, version 0."""

    __slots__ = ("owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp", "token_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp", "token_id")
    RECORD_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, owner: str = "", requester: str = "", renewers: list[str] = NO_ITEMS, issue_timestamp: int = 0, max_timestamp: int = 0, expiration_timestamp: int = 0, token_id: str = "") -> None:
        self.owner = owner
        self.requester = requester
        self.renewers = [] if renewers is NO_ITEMS else renewers
        self.issue_timestamp = issue_timestamp
        self.max_timestamp = max_timestamp
        self.expiration_timestamp = expiration_timestamp
        self.token_id = token_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DelegationTokenRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("DelegationTokenRecord", version, 0, 0)
        try:
            message, end = _read_delegation_token_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DelegationTokenRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DelegationTokenRecord", version, 0, 0)
        writer = BytesWriter()
        _write_delegation_token_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DelegationTokenRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delegation_token_record(writer, self, version)
        return [writer.getvalue()]


def _read_delegation_token_record(data: bytes, position: i64, version: i64) -> tuple[DelegationTokenRecord, i64]:
    renewers: list[str]
    owner, position = read_compact_string(data, position)
    requester, position = read_compact_string(data, position)
    count, position = read_compact_count(data, position, 1)
    renewers, position = read_compact_string_list(data, position, count)
    issue_timestamp = read_i64_be(data, position)
    max_timestamp = read_i64_be(data, position + 8)
    expiration_timestamp = read_i64_be(data, position + 16)
    position += 24
    token_id, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return DelegationTokenRecord(owner, requester, renewers, issue_timestamp, max_timestamp, expiration_timestamp, token_id), position


def _write_delegation_token_record(writer: BytesWriter, message: DelegationTokenRecord, version: i64) -> None:
    write_compact_string(writer, message.owner)
    write_compact_string(writer, message.requester)
    renewers = message.renewers
    write_uvarint(writer, len(renewers) + 1)
    write_compact_string_list(writer, renewers)
    write_i64_be(writer, message.issue_timestamp)
    write_i64_be(writer, message.max_timestamp)
    write_i64_be(writer, message.expiration_timestamp)
    write_compact_string(writer, message.token_id)
    writer.append(0)


class UserScramCredentialRecord(Message):
    """Record type 11, version 0."""

    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")
    RECORD_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, name: str = "", mechanism: int = 0, salt: bytes = b"", stored_key: bytes = b"", server_key: bytes = b"", iterations: int = 0) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UserScramCredentialRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("UserScramCredentialRecord", version, 0, 0)
        try:
            message, end = _read_user_scram_credential_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UserScramCredentialRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("UserScramCredentialRecord", version, 0, 0)
        writer = BytesWriter()
        _write_user_scram_credential_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("UserScramCredentialRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_user_scram_credential_record(writer, self, version)
        return [writer.getvalue()]


def _read_user_scram_credential_record(data: bytes, position: i64, version: i64) -> tuple[UserScramCredentialRecord, i64]:
    name, position = read_compact_string(data, position)
    mechanism = read_i8(data, position)
    position += 1
    salt, position = read_compact_bytes(data, position)
    stored_key, position = read_compact_bytes(data, position)
    server_key, position = read_compact_bytes(data, position)
    iterations = read_i32_be(data, position)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return UserScramCredentialRecord(name, mechanism, salt, stored_key, server_key, iterations), position


def _write_user_scram_credential_record(writer: BytesWriter, message: UserScramCredentialRecord, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i8(writer, message.mechanism)
    write_compact_bytes(writer, message.salt)
    write_compact_bytes(writer, message.stored_key)
    write_compact_bytes(writer, message.server_key)
    write_i32_be(writer, message.iterations)
    writer.append(0)


class FeatureLevelRecord(Message):
    """Record type 12, version 0."""

    __slots__ = ("name", "feature_level")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "feature_level")
    RECORD_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, name: str = "", feature_level: int = 0) -> None:
        self.name = name
        self.feature_level = feature_level

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[FeatureLevelRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("FeatureLevelRecord", version, 0, 0)
        try:
            message, end = _read_feature_level_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("FeatureLevelRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("FeatureLevelRecord", version, 0, 0)
        writer = BytesWriter()
        _write_feature_level_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("FeatureLevelRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_feature_level_record(writer, self, version)
        return [writer.getvalue()]


def _read_feature_level_record(data: bytes, position: i64, version: i64) -> tuple[FeatureLevelRecord, i64]:
    name, position = read_compact_string(data, position)
    feature_level = read_i16_be(data, position)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return FeatureLevelRecord(name, feature_level), position


def _write_feature_level_record(writer: BytesWriter, message: FeatureLevelRecord, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.feature_level)
    writer.append(0)


class ClientQuotaRecord(Message):
    """Record type 14, version 0."""

    __slots__ = ("entity", "key", "value", "remove")
    FIELDS: ClassVar[tuple[str, ...]] = ("entity", "key", "value", "remove")
    RECORD_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, entity: list[EntityData] = NO_ITEMS, key: str = "", value: float = 0.0, remove: bool = False) -> None:
        self.entity = [] if entity is NO_ITEMS else entity
        self.key = key
        self.value = value
        self.remove = remove

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ClientQuotaRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("ClientQuotaRecord", version, 0, 0)
        try:
            message, end = _read_client_quota_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ClientQuotaRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ClientQuotaRecord", version, 0, 0)
        writer = BytesWriter()
        _write_client_quota_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ClientQuotaRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_client_quota_record(writer, self, version)
        return [writer.getvalue()]


def _read_client_quota_record(data: bytes, position: i64, version: i64) -> tuple[ClientQuotaRecord, i64]:
    entity: list[EntityData]
    count, position = read_compact_count(data, position, 3)
    entity = []
    for nth in range(count):
        entity_item, position = _read_entity_data(data, position, version)
        entity.append(entity_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    key, position = read_compact_string(data, position)
    value = read_f64_be(data, position)
    remove = data[position + 8] != 0
    position += 9
    position = skip_tags(data, position) if data[position] else position + 1
    return ClientQuotaRecord(entity, key, value, remove), position


def _write_client_quota_record(writer: BytesWriter, message: ClientQuotaRecord, version: i64) -> None:
    entity = message.entity
    write_uvarint(writer, len(entity) + 1)
    for nth, entity_item in enumerate(entity):
        _write_entity_data(writer, entity_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    write_compact_string(writer, message.key)
    write_f64_be(writer, message.value)
    write_bool(writer, message.remove)
    writer.append(0)


class ProducerIdsRecord(Message):
    """Record type 15, version 0."""

    __slots__ = ("broker_id", "broker_epoch", "next_producer_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "next_producer_id")
    RECORD_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = -1, next_producer_id: int = 0) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.next_producer_id = next_producer_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ProducerIdsRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("ProducerIdsRecord", version, 0, 0)
        try:
            message, end = _read_producer_ids_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ProducerIdsRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ProducerIdsRecord", version, 0, 0)
        writer = BytesWriter()
        _write_producer_ids_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ProducerIdsRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_producer_ids_record(writer, self, version)
        return [writer.getvalue()]


def _read_producer_ids_record(data: bytes, position: i64, version: i64) -> tuple[ProducerIdsRecord, i64]:
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    next_producer_id = read_i64_be(data, position + 12)
    position += 20
    position = skip_tags(data, position) if data[position] else position + 1
    return ProducerIdsRecord(broker_id, broker_epoch, next_producer_id), position


def _write_producer_ids_record(writer: BytesWriter, message: ProducerIdsRecord, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    write_i64_be(writer, message.next_producer_id)
    writer.append(0)


class BrokerRegistrationChangeRecord(Message):
    """Record type 17, versions 0 to 3."""

    __slots__ = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    FIELDS: ClassVar[tuple[str, ...]] = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")
    RECORD_KEY: ClassVar[int] = 17
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, broker_id: int = 0, broker_epoch: int = 0, fenced: int = 0, in_controlled_shutdown: int = 0, log_dirs: list[bytes] = NO_ITEMS, cordoned_log_dirs: list[bytes] | None = None) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NO_ITEMS else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BrokerRegistrationChangeRecord, int]:
        if version < 0 or version > 3:
            raise unknown_version("BrokerRegistrationChangeRecord", version, 0, 3)
        try:
            message, end = _read_broker_registration_change_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BrokerRegistrationChangeRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 3:
            raise unsupported_version("BrokerRegistrationChangeRecord", version, 0, 3)
        writer = BytesWriter()
        _write_broker_registration_change_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 3:
            raise unsupported_version("BrokerRegistrationChangeRecord", version, 0, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_broker_registration_change_record(writer, self, version)
        return [writer.getvalue()]


def _read_broker_registration_change_record(data: bytes, position: i64, version: i64) -> tuple[BrokerRegistrationChangeRecord, i64]:
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: list[bytes] = []
    cordoned_log_dirs: list[bytes] | None = None
    broker_id = read_i32_be(data, position)
    broker_epoch = read_i64_be(data, position + 4)
    position += 12
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                fenced = read_i8(data, position)
                position += 1
            elif tag == 1 and version >= 1:
                in_controlled_shutdown = read_i8(data, position)
                position += 1
            elif tag == 2 and version >= 2:
                count, position = read_compact_count(data, position, 16)
                log_dirs = read_uuid_list(data, position, count)
                position += 16 * count
            elif tag == 3 and version >= 3:
                count, position = read_compact_nullable_count(data, position, 16)
                if count < 0:
                    cordoned_log_dirs = None
                else:
                    cordoned_log_dirs = read_uuid_list(data, position, count)
                    position += 16 * count
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return BrokerRegistrationChangeRecord(broker_id, broker_epoch, fenced, in_controlled_shutdown, log_dirs, cordoned_log_dirs), position


def _write_broker_registration_change_record(writer: BytesWriter, message: BrokerRegistrationChangeRecord, version: i64) -> None:
    write_i32_be(writer, message.broker_id)
    write_i64_be(writer, message.broker_epoch)
    if version < 1:
        if message.in_controlled_shutdown != 0:
            raise unsupported_field("BrokerRegistrationChangeRecord", "in_controlled_shutdown", version)
    if version < 2:
        if message.log_dirs:
            raise unsupported_field("BrokerRegistrationChangeRecord", "log_dirs", version)
    if version < 3:
        if message.cordoned_log_dirs is not None:
            raise unsupported_field("BrokerRegistrationChangeRecord", "cordoned_log_dirs", version)
    count = 0
    if message.fenced != 0:
        count += 1
    if version >= 1 and message.in_controlled_shutdown != 0:
        count += 1
    if version >= 2 and message.log_dirs:
        count += 1
    if version >= 3 and message.cordoned_log_dirs is not None:
        count += 1
    writer.append(count)
    if count:
        if message.fenced != 0:
            writer.append(0)
            writer.append(1)
            write_i8(writer, message.fenced)
        if version >= 1 and message.in_controlled_shutdown != 0:
            writer.append(1)
            writer.append(1)
            write_i8(writer, message.in_controlled_shutdown)
        if version >= 2 and message.log_dirs:
            body = BytesWriter()
            log_dirs = message.log_dirs
            write_uvarint(body, len(log_dirs) + 1)
            write_uuid_list(body, log_dirs)
            write_tag(writer, 2, body)
        if version >= 3 and message.cordoned_log_dirs is not None:
            body = BytesWriter()
            cordoned_log_dirs = message.cordoned_log_dirs
            if cordoned_log_dirs is None:
                body.append(0)
            else:
                write_uvarint(body, len(cordoned_log_dirs) + 1)
                write_uuid_list(body, cordoned_log_dirs)
            write_tag(writer, 3, body)


class AccessControlEntryRecord(Message):
    """Record type 18, version 0."""

    __slots__ = ("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("id", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    RECORD_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, id: bytes = NO_UUID, resource_type: int = 0, resource_name: str = "", pattern_type: int = 0, principal: str = "", host: str = "", operation: int = 0, permission_type: int = 0) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AccessControlEntryRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("AccessControlEntryRecord", version, 0, 0)
        try:
            message, end = _read_access_control_entry_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AccessControlEntryRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AccessControlEntryRecord", version, 0, 0)
        writer = BytesWriter()
        _write_access_control_entry_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AccessControlEntryRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_access_control_entry_record(writer, self, version)
        return [writer.getvalue()]


def _read_access_control_entry_record(data: bytes, position: i64, version: i64) -> tuple[AccessControlEntryRecord, i64]:
    id = read_uuid(data, position)
    resource_type = read_i8(data, position + 16)
    position += 17
    resource_name, position = read_compact_string(data, position)
    pattern_type = read_i8(data, position)
    position += 1
    principal, position = read_compact_string(data, position)
    host, position = read_compact_string(data, position)
    operation = read_i8(data, position)
    permission_type = read_i8(data, position + 1)
    position += 2
    position = skip_tags(data, position) if data[position] else position + 1
    return AccessControlEntryRecord(id, resource_type, resource_name, pattern_type, principal, host, operation, permission_type), position


def _write_access_control_entry_record(writer: BytesWriter, message: AccessControlEntryRecord, version: i64) -> None:
    write_uuid(writer, message.id)
    write_i8(writer, message.resource_type)
    write_compact_string(writer, message.resource_name)
    write_i8(writer, message.pattern_type)
    write_compact_string(writer, message.principal)
    write_compact_string(writer, message.host)
    write_i8(writer, message.operation)
    write_i8(writer, message.permission_type)
    writer.append(0)


class RemoveAccessControlEntryRecord(Message):
    """Record type 19, version 0."""

    __slots__ = ("id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("id",)
    RECORD_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, id: bytes = NO_UUID) -> None:
        self.id = id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveAccessControlEntryRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveAccessControlEntryRecord", version, 0, 0)
        try:
            message, end = _read_remove_access_control_entry_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveAccessControlEntryRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveAccessControlEntryRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remove_access_control_entry_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveAccessControlEntryRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_access_control_entry_record(writer, self, version)
        return [writer.getvalue()]


def _read_remove_access_control_entry_record(data: bytes, position: i64, version: i64) -> tuple[RemoveAccessControlEntryRecord, i64]:
    id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveAccessControlEntryRecord(id), position


def _write_remove_access_control_entry_record(writer: BytesWriter, message: RemoveAccessControlEntryRecord, version: i64) -> None:
    write_uuid(writer, message.id)
    writer.append(0)


class NoOpRecord(Message):
    """Record type 20, version 0."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    RECORD_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[NoOpRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("NoOpRecord", version, 0, 0)
        try:
            message, end = _read_no_op_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("NoOpRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("NoOpRecord", version, 0, 0)
        writer = BytesWriter()
        _write_no_op_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("NoOpRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_no_op_record(writer, self, version)
        return [writer.getvalue()]


def _read_no_op_record(data: bytes, position: i64, version: i64) -> tuple[NoOpRecord, i64]:
    position = skip_tags(data, position) if data[position] else position + 1
    return NoOpRecord(), position


def _write_no_op_record(writer: BytesWriter, message: NoOpRecord, version: i64) -> None:
    writer.append(0)


class ZkMigrationStateRecord(Message):
    """Record type 21, version 0."""

    __slots__ = ("zk_migration_state",)
    FIELDS: ClassVar[tuple[str, ...]] = ("zk_migration_state",)
    RECORD_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, zk_migration_state: int = 0) -> None:
        self.zk_migration_state = zk_migration_state

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ZkMigrationStateRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("ZkMigrationStateRecord", version, 0, 0)
        try:
            message, end = _read_zk_migration_state_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ZkMigrationStateRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ZkMigrationStateRecord", version, 0, 0)
        writer = BytesWriter()
        _write_zk_migration_state_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ZkMigrationStateRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_zk_migration_state_record(writer, self, version)
        return [writer.getvalue()]


def _read_zk_migration_state_record(data: bytes, position: i64, version: i64) -> tuple[ZkMigrationStateRecord, i64]:
    zk_migration_state = read_i8(data, position)
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return ZkMigrationStateRecord(zk_migration_state), position


def _write_zk_migration_state_record(writer: BytesWriter, message: ZkMigrationStateRecord, version: i64) -> None:
    write_i8(writer, message.zk_migration_state)
    writer.append(0)


class RemoveUserScramCredentialRecord(Message):
    """Record type 22, version 0."""

    __slots__ = ("name", "mechanism")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism")
    RECORD_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, name: str = "", mechanism: int = 0) -> None:
        self.name = name
        self.mechanism = mechanism

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveUserScramCredentialRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveUserScramCredentialRecord", version, 0, 0)
        try:
            message, end = _read_remove_user_scram_credential_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveUserScramCredentialRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveUserScramCredentialRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remove_user_scram_credential_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveUserScramCredentialRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_user_scram_credential_record(writer, self, version)
        return [writer.getvalue()]


def _read_remove_user_scram_credential_record(data: bytes, position: i64, version: i64) -> tuple[RemoveUserScramCredentialRecord, i64]:
    name, position = read_compact_string(data, position)
    mechanism = read_i8(data, position)
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveUserScramCredentialRecord(name, mechanism), position


def _write_remove_user_scram_credential_record(writer: BytesWriter, message: RemoveUserScramCredentialRecord, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i8(writer, message.mechanism)
    writer.append(0)


class BeginTransactionRecord(Message):
    """Record type 23, version 0."""

    __slots__ = ("name",)
    FIELDS: ClassVar[tuple[str, ...]] = ("name",)
    RECORD_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[BeginTransactionRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("BeginTransactionRecord", version, 0, 0)
        try:
            message, end = _read_begin_transaction_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("BeginTransactionRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("BeginTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        _write_begin_transaction_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("BeginTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_begin_transaction_record(writer, self, version)
        return [writer.getvalue()]


def _read_begin_transaction_record(data: bytes, position: i64, version: i64) -> tuple[BeginTransactionRecord, i64]:
    name: str | None = None
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                name, position = read_compact_nullable_string(data, position)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return BeginTransactionRecord(name), position


def _write_begin_transaction_record(writer: BytesWriter, message: BeginTransactionRecord, version: i64) -> None:
    if message.name is not None:
        writer.append(1)
        body = BytesWriter()
        write_compact_nullable_string(body, message.name)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class EndTransactionRecord(Message):
    """Record type 24, version 0."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()
    RECORD_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[EndTransactionRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("EndTransactionRecord", version, 0, 0)
        try:
            message, end = _read_end_transaction_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("EndTransactionRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("EndTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        _write_end_transaction_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("EndTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_end_transaction_record(writer, self, version)
        return [writer.getvalue()]


def _read_end_transaction_record(data: bytes, position: i64, version: i64) -> tuple[EndTransactionRecord, i64]:
    position = skip_tags(data, position) if data[position] else position + 1
    return EndTransactionRecord(), position


def _write_end_transaction_record(writer: BytesWriter, message: EndTransactionRecord, version: i64) -> None:
    writer.append(0)


class AbortTransactionRecord(Message):
    """Record type 25, version 0."""

    __slots__ = ("reason",)
    FIELDS: ClassVar[tuple[str, ...]] = ("reason",)
    RECORD_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AbortTransactionRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("AbortTransactionRecord", version, 0, 0)
        try:
            message, end = _read_abort_transaction_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AbortTransactionRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AbortTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        _write_abort_transaction_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AbortTransactionRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_abort_transaction_record(writer, self, version)
        return [writer.getvalue()]


def _read_abort_transaction_record(data: bytes, position: i64, version: i64) -> tuple[AbortTransactionRecord, i64]:
    reason: str | None = None
    if data[position]:
        tags, position = read_uvarint(data, position)
        for _ in range(tags):
            tag, position, end = read_tag(data, position)
            if tag == 0:
                reason, position = read_compact_nullable_string(data, position)
            else:
                position = end
            if position != end:
                raise wrong_tag_size(tag)
    else:
        position += 1
    return AbortTransactionRecord(reason), position


def _write_abort_transaction_record(writer: BytesWriter, message: AbortTransactionRecord, version: i64) -> None:
    if message.reason is not None:
        writer.append(1)
        body = BytesWriter()
        write_compact_nullable_string(body, message.reason)
        write_tag(writer, 0, body)
    else:
        writer.append(0)


class RemoveDelegationTokenRecord(Message):
    """Record type 26, version 0."""

    __slots__ = ("token_id",)
    FIELDS: ClassVar[tuple[str, ...]] = ("token_id",)
    RECORD_KEY: ClassVar[int] = 26
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, token_id: str = "") -> None:
        self.token_id = token_id

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RemoveDelegationTokenRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RemoveDelegationTokenRecord", version, 0, 0)
        try:
            message, end = _read_remove_delegation_token_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RemoveDelegationTokenRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveDelegationTokenRecord", version, 0, 0)
        writer = BytesWriter()
        _write_remove_delegation_token_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RemoveDelegationTokenRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_remove_delegation_token_record(writer, self, version)
        return [writer.getvalue()]


def _read_remove_delegation_token_record(data: bytes, position: i64, version: i64) -> tuple[RemoveDelegationTokenRecord, i64]:
    token_id, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return RemoveDelegationTokenRecord(token_id), position


def _write_remove_delegation_token_record(writer: BytesWriter, message: RemoveDelegationTokenRecord, version: i64) -> None:
    write_compact_string(writer, message.token_id)
    writer.append(0)


class RegisterControllerRecord(Message):
    """Record type 27, version 0."""

    __slots__ = ("controller_id", "incarnation_id", "zk_migration_ready", "end_points", "features")
    FIELDS: ClassVar[tuple[str, ...]] = ("controller_id", "incarnation_id", "zk_migration_ready", "end_points", "features")
    RECORD_KEY: ClassVar[int] = 27
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, controller_id: int = 0, incarnation_id: bytes = NO_UUID, zk_migration_ready: bool = False, end_points: list[ControllerEndpoint] = NO_ITEMS, features: list[ControllerFeature] = NO_ITEMS) -> None:
        self.controller_id = controller_id
        self.incarnation_id = incarnation_id
        self.zk_migration_ready = zk_migration_ready
        self.end_points = [] if end_points is NO_ITEMS else end_points
        self.features = [] if features is NO_ITEMS else features

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[RegisterControllerRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("RegisterControllerRecord", version, 0, 0)
        try:
            message, end = _read_register_controller_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("RegisterControllerRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("RegisterControllerRecord", version, 0, 0)
        writer = BytesWriter()
        _write_register_controller_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("RegisterControllerRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_register_controller_record(writer, self, version)
        return [writer.getvalue()]


def _read_register_controller_record(data: bytes, position: i64, version: i64) -> tuple[RegisterControllerRecord, i64]:
    end_points: list[ControllerEndpoint]
    features: list[ControllerFeature]
    controller_id = read_i32_be(data, position)
    incarnation_id = read_uuid(data, position + 4)
    zk_migration_ready = data[position + 20] != 0
    position += 21
    count, position = read_compact_count(data, position, 7)
    end_points = []
    for nth in range(count):
        end_points_item, position = _read_controller_endpoint(data, position, version)
        end_points.append(end_points_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 6)
    features = []
    for nth in range(count):
        features_item, position = _read_controller_feature(data, position, version)
        features.append(features_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return RegisterControllerRecord(controller_id, incarnation_id, zk_migration_ready, end_points, features), position


def _write_register_controller_record(writer: BytesWriter, message: RegisterControllerRecord, version: i64) -> None:
    write_i32_be(writer, message.controller_id)
    write_uuid(writer, message.incarnation_id)
    write_bool(writer, message.zk_migration_ready)
    end_points = message.end_points
    write_uvarint(writer, len(end_points) + 1)
    for nth, end_points_item in enumerate(end_points):
        _write_controller_endpoint(writer, end_points_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    features = message.features
    write_uvarint(writer, len(features) + 1)
    for nth, features_item in enumerate(features):
        _write_controller_feature(writer, features_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class ClearElrRecord(Message):
    """Record type 28, version 0."""

    __slots__ = ("topic_name",)
    FIELDS: ClassVar[tuple[str, ...]] = ("topic_name",)
    RECORD_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, topic_name: str = "") -> None:
        self.topic_name = topic_name

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ClearElrRecord, int]:
        if version < 0 or version > 0:
            raise unknown_version("ClearElrRecord", version, 0, 0)
        try:
            message, end = _read_clear_elr_record(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ClearElrRecord", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("ClearElrRecord", version, 0, 0)
        writer = BytesWriter()
        _write_clear_elr_record(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("ClearElrRecord", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_clear_elr_record(writer, self, version)
        return [writer.getvalue()]


def _read_clear_elr_record(data: bytes, position: i64, version: i64) -> tuple[ClearElrRecord, i64]:
    topic_name, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ClearElrRecord(topic_name), position


def _write_clear_elr_record(writer: BytesWriter, message: ClearElrRecord, version: i64) -> None:
    write_compact_string(writer, message.topic_name)
    writer.append(0)
