"""How the format of a topic is found out from samples."""

import pytest

from moldau.sql.formats import Encoding, Format, detect, schema_id


def avro(number: int) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + b"\x02a"


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([b'{"a": 1}', b"[1]"], Format(Encoding.JSON, (), 2)),
        ([b'{"a": 1}', b"oops"], Format(Encoding.JSON, (), 2, 1)),
        ([b'{"a": 1}', b"oops", b"ouch"], Format(Encoding.TEXT, (), 3)),
        ([b"1", b"2"], Format(Encoding.TEXT, (), 2)),
        ([b"{broken", b"text"], Format(Encoding.TEXT, (), 2)),
        ([b"\xff\xfe", b"text"], Format(Encoding.BINARY, (), 2)),
        ([avro(3), avro(9), avro(3)], Format(Encoding.AVRO, (9, 3), 3)),
        ([avro(3), b"text"], Format(Encoding.TEXT, (), 2)),
        ([avro(3), b"\xff"], Format(Encoding.BINARY, (), 2)),
        ([None, b'{"a": 1}', None], Format(Encoding.JSON, (), 1)),
        ([None], Format(Encoding.EMPTY)),
        ([], Format(Encoding.EMPTY)),
    ],
)
def test_the_samples_show_the_format(samples: list[bytes | None], expected: Format) -> None:
    assert detect(samples) == expected


def test_a_zero_in_front_alone_is_no_schema_id() -> None:
    assert schema_id(b"\0\0\0\0\x07abc") == 7
    assert schema_id(b"\0\0\0\0\0abc") is None
    assert schema_id(b"\0\xff\xff\xff\xffabc") is None
    assert schema_id(b"\0\0\0") is None
