"""Headers: the part of a frame that must be understood before the rest can be."""

import random

import pytest

from moldau.protocol.api import APIS
from moldau.protocol.header import (
    RequestHeader,
    decode_request_header,
    decode_response_header,
    encode_request_header,
    response_header,
)
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.reading import MalformedMessage


@pytest.mark.parametrize("client_id", [None, "", "console-consumer", "größe"])
def test_a_request_header_survives_the_round_trip_for_every_api_version(
    client_id: str | None,
) -> None:
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            frame = encode_request_header(api.key, version, -7, client_id) + b"body"
            header, position = decode_request_header(frame)
            assert header == RequestHeader(api.key, version, -7, client_id)
            assert frame[position:] == b"body"


def test_the_client_id_keeps_its_old_length_in_flexible_headers() -> None:
    assert encode_request_header(3, 12, 1, "ab") == bytes.fromhex("0003 000c 00000001 0002 6162 00")
    assert encode_request_header(3, 8, 1, "ab") == bytes.fromhex("0003 0008 00000001 0002 6162")
    assert encode_request_header(3, 8, 1, None) == bytes.fromhex("0003 0008 00000001 ffff")


def test_response_headers_have_tags_where_the_api_is_flexible() -> None:
    assert response_header(5, 3, 8) == bytes.fromhex("00000005")
    assert response_header(5, 3, 9) == bytes.fromhex("0000000500")


def test_the_answer_to_api_versions_always_has_the_oldest_header() -> None:
    for version in range(5):
        assert response_header(5, 18, version) == bytes.fromhex("00000005")
        assert decode_response_header(bytes.fromhex("0000000500"), 18, version) == (5, 4)


def test_a_response_header_survives_the_round_trip_for_every_api_version() -> None:
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            frame = response_header(99, api.key, version)
            assert decode_response_header(frame + b"x", api.key, version) == (99, len(frame))


def test_api_versions_of_an_unknown_version_is_understood_as_far_as_the_client_id() -> None:
    frame = bytes.fromhex("0012 7fff 00000001 0001 61 ffffffffffff")
    header, position = decode_request_header(frame)
    assert header == RequestHeader(18, 0x7FFF, 1, "a")
    assert position == 11


def test_tags_in_a_request_header_are_skipped() -> None:
    frame = bytes.fromhex("0012 0003 00000001 0001 61 01 05 02 aabb") + ApiVersionsRequest().encode(
        3
    )
    header, position = decode_request_header(frame)
    assert header.client_id == "a"
    assert ApiVersionsRequest.decode(frame, position, 3)[1] == len(frame)


@pytest.mark.parametrize("length", range(11))
def test_a_header_cut_short_is_malformed(length: int) -> None:
    frame = encode_request_header(3, 12, 1, "")
    with pytest.raises(MalformedMessage):
        decode_request_header(frame[:length])


@pytest.mark.parametrize("key", [-1, 4, 7, 93, 32767])
def test_the_key_of_no_api_is_malformed(key: int) -> None:
    with pytest.raises(MalformedMessage, match=f"unknown API key {key}"):
        decode_request_header(key.to_bytes(2, "big", signed=True) + bytes(20))


def test_noise_is_a_header_or_malformed() -> None:
    rng = random.Random(1)
    for _ in range(5000):
        noise = bytes((0, rng.randrange(93))) + rng.randbytes(rng.randrange(30))
        try:
            _, position = decode_request_header(noise)
        except MalformedMessage:
            continue
        assert position <= len(noise)
