"""Our converters and Apache Kafka's give the same bytes for the same values, and the reverse.

Random values, right and wrong, pass the converters of Apache Kafka's jars and ours: the results
must be equal, or both an error of the same class, in our words. Known differences, each of them
ours by intent:

* JDKs before 19 print some floats with more digits than they need (JDK-4511638). Ours are printed
  with the fewest, as newer ones do; both must mean the same number.
* Bytes within a value are printed by StringConverter as an address in Java: left out here.
* A default value that is a struct cannot be read from JSON by Kafka: not drawn here.
* Python's dates end with the years 1 and 9999: beyond them a record is an error, and the text of a
  header a string.
* A date, a time and a timestamp are one class in Java and three in Python: one in the place of
  another is an error here at once, and there only when it is converted.
* UTF-16 with half a surrogate pair is replaced by one or by two question marks.
"""

import base64
import datetime
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.converters.base import Converter, HeaderConverter
from moldau.connect.converters.byte_array import ByteArrayConverter
from moldau.connect.converters.json_converter import JsonConverter
from moldau.connect.converters.primitives import (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from moldau.connect.converters.simple_header import SimpleHeaderConverter
from moldau.connect.converters.string import StringConverter
from moldau.connect.data.errors import ConnectError
from moldau.connect.data.inference import infer_schema
from moldau.connect.data.logical import timestamp_to_millis
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import validate_value
from moldau.connect.data.values import to_float32
from tests.compat.clients.programs import UnavailableError
from tests.compat.connect_java import asked_value, calls, plain_schema, plain_value
from tests.compat.connect_random import PRIMITIVES, Random

RECORDS = 2000
FIRST_MILLIS = timestamp_to_millis(datetime.datetime.min.replace(tzinfo=datetime.UTC))
LAST_MILLIS = timestamp_to_millis(datetime.datetime.max.replace(tzinfo=datetime.UTC))
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SIMPLE_HEADER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
RUNTIME = "org.apache.kafka.connect.converters."
SMALL: dict[str, type[Converter]] = {
    RUNTIME + "ByteArrayConverter": ByteArrayConverter,
    RUNTIME + "BooleanConverter": BooleanConverter,
    RUNTIME + "ShortConverter": ShortConverter,
    RUNTIME + "IntegerConverter": IntegerConverter,
    RUNTIME + "LongConverter": LongConverter,
    RUNTIME + "FloatConverter": FloatConverter,
    RUNTIME + "DoubleConverter": DoubleConverter,
}
CONVERTERS: dict[str, type[Converter]] = {JSON: JsonConverter, STRING: StringConverter} | SMALL
JSON_CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"decimal.format": "numeric"},
    {"replace.null.with.default": "false"},
    {"schemas.enable": "false"},
)
_NUMBER = re.compile(rb"-?\d+\.\d+(?:E-?\d+)?")

Call = dict[str, Any]
Java = Callable[[list[Call]], list[Call]]


@pytest.fixture(scope="module")
def java(program_dir: Path) -> Java:
    try:
        calls(program_dir, [{"op": "java"}])
    except UnavailableError as error:
        pytest.skip(str(error))
    return lambda asked: calls(program_dir, asked)


def encoded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def written(from_connect: Callable[..., bytes | None], *arguments: Any) -> Call:
    """What a converter of ours gives, in the form of the Java program's answers."""
    try:
        return {"data": encoded(from_connect(*arguments))}
    except ConnectError as error:
        return {"error": error.java_class, "message": str(error)}


def read(to_connect: Callable[..., tuple[Schema | None, Any]], *arguments: Any) -> Call:
    try:
        schema, value = to_connect(*arguments)
    except ConnectError as error:
        return {"error": error.java_class, "message": str(error)}
    return {"schema": plain_schema(schema), "value": plain_value(schema, value)}


def is_same_number(ours: bytes, kafkas: bytes) -> bool:
    """Whether two texts are one float or double, and ours the shorter one."""
    if len(ours) > len(kafkas):
        return False
    first, second = float(ours), float(kafkas)
    return first == second or (len(kafkas) < 16 and to_float32(first) == to_float32(second))


def is_same_text(ours: bytes, kafkas: bytes) -> bool:
    ours, kafkas = (text.replace(b"\0", b"") for text in (ours, kafkas))  # of UTF-16
    if _NUMBER.sub(b"#", ours) != _NUMBER.sub(b"#", kafkas):
        return False
    pairs = zip(_NUMBER.findall(ours), _NUMBER.findall(kafkas), strict=True)
    return all(first == second or is_same_number(first, second) for first, second in pairs)


def is_beyond_our_years(kafkas: Call) -> bool:
    dates = re.findall(r'"date", "(-?\d+)"', json.dumps(kafkas))
    return any(not FIRST_MILLIS <= int(millis) <= LAST_MILLIS for millis in dates)


def is_same_error(ours: Call, kafkas: Call) -> bool:
    """The same class, and a message."""
    if "outside the years" in ours["message"]:
        return True
    return bool(ours["error"] == kafkas["error"] and ours["message"])


def is_same(ours: Call, kafkas: Call) -> bool:
    if is_beyond_our_years(kafkas):
        return "error" in ours or ours["value"][0] == "string"
    if "error" in ours or "error" in kafkas:
        return "error" in ours and "error" in kafkas and is_same_error(ours, kafkas)
    if ours == kafkas:
        return True
    first, second = ours.get("data"), kafkas.get("data")
    if first is None or second is None:
        return False
    return is_same_text(base64.b64decode(first), base64.b64decode(second))


def assert_same(asked: list[Call], ours: list[Call], kafkas: list[Call], errors: int) -> None:
    """Equal results or the same error; at most ``errors`` percent, lest nothing be compared."""
    triples = list(zip(asked, ours, kafkas, strict=True))
    different = [triple for triple in triples if not is_same(*triple[1:])]
    shown = "\n".join("\n  ".join(map(readable, triple)) for triple in different[:5])
    assert not different, f"{len(different)} of {len(asked)} differ:\n{shown}"
    failed = sum("error" in kafka for kafka in kafkas)
    assert failed * 100 <= len(asked) * errors, f"{failed} errors in {len(asked)} calls"


def readable(call: Call) -> str:
    data = call.get("data")
    return str(call if data is None else call | {"data": base64.b64decode(data)})


def json_converter(config: dict[str, str]) -> JsonConverter:
    converter = JsonConverter()
    converter.configure(config)
    return converter


@pytest.mark.parametrize("config", JSON_CONFIGS, ids=str)
def test_json_of_values_with_schemas_is_kafkas_and_is_read_as_by_kafka(
    config: dict[str, str], java: Java
) -> None:
    draw = Random(41)
    converter = json_converter(config)
    asked, ours = [], []
    for _ in range(RECORDS):
        schema = draw.schema()
        value = draw.value(schema)
        if schema.type is not Type.STRUCT and draw.chance(0.05):
            value = draw.wrong(value)
        call = {"op": "from", "class": JSON, "config": config}
        asked.append(call | {"schema": plain_schema(schema), "value": asked_value(schema, value)})
        ours.append(written(converter.from_connect, "topic", (), schema, value))
    kafkas = java(asked)
    assert_same(asked, ours, kafkas, errors=10)

    made = [base64.b64decode(each["data"]) for each in kafkas if each.get("data") is not None]
    asked = [{"op": "to", "class": JSON, "config": config, "data": encoded(data)} for data in made]
    ours = [read(converter.to_connect, "topic", (), data) for data in made]
    assert_same(asked, ours, java(asked), errors=1)


def test_json_of_values_without_schemas_is_kafkas(java: Java) -> None:
    draw = Random(42)
    asked, ours = [], []
    for _ in range(RECORDS):
        config = draw.rng.choice(({}, {"schemas.enable": "false"}))
        value = draw.schemaless(3, has_odd_keys=True)
        converter = json_converter(config)
        plain = asked_value(None, value)
        asked.append({"op": "from", "class": JSON, "config": config, "value": plain})
        ours.append(written(converter.from_connect, "topic", (), None, value))
    assert_same(asked, ours, java(asked), errors=1)


def random_json(draw: Random, depth: int = 3) -> str:
    """JSON text, now and then with what only one of two parsers might take."""
    rng = draw.rng
    roll = rng.random()
    if depth > 0 and roll < 0.2:
        inner = [random_json(draw, depth - 1) for _ in range(rng.randint(0, 3))]
        return "[" + rng.choice((",", " , ")).join(inner) + "]"
    if depth > 0 and roll < 0.45:
        names = [json.dumps(draw.text(), ensure_ascii=False) for _ in range(rng.randint(0, 3))]
        pairs = (f"{name}:{random_json(draw, depth - 1)}" for name in names)
        return "{" + ",".join(pairs) + "}"
    return rng.choice(
        (
            lambda: json.dumps(draw.text(), ensure_ascii=draw.chance(0.5)),
            lambda: str(draw.integer(rng.choice((8, 64, 70)))),
            lambda: repr(draw.double()).replace("inf", "1e999").replace("nan", "0.00"),
            lambda: f"{draw.integer(32)}.{rng.getrandbits(40)}e{rng.randint(-30, 30)}",
            lambda: rng.choice(
                ("true", "false", "null", "007", "-00.5", "1E5", "[[]]", "{}", '""')
            ),
        )
    )()


ODD_JSON = (
    *("", " ", "1 2", "1,2", "{}x", "true1", "truex", "true,", "nul", "NaN", "[NaN]", "Infinity"),
    *("+1", ".5", "1.", "1.e5", "-", "0x1", "'a'", '"a', '"\\x"', '"\\ud800"', "[1,]", "{,}"),
    *('{"a":1,"a":2}', '{"a":1,}', "{a:1}", "[1 2]", "// c\n1", '"a\tb"', "[1", "[01]", "-01"),
    *('{"b":00.5}', '"00"', "1e5", "12345678901234567890", "[123456789012345678901234]", "\ufeff1"),
)


@pytest.mark.parametrize("has_schemas", [False, True])
def test_any_json_is_read_as_by_kafka(has_schemas: bool, java: Java) -> None:
    draw = Random(43)
    texts = [*ODD_JSON, *(random_json(draw) for _ in range(RECORDS))]
    config = {} if has_schemas else {"schemas.enable": "false"}
    if has_schemas:
        texts = [f'{{"schema":null,"payload":{text}}}' for text in texts] + texts[: len(ODD_JSON)]
    converter = json_converter(config)
    made = [text.encode() for text in texts]
    asked = [{"op": "to", "class": JSON, "config": config, "data": encoded(data)} for data in made]
    ours = [read(converter.to_connect, "topic", (), data) for data in made]
    assert_same(asked, ours, java(asked), errors=10)


def test_payloads_that_do_not_suit_their_schema_are_read_as_by_kafka(java: Java) -> None:
    draw = Random(44)
    converter = json_converter({})
    made = []
    for _ in range(RECORDS):
        schema = draw.schema()
        start = converter.from_connect("topic", (), schema.optional(), None)
        assert start is not None
        payload = random_json(draw)
        if schema.fields and draw.chance(0.7):
            pairs = (f"{json.dumps(f.name)}:{random_json(draw, 1)}" for f in schema.fields)
            payload = "{" + ",".join(pairs) + "}"
        envelope = json.loads(start)["schema"]
        made.append(f'{{"schema":{json.dumps(envelope)},"payload":{payload}}}'.encode())
    asked = [{"op": "to", "class": JSON, "config": {}, "data": encoded(data)} for data in made]
    ours = [read(converter.to_connect, "topic", (), data) for data in made]
    assert_same(asked, ours, java(asked), errors=70)


def random_pair(draw: Random) -> tuple[Schema | None, Any]:
    """A schema and a value, or a value alone."""
    if draw.chance(0.5):
        return None, draw.schemaless()
    schema = draw.schema()
    return schema, draw.value(schema)


def has_bytes(value: Any) -> bool:
    return "bytes" in json.dumps(plain_value(infer_schema(value), value))


def test_strings_are_kafkas(java: Java) -> None:
    draw = Random(45)
    asked, ours = [], []
    while len(asked) < RECORDS:
        encoding = draw.rng.choice(("UTF-8", "UTF-8", "ISO-8859-1", "US-ASCII", "UTF-16"))
        config = {"converter.encoding": encoding}
        converter = StringConverter()
        converter.configure(config)
        call: Call = {"class": STRING, "config": config}
        if draw.chance(0.5):
            data = draw.rng.randbytes(draw.rng.randint(0, 8))
            if draw.chance(0.5) or encoding == "UTF-16":
                data = draw.text().encode(draw.rng.choice((encoding, "UTF-8")), "replace")[:24]
                data = data[: len(data) // 2 * 2] if encoding == "UTF-16" else data
            asked.append(call | {"op": "to", "data": encoded(data)})
            ours.append(read(converter.to_connect, "topic", (), data))
            continue
        schema, value = random_pair(draw)
        if has_bytes(value):
            schema, value = None, draw.text()
        plain = asked_value(schema, value)
        asked.append(call | {"op": "from", "schema": plain_schema(schema), "value": plain})
        ours.append(written(converter.from_connect, "topic", (), schema, value))
    assert_same(asked, ours, java(asked), errors=1)


@pytest.mark.parametrize("name", SMALL)
def test_single_values_are_kafkas(name: str, java: Java) -> None:
    draw = Random(46)
    converter = SMALL[name]()
    converter.configure({})
    asked, ours = [], []
    for _ in range(RECORDS // 4):
        call: Call = {"class": name, "config": {}}
        if draw.chance(0.5):
            size = draw.rng.choice((0, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 9))
            data = draw.rng.randbytes(size) if draw.chance(0.8) else bytes(size)
            asked.append(call | {"op": "to", "data": encoded(data)})
            ours.append(read(converter.to_connect, "topic", (), data))
            continue
        schema = Schema(draw.rng.choice(PRIMITIVES)) if draw.chance(0.7) else None
        value = draw.schemaless(0) if schema is None else draw.value(schema)
        plain = plain_value(schema, value)
        asked.append(call | {"op": "from", "schema": plain_schema(schema), "value": plain})
        ours.append(written(converter.from_connect, "topic", (), schema, value))
    assert_same(asked, ours, java(asked), errors=95)


def random_header_text(draw: Random) -> str:
    pieces = ("[", "]", "{", "}", ",", ":", '"', "1", "2.5", "300", "a", "null", "true", " ", "\\")
    pieces = (*pieces, "2024-01-01", "12:34:56.789Z", "-7", "70000", "1e10", '"x"', '"k":')
    return "".join(draw.rng.choice(pieces) for _ in range(draw.rng.randint(1, 9)))


def test_headers_are_kafkas(java: Java) -> None:
    draw = Random(47)
    converter: HeaderConverter = SimpleHeaderConverter()
    asked, ours = [], []
    for _ in range(RECORDS):
        call: Call = {"class": SIMPLE_HEADER, "config": {}}
        if draw.chance(0.6):
            text = random_header_text(draw) if draw.chance(0.7) else draw.text()
            data = text.encode() if draw.chance(0.95) else draw.rng.randbytes(5)
            asked.append(call | {"op": "to-header", "data": encoded(data)})
            ours.append(read(converter.to_connect_header, "topic", "name", data))
            continue
        schema, value = random_pair(draw)
        plain = asked_value(schema, value)
        asked.append(call | {"op": "from-header", "schema": plain_schema(schema), "value": plain})
        ours.append(written(converter.from_connect_header, "topic", "name", schema, value))
    assert_same(asked, ours, java(asked), errors=1)


@pytest.mark.parametrize("name", [*CONVERTERS, SIMPLE_HEADER])
def test_options_are_kafkas(name: str, java: Java) -> None:
    """All that ``/connector-plugins/{plugin}/config`` shows, but for the wording of the docs."""
    ours = (CONVERTERS | {SIMPLE_HEADER: SimpleHeaderConverter})[name].config.to_json()
    (kafkas,) = java([{"op": "config", "class": name, "config": {}}])
    for option in (*ours, *kafkas["config"]):
        assert option.pop("documentation")
    assert sorted(ours, key=str) == sorted(kafkas["config"], key=str)


def test_values_suit_the_schemas_that_kafka_says_they_do(java: Java) -> None:
    draw = Random(48)
    asked, ours = [], []
    for _ in range(RECORDS):
        schema = draw.schema()
        value = draw.schemaless() if draw.chance(0.3) else draw.value(schema)
        if value is not None and draw.chance(0.3):
            schema = draw.schema(1)
            if "date" in json.dumps(plain_value(None, value)):
                continue
        plain = asked_value(schema, value)
        asked.append({"op": "validate", "schema": plain_schema(schema), "value": plain})
        try:
            validate_value(schema, value)
            ours.append({"valid": True})
        except ConnectError as error:
            ours.append({"error": error.java_class, "message": str(error)})
    assert_same(asked, ours, java(asked), errors=80)
