"""DescribeDelegationToken (API key 41). Generated from schema/describe_delegation_token.txt: do not edit."""

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
    read_compact_nullable_count,
    read_compact_string,
    read_count,
    read_nullable_count,
    read_string,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bytes,
    write_compact_bytes,
    write_compact_string,
    write_string,
    write_uvarint,
)


class DescribeDelegationTokenOwner(Struct):
    __slots__ = ("principal_type", "principal_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("principal_type", "principal_name")

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


def _read_describe_delegation_token_owner(data: bytes, position: i64, version: i64) -> tuple[DescribeDelegationTokenOwner, i64]:
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
    return DescribeDelegationTokenOwner(principal_type, principal_name), position


def _write_describe_delegation_token_owner(writer: BytesWriter, message: DescribeDelegationTokenOwner, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.principal_type)
        write_compact_string(writer, message.principal_name)
    else:
        write_string(writer, message.principal_type)
        write_string(writer, message.principal_name)
    if version >= 2:
        writer.append(0)


class DescribedDelegationTokenRenewer(Struct):
    __slots__ = ("principal_type", "principal_name")
    FIELDS: ClassVar[tuple[str, ...]] = ("principal_type", "principal_name")

    def __init__(self, principal_type: str = "", principal_name: str = "") -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name


def _read_described_delegation_token_renewer(data: bytes, position: i64, version: i64) -> tuple[DescribedDelegationTokenRenewer, i64]:
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
    return DescribedDelegationTokenRenewer(principal_type, principal_name), position


def _write_described_delegation_token_renewer(writer: BytesWriter, message: DescribedDelegationTokenRenewer, version: i64) -> None:
    if version >= 2:
        write_compact_string(writer, message.principal_type)
        write_compact_string(writer, message.principal_name)
    else:
        write_string(writer, message.principal_type)
        write_string(writer, message.principal_name)
    if version >= 2:
        writer.append(0)


class DescribedDelegationToken(Struct):
    __slots__ = ("principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp", "expiry_timestamp", "max_timestamp", "token_id", "hmac", "renewers")
    FIELDS: ClassVar[tuple[str, ...]] = ("principal_type", "principal_name", "token_requester_principal_type", "token_requester_principal_name", "issue_timestamp", "expiry_timestamp", "max_timestamp", "token_id", "hmac", "renewers")

    def __init__(self, principal_type: str = "", principal_name: str = "", token_requester_principal_type: str = "", token_requester_principal_name: str = "", issue_timestamp: int = 0, expiry_timestamp: int = 0, max_timestamp: int = 0, token_id: str = "", hmac: bytes = b"", renewers: list[DescribedDelegationTokenRenewer] = NO_ITEMS) -> None:
        self.principal_type = principal_type
        self.principal_name = principal_name
        self.token_requester_principal_type = token_requester_principal_type
        self.token_requester_principal_name = token_requester_principal_name
        self.issue_timestamp = issue_timestamp
        self.expiry_timestamp = expiry_timestamp
        self.max_timestamp = max_timestamp
        self.token_id = token_id
        self.hmac = hmac
        self.renewers = [] if renewers is NO_ITEMS else renewers


def _read_described_delegation_token(data: bytes, position: i64, version: i64) -> tuple[DescribedDelegationToken, i64]:
    principal_type: str
    principal_name: str
    token_requester_principal_type: str
    token_requester_principal_name: str
    token_id: str
    hmac: bytes
    renewers: list[DescribedDelegationTokenRenewer]
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
    issue_timestamp = read_i64_be(data, position)
    expiry_timestamp = read_i64_be(data, position + 8)
    max_timestamp = read_i64_be(data, position + 16)
    position += 24
    if version >= 2:
        token_id, position = read_compact_string(data, position)
        hmac, position = read_compact_bytes(data, position)
        count, position = read_compact_count(data, position, 3)
        renewers = []
        for nth in range(count):
            renewers_item, position = _read_described_delegation_token_renewer(data, position, version)
            renewers.append(renewers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        token_id, position = read_string(data, position)
        hmac, position = read_bytes(data, position)
        count, position = read_count(data, position, 4)
        renewers = []
        for nth in range(count):
            renewers_item, position = _read_described_delegation_token_renewer(data, position, version)
            renewers.append(renewers_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribedDelegationToken(principal_type, principal_name, token_requester_principal_type, token_requester_principal_name, issue_timestamp, expiry_timestamp, max_timestamp, token_id, hmac, renewers), position


def _write_described_delegation_token(writer: BytesWriter, message: DescribedDelegationToken, version: i64) -> None:
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
            raise unsupported_field("DescribedDelegationToken", "token_requester_principal_type", version)
        if message.token_requester_principal_name != "":
            raise unsupported_field("DescribedDelegationToken", "token_requester_principal_name", version)
    write_i64_be(writer, message.issue_timestamp)
    write_i64_be(writer, message.expiry_timestamp)
    write_i64_be(writer, message.max_timestamp)
    if version >= 2:
        write_compact_string(writer, message.token_id)
        write_compact_bytes(writer, message.hmac)
        renewers = message.renewers
        write_uvarint(writer, len(renewers) + 1)
        for nth, renewers_item in enumerate(renewers):
            _write_described_delegation_token_renewer(writer, renewers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        write_string(writer, message.token_id)
        write_bytes(writer, message.hmac)
        renewers = message.renewers
        write_i32_be(writer, len(renewers))
        for nth, renewers_item in enumerate(renewers):
            _write_described_delegation_token_renewer(writer, renewers_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 2:
        writer.append(0)


class DescribeDelegationTokenRequest(Message):
    """API key 41, versions 1 to 3."""

    __slots__ = ("owners",)
    FIELDS: ClassVar[tuple[str, ...]] = ("owners",)
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, owners: list[DescribeDelegationTokenOwner] | None = NO_ITEMS) -> None:
        self.owners = [] if owners is NO_ITEMS else owners

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeDelegationTokenRequest, int]:
        if version < 1 or version > 3:
            raise unknown_version("DescribeDelegationTokenRequest", version, 1, 3)
        try:
            message, end = _read_describe_delegation_token_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeDelegationTokenRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeDelegationTokenRequest", version, 1, 3)
        writer = BytesWriter()
        _write_describe_delegation_token_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeDelegationTokenRequest", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_delegation_token_request(writer, self, version)
        return [writer.getvalue()]


def _read_describe_delegation_token_request(data: bytes, position: i64, version: i64) -> tuple[DescribeDelegationTokenRequest, i64]:
    owners: list[DescribeDelegationTokenOwner] | None
    if version >= 2:
        count, position = read_compact_nullable_count(data, position, 3)
        if count < 0:
            owners = None
        else:
            owners = []
            for nth in range(count):
                owners_item, position = _read_describe_delegation_token_owner(data, position, version)
                owners.append(owners_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        count, position = read_nullable_count(data, position, 4)
        if count < 0:
            owners = None
        else:
            owners = []
            for nth in range(count):
                owners_item, position = _read_describe_delegation_token_owner(data, position, version)
                owners.append(owners_item)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeDelegationTokenRequest(owners), position


def _write_describe_delegation_token_request(writer: BytesWriter, message: DescribeDelegationTokenRequest, version: i64) -> None:
    if version >= 2:
        owners = message.owners
        if owners is None:
            writer.append(0)
        else:
            write_uvarint(writer, len(owners) + 1)
            for nth, owners_item in enumerate(owners):
                _write_describe_delegation_token_owner(writer, owners_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    else:
        owners = message.owners
        if owners is None:
            write_i32_be(writer, -1)
        else:
            write_i32_be(writer, len(owners))
            for nth, owners_item in enumerate(owners):
                _write_describe_delegation_token_owner(writer, owners_item, version)
                if nth & LONG_RUN == LONG_RUN:
                    give_way()
    if version >= 2:
        writer.append(0)


class DescribeDelegationTokenResponse(Message):
    """API key 41, versions 1 to 3."""

    __slots__ = ("error_code", "tokens", "throttle_time_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "tokens", "throttle_time_ms")
    API_KEY: ClassVar[int] = 41
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 3
    FIRST_FLEXIBLE: ClassVar[int] = 2

    def __init__(self, error_code: int = 0, tokens: list[DescribedDelegationToken] = NO_ITEMS, throttle_time_ms: int = 0) -> None:
        self.error_code = error_code
        self.tokens = [] if tokens is NO_ITEMS else tokens
        self.throttle_time_ms = throttle_time_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DescribeDelegationTokenResponse, int]:
        if version < 1 or version > 3:
            raise unknown_version("DescribeDelegationTokenResponse", version, 1, 3)
        try:
            message, end = _read_describe_delegation_token_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DescribeDelegationTokenResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeDelegationTokenResponse", version, 1, 3)
        writer = BytesWriter()
        _write_describe_delegation_token_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 3:
            raise unsupported_version("DescribeDelegationTokenResponse", version, 1, 3)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_describe_delegation_token_response(writer, self, version)
        return [writer.getvalue()]


def _read_describe_delegation_token_response(data: bytes, position: i64, version: i64) -> tuple[DescribeDelegationTokenResponse, i64]:
    tokens: list[DescribedDelegationToken]
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 2:
        count, position = read_compact_count(data, position, 30)
        tokens = []
        for nth in range(count):
            tokens_item, position = _read_described_delegation_token(data, position, version)
            tokens.append(tokens_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 38)
        tokens = []
        for nth in range(count):
            tokens_item, position = _read_described_delegation_token(data, position, version)
            tokens.append(tokens_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 2:
        position = skip_tags(data, position) if data[position] else position + 1
    return DescribeDelegationTokenResponse(error_code, tokens, throttle_time_ms), position


def _write_describe_delegation_token_response(writer: BytesWriter, message: DescribeDelegationTokenResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 2:
        tokens = message.tokens
        write_uvarint(writer, len(tokens) + 1)
        for nth, tokens_item in enumerate(tokens):
            _write_described_delegation_token(writer, tokens_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        tokens = message.tokens
        write_i32_be(writer, len(tokens))
        for nth, tokens_item in enumerate(tokens):
            _write_described_delegation_token(writer, tokens_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 2:
        writer.append(0)
