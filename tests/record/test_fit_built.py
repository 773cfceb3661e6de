"""Batches that the broker built itself are adapted to the topic."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.compression import Codec
from moldau.record.produced import ProducedBatch
from moldau.record.records import BatchBuilder
from moldau.record.validator import (
    fit_built,
    validate_produced,
)
from tests.record.producing import (
    NOW,
    stored,
)


def built(codec: Codec = Codec.NONE, value: bytes = b"v") -> BatchBuilder:
    builder = BatchBuilder(codec)
    for number in range(3):
        builder.append(NOW, b"k%d" % number, value)
    return builder


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_batch_built_here_goes_to_the_log_as_it_is(codec: Codec) -> None:
    """The bytes are those of ``build``, and nobody has looked at them once more."""
    config = LogConfig(cleanup_policy=("compact",))
    batch = built(codec).build_for_log()
    assert fit_built(batch, config, NOW) is batch
    assert b"".join(batch.parts(0, -1)) == built(codec).build()
    again = validate_produced(b"".join(batch.parts(0, -1)), config, NOW)
    assert again.header.record_count == batch.header.record_count == 3


def test_the_records_of_a_coordinator_are_not_looked_at_because_its_topic_is_uncompressed() -> None:
    config = LogConfig(cleanup_policy=("compact",), compression_type="uncompressed")
    batch = built().build_for_log()
    assert fit_built(batch, config, NOW) is batch
    packed = fit_built(built(Codec.LZ4).build_for_log(), config, NOW)
    assert packed.header.compression == Codec.NONE


@pytest.mark.parametrize(
    "wish",
    [
        {"compression_type": "lz4"},
        {"message_timestamp_type": "LogAppendTime"},
        {"message_timestamp_after_max_ms": 5},
        {"message_timestamp_before_max_ms": 5},
    ],
    ids=str,
)
@pytest.mark.parametrize("now_ms", [NOW - 100, NOW, NOW + 100])
def test_a_batch_built_here_is_made_to_fit_what_the_topic_wants(
    wish: dict[str, Any], now_ms: int
) -> None:
    """As one that came from outside would be, and is refused where that would be."""
    config = replace(LogConfig(cleanup_policy=("compact",)), **wish)

    def outcome(fit: Callable[[], ProducedBatch]) -> bytes | ErrorCode:
        try:
            return stored(fit())
        except ApiError as refusal:
            return refusal.code

    data = built().build()
    options = {"from_client": False, "look_inside": False}
    expected = outcome(lambda: validate_produced(data, config, now_ms, **options))
    batch = built().build_for_log()
    assert outcome(lambda: fit_built(batch, config, now_ms)) == expected


def test_a_batch_built_here_may_be_too_large_too() -> None:
    config = LogConfig(max_message_bytes=1000)
    with pytest.raises(ApiError) as refused:
        fit_built(built(value=bytes(1000)).build_for_log(), config, NOW)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
