"""Validation of a produced batch, one rule at a time."""

import pytest

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.record.compression import MAX_DECOMPRESSED_BYTES, Codec, compress
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    SMALL_BATCH_BYTES,
    BatchHeader,
    encode_batch,
    read_header,
)
from moldau.record.records import BatchBuilder, decode_records, encode_record
from moldau.record.validator import (
    RecordErrors,
    check_produce_version,
    validate_produced,
)
from tests.record.producing import (
    DEFAULT,
    HOUR,
    NOW,
    batch,
    both,
    changed,
    code_of,
    stored,
    with_field,
)


@both
@pytest.mark.parametrize("codec", list(Codec))
def test_an_everyday_batch_goes_to_the_log_as_it_came(codec: Codec, walk: bool) -> None:
    frame = b"before" + batch(codec=codec) + b"behind"
    view = memoryview(frame)[6:-6]
    produced = validate_produced(view, DEFAULT, NOW, look_inside=walk)
    assert stored(produced)[16:] == bytes(view[16:])
    assert (produced.log_append_time, produced.max_timestamp) == (-1, NOW + 2)
    assert produced.offset_of_max_timestamp == 2
    # Beyond the sixteen stamped bytes, nothing was copied.
    rest = produced.parts(0, 0)[1]
    assert isinstance(rest, memoryview)
    assert rest.obj is frame


def test_bytes_are_taken_as_well_as_views() -> None:
    assert decode_records(stored(validate_produced(batch(), DEFAULT, NOW)))[0].offset == 500


def test_a_small_batch_in_bytes_is_written_in_one_piece_and_a_large_one_is_not_copied() -> None:
    small, large = batch(), batch(*[NOW] * 50)
    assert len(small) < SMALL_BATCH_BYTES < len(large)
    assert len(validate_produced(small, DEFAULT, NOW).parts(0, 0)) == 1
    rest = validate_produced(large, DEFAULT, NOW).parts(0, 0)[1]
    assert isinstance(rest, memoryview)
    assert rest.obj is large


@pytest.mark.parametrize("data", [None, b"", b"short", batch()[:40], batch()[:-1]])
def test_no_batch_at_all_is_an_invalid_record(data: bytes | None) -> None:
    assert code_of(data) == ErrorCode.INVALID_RECORD


def test_two_batches_are_refused() -> None:
    assert code_of(batch() + batch()) == ErrorCode.INVALID_RECORD


def test_the_beginning_of_a_second_batch_is_left_out() -> None:
    whole = batch()
    for cut in (1, 12, 40):
        produced = validate_produced(whole + whole[:cut], DEFAULT, NOW)
        assert stored(produced)[16:] == whole[16:]


def test_nonsense_behind_the_batch_is_corrupt() -> None:
    assert code_of(batch() + bytes(30)) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("magic", "code"),
    [
        (0, ErrorCode.INVALID_RECORD),
        (1, ErrorCode.INVALID_RECORD),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (255, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_only_magic_2_is_taken(magic: int, code: ErrorCode) -> None:
    data = bytearray(batch())
    data[16] = magic
    assert code_of(bytes(data)) == code


def test_a_wrong_checksum_is_corrupt() -> None:
    data = bytearray(batch())
    data[-1] ^= 1
    assert code_of(bytes(data)) == ErrorCode.CORRUPT_MESSAGE


def test_the_size_is_judged_before_the_checksum() -> None:
    config = LogConfig(max_message_bytes=100)
    assert code_of(batch()[:-1] + b"?", config) == ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_of_just_the_largest_size_is_taken() -> None:
    data = batch()
    validate_produced(data, LogConfig(max_message_bytes=len(data)), NOW)
    config = LogConfig(max_message_bytes=len(data) - 1)
    assert code_of(data, config) == ErrorCode.MESSAGE_TOO_LARGE
    assert validate_produced(data, config, NOW, ignore_size=True).size_bytes == len(data)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_offset", 1),
        ("record_count", 0),
        ("record_count", -1),
        ("record_count", 4),
        ("last_offset_delta", -1),
        ("last_offset_delta", 3),
        ("attributes", 0x20),
        ("producer_id", 5),
    ],
)
@both
def test_headers_that_contradict_themselves_are_invalid(name: str, value: int, walk: bool) -> None:
    data = with_field(name, value)
    assert code_of(data, look_inside=walk) == ErrorCode.INVALID_RECORD


def test_the_broker_itself_may_write_control_records_at_any_offset() -> None:
    data = batch(base_offset=9, is_control=True, is_transactional=True, producer_id=4)
    config = LogConfig(compression_type="gzip")
    produced = validate_produced(data, config, NOW, from_client=False)
    header = read_header(stored(produced), 0)
    assert header.is_control
    assert header.compression == Codec.NONE


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_codecs_that_do_not_exist_are_unsupported(codec: int) -> None:
    assert code_of(with_field("attributes", codec)) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_zstd_is_refused_in_old_produce_requests_only() -> None:
    with pytest.raises(ApiError) as caught:
        check_produce_version(batch(codec=Codec.ZSTD), 6)
    assert caught.value.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    check_produce_version(batch(codec=Codec.ZSTD), 7)
    check_produce_version(batch(codec=Codec.LZ4), 3)
    check_produce_version(b"", 3)


def test_records_that_claim_to_be_more_than_their_bytes_can_hold_are_counted() -> None:
    for codec in Codec:

        def claim_many(header: BatchHeader) -> None:
            header.record_count = 2**31 - 1
            header.last_offset_delta = 2**31 - 2

        data = changed(batch(codec=codec), claim_many)
        assert code_of(data, look_inside=False) == ErrorCode.INVALID_RECORD


def test_a_walk_finds_records_that_are_not_built_as_they_say() -> None:
    data = batch()
    header = read_header(data, 0)
    broken = encode_batch(header, data[BATCH_HEADER_SIZE:-1])
    assert code_of(broken, look_inside=True) == ErrorCode.INVALID_RECORD
    longer = encode_batch(header, data[BATCH_HEADER_SIZE:] + b"\0")
    assert code_of(longer, look_inside=True) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_compressed_records_are_what_their_header_says(codec: Codec) -> None:
    header = read_header(batch(codec=codec), 0)
    plain = batch()[BATCH_HEADER_SIZE:]
    packed = compress(codec, plain)
    assert stored(validate_produced(encode_batch(header, packed), DEFAULT, NOW))
    for payload in (
        b"",
        b"noise" * 20,
        packed[:-8],
        compress(codec, plain[:-1]),
        compress(codec, plain + b"\0"),
        compress(codec, plain + plain),
    ):
        faulty = encode_batch(header, payload)
        assert code_of(faulty) == ErrorCode.INVALID_RECORD
        assert code_of(faulty, LogConfig(cleanup_policy=("compact",))) == ErrorCode.INVALID_RECORD


def test_the_broker_does_not_unpack_what_it_compressed_itself() -> None:
    data = batch(codec=Codec.GZIP)
    packed = encode_batch(read_header(data, 0), b"only a look inside could tell")
    produced = validate_produced(packed, DEFAULT, NOW, from_client=False, look_inside=False)
    assert stored(produced)[BATCH_HEADER_SIZE:] == packed[BATCH_HEADER_SIZE:]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_what_unpacks_to_much_is_looked_into_as_well(codec: Codec, timestamp_type: str) -> None:
    config = LogConfig(message_timestamp_type=timestamp_type)
    plain = BatchBuilder()
    for index in range(6):
        plain.append(NOW, b"key", bytes(1_000_000) + b"%d" % index)
    payload = plain.build()[BATCH_HEADER_SIZE:]
    header = read_header(with_field("attributes", codec, plain.build()), 0)
    packed = compress(codec, payload)
    sound = encode_batch(header, packed)
    assert stored(validate_produced(sound, config, NOW))[BATCH_HEADER_SIZE:] == packed
    for faulty in (
        compress(codec, bytes(6_000_000)),
        packed[:-8],
        packed[: len(packed) // 2] + b"noise" + packed[len(packed) // 2 + 5 :],
        compress(codec, payload[:-1]),
        compress(codec, payload + b"\0"),
        compress(codec, payload + payload),
    ):
        assert code_of(encode_batch(header, faulty), config) == ErrorCode.INVALID_RECORD
    header.record_count, header.last_offset_delta = 7, 6
    assert code_of(encode_batch(header, packed), config) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_unpacks_to_more_than_the_limit_is_refused_for_its_size(codec: Codec) -> None:
    half = encode_record(0, 0, b"key", bytes(MAX_DECOMPRESSED_BYTES // 2), [])
    bomb = compress(codec, half + half)
    data = encode_batch(read_header(batch(codec=codec), 0), bomb)
    assert len(data) < 1_000_000
    with pytest.raises(ApiError, match=f"more than {MAX_DECOMPRESSED_BYTES} bytes") as caught:
        validate_produced(data, DEFAULT, NOW)
    # Kafka's producers split a batch that is refused with this code, and send the parts.
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_long_batch_is_walked_through_windows() -> None:
    builder = BatchBuilder()
    for index in range(40):
        builder.append(NOW + index, b"k", bytes(20_000 if index % 7 else 200_000))
    data = builder.build()
    produced = validate_produced(data, DEFAULT, NOW, ignore_size=True, look_inside=True)
    assert produced.max_timestamp == NOW + 39
    cut = encode_batch(read_header(data, 0), data[BATCH_HEADER_SIZE:-1])
    assert code_of(cut, ignore_size=True, look_inside=True) == ErrorCode.INVALID_RECORD


# Timestamps


@both
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_log_append_time_replaces_the_producers_timestamps(codec: Codec, walk: bool) -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime")
    data = batch(5, 6, codec=codec)
    produced = validate_produced(data, config, NOW, look_inside=walk)
    assert (produced.log_append_time, produced.max_timestamp) == (NOW, NOW)
    written = stored(produced)
    assert written[BATCH_HEADER_SIZE:] == data[BATCH_HEADER_SIZE:]
    assert [record.timestamp for record in decode_records(written)] == [NOW, NOW]
    assert read_header(data, 0).max_timestamp == 6


@both
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY])
def test_records_too_far_in_the_future_are_named(codec: Codec, walk: bool) -> None:
    data = batch(NOW, NOW + HOUR + 1, NOW + HOUR, NOW + 2 * HOUR, codec=codec)
    with pytest.raises(RecordErrors) as caught:
        validate_produced(data, DEFAULT, NOW, look_inside=walk)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [1, 3]
    assert str(NOW + HOUR + 1) in caught.value.record_errors[0][1]


@both
def test_records_too_old_are_named_whatever_the_latest_is(walk: bool) -> None:
    config = LogConfig(message_timestamp_before_max_ms=HOUR)
    with pytest.raises(RecordErrors) as caught:
        validate_produced(batch(NOW, NOW - HOUR - 1, NOW - HOUR), config, NOW, look_inside=walk)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [1]


@both
def test_records_without_a_timestamp_are_in_any_range(walk: bool) -> None:
    config = LogConfig(message_timestamp_before_max_ms=HOUR)
    produced = validate_produced(batch(-1, -1), config, NOW, look_inside=walk)
    assert produced.max_timestamp == -1


@pytest.mark.parametrize("claimed", [NOW - 50, NOW + 50, NOW + 9 * HOUR])
def test_a_wrong_latest_timestamp_is_put_right_when_it_is_noticed(claimed: int) -> None:
    data = with_field("max_timestamp", claimed)
    produced = validate_produced(data, DEFAULT, NOW, look_inside=True)
    assert produced.max_timestamp == NOW + 2
    assert read_header(stored(produced), 0).max_timestamp == NOW + 2
    assert produced.log_append_time == -1


@both
def test_only_a_broker_may_say_when_a_record_was_appended(walk: bool) -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime")
    data = batch(NOW, NOW, log_append_time=NOW)
    with pytest.raises(RecordErrors) as caught:
        validate_produced(data, config, NOW, look_inside=walk)
    assert caught.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [0, 1]


@both
def test_a_producers_claim_of_append_time_is_taken_away_where_its_own_time_counts(
    walk: bool,
) -> None:
    data = batch(NOW - 9, NOW - 5, log_append_time=NOW)
    written = stored(validate_produced(data, DEFAULT, NOW, look_inside=walk))
    assert not read_header(written, 0).is_log_append_time
    assert [record.timestamp for record in decode_records(written)] == [NOW - 9, NOW - 5]


# Keys


@both
@pytest.mark.parametrize("codec", list(Codec))
def test_records_of_a_compacted_topic_need_keys(codec: Codec, walk: bool) -> None:
    config = LogConfig(cleanup_policy=("compact", "delete"))
    builder = BatchBuilder(codec)
    for key in (b"a", None, b"", None):
        builder.append(NOW, key, b"v")
    with pytest.raises(RecordErrors) as caught:
        validate_produced(builder.build(), config, NOW, look_inside=walk)
    assert caught.value.code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in caught.value.record_errors] == [1, 3]
    produced = validate_produced(batch(codec=codec), config, NOW, look_inside=walk)
    assert stored(produced)[16:] == batch(codec=codec)[16:]


# Compression


@pytest.mark.parametrize("target", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("source", list(Codec))
def test_a_topic_may_want_another_codec(source: Codec, target: str) -> None:
    data = batch(codec=source, producer_id=8, producer_epoch=1, base_sequence=4)
    produced = validate_produced(data, LogConfig(compression_type=target), NOW)
    written = stored(produced)
    header = read_header(written, 0)
    assert Codec(header.compression).name.lower() == target.replace("uncompressed", "none")
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 1, 4)
    expected = [record[1:] for record in decode_records(data)]
    assert [record[1:] for record in decode_records(written)] == expected


def test_levels_are_those_of_the_topic() -> None:
    data = batch(*range(NOW, NOW + 200))
    sizes = [
        validate_produced(
            data, LogConfig(compression_type="zstd", compression_zstd_level=level), NOW
        ).size_bytes
        for level in (-100_000, 19)
    ]
    assert sizes[1] < sizes[0]


def test_the_size_is_judged_again_after_compression_was_undone() -> None:
    data = batch(*[NOW] * 100, codec=Codec.ZSTD)
    config = LogConfig(compression_type="uncompressed", max_message_bytes=1000)
    assert len(data) < 1000
    assert code_of(data, config) == ErrorCode.MESSAGE_TOO_LARGE


def test_another_codec_and_append_time_go_together() -> None:
    config = LogConfig(compression_type="lz4", message_timestamp_type="LogAppendTime")
    written = stored(validate_produced(batch(), config, NOW + 99))
    header = read_header(written, 0)
    assert (header.compression, header.is_log_append_time) == (Codec.LZ4, True)
    assert {record.timestamp for record in decode_records(written)} == {NOW + 99}


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_records_whose_offsets_do_not_count_up_are_numbered_anew(codec: Codec) -> None:
    payload = b"".join(
        encode_record(0, 10 - index, b"k%d" % index, b"v", [("h", None)]) for index in range(3)
    )
    header = read_header(batch(codec=codec), 0)
    data = encode_batch(header, compress(codec, payload))
    config = LogConfig(message_timestamp_before_max_ms=HOUR)
    written = stored(validate_produced(data, config, NOW))
    records = decode_records(written)
    assert [record.offset for record in records] == [500, 501, 502]
    assert [record.timestamp for record in records] == [NOW + 10, NOW + 9, NOW + 8]
    assert [record.key for record in records] == [b"k0", b"k1", b"k2"]
    assert read_header(written, 0).base_timestamp == NOW + 10
    assert records[0].headers == (("h", None),)
