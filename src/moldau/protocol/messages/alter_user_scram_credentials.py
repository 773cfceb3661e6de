"""AlterUserScramCredentials (API key 51). Generated from schema/alter_user_scram_credentials.txt: do not edit."""

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
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_i8,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_uvarint,
)


class ScramCredentialDeletion(Struct):
    __slots__ = ("name", "mechanism")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism")

    def __init__(self, name: str = "", mechanism: int = 0) -> None:
        self.name = name
        self.mechanism = mechanism


def _read_scram_credential_deletion(data: bytes, position: i64, version: i64) -> tuple[ScramCredentialDeletion, i64]:
    name, position = read_compact_string(data, position)
    mechanism = read_i8(data, position)
    position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return ScramCredentialDeletion(name, mechanism), position


def _write_scram_credential_deletion(writer: BytesWriter, message: ScramCredentialDeletion, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i8(writer, message.mechanism)
    writer.append(0)


class ScramCredentialUpsertion(Struct):
    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "mechanism", "iterations", "salt", "salted_password")

    def __init__(self, name: str = "", mechanism: int = 0, iterations: int = 0, salt: bytes = b"", salted_password: bytes = b"") -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


def _read_scram_credential_upsertion(data: bytes, position: i64, version: i64) -> tuple[ScramCredentialUpsertion, i64]:
    name, position = read_compact_string(data, position)
    mechanism = read_i8(data, position)
    iterations = read_i32_be(data, position + 1)
    position += 5
    salt, position = read_compact_bytes(data, position)
    salted_password, position = read_compact_bytes(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return ScramCredentialUpsertion(name, mechanism, iterations, salt, salted_password), position


def _write_scram_credential_upsertion(writer: BytesWriter, message: ScramCredentialUpsertion, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i8(writer, message.mechanism)
    write_i32_be(writer, message.iterations)
    write_compact_bytes(writer, message.salt)
    write_compact_bytes(writer, message.salted_password)
    writer.append(0)


class AlterUserScramCredentialsResult(Struct):
    __slots__ = ("user", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("user", "error_code", "error_message")

    def __init__(self, user: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message


def _read_alter_user_scram_credentials_result(data: bytes, position: i64, version: i64) -> tuple[AlterUserScramCredentialsResult, i64]:
    error_message: str | None
    user, position = read_compact_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterUserScramCredentialsResult(user, error_code, error_message), position


def _write_alter_user_scram_credentials_result(writer: BytesWriter, message: AlterUserScramCredentialsResult, version: i64) -> None:
    write_compact_string(writer, message.user)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class AlterUserScramCredentialsRequest(Message):
    """API key 51, version 0."""

    __slots__ = ("deletions", "upsertions")
    FIELDS: ClassVar[tuple[str, ...]] = ("deletions", "upsertions")
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, deletions: list[ScramCredentialDeletion] = NO_ITEMS, upsertions: list[ScramCredentialUpsertion] = NO_ITEMS) -> None:
        self.deletions = [] if deletions is NO_ITEMS else deletions
        self.upsertions = [] if upsertions is NO_ITEMS else upsertions

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterUserScramCredentialsRequest, int]:
        if version < 0 or version > 0:
            raise unknown_version("AlterUserScramCredentialsRequest", version, 0, 0)
        try:
            message, end = _read_alter_user_scram_credentials_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterUserScramCredentialsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AlterUserScramCredentialsRequest", version, 0, 0)
        writer = BytesWriter()
        _write_alter_user_scram_credentials_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AlterUserScramCredentialsRequest", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_user_scram_credentials_request(writer, self, version)
        return [writer.getvalue()]


def _read_alter_user_scram_credentials_request(data: bytes, position: i64, version: i64) -> tuple[AlterUserScramCredentialsRequest, i64]:
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]
    count, position = read_compact_count(data, position, 3)
    deletions = []
    for nth in range(count):
        deletions_item, position = _read_scram_credential_deletion(data, position, version)
        deletions.append(deletions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    count, position = read_compact_count(data, position, 9)
    upsertions = []
    for nth in range(count):
        upsertions_item, position = _read_scram_credential_upsertion(data, position, version)
        upsertions.append(upsertions_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterUserScramCredentialsRequest(deletions, upsertions), position


def _write_alter_user_scram_credentials_request(writer: BytesWriter, message: AlterUserScramCredentialsRequest, version: i64) -> None:
    deletions = message.deletions
    write_uvarint(writer, len(deletions) + 1)
    for nth, deletions_item in enumerate(deletions):
        _write_scram_credential_deletion(writer, deletions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    upsertions = message.upsertions
    write_uvarint(writer, len(upsertions) + 1)
    for nth, upsertions_item in enumerate(upsertions):
        _write_scram_credential_upsertion(writer, upsertions_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)


class AlterUserScramCredentialsResponse(Message):
    """API key 51, version 0."""

    __slots__ = ("throttle_time_ms", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "results")
    API_KEY: ClassVar[int] = 51
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, results: list[AlterUserScramCredentialsResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[AlterUserScramCredentialsResponse, int]:
        if version < 0 or version > 0:
            raise unknown_version("AlterUserScramCredentialsResponse", version, 0, 0)
        try:
            message, end = _read_alter_user_scram_credentials_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("AlterUserScramCredentialsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 0:
            raise unsupported_version("AlterUserScramCredentialsResponse", version, 0, 0)
        writer = BytesWriter()
        _write_alter_user_scram_credentials_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 0:
            raise unsupported_version("AlterUserScramCredentialsResponse", version, 0, 0)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_alter_user_scram_credentials_response(writer, self, version)
        return [writer.getvalue()]


def _read_alter_user_scram_credentials_response(data: bytes, position: i64, version: i64) -> tuple[AlterUserScramCredentialsResponse, i64]:
    results: list[AlterUserScramCredentialsResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 5)
    results = []
    for nth in range(count):
        results_item, position = _read_alter_user_scram_credentials_result(data, position, version)
        results.append(results_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return AlterUserScramCredentialsResponse(throttle_time_ms, results), position


def _write_alter_user_scram_credentials_response(writer: BytesWriter, message: AlterUserScramCredentialsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    results = message.results
    write_uvarint(writer, len(results) + 1)
    for nth, results_item in enumerate(results):
        _write_alter_user_scram_credentials_result(writer, results_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    writer.append(0)
