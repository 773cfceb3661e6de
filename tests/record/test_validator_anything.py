"""Whatever is produced is either refused or stored completely."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.config.topic import LogConfig
from moldau.errors import ApiError
from moldau.record.compression import Codec
from moldau.record.fitting import Fitting
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    encode_batch,
    read_header,
)
from moldau.record.validator import (
    validate_produced,
)
from tests.record.producing import (
    HOUR,
    NOW,
    batch,
    stored,
)

configs = st.builds(
    LogConfig,
    message_timestamp_type=st.sampled_from(["CreateTime", "LogAppendTime"]),
    message_timestamp_before_max_ms=st.sampled_from([2**63 - 1, HOUR]),
    compression_type=st.sampled_from(["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"]),
    cleanup_policy=st.sampled_from([("delete",), ("compact",)]),
)


def outcome(
    data: bytes | memoryview, config: LogConfig, walk: bool, from_client: bool
) -> bytes | str:
    try:
        produced = validate_produced(data, config, NOW, look_inside=walk, from_client=from_client)
    except ApiError as error:
        return f"{error.code.name}: {error.message}"
    return stored(produced)


def check_outcome(data: bytes, config: LogConfig, walk: bool, from_client: bool) -> None:
    frame = bytearray(data)
    found = outcome(memoryview(frame), config, walk, from_client)
    assert frame == data
    assert found == outcome(data, config, walk, from_client)
    if isinstance(found, bytes):
        # What was taken at a glance is what a closer look makes of it.
        header = read_header(data, 0)
        looked_at = Fitting(
            data[: header.size_bytes],
            header,
            config,
            NOW,
            from_client=from_client,
            ignore_size=False,
            look_inside=walk,
        )
        assert stored(looked_at.fit()) == found


@given(st.sampled_from(list(Codec)), configs, st.booleans(), st.booleans(), st.data())
def test_a_damaged_batch_is_refused_or_stored_whole(
    codec: Codec, config: LogConfig, walk: bool, from_client: bool, data: st.DataObject
) -> None:
    damaged = bytearray(batch(codec=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    check_outcome(bytes(damaged), config, walk, from_client)


@given(st.sampled_from(list(Codec)), configs, st.booleans(), st.booleans(), st.data())
def test_a_batch_that_lies_under_a_right_checksum_is_refused_or_stored_whole(
    codec: Codec, config: LogConfig, walk: bool, from_client: bool, data: st.DataObject
) -> None:
    damaged = bytearray(batch(codec=codec))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(21, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    sealed = encode_batch(read_header(damaged, 0), bytes(damaged[BATCH_HEADER_SIZE:]))
    check_outcome(sealed, config, walk, from_client)


@given(st.binary(max_size=150), configs, st.booleans())
def test_noise_is_refused(noise: bytes, config: LogConfig, walk: bool) -> None:
    with pytest.raises(ApiError):
        validate_produced(noise, config, NOW, look_inside=walk)
