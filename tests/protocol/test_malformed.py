"""Whatever the bytes are, decoding ends with a message or with ``MalformedMessage``."""

import random
import tracemalloc
import zlib

import pytest

from moldau.protocol.messages.fetch import FetchRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.reading import MalformedMessage, read_uvarint, read_varlong
from tests.protocol.random_messages import (
    all_messages,
    every_version,
    message_class,
    random_message,
    versions_of,
)


def sample(name: str, version: int) -> bytes:
    seed = zlib.crc32(f"{name} {version}".encode())
    return random_message(name, version, random.Random(seed)).encode(version)


@pytest.mark.parametrize("name", all_messages())
def test_a_message_cut_short_anywhere_is_malformed(name: str) -> None:
    for version in {versions_of(name)[0], versions_of(name)[-1]}:
        whole = sample(name, version)
        for length in {*range(min(len(whole), 150)), *range(max(0, len(whole) - 50), len(whole))}:
            with pytest.raises(MalformedMessage):
                message_class(name).decode(whole[:length], 0, version)


def mutate(data: bytes, rng: random.Random) -> bytes:
    mutant = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        position = rng.randrange(len(mutant) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            mutant[position:position] = rng.randbytes(rng.randrange(1, 6))
        elif kind == 1:
            del mutant[position : position + rng.randrange(1, 6)]
        elif kind == 2:
            mutant[position : position + 4] = rng.choice(
                (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\x0f")
            )
        elif position < len(mutant):
            mutant[position] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(mutant)


def test_mutated_messages_decode_or_are_malformed() -> None:
    rng = random.Random(3)
    refusals: list[tuple[str, str]] = []
    for name, version in every_version():
        original = sample(name, version)
        decode = message_class(name).decode
        for _ in range(140):
            try:
                decode(mutate(original, rng), 0, version)
            except MalformedMessage as error:
                refusals.append((name, str(error)))
    assert len(refusals) > 30_000
    assert all(reason.startswith(f"{name} version ") for name, reason in refusals)


def test_noise_decodes_or_is_malformed() -> None:
    rng = random.Random(4)
    for name, version in every_version():
        for _ in range(20):
            try:
                message_class(name).decode(rng.randbytes(rng.randrange(80)), 0, version)
            except MalformedMessage:
                continue


@pytest.mark.parametrize("count", [0x7FFFFFFF, 0x00FFFFFF, -2, -0x80000000])
def test_an_array_larger_than_the_message_costs_nothing(count: int) -> None:
    frame = count.to_bytes(4, "big", signed=True) + bytes(1000)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedMessage, match=f"array of length {count} with 1000 bytes left"):
            MetadataRequest.decode(frame, 0, 0)
        assert tracemalloc.get_traced_memory()[1] < 20_000
    finally:
        tracemalloc.stop()


def test_a_null_where_none_is_allowed_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="array of length -1"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0, 0)
    null_name = MetadataRequest(topics=[MetadataRequestTopic(name=None)]).encode(10)
    with pytest.raises(MalformedMessage, match="string of length -1"):
        # Version 9 has no topic id in front of the name.
        MetadataRequest.decode(null_name[:1] + null_name[17:], 0, 9)


def test_wrong_utf_8_is_malformed() -> None:
    good = MetadataRequest(topics=[MetadataRequestTopic(name="abc")]).encode(0)
    with pytest.raises(MalformedMessage, match="utf-8"):
        MetadataRequest.decode(good.replace(b"abc", b"a\xc3\x28"), 0, 0)


def test_a_version_that_does_not_exist_is_malformed() -> None:
    for version in (-1, 2, 14, 32767):
        with pytest.raises(MalformedMessage, match=f"no version {version}"):
            ProduceRequest.decode(bytes(100), 0, version)


def test_unknown_tags_are_skipped_and_cost_no_memory() -> None:
    encoded = FetchRequest().encode(17)
    assert encoded[-1] == 0
    tags = b"".join(bytes((0xE4, number, 3)) + b"abc" for number in range(100))
    decoded, end = FetchRequest.decode(encoded[:-1] + bytes((100,)) + tags, 0, 17)
    assert decoded == FetchRequest()
    assert end == len(encoded) + len(tags)


def test_a_tag_that_is_not_of_its_size_is_malformed() -> None:
    encoded = FetchRequest().encode(17)
    with pytest.raises(MalformedMessage, match="tag 0 does not have the size"):
        # The cluster id "ab" is three bytes; the tag claims four.
        FetchRequest.decode(encoded[:-1] + bytes((1, 0, 4, 3)) + b"ab\0", 0, 17)


def test_more_tags_than_bytes_are_malformed() -> None:
    with pytest.raises(MalformedMessage):
        FetchRequest.decode(FetchRequest().encode(17)[:-1] + b"\xff\xff\xff\xff\x0f", 0, 17)


def test_a_string_of_more_than_kafka_allows_is_malformed() -> None:
    frame = bytes((2, 0x81, 0x80, 0x02)) + b"x" * 32768 + bytes(3)
    with pytest.raises(MalformedMessage, match="string of length 32768"):
        MetadataRequest.decode(frame, 0, 9)


@pytest.mark.parametrize("data", [b"\xff" * 6, b"\x80" * 5 + b"\x01", b"\xff\xff\xff\xff\x1f"])
def test_a_varint_over_32_bits_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        read_uvarint(data, 0)


def test_the_longest_varints_are_read() -> None:
    assert read_uvarint(b"\xff\xff\xff\xff\x0f", 0) == (0xFFFFFFFF, 5)
    assert read_varlong(b"\xff" * 9 + b"\x01", 0) == (-(1 << 63), 10)
    with pytest.raises(MalformedMessage):
        read_varlong(b"\xff" * 10 + b"\x01", 0)
