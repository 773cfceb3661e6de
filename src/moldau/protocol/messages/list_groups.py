"""ListGroups (API key 16). Generated from schema/list_groups.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_string,
    read_compact_string_list,
    read_count,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_compact_string,
    write_compact_string_list,
    write_string,
    write_uvarint,
)


class ListedGroup(Struct):
    __slots__ = ("group_id", "protocol_type", "group_state", "group_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "protocol_type", "group_state", "group_type")

    def __init__(self, group_id: str = "", protocol_type: str = "", group_state: str = "", group_type: str = "") -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type


def _read_listed_group(data: bytes, position: i64, version: i64) -> tuple[ListedGroup, i64]:
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str
    if version >= 3:
        group_id, position = read_compact_string(data, position)
        protocol_type, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
        protocol_type, position = read_string(data, position)
    if version >= 4:
        group_state, position = read_compact_string(data, position)
    else:
        group_state = ""
    if version >= 5:
        group_type, position = read_compact_string(data, position)
    else:
        group_type = ""
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListedGroup(group_id, protocol_type, group_state, group_type), position


def _write_listed_group(writer: BytesWriter, message: ListedGroup, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.group_id)
        write_compact_string(writer, message.protocol_type)
    else:
        write_string(writer, message.group_id)
        write_string(writer, message.protocol_type)
    if version >= 4:
        write_compact_string(writer, message.group_state)
    if version >= 5:
        write_compact_string(writer, message.group_type)
    if version >= 3:
        writer.append(0)


class ListGroupsRequest(Message):
    """API key 16, versions 0 to 5."""

    __slots__ = ("states_filter", "types_filter")
    FIELDS: ClassVar[tuple[str, ...]] = ("states_filter", "types_filter")
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, states_filter: list[str] = NO_ITEMS, types_filter: list[str] = NO_ITEMS) -> None:
        self.states_filter = [] if states_filter is NO_ITEMS else states_filter
        self.types_filter = [] if types_filter is NO_ITEMS else types_filter

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListGroupsRequest, int]:
        if version < 0 or version > 5:
            raise unknown_version("ListGroupsRequest", version, 0, 5)
        try:
            message, end = _read_list_groups_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListGroupsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("ListGroupsRequest", version, 0, 5)
        writer = BytesWriter()
        _write_list_groups_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("ListGroupsRequest", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_groups_request(writer, self, version)
        return [writer.getvalue()]


def _read_list_groups_request(data: bytes, position: i64, version: i64) -> tuple[ListGroupsRequest, i64]:
    states_filter: list[str]
    types_filter: list[str]
    if version >= 4:
        count, position = read_compact_count(data, position, 1)
        states_filter, position = read_compact_string_list(data, position, count)
    else:
        states_filter = []
    if version >= 5:
        count, position = read_compact_count(data, position, 1)
        types_filter, position = read_compact_string_list(data, position, count)
    else:
        types_filter = []
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListGroupsRequest(states_filter, types_filter), position


def _write_list_groups_request(writer: BytesWriter, message: ListGroupsRequest, version: i64) -> None:
    if version >= 4:
        states_filter = message.states_filter
        write_uvarint(writer, len(states_filter) + 1)
        write_compact_string_list(writer, states_filter)
    else:
        if message.states_filter:
            raise unsupported_field("ListGroupsRequest", "states_filter", version)
    if version >= 5:
        types_filter = message.types_filter
        write_uvarint(writer, len(types_filter) + 1)
        write_compact_string_list(writer, types_filter)
    else:
        if message.types_filter:
            raise unsupported_field("ListGroupsRequest", "types_filter", version)
    if version >= 3:
        writer.append(0)


class ListGroupsResponse(Message):
    """API key 16, versions 0 to 5."""

    __slots__ = ("throttle_time_ms", "error_code", "groups")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "groups")
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, groups: list[ListedGroup] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups = [] if groups is NO_ITEMS else groups

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ListGroupsResponse, int]:
        if version < 0 or version > 5:
            raise unknown_version("ListGroupsResponse", version, 0, 5)
        try:
            message, end = _read_list_groups_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ListGroupsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 5:
            raise unsupported_version("ListGroupsResponse", version, 0, 5)
        writer = BytesWriter()
        _write_list_groups_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 5:
            raise unsupported_version("ListGroupsResponse", version, 0, 5)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_list_groups_response(writer, self, version)
        return [writer.getvalue()]


def _read_list_groups_response(data: bytes, position: i64, version: i64) -> tuple[ListGroupsResponse, i64]:
    throttle_time_ms: int
    groups: list[ListedGroup]
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 3:
        count, position = read_compact_count(data, position, 3)
        groups = []
        for nth in range(count):
            groups_item, position = _read_listed_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        groups = []
        for nth in range(count):
            groups_item, position = _read_listed_group(data, position, version)
            groups.append(groups_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return ListGroupsResponse(throttle_time_ms, error_code, groups), position


def _write_list_groups_response(writer: BytesWriter, message: ListGroupsResponse, version: i64) -> None:
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    if version >= 3:
        groups = message.groups
        write_uvarint(writer, len(groups) + 1)
        for nth, groups_item in enumerate(groups):
            _write_listed_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        groups = message.groups
        write_i32_be(writer, len(groups))
        for nth, groups_item in enumerate(groups):
            _write_listed_group(writer, groups_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 3:
        writer.append(0)
