"""Source offsets as records."""

import pytest

from moldau.connect.stores.offset_records import OffsetRecord, decode, encode, identity


def test_an_offset_is_stored_under_the_connector_and_the_partition() -> None:
    assert encode("local", {"filename": "/tmp/in"}, {"position": 42}) == (
        b'["local",{"filename":"/tmp/in"}]',
        b'{"position":42}',
    )


def test_no_offset_is_a_tombstone() -> None:
    assert encode("local", {"filename": "in"}, None)[1] is None


def test_what_was_encoded_is_decoded() -> None:
    key, value = encode("x", {"server": "db", "n": 2}, {"lsn": 7, "last": False, "ts": 1.5})
    assert decode(key, value) == OffsetRecord(
        "x", {"server": "db", "n": 2}, {"lsn": 7, "last": False, "ts": 1.5}
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"\xff", b"{}"),
        (b'"x"', b"{}"),
        (b'["x"]', b"{}"),
        (b'[1,{"a":1}]', b"{}"),
        (b'["x",[1]]', b"{}"),
        (b'["x",{"a":1}]', b"[]"),
        (b'["x",{"a":1}]', b"not json"),
    ],
)
def test_other_records_are_ignored(key: bytes | None, value: bytes) -> None:
    assert decode(key, value) is None


def test_the_order_of_fields_is_no_part_of_a_partitions_identity() -> None:
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})


def test_a_value_that_is_not_primitive_is_named() -> None:
    with pytest.raises(ValueError, match="connector x: field at of its source offset is a list"):
        encode("x", {"a": 1}, {"at": [1]})
