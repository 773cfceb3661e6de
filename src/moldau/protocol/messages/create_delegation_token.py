"""CreateDelegationToken (API key 38). Generated from schema/create_delegation_token.txt: do not edit."""

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

from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_bytes,
    read_compact_bytes,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_count,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_nullable_string,
    write_compact_string,
    write_string,
    write_uvarint,
)


class CreatableRenewers(Struct):
    __slots__ = ("principal_type", "principal_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("principal_type", "principal_name")

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


def _read_creatable_renewers(data: bytes, position: i64, version: i64) -> tuple[CreatableRenewers, i64]:
    principal_type: str
    principal_name: str
    if version >= 2:
        principal_type, position = read_compact_string(data, position)
        principal_name, position = read_compact_string(data, position)
    else:
        principal_type, position = read_string(data, position)
        principal_name, position = read_string(data, position)
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreatableRenewers(principal_type, principal_name), position


def _write_creatable_renewers(writer: BytesWriter, message: CreatableRenewers, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.principal_type)
        write_compact_string(writer, message.principal_name)
    else:
        write_string(writer, message.principal_type)
        write_string(writer, message.principal_name)
    if version >= 2:
        writer.append(0)


class CreateDelegationTokenRequest(Message):
    """API key 38, versions 1 to 3."""

    __slots__ = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("owner_principal_type", "owner_principal_name", "renewers", "max_lifetime_ms")
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, owner_principal_type: str | None = "", owner_principal_name: str | None = "", renewers: list[CreatableRenewers] = NO_ITEMS, max_lifetime_ms: int = 0) -> None:
        self.owner_principal_type = owner_principal_type
        self.owner_principal_name = owner_principal_name
        self.renewers = [] if renewers is NO_ITEMS else renewers
        self.max_lifetime_ms = max_lifetime_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateDelegationTokenRequest, int]:
        if version < 1 or version > 3:
            raise unknown_version("CreateDelegationTokenRequest", version, 1, 3)
        try:
            message, end = _read_create_delegation_token_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateDelegationTokenRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("CreateDelegationTokenRequest", version, 1, 3)
        writer = BytesWriter()
        _write_create_delegation_token_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("CreateDelegationTokenRequest", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_delegation_token_request(writer, self, version)
        return [writer.getvalue()]


def _read_create_delegation_token_request(data: bytes, position: i64, version: i64) -> tuple[CreateDelegationTokenRequest, i64]:
    owner_principal_type: str | None
    owner_principal_name: str | None
    renewers: list[CreatableRenewers]
    if version >= 3:
        owner_principal_type, position = read_compact_nullable_string(data, position)
        owner_principal_name, position = read_compact_nullable_string(data, position)
    else:
        owner_principal_type = ""
        owner_principal_name = ""
    if version >= 2:
        count, position = read_compact_count(data, position, 3)
        renewers = []
        for nth in range(count):
            renewers_item, position = _read_creatable_renewers(data, position, version)
            renewers.append(renewers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        renewers = []
        for nth in range(count):
            renewers_item, position = _read_creatable_renewers(data, position, version)
            renewers.append(renewers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    max_lifetime_ms = read_i64_be(data, position)
    position += 8
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateDelegationTokenRequest(owner_principal_type, owner_principal_name, renewers, max_lifetime_ms), position


def _write_create_delegation_token_request(writer: BytesWriter, message: CreateDelegationTokenRequest, version: i64) -> None:
    if version >= 3:
        write_compact_nullable_string(writer, message.owner_principal_type)
        write_compact_nullable_string(writer, message.owner_principal_name)
    else:
        if message.owner_principal_type != "":
            raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_type", version)
        if message.owner_principal_name != "":
            raise unsupported_field("CreateDelegationTokenRequest", "owner_principal_name", version)
    if version >= 2:
        renewers = message.renewers
        write_uvarint(writer, len(renewers) + 1)
        for nth, renewers_item in enumerate(renewers):
            _write_creatable_renewers(writer, renewers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        renewers = message.renewers
        write_i32_be(writer, len(renewers))
        for nth, renewers_item in enumerate(renewers):
            _write_creatable_renewers(writer, renewers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i64_be(writer, message.max_lifetime_ms)
    if version >= 2:
        writer.append(0)


class CreateDelegationTokenResponse(Message):
    """API key 38, versions 1 to 3."""

    __slots__ = ("error_code", "principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac", "throttle_time_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms", "token_id", "hmac", "throttle_time_ms")
    API_KEY: ClassVar[int] = 38
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, error_code: int = 0, principal_type: str = "", principal_name: str = "", token_requester_principal_type: str = "", token_requester_principal_name: str = "", issue_timestamp_ms: int = 0, expiry_timestamp_ms: int = 0, max_timestamp_ms: int = 0, token_id: str = "", hmac: bytes = b"", throttle_time_ms: int = 0) -> None:
        self.error_code = error_code
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp_ms = issue_timestamp_ms
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.max_timestamp_ms = max_timestamp_ms
        self.token_id = token_id
        self.hmac = hmac
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[CreateDelegationTokenResponse, int]:
        if version < 1 or version > 3:
            raise unknown_version("CreateDelegationTokenResponse", version, 1, 3)
        try:
            message, end = _read_create_delegation_token_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("CreateDelegationTokenResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("CreateDelegationTokenResponse", version, 1, 3)
        writer = BytesWriter()
        _write_create_delegation_token_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("CreateDelegationTokenResponse", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_create_delegation_token_response(writer, self, version)
        return [writer.getvalue()]


def _read_create_delegation_token_response(data: bytes, position: i64, version: i64) -> tuple[CreateDelegationTokenResponse, i64]:
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    token_id: str
    hmac: bytes
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        principal_type, position = read_compact_string(data, position)
        principal_name, position = read_compact_string(data, position)
    else:
        principal_type, position = read_string(data, position)
        principal_name, position = read_string(data, position)
    if version >= 3:
        token_requester_principal_type, position = read_compact_string(data, position)
        token_requester_principal_name, position = read_compact_string(data, position)
    else:
        token_requester_principal_type = ""
        token_requester_principal_name = ""
    issue_timestamp_ms = read_i64_be(data, position)
    expiry_timestamp_ms = read_i64_be(data, position + 8)
    max_timestamp_ms = read_i64_be(data, position + 16)
    position += 24
    if version >= 2:
        token_id, position = read_compact_string(data, position)
        hmac, position = read_compact_bytes(data, position)
    else:
        token_id, position = read_string(data, position)
        hmac, position = read_bytes(data, position)
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return CreateDelegationTokenResponse(error_code, principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp_ms, expiry_timestamp_ms, max_timestamp_ms, token_id, hmac, throttle_time_ms), position


def _write_create_delegation_token_response(writer: BytesWriter, message: CreateDelegationTokenResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        write_compact_string(writer, message.principal_type)
        write_compact_string(writer, message.principal_name)
    else:
        write_string(writer, message.principal_type)
        write_string(writer, message.principal_name)
    if version >= 3:
        write_compact_string(writer, message.token_requester_principal_type)
        write_compact_string(writer, message.token_requester_principal_name)
    else:
        if message.token_requester_principal_type != "":
            raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_type", version)
        if message.token_requester_principal_name != "":
            raise unsupported_field("CreateDelegationTokenResponse", "token_requester_principal_name", version)
    write_i64_be(writer, message.issue_timestamp_ms)
    write_i64_be(writer, message.expiry_timestamp_ms)
    write_i64_be(writer, message.max_timestamp_ms)
    if version >= 2:
        write_compact_string(writer, message.token_id)
        write_compact_bytes(writer, message.hmac)
    else:
        write_string(writer, message.token_id)
        write_bytes(writer, message.hmac)
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        writer.append(0)
