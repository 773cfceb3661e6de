"""Rows of PostgreSQL's log become the JSON that the functions of their columns would write."""

import json
import struct
from base64 import b64encode
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.connect.connectors.postgres.values import zoned_timestamp
from moldau.connect.converters.json_writing import string_text
from moldau.connect.data.logical import int_to_bytes
from moldau.record.row_json import BOOLEAN, DECIMAL, MOMENT, OTHER, STRING, UNCHANGED
from tests.record.kernels import INSTALLED, PLAIN, Kernel, both_kernels

Texts = Sequence[str | bytes | None]


def row(texts: Texts) -> bytes:
    """As pgoutput has it; bytes are written as they are."""
    made = struct.pack(">H", len(texts))
    for text in texts:
        if isinstance(text, bytes):
            made += text
        elif text is None:
            made += b"n"
        else:
            data = text.encode()
            made += b"t" + struct.pack(">I", len(data)) + data
    return made


def decimal(text: str, digits: int) -> str:
    number = int(Decimal(text).scaleb(digits))
    return f'"{b64encode(int_to_bytes(number)).decode()}"'


def written(
    kernel: Kernel, fields: Sequence[tuple[int, int, int]], texts: Texts, tail: bytes = b""
) -> bytes | None:
    """The object of fields (place, type, digits), whose functions are named by their place."""
    planned = []
    for at, (place, kind, digits) in enumerate(fields):
        before = b"%b%d:" % (b"," if at else b"", place)
        planned.append((place, kind, digits, before, b"null"))
    writers = [
        lambda text, place=place: f"<{place}:{text}>"  # type: ignore[misc]
        for place, _, _ in fields
    ]
    made = kernel.write_row(b"head" + row(texts), 4, kernel.RowPlan(b"{", planned, writers), tail)
    assert made is None or isinstance(made, bytes)
    return made


def value(kernel: Kernel, kind: int, text: str, digits: int = 0) -> str | None:
    """What a value becomes; None if it is left to its function."""
    made = written(kernel, [(0, kind, digits)], [text])
    assert made is not None
    inner = made.decode().removeprefix("{0:").removesuffix("}")
    return None if inner == f"<0:{text}>" else inner


@both_kernels
def test_fields_come_in_the_order_of_the_plan_and_the_tail_after_them(kernel: Kernel) -> None:
    fields = [(2, UNCHANGED, 0), (0, STRING, 0), (3, OTHER, 0), (1, BOOLEAN, 0)]
    texts = ["a", None, "12", "x" * 3, "unused"]
    assert written(kernel, fields, texts, b"!") == b'{2:12,0:"a",3:<3:xxx>,1:null}!'
    assert written(kernel, [], texts, b"!") == b"{}!"


@both_kernels
@given(st.text())
def test_strings(kernel: Kernel, text: str) -> None:
    made = value(kernel, STRING, text)
    if made is None:
        assert any(ord(each) < 0x20 or ord(each) > 0xFFFF for each in text)
    else:
        assert made == string_text(text)
        assert json.loads(made) == text


@both_kernels
@given(st.integers(-(10**18) + 1, 10**18 - 1), st.integers(1, 17))
def test_decimals(kernel: Kernel, unscaled: int, digits: int) -> None:
    text = f"{Decimal(unscaled).scaleb(-digits):f}"
    if unscaled == 0:
        text = f"0.{'0' * digits}"
    made = value(kernel, DECIMAL, text, digits)
    # A number that is shorter than its digits has a zero before the point, which counts.
    if made is None:
        assert len(text.lstrip("-")) > 19
    else:
        assert made == decimal(text, digits)


@both_kernels
@pytest.mark.parametrize(
    "text", ["NaN", "1", "1.5", ".50", "-.50", "", "-", "1.5x", "1x.50", "--1.50"]
)
def test_other_decimals_are_left_to_the_function(kernel: Kernel, text: str) -> None:
    assert value(kernel, DECIMAL, text, 2) is None


@both_kernels
@pytest.mark.parametrize(
    "text", ["0.00", "-0.00", "-0.01", "-1.28", "-1.29", "1.27", "1.28", "327.68"]
)
def test_decimals_at_the_limits_of_a_byte(kernel: Kernel, text: str) -> None:
    assert value(kernel, DECIMAL, text, 2) == decimal(text, 2)


@both_kernels
@given(st.datetimes(), st.integers(0, 6), st.integers(0, 6))
def test_moments(kernel: Kernel, moment: object, has: int, digits: int) -> None:
    text = str(moment).partition(".")[0]
    if has:
        text += "." + "123456"[:has]
    text += "+00"
    assert value(kernel, MOMENT, text, digits) == f'"{zoned_timestamp(text, digits)}"'


@both_kernels
@pytest.mark.parametrize(
    "text",
    ["infinity", "", "2024-02-29 12:34:56+01", "2024-02-29 12:34:56", "44-03-15 00:00:00+00 BC"],
)
def test_other_moments_are_left_to_the_function(kernel: Kernel, text: str) -> None:
    assert value(kernel, MOMENT, text, 6) is None
    assert value(kernel, BOOLEAN, text) is None


@both_kernels
def test_truth(kernel: Kernel) -> None:
    assert [value(kernel, BOOLEAN, text) for text in "tfx"] == ["true", "false", None]


@both_kernels
def test_values_that_outgrow_the_room(kernel: Kernel) -> None:
    long = "\n" + 'ü"' * 50_000
    made = written(kernel, [(0, STRING, 0), (1, OTHER, 0), (2, STRING, 0)], [long, long, "z"])
    assert made is not None
    assert made.decode() == f'{{0:<0:{long}>,1:<1:{long}>,2:"z"}}'


@both_kernels
def test_what_cannot_be_written_gives_none(kernel: Kernel) -> None:
    fields = [(0, STRING, 0), (1, STRING, 0)]
    assert written(kernel, fields, ["a"]) is None
    assert written(kernel, fields, ["a", b"u"]) is None
    assert written(kernel, fields, ["a", b"b"]) is None
    for cut in (b"t", b"t\0\0\0", b"t\0\0\0\2x", b"t\xff\xff\xff\xffx", b""):
        assert written(kernel, fields, ["a", cut]) is None
    plan = kernel.RowPlan(b"{", [(0, STRING, 0, b"", b"null")], [str])
    for start in (-1, 0, 1, 2, 100):
        assert kernel.write_row(b"\0", start, plan, b"") is None


@both_kernels
def test_what_a_function_raises_is_raised(kernel: Kernel) -> None:
    plan = kernel.RowPlan(b"{", [(0, OTHER, 0, b"", b"null")], [int])
    with pytest.raises(ValueError, match="invalid literal"):
        kernel.write_row(row(["x"]), 0, plan, b"")


@both_kernels
@given(st.binary(max_size=60), st.integers(0, 5))
def test_anything_is_written_or_refused(kernel: Kernel, data: bytes, start: int) -> None:
    kinds = (STRING, DECIMAL, MOMENT, BOOLEAN, UNCHANGED)
    fields = [(place, kind, 2, b",", b"null") for place, kind in enumerate(kinds)]
    plan = kernel.RowPlan(b"{", fields, [ascii] * len(kinds))
    for head in (b"", struct.pack(">H", 5), row(["a", "1.50"])[:-1]):
        try:
            made = kernel.write_row(head + data, start, plan, b"")
        except UnicodeDecodeError:
            continue
        assert made is None or made.endswith(b"}")


@both_kernels
@pytest.mark.parametrize(
    ("fields", "writers"),
    [
        ([(0, STRING, 0), (1, STRING, 0), (0, STRING, 0)], 3),
        ([(0, MOMENT, 19)], 1),
        ([(0, OTHER, 0), (1, OTHER, 0)], 1),
    ],
    ids=["a column twice", "too many digits", "no function"],
)
def test_plans_whose_rows_could_leave_their_room_are_refused(
    kernel: Kernel, fields: list[tuple[int, int, int]], writers: int
) -> None:
    planned = [(*field, b",", b"null") for field in fields]
    with pytest.raises(ValueError, match="a plan needs"):
        kernel.RowPlan(b"{", planned, [str] * writers)


TEXTS = [
    "t",
    "12",
    "1.50",
    "-" + "9" * 16 + ".99",
    "2024-02-29 12:34:56.789+00",
    '"' * 80,
    "\n",
    "",
]
VALUES = st.none() | st.sampled_from(TEXTS) | st.binary(max_size=8)


@given(st.lists(VALUES, max_size=6), st.data())
def test_compiled_or_plain_any_row_becomes_the_same(texts: Texts, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, max(len(texts), 1)), max_size=6, unique=True))
    kinds = st.sampled_from([OTHER, UNCHANGED, STRING, BOOLEAN, DECIMAL, MOMENT])
    fields = [(place, data.draw(kinds), data.draw(st.integers(0, 6))) for place in places]

    def outcome(kernel: Kernel) -> bytes | str | None:
        try:
            return written(kernel, fields, texts, b"tail")
        except UnicodeDecodeError as error:
            return str(error)

    assert outcome(INSTALLED) == outcome(PLAIN)
