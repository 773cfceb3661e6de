"""TimestampConverter, and Java's date patterns."""

import datetime
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data import logical, schema
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.schema import struct
from moldau.connect.data.struct import Struct
from moldau.connect.transforms.date_format import DateFormat, DateFormatError
from tests.connect.transforms.making import changed, record, transform

NOW_MS = 1_700_000_000_123
NOW = datetime.datetime(2023, 11, 14, 22, 13, 20, 123_000, datetime.UTC)


def converter(target: str, **options: str) -> Any:
    return transform("TimestampConverter$Value", target_type=target, **options)


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("unix", {}, NOW_MS),
        ("unix", {"unix_precision": "seconds"}, 1_700_000_000),
        ("unix", {"unix_precision": "microseconds"}, NOW_MS * 1000),
        ("unix", {"unix_precision": "nanoseconds"}, NOW_MS * 1_000_000),
        ("Date", {}, datetime.date(2023, 11, 14)),
        ("Time", {}, datetime.time(22, 13, 20, 123_000)),
        ("Timestamp", {}, NOW),
        ("string", {"format": "yyyy-MM-dd'T'HH:mm:ss.SSSX"}, "2023-11-14T22:13:20.123Z"),
    ],
)
def test_a_timestamp_becomes_any_other_form(
    target: str, options: dict[str, str], expected: Any
) -> None:
    made = converter(target, **options)
    assert changed(made, NOW) == expected
    result = made.apply(record(NOW, logical.OPTIONAL_TIMESTAMP))
    schemas = {"unix": schema.INT64, "string": schema.STRING, "Date": logical.DATE}
    schemas |= {"Time": logical.TIME, "Timestamp": logical.TIMESTAMP}
    assert (result.value_schema, result.value) == (schemas[target].optional(), expected)


def test_units_round_towards_zero_before_1970() -> None:
    made = converter("Timestamp", unix_precision="microseconds")
    assert changed(made, -1999) == logical.EPOCH - datetime.timedelta(milliseconds=1)
    before = logical.EPOCH - datetime.timedelta(milliseconds=1999)
    assert changed(converter("unix", unix_precision="seconds"), before) == -1


def test_one_field_of_a_struct_is_converted() -> None:
    old = struct("V", {"a": schema.INT32, "when": schema.OPTIONAL_STRING})
    made = converter("Timestamp", field="when", format="yyyyMMdd")
    result = made.apply(record(Struct(old, {"a": 1, "when": "20240229"})))
    assert result.value_schema == struct(
        "V", {"a": schema.INT32, "when": logical.OPTIONAL_TIMESTAMP}
    )
    assert result.value.values == [1, datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)]
    assert changed(made, Struct(old, {"a": 1})) == {"a": 1, "when": None}
    assert changed(made, {"b": 1}) == {"b": 1, "when": None}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2024", "timestamp 2024 does not match format=yyyyMMdd"),
        (1.5, "value of FLOAT64 is not a timestamp"),
    ],
)
def test_what_is_no_timestamp_is_an_error(value: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        converter("unix", format="yyyyMMdd").apply(record(value))


def test_a_schema_that_is_no_timestamp_is_an_error() -> None:
    with pytest.raises(ConnectError, match=r"Schema\{INT32\} is not the schema of a timestamp"):
        converter("unix").apply(record(5, schema.INT32))


def test_a_string_needs_a_format() -> None:
    with pytest.raises(ConfigError, match=r"format is required with target\.type=string"):
        converter("string")
    with pytest.raises(ConnectError, match="set format to its pattern") as caught:
        converter("unix").apply(record("2024-01-01"))
    assert caught.value.java_class == "java.lang.NullPointerException"
    with pytest.raises(ConfigError, match="format cannot be yyyy-bb: the letter b means nothing"):
        converter("unix", format="yyyy-bb")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("G yyyy yy y MMMM MMM MM M", "AD 2023 23 2023 November Nov 11 11"),
        ("EEEE EEE u D d F W w YYYY", "Tuesday Tue 2 318 14 2 3 46 2023"),
        ("HH kk KK hh a m s S SSSSS", "22 22 10 10 PM 13 20 123 00123"),
        ("z zzzz Z X XXX", "UTC Coordinated Universal Time +0000 Z Z"),
        ("'o''clock' ''", "o'clock '"),
    ],
)
def test_every_letter_formats(pattern: str, text: str) -> None:
    assert DateFormat(pattern, NOW_MS).format(NOW_MS) == text


@pytest.mark.parametrize(
    ("pattern", "text", "iso"),
    [
        ("yyyy-MM-dd", "2024-02-30", "2024-03-01T00:00:00"),
        ("yyyy-MM-dd", "2024-13-01 and more", "2025-01-01T00:00:00"),
        ("yyyyMMddHHmm", "202402291530", "2024-02-29T15:30:00"),
        ("dd MMM yyyy hh:mm a", " 1 JANUARY 2024 12:05 am", "2024-01-01T00:05:00"),
        ("yy-MM-dd", "43-01-01", "2043-01-01T00:00:00"),
        ("yy-MM-dd", "44-01-01", "1944-01-01T00:00:00"),
        ("yyyy-MM-dd HH:mm Z", "2024-01-01 00:00 +0130", "2023-12-31T22:30:00"),
        ("yyyy-MM-dd HH:mm z", "2024-01-01 00:00 GMT-1:00", "2024-01-01T01:00:00"),
        ("yyyy-MM-dd HH:mmXXX", "2024-01-01 00:00-02:00", "2024-01-01T02:00:00"),
        ("yyyy-DDD", "2024-060", "2024-02-29T00:00:00"),
        ("yyyy-MM-dd", "1582-10-04", "1582-10-14T00:00:00"),
    ],
)
def test_text_is_read_as_leniently_as_by_java(pattern: str, text: str, iso: str) -> None:
    parsed = DateFormat(pattern, NOW_MS).parse(text)
    expected = datetime.datetime.fromisoformat(iso).replace(tzinfo=datetime.UTC)
    assert logical.millis_to_timestamp(parsed) == expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2024-01"),
        ("MMM", "Foo"),
        ("Z", "1"),
        ("yyyyMMdd", "2024"),
        ("'x'", "y"),
        ("", ""),
    ],
)
def test_text_that_does_not_match_is_refused(pattern: str, text: str) -> None:
    with pytest.raises(DateFormatError):
        DateFormat(pattern, NOW_MS).parse(text)


@pytest.mark.parametrize("pattern", ["YYYY", "ww", "W", "F"])
def test_weeks_format_but_do_not_parse(pattern: str) -> None:
    made = DateFormat(pattern, NOW_MS)
    with pytest.raises(DateFormatError, match="counts weeks"):
        made.parse(made.format(NOW_MS))


@pytest.mark.parametrize("pattern", ["b", "yyyy-MM-ddTHH:mm", "'open", "XXXX"])
def test_a_pattern_that_is_not_javas_is_refused(pattern: str) -> None:
    with pytest.raises(DateFormatError):
        DateFormat(pattern, NOW_MS)


def test_dates_of_all_centuries_are_written_and_read_back() -> None:
    made = DateFormat("G yyyy-MM-dd HH:mm:ss.SSS", NOW_MS)
    for days in range(-1_500_000, 4_000_000, 9_973):
        timestamp_ms = days * 86_400_000 + days % 86_400_000
        assert made.parse(made.format(timestamp_ms)) == timestamp_ms
