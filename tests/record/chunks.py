"""Random sequences of batches, as in a segment."""

from typing import NamedTuple

from hypothesis import strategies as st

from moldau.record.compression import Codec, compress
from moldau.record.header import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    encode_batch,
)
from moldau.record.records import encode_record

START_OFFSET = 1000
NOW_MS = 50


class Content(NamedTuple):
    """One record, so many offsets behind the one before."""

    step: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None


class Made(NamedTuple):
    """What a batch is made of."""

    # Offsets between this batch and the last: zero unless a cleaning has been here.
    gap: int
    attributes: int
    producer_id: int
    base_timestamp: int
    contents: list[Content]
    # Offsets at its end that a cleaning took.
    tail: int

    @property
    def is_plain(self) -> bool:
        not_plain = TRANSACTIONAL_FLAG | CONTROL_FLAG | Codec.LZ4
        return bool(self.contents) and not self.attributes & not_plain


KEYS = st.none() | st.sampled_from([b"a", b"b", b"c", b"d"])
CONTENTS = st.builds(
    Content,
    st.sampled_from([1, 1, 1, 3]),
    st.integers(-5, 5) | st.just(1 << 40),
    KEYS,
    st.none() | st.binary(max_size=20),
)
PLAIN_FLAGS = st.sampled_from([0, 0, 0, LOG_APPEND_TIME_FLAG, DELETE_HORIZON_FLAG])
FLAGS = PLAIN_FLAGS | st.sampled_from([TRANSACTIONAL_FLAG, CONTROL_FLAG, int(Codec.LZ4)])


def batches(flags: st.SearchStrategy[int], most: int = 8) -> st.SearchStrategy[list[Made]]:
    made = st.builds(
        Made,
        st.sampled_from([0, 0, 0, 7]),
        flags,
        st.sampled_from([-1, -1, 4]),
        # With a delete horizon: before now, and after it.
        st.sampled_from([NOW_MS - 10, NOW_MS + 10]),
        st.lists(CONTENTS, min_size=1, max_size=5) | st.just([]),
        st.sampled_from([0, 0, 2]),
    )
    return st.lists(made, max_size=most)


def encode_all(made: list[Made]) -> tuple[list[BatchHeader], list[bytes]]:
    """Their headers and bytes."""
    headers: list[BatchHeader] = []
    encoded: list[bytes] = []
    offset = START_OFFSET
    for each in made:
        base_offset = offset + each.gap
        delta = -1
        payload = b""
        for step, timestamp_delta, key, value in each.contents:
            delta += step
            payload += encode_record(delta, timestamp_delta, key, value, ())
        last_delta = max(delta + each.tail, 0)
        stamps = [content.timestamp_delta for content in each.contents]
        header = BatchHeader(
            base_offset,
            0,
            3,
            2,
            0,
            each.attributes,
            last_delta,
            each.base_timestamp,
            each.base_timestamp + max(stamps, default=0),
            each.producer_id,
            0 if each.producer_id >= 0 else -1,
            base_offset if each.producer_id >= 0 else -1,
            len(each.contents),
        )
        encoded.append(encode_batch(header, compress(header.compression, payload)))
        headers.append(header)
        offset = base_offset + last_delta + 1
    return headers, encoded
