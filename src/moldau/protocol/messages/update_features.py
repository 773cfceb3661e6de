"""UpdateFeatures (API key 57). Generated from schema/update_features.txt: do not edit."""

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
    read_compact_nullable_string,
    read_compact_string,
    read_i8,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    unsupported_field,
    unsupported_version,
    write_bool,
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_uvarint,
)


class FeatureUpdateKey(Struct):
    __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")
    FIELDS: ClassVar[tuple[str, ...]] = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

    def __init__(self, feature: str = "", max_version_level: int = 0, allow_downgrade: bool = False, upgrade_type: int = 1) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type


def _read_feature_update_key(data: bytes, position: i64, version: i64) -> tuple[FeatureUpdateKey, i64]:
    allow_downgrade: bool
    upgrade_type: int
    feature, position = read_compact_string(data, position)
    max_version_level = read_i16_be(data, position)
    position += 2
    if version >= 1:
        allow_downgrade = False
        upgrade_type = read_i8(data, position)
        position += 1
    else:
        allow_downgrade = data[position] != 0
        upgrade_type = 1
        position += 1
    position = skip_tags(data, position) if data[position] else position + 1
    return FeatureUpdateKey(feature, max_version_level, allow_downgrade, upgrade_type), position


def _write_feature_update_key(writer: BytesWriter, message: FeatureUpdateKey, version: i64) -> None:
    write_compact_string(writer, message.feature)
    write_i16_be(writer, message.max_version_level)
    if version >= 1:
        if message.allow_downgrade:
            raise unsupported_field("FeatureUpdateKey", "allow_downgrade", version)
        write_i8(writer, message.upgrade_type)
    else:
        write_bool(writer, message.allow_downgrade)
        if message.upgrade_type != 1:
            raise unsupported_field("FeatureUpdateKey", "upgrade_type", version)
    writer.append(0)


class UpdatableFeatureResult(Struct):
    __slots__ = ("feature", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("feature", "error_code", "error_message")

    def __init__(self, feature: str = "", error_code: int = 0, error_message: str | None = "") -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message


def _read_updatable_feature_result(data: bytes, position: i64, version: i64) -> tuple[UpdatableFeatureResult, i64]:
    error_message: str | None
    feature, position = read_compact_string(data, position)
    error_code = read_i16_be(data, position)
    position += 2
    error_message, position = read_compact_nullable_string(data, position)
    position = skip_tags(data, position) if data[position] else position + 1
    return UpdatableFeatureResult(feature, error_code, error_message), position


def _write_updatable_feature_result(writer: BytesWriter, message: UpdatableFeatureResult, version: i64) -> None:
    write_compact_string(writer, message.feature)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    writer.append(0)


class UpdateFeaturesRequest(Message):
    """API key 57, versions 0 to 2."""

    __slots__ = ("timeout_ms", "feature_updates", "validate_only")
    FIELDS: ClassVar[tuple[str, ...]] = ("timeout_ms", "feature_updates", "validate_only")
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, timeout_ms: int = 60000, feature_updates: list[FeatureUpdateKey] = NO_ITEMS, validate_only: bool = False) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates = [] if feature_updates is NO_ITEMS else feature_updates
        self.validate_only = validate_only

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UpdateFeaturesRequest, int]:
        if version < 0 or version > 2:
            raise unknown_version("UpdateFeaturesRequest", version, 0, 2)
        try:
            message, end = _read_update_features_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UpdateFeaturesRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("UpdateFeaturesRequest", version, 0, 2)
        writer = BytesWriter()
        _write_update_features_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("UpdateFeaturesRequest", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_update_features_request(writer, self, version)
        return [writer.getvalue()]


def _read_update_features_request(data: bytes, position: i64, version: i64) -> tuple[UpdateFeaturesRequest, i64]:
    feature_updates: list[FeatureUpdateKey]
    validate_only: bool
    timeout_ms = read_i32_be(data, position)
    position += 4
    count, position = read_compact_count(data, position, 5)
    feature_updates = []
    for nth in range(count):
        feature_updates_item, position = _read_feature_update_key(data, position, version)
        feature_updates.append(feature_updates_item)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version >= 1:
        validate_only = data[position] != 0
        position += 1
    else:
        validate_only = False
    position = skip_tags(data, position) if data[position] else position + 1
    return UpdateFeaturesRequest(timeout_ms, feature_updates, validate_only), position


def _write_update_features_request(writer: BytesWriter, message: UpdateFeaturesRequest, version: i64) -> None:
    write_i32_be(writer, message.timeout_ms)
    feature_updates = message.feature_updates
    write_uvarint(writer, len(feature_updates) + 1)
    for nth, feature_updates_item in enumerate(feature_updates):
        _write_feature_update_key(writer, feature_updates_item, version)
        if nth & LONG_RUN == LONG_RUN:
            give_way()
    if version >= 1:
        write_bool(writer, message.validate_only)
    else:
        if message.validate_only:
            raise unsupported_field("UpdateFeaturesRequest", "validate_only", version)
    writer.append(0)


class UpdateFeaturesResponse(Message):
    """API key 57, versions 0 to 2."""

    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "error_code", "error_message", "results")
    API_KEY: ClassVar[int] = 57
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FIRST_FLEXIBLE: ClassVar[int] = 0

    def __init__(self, throttle_time_ms: int = 0, error_code: int = 0, error_message: str | None = "", results: list[UpdatableFeatureResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results = [] if results is NO_ITEMS else results

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[UpdateFeaturesResponse, int]:
        if version < 0 or version > 2:
            raise unknown_version("UpdateFeaturesResponse", version, 0, 2)
        try:
            message, end = _read_update_features_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("UpdateFeaturesResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 0 or version > 2:
            raise unsupported_version("UpdateFeaturesResponse", version, 0, 2)
        writer = BytesWriter()
        _write_update_features_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 0 or version > 2:
            raise unsupported_version("UpdateFeaturesResponse", version, 0, 2)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_update_features_response(writer, self, version)
        return [writer.getvalue()]


def _read_update_features_response(data: bytes, position: i64, version: i64) -> tuple[UpdateFeaturesResponse, i64]:
    error_message: str | None
    results: list[UpdatableFeatureResult]
    throttle_time_ms = read_i32_be(data, position)
    error_code = read_i16_be(data, position + 4)
    position += 6
    error_message, position = read_compact_nullable_string(data, position)
    if version >= 2:
        results = []
    else:
        count, position = read_compact_count(data, position, 5)
        results = []
        for nth in range(count):
            results_item, position = _read_updatable_feature_result(data, position, version)
            results.append(results_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    position = skip_tags(data, position) if data[position] else position + 1
    return UpdateFeaturesResponse(throttle_time_ms, error_code, error_message, results), position


def _write_update_features_response(writer: BytesWriter, message: UpdateFeaturesResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    write_i16_be(writer, message.error_code)
    write_compact_nullable_string(writer, message.error_message)
    if version < 2:
        results = message.results
        write_uvarint(writer, len(results) + 1)
        for nth, results_item in enumerate(results):
            _write_updatable_feature_result(writer, results_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    writer.append(0)
