"""Batches as producers send them, and the validator's results."""

from collections.abc import Callable
from typing import Any

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    BatchHeader,
    crc_is_valid,
    encode_batch,
    read_header,
)
from moldau.record.produced import ProducedBatch
from moldau.record.records import BatchBuilder
from moldau.record.validator import (
    validate_produced,
)

NOW = 1_700_000_000_000
HOUR = 3_600_000
DEFAULT = LogConfig()
both = pytest.mark.parametrize("walk", [True, False], ids=["walking", "opaque"])


def batch(*timestamps: int, codec: int = 0, key: bytes | None = b"key", **options: Any) -> bytes:
    builder = BatchBuilder(codec, **options)
    for index, timestamp in enumerate(timestamps or (NOW, NOW + 1, NOW + 2)):
        builder.append(timestamp, key, b"value %d " % index * 20, [("name", b"content")])
    return builder.build()


def changed(data: bytes, change: Callable[[BatchHeader], None]) -> bytes:
    """The batch with other header fields and a checksum that fits them."""
    header = read_header(data, 0)
    change(header)
    return encode_batch(header, data[BATCH_HEADER_SIZE:])


def with_field(name: str, value: int, data: bytes | None = None) -> bytes:
    return changed(data or batch(), lambda header: setattr(header, name, value))


def stored(produced: ProducedBatch) -> bytes:
    data = b"".join(produced.parts(500, 7))
    assert len(data) == produced.size_bytes
    header = read_header(data, 0)
    assert crc_is_valid(data, 0, header)
    assert (header.base_offset, header.partition_leader_epoch) == (500, 7)
    return data


def code_of(data: bytes | None, config: LogConfig = DEFAULT, **options: Any) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        validate_produced(data, config, NOW, **options)
    return caught.value.code
