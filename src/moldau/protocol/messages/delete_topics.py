"""DeleteTopics (API key 20). Generated from schema/delete_topics.txt: do not edit."""

# fmt: off
from __future__ import annotations

from typing import ClassVar

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be
from mypy_extensions import i64

from moldau.ids import NO_UUID
from moldau.protocol.file_region import Part
from moldau.protocol.giving_way import give_way
from moldau.protocol.message import NO_ITEMS, Message, Struct
from moldau.protocol.reading import (
    LONG_RUN,
    malformed,
    read_compact_count,
    read_compact_nullable_string,
    read_compact_string,
    read_compact_string_list,
    read_count,
    read_string,
    read_string_list,
    read_uuid,
    skip_tags,
    unknown_version,
)
from moldau.protocol.writing import (
    null_field,
    unsupported_field,
    unsupported_version,
    write_compact_nullable_string,
    write_compact_string,
    write_compact_string_list,
    write_string,
    write_string_list,
    write_uuid,
    write_uvarint,
)


class DeleteTopicState(Struct):
    __slots__ = ("name", "topic_id")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id")

    def __init__(self, name: str | None = None, topic_id: bytes = NO_UUID) -> None:
        self.name = name
        self.topic_id = topic_id


def _read_delete_topic_state(data: bytes, position: i64, version: i64) -> tuple[DeleteTopicState, i64]:
    name: str | None
    name, position = read_compact_nullable_string(data, position)
    topic_id = read_uuid(data, position)
    position += 16
    position = skip_tags(data, position) if data[position] else position + 1
    return DeleteTopicState(name, topic_id), position


def _write_delete_topic_state(writer: BytesWriter, message: DeleteTopicState, version: i64) -> None:
    write_compact_nullable_string(writer, message.name)
    write_uuid(writer, message.topic_id)
    writer.append(0)


class DeletableTopicResult(Struct):
    __slots__ = ("name", "topic_id", "error_code", "error_message")
    FIELDS: ClassVar[tuple[str, ...]] = ("name", "topic_id", "error_code", "error_message")

    def __init__(self, name: str | None = "", topic_id: bytes = NO_UUID, error_code: int = 0, error_message: str | None = None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message


def _read_deletable_topic_result(data: bytes, position: i64, version: i64) -> tuple[DeletableTopicResult, i64]:
    name: str | None
    topic_id: bytes
    error_message: str | None
    if version >= 6:
        name, position = read_compact_nullable_string(data, position)
    elif version >= 4:
        name, position = read_compact_string(data, position)
    else:
        name, position = read_string(data, position)
    if version >= 6:
        topic_id = read_uuid(data, position)
        position += 16
    else:
        topic_id = NO_UUID
    error_code = read_i16_be(data, position)
    position += 2
    if version >= 5:
        error_message, position = read_compact_nullable_string(data, position)
    else:
        error_message = None
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeletableTopicResult(name, topic_id, error_code, error_message), position


def _write_deletable_topic_result(writer: BytesWriter, message: DeletableTopicResult, version: i64) -> None:
    if version >= 6:
        write_compact_nullable_string(writer, message.name)
    elif version >= 4:
        name = message.name
        if name is None:
            raise null_field("DeletableTopicResult", "name", version)
        write_compact_string(writer, name)
    else:
        name = message.name
        if name is None:
            raise null_field("DeletableTopicResult", "name", version)
        write_string(writer, name)
    if version >= 6:
        write_uuid(writer, message.topic_id)
    write_i16_be(writer, message.error_code)
    if version >= 5:
        write_compact_nullable_string(writer, message.error_message)
    if version >= 4:
        writer.append(0)


class DeleteTopicsRequest(Message):
    """API key 20, versions 1 to 6."""

    __slots__ = ("topics", "topic_names", "timeout_ms")
    FIELDS: ClassVar[tuple[str, ...]] = ("topics", "topic_names", "timeout_ms")
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, topics: list[DeleteTopicState] = NO_ITEMS, topic_names: list[str] = NO_ITEMS, timeout_ms: int = 0) -> None:
        self.topics = [] if topics is NO_ITEMS else topics
        self.topic_names = [] if topic_names is NO_ITEMS else topic_names
        self.timeout_ms = timeout_ms

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteTopicsRequest, int]:
        if version < 1 or version > 6:
            raise unknown_version("DeleteTopicsRequest", version, 1, 6)
        try:
            message, end = _read_delete_topics_request(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteTopicsRequest", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 6:
            raise unsupported_version("DeleteTopicsRequest", version, 1, 6)
        writer = BytesWriter()
        _write_delete_topics_request(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 6:
            raise unsupported_version("DeleteTopicsRequest", version, 1, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_topics_request(writer, self, version)
        return [writer.getvalue()]


def _read_delete_topics_request(data: bytes, position: i64, version: i64) -> tuple[DeleteTopicsRequest, i64]:
    topics: list[DeleteTopicState]
    topic_names: list[str]
    if version >= 6:
        count, position = read_compact_count(data, position, 18)
        topics = []
        for nth in range(count):
            topics_item, position = _read_delete_topic_state(data, position, version)
            topics.append(topics_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        topics = []
    if version >= 6:
        topic_names = []
    elif version >= 4:
        count, position = read_compact_count(data, position, 1)
        topic_names, position = read_compact_string_list(data, position, count)
    else:
        count, position = read_count(data, position, 2)
        topic_names, position = read_string_list(data, position, count)
    timeout_ms = read_i32_be(data, position)
    position += 4
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteTopicsRequest(topics, topic_names, timeout_ms), position


def _write_delete_topics_request(writer: BytesWriter, message: DeleteTopicsRequest, version: i64) -> None:
    if version >= 6:
        topics = message.topics
        write_uvarint(writer, len(topics) + 1)
        for nth, topics_item in enumerate(topics):
            _write_delete_topic_state(writer, topics_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        if message.topics:
            raise unsupported_field("DeleteTopicsRequest", "topics", version)
    if version >= 6:
        pass
    elif version >= 4:
        topic_names = message.topic_names
        write_uvarint(writer, len(topic_names) + 1)
        write_compact_string_list(writer, topic_names)
    else:
        topic_names = message.topic_names
        write_i32_be(writer, len(topic_names))
        write_string_list(writer, topic_names)
    write_i32_be(writer, message.timeout_ms)
    if version >= 4:
        writer.append(0)


class DeleteTopicsResponse(Message):
    """API key 20, versions 1 to 6."""

    __slots__ = ("throttle_time_ms", "responses")
    FIELDS: ClassVar[tuple[str, ...]] = ("throttle_time_ms", "responses")
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FIRST_FLEXIBLE: ClassVar[int] = 4

    def __init__(self, throttle_time_ms: int = 0, responses: list[DeletableTopicResult] = NO_ITEMS) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses = [] if responses is NO_ITEMS else responses

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> tuple[DeleteTopicsResponse, int]:
        if version < 1 or version > 6:
            raise unknown_version("DeleteTopicsResponse", version, 1, 6)
        try:
            message, end = _read_delete_topics_response(data, position, version)
        except (IndexError, ValueError) as error:
            raise malformed("DeleteTopicsResponse", version, error) from None
        return message, end

    def encode(self, version: int) -> bytes:
        if version < 1 or version > 6:
            raise unsupported_version("DeleteTopicsResponse", version, 1, 6)
        writer = BytesWriter()
        _write_delete_topics_response(writer, self, version)
        return writer.getvalue()

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        if version < 1 or version > 6:
            raise unsupported_version("DeleteTopicsResponse", version, 1, 6)
        writer = BytesWriter()
        writer.write(writer_prefix)
        _write_delete_topics_response(writer, self, version)
        return [writer.getvalue()]


def _read_delete_topics_response(data: bytes, position: i64, version: i64) -> tuple[DeleteTopicsResponse, i64]:
    responses: list[DeletableTopicResult]
    throttle_time_ms = read_i32_be(data, position)
    position += 4
    if version >= 4:
        count, position = read_compact_count(data, position, 4)
        responses = []
        for nth in range(count):
            responses_item, position = _read_deletable_topic_result(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        count, position = read_count(data, position, 4)
        responses = []
        for nth in range(count):
            responses_item, position = _read_deletable_topic_result(data, position, version)
            responses.append(responses_item)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        position = skip_tags(data, position) if data[position] else position + 1
    return DeleteTopicsResponse(throttle_time_ms, responses), position


def _write_delete_topics_response(writer: BytesWriter, message: DeleteTopicsResponse, version: i64) -> None:
    write_i32_be(writer, message.throttle_time_ms)
    if version >= 4:
        responses = message.responses
        write_uvarint(writer, len(responses) + 1)
        for nth, responses_item in enumerate(responses):
            _write_deletable_topic_result(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    else:
        responses = message.responses
        write_i32_be(writer, len(responses))
        for nth, responses_item in enumerate(responses):
            _write_deletable_topic_result(writer, responses_item, version)
            if nth & LONG_RUN == LONG_RUN:
                give_way()
    if version >= 4:
        writer.append(0)
