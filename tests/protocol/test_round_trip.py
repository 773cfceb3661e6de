"""Encoding and decoding returns an equal message, for every message and version."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.protocol.file_region import FileRegion
from moldau.protocol.message import Message
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.reading import COPIED_RECORDS_BYTES
from tests.protocol.random_messages import (
    all_messages,
    every_version,
    message_class,
    random_message,
    versions_of,
)


def joined(parts: list[bytes | memoryview | FileRegion]) -> bytes:
    return b"".join(p.read() if isinstance(p, FileRegion) else bytes(p) for p in parts)


def check_round_trip(message: Message, version: int) -> None:
    encoded = message.encode(version)
    decoded, end = type(message).decode(encoded, 0, version)
    assert decoded == message
    assert end == len(encoded)
    assert decoded.encode(version) == encoded
    assert joined(message.encode_parts(b"header", version)) == b"header" + encoded
    # A message is found wherever it lies, and reads nothing of what follows it.
    shifted, end = type(message).decode(b"abc" + encoded + b"rest", 3, version)
    assert shifted == message
    assert end == 3 + len(encoded)


@pytest.mark.parametrize("name", all_messages())
@settings(max_examples=12, database=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_message_survives_the_round_trip_in_every_version(name: str, seed: int) -> None:
    rng = random.Random(seed)
    for version in versions_of(name):
        check_round_trip(random_message(name, version, rng), version)


@pytest.mark.parametrize("name", all_messages())
def test_a_message_of_defaults_survives_the_round_trip(name: str) -> None:
    for version in versions_of(name):
        check_round_trip(message_class(name)(), version)


def test_there_are_302_api_versions_and_every_record_message() -> None:
    kinds = [all_messages()[name][1].kind for name, _ in every_version()]
    assert kinds.count("request") == kinds.count("response") == 302
    names = [message.kind for _, message in all_messages().values()]
    assert names.count("record") == 30
    assert names.count("key") == names.count("value") == 25


def test_large_records_are_parts_of_their_own_and_small_ones_are_copied() -> None:
    small, large = b"s" * 1024, b"l" * 1025
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic="t", partitions=[PartitionData(records=small), PartitionData(records=large)]
            )
        ]
    )
    parts = response.encode_parts(b"", 12)
    assert len(parts) == 3
    assert parts[1] is large
    assert joined(parts) == response.encode(12)


def test_a_file_region_is_left_in_place_by_parts_and_read_by_encode() -> None:
    class File:
        def fileno(self) -> int:
            return 0

        def pread(self, size: int, position: int, /) -> bytes:
            return bytes(range(position, position + 5)) * (size // 5)

    region = FileRegion(File(), position=7, size=2000)
    response = FetchResponse(
        responses=[FetchableTopicResponse(partitions=[PartitionData(records=region)])]
    )
    assert response.encode_parts(b"", 17)[1] is region
    decoded, _ = FetchResponse.decode(response.encode(17), 0, 17)
    assert decoded.responses[0].partitions[0].records == region.read()


def decoded_records(size_bytes: int, version: int) -> tuple[bytes, object]:
    """A frame with records of that size, and what is decoded from it."""
    data = PartitionData(records=b"x" * size_bytes)
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])
    frame = response.encode(version)
    decoded, _ = FetchResponse.decode(frame, 0, version)
    return frame, decoded.responses[0].partitions[0].records


@pytest.mark.parametrize("version", [11, 17])
def test_decoded_records_are_a_view_of_the_frame(version: int) -> None:
    frame, records = decoded_records(COPIED_RECORDS_BYTES + 1, version)
    assert isinstance(records, memoryview)
    assert records.obj is frame
    assert records == b"x" * (COPIED_RECORDS_BYTES + 1)


@pytest.mark.parametrize("version", [11, 17])
@pytest.mark.parametrize("size_bytes", [0, 1, COPIED_RECORDS_BYTES])
def test_small_records_are_copied_out_of_the_frame(size_bytes: int, version: int) -> None:
    _, records = decoded_records(size_bytes, version)
    assert type(records) is bytes
    assert records == b"x" * size_bytes


def test_every_message_gets_lists_of_its_own() -> None:
    first, second = FetchResponse(), FetchResponse()
    first.responses.append(FetchableTopicResponse())
    assert second.responses == []
