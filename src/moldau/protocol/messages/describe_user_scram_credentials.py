"""DescribeUserScramCredentials (API key 50). Generated from schema/describe_user_scram_credentials.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_nullable_string,
    read_compact_string,
    read_i8,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_uvarint,
)


class UserName(Struct):
    __slots__ = ("name",)
    FIELDS: ClassVar[tuple[str, ...]] = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


def _read_user_name(data: bytes, position: i64, version: i64) -> tuple[UserName, i64]:
    name, position = read_compact_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return UserName(name), position


def _write_user_name(writer: BytesWriter, message: UserName, version: i64) -> None:
    write_compact_string(writer, message.name)
    writer.append(0)


class CredentialInfo(Struct):
    __slots__ = ("mechanism", "iterations")
    FIELDS: ClassVar[tuple[str, ...]] = ("mechanism", "iterations")

    def __init__(self, mechanism: int = 0, iterations: int = 0) -> None:
        self.mechanism = mechanism
        self.iterations = iterations


def _read_credential_info(data: bytes, position: i64, version: i64) -> tuple[CredentialInfo, i64]:
    mechanism = read_i8(data, position)
    iterations = read_i32_be(data, position + 1)
    position += 5
    position = skip_tags(data, position) if data[position] else position + 1
    return CredentialInfo(mechanism, iterations), position


def _write_credential_info(writer: BytesWriter, message: CredentialInfo, version: i64) -> None:
    write_i8(writer, message.mechanism)
    write_i32_be(writer, message.iterations)
    writer.append(0)


class DescribeUserScramCredentialsResult(Struct):
    __slots__ = ("user", "error_code", "error_message", "credential_infos")
    FIELDS: ClassVar[tuple[str, ...]] = ("user", "error_code", "error_message", "credential_infos")

    def __init__(self, user: str = "", error_code: int = 0, error_message: str | None = "", credential_infos: list[CredentialInfo] = NO_ITEMS) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos = [] if credential_infos is NO_ITEMS else credential_infos


def _read_describe_user_scram_credentials_result(data: bytes, position: i64, version: i64) -> tuple[DescribeUserScramCredentialsResult, i64]:
    error_message: str | None
    credential_infos: list[CredentialInfo]
    user, position = read_compact_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 6)
    credential_infos = []
    for nth in range(count):
        credential_infos_item, position = _read_credential_info(data, position, version)
        credential_infos.append(credential_infos_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeUserScramCredentialsResult(user, error_code, error_message, credential_infos), position


def _write_describe_user_scram_credentials_result(writer: BytesWriter, message: DescribeUserScramCredentialsResult, version: i64) -> None:
    write_compact_string(writer, message.user)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    credential_infos = message.credential_infos
    write_uvarint(writer, len(credential_infos) + 1)
    for nth, credential_infos_item in enumerate(credential_infos):
        _write_credential_info(writer, credential_infos_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class DescribeUserScramCredentialsRequest(Message):
    """API key 50, version 0."""

    __slots__ = ("users",)
    FIELDS: ClassVar[tuple[str, ...]] = ("users",)
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, users: list[UserName] | None = NO_ITEMS) -> None:
        self.users = [] if users is NO_ITEMS else users

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeUserScramCredentialsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeUserScramCredentialsRequest", version, 0, 0)
        try:
            message, end = _read_describe_user_scram_credentials_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeUserScramCredentialsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeUserScramCredentialsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_describe_user_scram_credentials_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeUserScramCredentialsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_user_scram_credentials_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_user_scram_credentials_request(data: bytes, position: i64, version: i64) -> tuple[DescribeUserScramCredentialsRequest, i64]:
    users: list[UserName] | None
    count, position = read_compact_nullable_count(data, position, 2)
    if count < 0:
        users = None
    else:
        users = []
        for nth in range(count):
            users_item, position = _read_user_name(data, position, version)
            users.append(users_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeUserScramCredentialsRequest(users), position


def _write_describe_user_scram_credentials_request(writer: BytesWriter, message: DescribeUserScramCredentialsRequest, version: i64) -> None:
    users = message.users
    if users is None:
        writer.append(0)
    else:
        write_uvarint(writer, len(users) + 1)
        for nth, users_item in enumerate(users):
            _write_user_name(writer, users_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)


class DescribeUserScramCredentialsResponse(Message):
    """API key 50, version 0."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "results")
    API_KEY: ClassVar[int] = 50
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", results: list[DescribeUserScramCredentialsResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeUserScramCredentialsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("DescribeUserScramCredentialsResponse", version, 0, 0)
        try:
            message, end = _read_describe_user_scram_credentials_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeUserScramCredentialsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeUserScramCredentialsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_describe_user_scram_credentials_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("DescribeUserScramCredentialsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_user_scram_credentials_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_user_scram_credentials_response(data: bytes, position: i64, version: i64) -> tuple[DescribeUserScramCredentialsResponse, i64]:
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    count, position = read_compact_count(data, position, 6)
    results = []
    for nth in range(count):
        results_item, position = _read_describe_user_scram_credentials_result(data, position, version)
        results.append(results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return DescribeUserScramCredentialsResponse(throttle_time_ms, error_code, error_message, results), position


def _write_describe_user_scram_credentials_response(writer: BytesWriter, message: DescribeUserScramCredentialsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    results = message.results
    write_uvarint(writer, len(results) + 1)
    for nth, results_item in enumerate(results):
        _write_describe_user_scram_credentials_result(writer, results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
