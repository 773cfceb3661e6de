"""Structs and schemas, and what does not suit them."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.data.errors import DataError, SchemaBuilderError
from moldau.connect.data.logical import (
    DATE,
    TIME,
    TIMESTAMP,
    bytes_to_decimal,
    decimal_schema,
    decimal_to_bytes,
    millis_to_timestamp,
    timestamp_to_millis,
)
from moldau.connect.data.schema import (
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    Type,
    array,
    map_of,
    struct,
)
from moldau.connect.data.struct import Struct, validate_value, with_default
from moldau.connect.data.values import Float32, Int8, Int32, decimal_to_float32, to_float32

PERSON = struct("Person", {"name": STRING, "age": with_default(INT32, 18), "city": OPTIONAL_STRING})


def test_a_missing_value_is_the_default() -> None:
    person = Struct(PERSON, {"name": "Eva"})
    assert (person.get("age"), person["city"], person.get_without_default("age")) == (
        18,
        None,
        None,
    )
    assert person.to_dict() == {"name": "Eva", "age": 18, "city": None}
    person.validate()


def test_structs_are_equal_by_schema_and_values() -> None:
    assert Struct(PERSON, {"name": "Eva"}) == Struct(PERSON, {"name": "Eva"})
    assert Struct(PERSON, {"name": "Eva"}) != Struct(PERSON, {"name": "Jan"})
    assert Struct(PERSON) != Struct(PERSON.replace(doc="other"))


def test_a_required_field_needs_a_value() -> None:
    message = "field name is null, but required, as STRING"
    with pytest.raises(DataError) as error:
        Struct(PERSON).validate()
    assert str(error.value) == message


def test_unknown_fields_and_schemas_of_other_types_are_refused() -> None:
    with pytest.raises(DataError, match="The schema has no field nome"):
        Struct(PERSON, {"nome": "Eva"})
    with pytest.raises(DataError, match=r"of type STRUCT, not Schema\{STRING\}"):
        Struct(STRING)
    with pytest.raises(DataError, match="STRING has no fields"):
        _ = STRING.struct_fields


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INT8, 127),
        (INT8, Int8(1)),
        (INT64, 2**63 - 1),
        (FLOAT32, 1.5),
        (FLOAT32, Float32(1.5)),
        (FLOAT64, 1.5),
        (BYTES, memoryview(b"x")),
        (DATE, datetime.date(2024, 1, 1)),
        (TIME, datetime.time(1)),
        (TIMESTAMP, datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
        (decimal_schema(1), Decimal("1.5")),
        (array(INT16), [1, 2]),
        (map_of(STRING, OPTIONAL_STRING), {"a": None}),
        (OPTIONAL_STRING, None),
    ],
)
def test_values_that_suit_their_schema(schema: Schema, value: Any) -> None:
    validate_value(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT8, 128, "the value must be of INT8, not of INT64"),
        (INT8, Int32(1), "the value must be of INT8, not of INT32"),
        (INT64, 2**63, "of INT64, not of an integer of over 64 bits"),
        (INT32, True, "the value must be of INT32, not of BOOLEAN"),
        (FLOAT64, Float32(1), "the value must be of FLOAT64, not of FLOAT32"),
        (FLOAT64, 1, "the value must be of FLOAT64, not of INT64"),
        (STRING, b"", "the value must be of STRING, not of BYTES"),
        (DATE, datetime.datetime(2024, 1, 1), "data.Date (INT32), not of Timestamp"),
        (PERSON, {"name": "Eva"}, "(STRUCT), not of MAP"),
        (array(INT8), ["x"], "an element of the value must be of INT8, not of STRING"),
        (map_of(STRING, INT8), {"a": None}, "an entry of the value is null, but required, as INT8"),
        (Schema(Type.ARRAY), [1], "an element of the value has no schema"),
        (
            PERSON,
            Struct(struct("Other", {})),
            "another schema: Schema{Other:STRUCT}",
        ),
    ],
)
def test_values_that_do_not_suit_their_schema(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        validate_value(schema, value)
    assert message in str(error.value)


def test_a_default_must_suit_its_schema() -> None:
    with pytest.raises(SchemaBuilderError, match="'x' cannot be the default of"):
        with_default(INT8, "x")


def test_two_fields_cannot_have_one_name() -> None:
    with pytest.raises(SchemaBuilderError, match="Two fields have the name a"):
        struct(None, [("a", INT8), ("a", INT8)])
    with pytest.raises(SchemaBuilderError, match="A field needs a name"):
        struct(None, {"": INT8})


def test_a_pickled_schema_finds_its_equal_in_another_process() -> None:
    code = (
        "import pickle, sys; from moldau.connect.data.schema import *; "
        "s = pickle.loads(sys.stdin.buffer.read()); "
        "print({struct('P', {'a': STRING}): 'found'}[s])"
    )
    schema = struct("P", {"a": STRING})
    hash(schema)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, input=pickle.dumps(schema), capture_output=True, check=True)
    assert done.stdout == b"found\n"


def test_decimals_are_unscaled_bytes() -> None:
    schema = decimal_schema(2)
    for text, data in (("12.50", b"\x04\xe2"), ("-0.01", b"\xff"), ("1.28", b"\x00\x80")):
        assert decimal_to_bytes(schema, Decimal(text)) == data
        assert bytes_to_decimal(schema, data) == Decimal(text)
    long = Decimal("9" * 60 + ".25")
    assert bytes_to_decimal(schema, decimal_to_bytes(schema, long)) == long
    with pytest.raises(DataError, match=r"1\.5 has the scale 1, but its schema has 2"):
        decimal_to_bytes(schema, Decimal("1.5"))
    with pytest.raises(DataError, match="has no NaN"):
        decimal_to_bytes(schema, Decimal("NaN"))


def test_timestamps_are_milliseconds_in_utc() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(1970, 1, 1, 2, 0, 0, 1999, zone)
    assert timestamp_to_millis(moment) == 1
    assert millis_to_timestamp(-1) == datetime.datetime(
        1969, 12, 31, 23, 59, 59, 999000, datetime.UTC
    )
    with pytest.raises(DataError, match="has no time zone"):
        timestamp_to_millis(moment.replace(tzinfo=None))
    with pytest.raises(DataError, match="outside the years 1 to 9999"):
        millis_to_timestamp(10**18)


def test_floats_of_decimals_are_rounded_once() -> None:
    # The nearest double lies just between two floats; the last digit says which one is nearer.
    middle = Decimal(1) + Decimal(2) ** -24
    assert decimal_to_float32(middle + Decimal("1e-27")) == 1 + 2**-23
    assert decimal_to_float32(middle - Decimal("1e-27")) == 1.0
    assert decimal_to_float32(middle) == 1.0
    assert to_float32(1e39) == float("inf")
