"""ApiVersions (API key 18). Generated from schema/api_versions.txt: do not edit."""

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
    read_compact_count,
    read_compact_string,
    read_count,
    read_tag,
    read_uvarint,
    skip_tags,
    unknown_version,
    wrong_tag_size,
)
from moldau.protocol.writing import (
    unsupported_version,
    write_bool,
    write_compact_string,
    write_tag,
    write_uvarint,
)


class ApiVersion(Struct):
    __slots__ = ("api_key", "min_version", "max_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("api_key", "min_version", "max_version")

    def __init__(self, api_key: int = 0, min_version: int = 0, max_version: int = 0) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version


def _read_api_version(data: bytes, position: i64, version: i64) -> tuple[ApiVersion, i64]:
    api_key = read_i16_be(data, position)
    min_version = read_i16_be(data, position + 2)
    max_version = read_i16_be(data, position + 4)
    position += 6
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return ApiVersion(api_key, min_version, max_version), position


def _write_api_version(writer: BytesWriter, message: ApiVersion, version: i64) -> None:
    write_i16_be(writer, message.api_key)
    write_i16_be(writer, message.min_version)
    write_i16_be(writer, message.max_version)
    if version >= 3:
        writer.append(0)


class SupportedFeatureKey(Struct):
    __slots__ = ("name", "min_version", "max_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "min_version", "max_version")

    def __init__(self, name: str = "", min_version: int = 0, max_version: int = 0) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version


def _read_supported_feature_key(data: bytes, position: i64, version: i64) -> tuple[SupportedFeatureKey, i64]:
    name, position = read_compact_string(data, position)
    min_version = read_i16_be(data, position)
    max_version = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return SupportedFeatureKey(name, min_version, max_version), position


def _write_supported_feature_key(writer: BytesWriter, message: SupportedFeatureKey, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.min_version)
    write_i16_be(writer, message.max_version)
    writer.append(0)


class FinalizedFeatureKey(Struct):
    __slots__ = ("name", "max_version_level", "min_version_level")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "max_version_level", "min_version_level")

    def __init__(self, name: str = "", max_version_level: int = 0, min_version_level: int = 0) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level


def _read_finalized_feature_key(data: bytes, position: i64, version: i64) -> tuple[FinalizedFeatureKey, i64]:
    name, position = read_compact_string(data, position)
    max_version_level = read_i16_be(data, position)
    min_version_level = read_i16_be(data, position + 2)
    position += 4
    position = skip_tags(data, position) if data[position] else position + 1
    return FinalizedFeatureKey(name, max_version_level, min_version_level), position


def _write_finalized_feature_key(writer: BytesWriter, message: FinalizedFeatureKey, version: i64) -> None:
    write_compact_string(writer, message.name)
    write_i16_be(writer, message.max_version_level)
    write_i16_be(writer, message.min_version_level)
    writer.append(0)


class ApiVersionsRequest(Message):
    """API key 18, versions 0 to 4."""

    __slots__ = ("client_software_name", "client_software_version")
    FIELDS: ClassVar[tuple[str, ...]] = ("client_software_name", "client_software_version")
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, client_software_name: str = "", client_software_version: str = "") -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ApiVersionsRequest, int]:
        if version < 0 or version > 4:
            raise unknown_version("ApiVersionsRequest", version, 0, 4)
        try:
            message, end = _read_api_versions_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ApiVersionsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("ApiVersionsRequest", version, 0, 4)
        writer = BytesWriter()
        _write_api_versions_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("ApiVersionsRequest", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_api_versions_request(writer, self, version)
        return [writer.getvalue()]


def _read_api_versions_request(data: bytes, position: i64, version: i64) -> tuple[ApiVersionsRequest, i64]:
    client_software_name: str
    client_software_version: str
    if version >= 3:
        client_software_name, position = read_compact_string(data, position)
        client_software_version, position = read_compact_string(data, position)
    else:
        client_software_name = ""
        client_software_version = ""
    if version >= 3:
        position = skip_tags(data, position) if data[position] else position + 1
    return ApiVersionsRequest(client_software_name, client_software_version), position


def _write_api_versions_request(writer: BytesWriter, message: ApiVersionsRequest, version: i64) -> None:
    if version >= 3:
        write_compact_string(writer, message.client_software_name)
        write_compact_string(writer, message.client_software_version)
    if version >= 3:
        writer.append(0)


class ApiVersionsResponse(Message):
    """API key 18, versions 0 to 4."""

    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    FIELDS: ClassVar[tuple[str, ...]] = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FIRST_FLEXIBLE: ClassVar[int] = 3

    def __init__(self, error_code: int = 0, api_keys: list[ApiVersion] = NO_ITEMS, throttle_time_ms: int = 0, supported_features: list[SupportedFeatureKey] = NO_ITEMS, finalized_features_epoch: int = -1, finalized_features: list[FinalizedFeatureKey] = NO_ITEMS, zk_migration_ready: bool = False) -> None:
        self.error_code = error_code
        self.api_keys = [] if api_keys is NO_ITEMS else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features = [] if supported_features is NO_ITEMS else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features = [] if finalized_features is NO_ITEMS else finalized_features
        self.zk_migration_ready = zk_migration_ready

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[ApiVersionsResponse, int]:
        if version < 0 or version > 4:
            raise unknown_version("ApiVersionsResponse", version, 0, 4)
        try:
            message, end = _read_api_versions_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("ApiVersionsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 4:
            raise unsupported_version("ApiVersionsResponse", version, 0, 4)
        writer = BytesWriter()
        _write_api_versions_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 4:
            raise unsupported_version("ApiVersionsResponse", version, 0, 4)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_api_versions_response(writer, self, version)
        return [writer.getvalue()]


def _read_api_versions_response(data: bytes, position: i64, version: i64) -> tuple[ApiVersionsResponse, i64]:
    api_keys: list[ApiVersion]
    throttle_time_ms: int
    supported_features: list[SupportedFeatureKey] = []
    finalized_features_epoch: int = -1
    finalized_features: list[FinalizedFeatureKey] = []
    zk_migration_ready: bool = False
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 3:
        count, position = read_compact_count(data, position, 7)
        api_keys = []
        for nth in range(count):
            api_keys_item, position = _read_api_version(data, position, version)
            api_keys.append(api_keys_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 6)
        api_keys = []
        for nth in range(count):
            api_keys_item, position = _read_api_version(data, position, version)
            api_keys.append(api_keys_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        throttle_time_ms = read_i32_be(data, position)
        position += 4
    else:
        throttle_time_ms = 0
    if version >= 3:
        if data[position]:
            tags, position = read_uvarint(data, position)
            for _ in range(tags):
                tag, position, end = read_tag(data, position)
                if tag == 0:
                    count, position = read_compact_count(data, position, 6)
                    supported_features = []
                    for nth in range(count):
                        supported_features_item, position = _read_supported_feature_key(data, position, version)
                        supported_features.append(supported_features_item)
                        if nth & LONG_RUN == LONG_RUN:
                            give_way()
                elif tag == 1:
                    finalized_features_epoch = read_i64_be(data, position)
                    position += 8
                elif tag == 2:
                    count, position = read_compact_count(data, position, 6)
                    finalized_features = []
                    for nth in range(count):
                        finalized_features_item, position = _read_finalized_feature_key(data, position, version)
                        finalized_features.append(finalized_features_item)
                        if nth & LONG_RUN == LONG_RUN:
                            give_way()
                elif tag == 3:
                    zk_migration_ready = data[position] != 0
                    position += 1
                else:
                    position = end
                if position != end:
                    raise wrong_tag_size(tag)
        else:
            position += 1
    return ApiVersionsResponse(error_code, api_keys, throttle_time_ms, supported_features, finalized_features_epoch, finalized_features, zk_migration_ready), position


def _write_api_versions_response(writer: BytesWriter, message: ApiVersionsResponse, version: i64) -> None:
    write_i16_be(writer, message.error_code)
    if version >= 3:
        api_keys = message.api_keys
        write_uvarint(writer, len(api_keys) + 1)
        for nth, api_keys_item in enumerate(api_keys):
            _write_api_version(writer, api_keys_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        api_keys = message.api_keys
        write_i32_be(writer, len(api_keys))
        for nth, api_keys_item in enumerate(api_keys):
            _write_api_version(writer, api_keys_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 1:
        write_i32_be(writer, message.throttle_time_ms)
    if version >= 3:
        count = 0
        if message.supported_features:
            count += 1
        if message.finalized_features_epoch != -1:
            count += 1
        if message.finalized_features:
            count += 1
        if message.zk_migration_ready:
            count += 1
        writer.append(count)
        if count:
            if message.supported_features:
                body = BytesWriter()
                supported_features = message.supported_features
                write_uvarint(body, len(supported_features) + 1)
                for nth, supported_features_item in enumerate(supported_features):
                    _write_supported_feature_key(body, supported_features_item, version)
                    if nth & LONG_RUN == LONG_RUN:
                        give_way()
                write_tag(writer, 0, body)
            if message.finalized_features_epoch != -1:
                writer.append(1)
                writer.append(8)
                write_i64_be(writer, message.finalized_features_epoch)
            if message.finalized_features:
                body = BytesWriter()
                finalized_features = message.finalized_features
                write_uvarint(body, len(finalized_features) + 1)
                for nth, finalized_features_item in enumerate(finalized_features):
                    _write_finalized_feature_key(body, finalized_features_item, version)
                    if nth & LONG_RUN == LONG_RUN:
                        give_way()
                write_tag(writer, 2, body)
            if message.zk_migration_ready:
                writer.append(3)
                writer.append(1)
                write_bool(writer, message.zk_migration_ready)
