"""Asks Apache Kafka's own converters, transforms and predicates what they give.

``calls(...)`` sends many calls to one Java program (java/ConnectCalls.java) and gives its answers.
The program is started once and goes on, because starting it takes longer than answering.
A call is a dict with ``op`` and ``class`` and ``config``:

* ``from``: ``schema``, ``value`` to ``data``; ``to``: ``data`` to ``schema``, ``value``;
* ``from-header``, ``to-header``: the same for header converters;
* ``transform``: ``record`` to ``record``; ``predicate``: ``record`` to ``answer``;
* ``config``: the options of the class in ``config``, as the REST API shows them;
* ``parse`` (``text``), ``infer`` (``value``) and ``validate`` (``schema``, ``value``): Kafka's
  class ``Values`` and the validation of values.

An answer with ``error`` and ``message`` is an exception. Schemas, values and records are JSON in a
form of their own that keeps Java's classes apart: ``["int32", 5]``. ``plain_schema``,
``plain_value`` and ``plain_record`` write ours in it, with maps in one order, so that two results
can be compared with ``==`` (``asked_value`` leaves the order as it is, where a result depends on
it); ``schema_of``, ``value_of`` and ``record_of`` read it.
"""

import base64
import datetime
import functools
import json
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

from tools.brokers import kafka_dir

from moldau.connect.data import logical
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord, SinkRecord, SourceRecord
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, Int16, Int32, to_float32
from tests.compat.clients.programs import compile_java, require_apache_kafka
from tests.compat.java_tools import SHORT_LIVED

LIMIT_S = 300
_TAGGED = {Int8: "int8", Int16: "int16", Int32: "int32"}
_BITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31}


def calls(
    build_dir: Path, asked: Iterable[Mapping[str, Any]], more_classes: str = ""
) -> list[dict[str, Any]]:
    """The answers of Apache Kafka's classes, or of those in ``more_classes``, in the order of the
    calls.

    Raises:
        UnavailableError: if there is no Java, or no Apache Kafka, on this machine.
    """
    return _program(build_dir, more_classes).answers([json.dumps(call) for call in asked])


class _Program:
    """The Java program, which ends with its standard input: with this process, at the latest."""

    def __init__(self, command: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 it is open as long as the program
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )

    def answers(self, lines: Sequence[str]) -> list[dict[str, Any]]:
        assert self._process.stdout is not None
        # It answers before it has read everything, and neither side may wait for the other.
        with ThreadPoolExecutor(1) as executor:
            asking = executor.submit(self._ask, "".join(f"{line}\n" for line in lines).encode())
            answers = [self._process.stdout.readline() for _ in lines]
            asking.result(LIMIT_S)
        if not all(answers):
            _program.cache_clear()
            raise AssertionError(self._last_words())
        return [json.loads(answer, object_hook=_in_order) for answer in answers]

    def _ask(self, questions: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(questions)
            self._process.stdin.flush()
        except BrokenPipeError:
            # It has ended: the reader sees that, too, and says why.
            return

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")


@functools.cache
def _program(build_dir: Path, more_classes: str) -> _Program:
    require_apache_kafka()
    libraries = str(kafka_dir() / "libs" / "*")
    classes = str(compile_java(build_dir, "ConnectCalls", libraries))
    # A program with other classes has these first, and no archive of Kafka's.
    order = (classes, more_classes, libraries) if more_classes else (libraries, classes)
    logging = "-Dlog4j2.level=OFF"
    return _Program(
        ["java", *SHORT_LIVED, "-Xmx512M", logging, "-cp", os.pathsep.join(order), "ConnectCalls"]
    )


def _in_order(node: dict[str, Any]) -> dict[str, Any]:
    return {name: _ordered(value) for name, value in node.items()}


def _ordered(node: Any) -> Any:
    """A value as written by Java, with the entries of maps in one order."""
    if not isinstance(node, list):
        return node
    inner = [_ordered(element) for element in node]
    if len(inner) == 2 and inner[0] == "map":
        return ["map", sorted(inner[1], key=json.dumps)]
    return inner


def plain_schema(schema: Schema | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    plain: dict[str, Any] = {"type": schema.type.name}
    if schema.is_optional:
        plain["optional"] = True
    if schema.default is not None:
        plain["default"] = plain_value(schema, schema.default)
    if schema.name is not None:
        plain["name"] = schema.name
    if schema.version is not None:
        plain["version"] = schema.version
    if schema.doc is not None:
        plain["doc"] = schema.doc
    if schema.parameters is not None:
        plain["parameters"] = dict(schema.parameters)
    if schema.fields is not None:
        plain["fields"] = [[field.name, plain_schema(field.schema)] for field in schema.fields]
    if schema.key_schema is not None:
        plain["key"] = plain_schema(schema.key_schema)
    if schema.value_schema is not None:
        plain["value"] = plain_schema(schema.value_schema)
    return plain


def schema_of(plain: Mapping[str, Any] | None) -> Schema | None:
    if plain is None:
        return None
    fields = None
    if "fields" in plain:
        inner = ((name, _present(schema)) for name, schema in plain["fields"])
        fields = tuple(Field(name, index, each) for index, (name, each) in enumerate(inner))
    schema = Schema(
        Type[plain["type"]],
        "optional" in plain,
        name=plain.get("name"),
        version=plain.get("version"),
        doc=plain.get("doc"),
        parameters=plain.get("parameters"),
        fields=fields,
        key_schema=schema_of(plain.get("key")),
        value_schema=schema_of(plain.get("value")),
    )
    if "default" not in plain:
        return schema
    return schema.replace(default=value_of(schema, plain["default"]))


def _present(plain: Mapping[str, Any]) -> Schema:
    schema = schema_of(plain)
    assert schema is not None
    return schema


def plain_value(schema: Schema | None, value: Any) -> list[Any] | None:
    """A value with the names of Java's classes, which the schema or the value's class tells."""
    ordered: list[Any] | None = _ordered(asked_value(schema, value))
    return ordered


def asked_value(schema: Schema | None, value: Any) -> list[Any] | None:
    """``plain_value`` with the entries of maps in the order that they have."""
    if value is None:
        return None
    kind = type(value)
    if kind in _TAGGED:
        return [_TAGGED[kind], int(value)]
    if kind is int:
        return _plain_int(schema, value)
    if kind is float or kind is Float32:
        is_short = kind is Float32 or (schema is not None and schema.type is Type.FLOAT32)
        return _plain_float(value, is_short)
    if kind is bool:
        return ["boolean", value]
    if kind is str:
        return ["string", value]
    if isinstance(value, bytes | bytearray | memoryview):
        return ["bytes", base64.b64encode(value).decode()]
    if kind is Decimal:
        return ["decimal", str(logical.unscaled(value)), logical.java_scale(value)]
    if kind is datetime.datetime:
        return ["date", str(logical.timestamp_to_millis(value))]
    if kind is datetime.date:
        return ["date", str(logical.date_to_days(value) * logical.MILLIS_PER_DAY)]
    if kind is datetime.time:
        return ["date", str(logical.time_to_millis(value))]
    if isinstance(value, Struct):
        pairs = zip(value.schema.struct_fields, value.values, strict=True)
        values = [asked_value(field.schema, each) for field, each in pairs]
        return ["struct", plain_schema(value.schema), values]
    return _plain_container(schema, value)


def _plain_int(schema: Schema | None, value: int) -> list[Any]:
    bits = _BITS.get(schema.type) if schema is not None else None
    if schema is not None and bits is not None and -(1 << bits) <= value < 1 << bits:
        return [schema.type.value, value]
    return ["int64" if -(2**63) <= value < 2**63 else "bigint", str(value)]


def _plain_float(value: float, is_short: bool) -> list[Any]:
    if value != value:
        return ["float32", 0x7FC00000] if is_short else ["float64", str(0x7FF8000000000000)]
    if is_short:
        return ["float32", struct.unpack(">I", struct.pack(">f", to_float32(value)))[0]]
    return ["float64", str(struct.unpack(">Q", struct.pack(">d", value))[0])]


def _plain_container(schema: Schema | None, value: Any) -> list[Any]:
    inner = schema.value_schema if schema is not None else None
    if isinstance(value, list):
        return ["list", [asked_value(inner, element) for element in value]]
    if isinstance(value, dict):
        keys = schema.key_schema if schema is not None else None
        return ["map", [[asked_value(keys, k), asked_value(inner, v)] for k, v in value.items()]]
    raise TypeError(f"no class of Java for {value!r}")


def value_of(schema: Schema | None, plain: list[Any] | None) -> Any:
    """A value of ours; a date of Java is what the schema says, and without one a timestamp."""
    if plain is None:
        return None
    name, inner = plain[0], plain[1]
    match name:
        case "int8" | "int16" | "int32":
            return {"int8": Int8, "int16": Int16, "int32": Int32}[name](inner)
        case "int64" | "bigint":
            return int(inner)
        case "float32":
            return Float32(struct.unpack(">f", struct.pack(">I", inner))[0])
        case "float64":
            return struct.unpack(">d", struct.pack(">Q", int(inner)))[0]
        case "bytes":
            return base64.b64decode(inner)
        case "decimal":
            return logical.from_unscaled(int(inner), plain[2])
        case "date":
            return _date_of(schema, int(inner))
        case "list":
            element = schema.value_schema if schema is not None else None
            return [value_of(element, each) for each in inner]
        case "map":
            keys = schema.key_schema if schema is not None else None
            element = schema.value_schema if schema is not None else None
            return {value_of(keys, k): value_of(element, v) for k, v in inner}
        case "struct":
            own = _present(inner)
            pairs = zip(own.struct_fields, plain[2], strict=True)
            return Struct.of(own, [value_of(field.schema, each) for field, each in pairs])
        case _:
            return inner


def _date_of(schema: Schema | None, millis: int) -> Any:
    name = schema.name if schema is not None else None
    if name == logical.DATE_NAME:
        return logical.days_to_date(millis // logical.MILLIS_PER_DAY)
    if name == logical.TIME_NAME:
        return logical.millis_to_time(millis)
    return logical.millis_to_timestamp(millis)


def plain_record(record: ConnectRecord) -> dict[str, Any]:
    headers = [
        [h.name, plain_schema(h.schema), plain_value(h.schema, h.value)] for h in record.headers
    ]
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": None if record.timestamp_ms is None else str(record.timestamp_ms),
        "keySchema": plain_schema(record.key_schema),
        "key": plain_value(record.key_schema, record.key),
        "valueSchema": plain_schema(record.value_schema),
        "value": plain_value(record.value_schema, record.value),
        "headers": headers,
    }


def call_record(record: ConnectRecord) -> dict[str, Any]:
    """A record as part of a call; answers are compared with ``plain_record``, without offsets."""
    offset = {"offset": record.offset} if isinstance(record, SinkRecord) else {}
    return plain_record(record) | offset


def record_of(plain: Mapping[str, Any]) -> ConnectRecord:
    key_schema, value_schema = schema_of(plain["keySchema"]), schema_of(plain["valueSchema"])
    headers = []
    for name, schema, value in plain["headers"]:
        header_schema = schema_of(schema)
        headers.append(Header(name, header_schema, value_of(header_schema, value)))
    timestamp = plain["timestamp"]
    return SourceRecord(
        plain["topic"],
        plain["partition"],
        key_schema,
        value_of(key_schema, plain["key"]),
        value_schema,
        value_of(value_schema, plain["value"]),
        None if timestamp is None else int(timestamp),
        headers,
    )
