"""DeleteGroups (API key 42). Generated from schema/delete_groups.txt: do not edit."""

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
    read_string_list,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_string,
    write_compact_string_list,
    write_string,
    write_string_list,
    write_uvarint,
)


class DeletableGroupResult(Struct):
    __slots__ = ("group_id", "error_code")
    FIELDS: ClassVar[tuple[str, ...]] = ("group_id", "error_code")

    def __init__(self, group_id: str = "", error_code: int = 0) -> None:
        self.group_id = group_id
        self.error_code = error_code


def _read_deletable_group_result(data: bytes, position: i64, version: i64) -> tuple[DeletableGroupResult, i64]:
    group_id: str
    if version >= 2:
        group_id, position = read_compact_string(data, position)
    else:
        group_id, position = read_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeletableGroupResult(group_id, error_code), position


def _write_deletable_group_result(writer: BytesWriter, message: DeletableGroupResult, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.group_id)
    else:
        write_string(writer, message.group_id)
    write_i16_be(writer, message.error_code)
    if version >= 2:
        writer.append(0)


class DeleteGroupsRequest(Message):
    """API key 42, versions 0 to 2."""

    __slots__ = ("groups_names",)
    FIELDS: ClassVar[tuple[str, ...]] = ("groups_names",)
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, groups_names: list[str] = NO_ITEMS) -> None:
        self.groups_names = [] if groups_names is NO_ITEMS else groups_names

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteGroupsRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("DeleteGroupsRequest", version, 0, 2)
        try:
            message, end = _read_delete_groups_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteGroupsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteGroupsRequest", version, 0, 2)
        writer = BytesWriter()
        _write_delete_groups_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteGroupsRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_groups_request(writer, self, version)
        return [writer.getvalue()]


def _read_delete_groups_request(data: bytes, position: i64, version: i64) -> tuple[DeleteGroupsRequest, i64]:
    groups_names: list[str]
    if version >= 2:
        count, position = read_compact_count(data, position, 1)
        groups_names, position = read_compact_string_list(data, position, count)
    else:
        count, position = read_count(data, position, 2)
        groups_names, position = read_string_list(data, position, count)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteGroupsRequest(groups_names), position


def _write_delete_groups_request(writer: BytesWriter, message: DeleteGroupsRequest, version: i64) -> None:
    if version >= 2:
        groups_names = message.groups_names
        write_uvarint(writer, len(groups_names) + 1)
        write_compact_string_list(writer, groups_names)
    else:
        groups_names = message.groups_names
        write_i32_be(writer, len(groups_names))
        write_string_list(writer, groups_names)
    if version >= 2:
        writer.append(0)


class DeleteGroupsResponse(Message):
    """API key 42, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, throttle_time_ms: int = 0, results: list[DeletableGroupResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteGroupsResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("DeleteGroupsResponse", version, 0, 2)
        try:
            message, end = _read_delete_groups_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteGroupsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteGroupsResponse", version, 0, 2)
        writer = BytesWriter()
        _write_delete_groups_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("DeleteGroupsResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_groups_response(writer, self, version)
        return [writer.getvalue()]


def _read_delete_groups_response(data: bytes, position: i64, version: i64) -> tuple[DeleteGroupsResponse, i64]:
    results: list[DeletableGroupResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        count, position = read_compact_count(data, position, 4)
        results = []
        for nth in range(count):
            results_item, position = _read_deletable_group_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        results = []
        for nth in range(count):
            results_item, position = _read_deletable_group_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteGroupsResponse(throttle_time_ms, results), position


def _write_delete_groups_response(writer: BytesWriter, message: DeleteGroupsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_deletable_group_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        results = message.results
        write_i32_be(writer, len(results))
        for nth, results_item in enumerate(results):
            _write_deletable_group_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)
