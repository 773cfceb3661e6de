"""JSON; tests/compat compares thousands of random values with Kafka's own converter."""

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.data.errors import DataError
from moldau.connect.data.logical import DATE, TIMESTAMP, decimal_schema
from moldau.connect.data.schema import (
    BYTES,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    Schema,
    array,
    map_of,
    struct,
)
from moldau.connect.data.struct import Struct, with_default
from moldau.connect.data.values import Float32, Int32, to_float32

ORDER = struct("Order", {"id": INT64, "name": OPTIONAL_STRING, "n": with_default(INT32, 7)})
ORDER_JSON = (
    b'{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"},'
    b'{"type":"string","optional":true,"field":"name"},'
    b'{"type":"int32","optional":false,"default":7,"field":"n"}],"optional":false,"name":"Order"},'
    b'"payload":{"id":1,"name":null,"n":7}}'
)


def converter(**config: str) -> JsonConverter:
    made = JsonConverter()
    made.configure({name.replace("_", "."): value for name, value in config.items()})
    return made


def written(made: JsonConverter, schema: Schema | None, value: Any) -> bytes | None:
    return made.from_connect("topic", (), schema, value)


def read(made: JsonConverter, data: bytes | None) -> tuple[Schema | None, Any]:
    return made.to_connect("topic", (), data)


def test_an_envelope_has_the_schema_and_the_payload() -> None:
    assert written(converter(), ORDER, Struct(ORDER, {"id": 1})) == ORDER_JSON


def test_an_envelope_is_read_with_its_schema() -> None:
    made = converter()
    for _ in range(3):
        assert read(made, ORDER_JSON) == (ORDER, Struct(ORDER, {"id": 1, "n": 7}))


def test_records_of_several_schemas_and_forms_are_read_in_turn() -> None:
    """The beginning of a record is remembered: that must never be taken for another one's."""
    made = converter()
    envelopes: list[tuple[bytes, Any]] = [
        (b'{"schema":{"type":"int32"},"payload":1}', 1),
        (b'{"schema": {"type": "int32"}, "payload": 2 }', 2),
        (b'{"payload":3,"schema":{"type":"int32"}}', 3),
        (b'{"schema":{"type":"string"},"payload":"4"}', "4"),
        (b'{"schema":{"type":"int32"},"payload":5,"schema":{"type":"string"}}', None),
        (b'{"schema":{"type":"int32"},"payload":006}', 6),
        (b'{"schema":null,"payload":{"schema":7}}', {"schema": 7}),
        (b'\xef\xbb\xbf{"schema":{"type":"int32"},"payload":8}', 8),
    ]
    envelopes += [
        (b'{"schema":{"type":"int32","version":%d},"payload":%d}' % (n, n), n) for n in range(20)
    ]
    for data, value in envelopes * 2:
        assert read(made, data)[1] == value, data


def test_numbers_are_written_as_java_writes_them() -> None:
    made = converter(schemas_enable="false")
    value = [1e7, 0.1, Float32(to_float32(0.1)), float("nan"), 2**40, Int32(1), -0.0]
    assert written(made, None, value) == b'[1.0E7,0.1,0.1,"NaN",1099511627776,1,-0.0]'


def test_strings_are_escaped_as_jackson_escapes_them() -> None:
    made = converter(schemas_enable="false")
    text = 'ü"\\\b\n\x1b\x7f\u2028😀\ud800'
    expected = '"ü\\"\\\\\\b\\n\\u001B\x7f\u2028\\uD83D\\uDE00\\uD800"'
    assert written(made, STRING, text) == expected.encode()
    assert read(made, expected.encode()) == (None, text)


def test_decimals_are_base64_or_numbers() -> None:
    schema = decimal_schema(3)
    value = Decimal("1.250")
    as_bytes, as_number = converter(), converter(decimal_format="NUMERIC")
    base64_json, number_json = written(as_bytes, schema, value), written(as_number, schema, value)
    assert json.loads(base64_json or b"")["payload"] == "BOI="
    assert number_json is not None
    assert number_json.endswith(b'"payload":1.250}')
    for data in (base64_json, number_json):
        for made in (as_bytes, as_number):
            _, again = read(made, data)
            assert str(again) == "1.250"


def test_digits_of_numbers_that_no_float_can_hold_are_kept() -> None:
    envelope = b'{"schema":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal",'
    envelope += b'"parameters":{"scale":"20"}},"payload":0.12345678901234567890}'
    assert read(converter(), envelope)[1] == Decimal("0.12345678901234567890")
    assert read(converter(), b'{"schema":{"type":"int64"},"payload":1e18}')[1] == 10**18


def test_maps_with_other_keys_than_strings_are_pairs() -> None:
    schema = map_of(INT8, DATE)
    value = {1: datetime.date(1970, 1, 3)}
    data = written(converter(), schema, value)
    assert json.loads(data or b"")["payload"] == [[1, 2]]
    assert read(converter(), data) == (schema, value)


def test_nulls_are_replaced_by_defaults_unless_told_otherwise() -> None:
    keeps = converter(replace_null_with_default="false")
    data = ORDER_JSON.replace(b'"n":7', b'"n":null')
    assert read(converter(), data)[1].get_without_default("n") == 7
    with pytest.raises(DataError, match="null is not a value of INT32"):
        read(keeps, data)


def test_the_schema_of_the_config_counts_for_all_records() -> None:
    made = converter(schema_content='{"type":"struct","fields":[{"field":"a","type":"int8"}]}')
    schema, value = read(made, b'{"a":300}')
    assert schema is not None
    assert value.to_dict() == {"a": 44}


def test_tombstones_and_nulls() -> None:
    made = converter()
    assert written(made, None, None) is None
    assert read(made, None) == (None, None)
    assert (
        written(made, OPTIONAL_STRING, None)
        == b'{"schema":{"type":"string","optional":true},"payload":null}'
    )
    assert written(converter(schemas_enable="false"), OPTIONAL_STRING, None) == b"null"
    assert read(converter(schemas_enable="false"), b"") == (None, None)


def test_integers_beyond_64_bits_are_cut() -> None:
    made = converter(schemas_enable="false")
    assert read(made, b"[18446744073709551617]") == (None, [1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "is not JSON: "),
        (b"\xff\xfe\xff", "is not JSON: "),
        (b"[" * 100_000, "is not JSON: "),
        (b'{"schema":{"type":"int8"},"payload":NaN}', "is not JSON: "),
        (b'{"a":1}', 'an object of "schema" and "payload"'),
        (b"5", "set schemas.enable=false"),
        (b'{"schema":{},"payload":1}', 'A schema needs a "type"'),
        (b'{"schema":{"type":"int"},"payload":1}', "There is no type int: choose from int8"),
        (b'{"schema":{"type":"array"},"payload":1}', 'array needs "items"'),
        (b'{"schema":{"type":"map","keys":{"type":"string"}},"payload":1}', 'map needs "values"'),
        (b'{"schema":{"type":"struct"},"payload":1}', 'struct needs "fields"'),
        (b'{"schema":{"type":"string"},"payload":null}', "null is not a value of STRING"),
        (b'{"schema":{"type":"bytes"},"payload":"\xc3\xbc"}', "BYTES are base64"),
        (b'{"schema":{"type":"int32","default":null},"payload":1}', "null is not a value of INT32"),
    ],
)
def test_data_that_cannot_be_read_says_why(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        read(converter(), data)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT32, "x", "INT32 cannot be written from a value of STRING"),
        (INT8, 200, "INT8 cannot be written from a value of INT64"),
        (STRING, None, "null cannot be written: its schema is required"),
        (BYTES, "x", "BYTES cannot be written from a value of STRING"),
        (array(FLOAT64), {}, "ARRAY cannot be written from a value of MAP"),
        (ORDER, Struct(struct(None, {})), "another schema than the one it is written with"),
        (TIMESTAMP, 5, "Timestamp cannot be written from a value of INT64"),
        (decimal_schema(1), 5, "Decimal cannot be written from a value of INT64"),
        (None, Decimal(1), "value of Decimal cannot be written without a schema"),
        (None, Struct(ORDER), "another schema than the one it is written with"),
    ],
)
def test_values_that_cannot_be_written_say_why(
    schema: Schema | None, value: Any, message: str
) -> None:
    with pytest.raises(DataError) as error:
        written(converter(), schema, value)
    assert message in str(error.value)


def test_wrong_options_are_named() -> None:
    with pytest.raises(ConfigError, match=r"decimal\.format"):
        converter(decimal_format="HEX")
    with pytest.raises(ConfigError, match=r"schemas\.enable"):
        converter(schemas_enable="perhaps")
    with pytest.raises(DataError, match=r"schema\.content is not JSON"):
        converter(schema_content="{")
