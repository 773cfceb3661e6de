"""Random records, and random configs of the stock transforms, for comparison with Apache Kafka's.

Everything comes from one ``random.Random``. Names are drawn from a small pool, so that a config
often meets the fields of a record, and sometimes does not. About one config in ten is invalid.
"""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from moldau.connect.data import logical
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord, SinkRecord, SourceRecord
from moldau.connect.data.schema import Schema, Type, array, map_of, struct
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, Int16, Int32, to_float32
from moldau.connect.transforms.cast_values import OUTPUT_TYPES

NAMES = ("a", "b", "c", "d", "when", "in", "x.y")
TOPICS = ("orders", "orders-eu", "a.b.c", "2024-logs", "x", "Prod.Orders_7")
TEXTS = (
    "", "true", "FALSE", "7", "-12", "+5", "300", "1e3", "1.5", " 2 ", "0x1p3", "NaN", "abc", "ä",
    "2024-02-29", "2024-02-29 23:59:58.007", "12:30", "70000", "9223372036854775808", "1.0f",
    "0.1", "16777217", "2.5E-3", "-Infinity", "२", "1_000",
)  # fmt: skip
DATES = (
    "2024-02-29", "2024-02-29 23:59:58.007", "20240229", "12:30", "24/2/9", "Thu, 29 Feb 2024",
    "2024-02-29T23:59:58.007Z", "2024-366", "11:59 pm", "29.02.2024 24 o'clock", "AD 2024", "may",
)  # fmt: skip
PATTERNS = (
    "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss.SSS", "yyyyMMdd", "HH:mm", "yy/M/d", "EEE, d MMM yyyy",
    "yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyy-DDD", "hh:mm a", "dd.MM.yyyy kk 'o''clock'", "G y", "MMMM",
    "yyyy-MM-dd HH:mm:ss Z", "YYYY-'W'ww u F W", "K:mm a z", "yyyyyy LLL EEEE zzzz XXX", "qqq",
    "'x", "",
)  # fmt: skip
PRIMITIVES = [kind for kind in Type if kind.is_primitive]


def record(rng: random.Random) -> ConnectRecord:
    """A record of a sink or source, each of its parts with or without a schema."""
    key_schema, key = _part(rng)
    value_schema, value = _part(rng)
    headers = [_header(rng) for _ in range(rng.choice((0, 0, 1, 3)))]
    partition = rng.choice((None, 0, 3))
    timestamp = rng.choice((None, _millis(rng), _millis(rng)))
    parts = (key_schema, key, value_schema, value, timestamp, headers)
    topic = rng.choice(TOPICS)
    if rng.random() < 0.7:
        return SinkRecord(topic, partition or 0, *parts, offset=rng.randrange(1 << 40))
    return SourceRecord(topic, partition, *parts)


def _part(rng: random.Random) -> tuple[Schema | None, Any]:
    """A schema and a value: mostly structs and maps, since that is what transforms are for."""
    choice = rng.random()
    if choice < 0.5:
        schema = _struct_schema(rng, rng.choice((0, 0, 1, 2)))
        is_null = schema.is_optional and rng.random() < 0.1
        return schema, None if is_null else _value(rng, schema)
    if choice < 0.86:
        return None, _plain_map(rng, 2)
    if choice < 0.92:
        return None, _plain(rng, 1)
    schema = _schema(rng, 1)
    is_null = schema.is_optional and rng.random() < 0.2
    return schema, None if is_null else _value(rng, schema)


def _header(rng: random.Random) -> Header:
    schema = Schema(rng.choice(PRIMITIVES))
    return Header(rng.choice(NAMES), schema, _value(rng, schema))


def _schema(rng: random.Random, depth: int) -> Schema:
    kinds: list[Callable[[], Schema]] = [
        lambda: Schema(rng.choice(PRIMITIVES)),
        lambda: Schema(rng.choice(PRIMITIVES), name=rng.choice((None, None, "n")), doc="words"),
        lambda: rng.choice((logical.DATE, logical.TIME, logical.TIMESTAMP)),
        lambda: logical.decimal_schema(2),
        lambda: array(Schema(rng.choice(PRIMITIVES))),
    ]
    if rng.random() < 0.08:
        kinds = [lambda: map_of(Schema(Type.STRING), Schema(rng.choice(PRIMITIVES)))]
    if depth > 0 and rng.random() < 0.3:
        kinds = [lambda: _struct_schema(rng, depth - 1)]
    schema = rng.choice(kinds)()
    if rng.random() < 0.5:
        schema = schema.optional()
    if schema.type is not Type.STRUCT and rng.random() < 0.25:
        schema = schema.replace(default=_value(rng, schema))
    return schema


def _when_schema(rng: random.Random) -> Schema:
    """The schema of the field ``when``, which mostly is a timestamp of some kind."""
    kinds = (logical.DATE, logical.TIME, logical.TIMESTAMP, Schema(Type.INT64), Schema(Type.STRING))
    schema = rng.choice((*kinds, *kinds, _schema(rng, 0)))
    return schema.optional() if rng.random() < 0.4 else schema


def _when(rng: random.Random) -> Any:
    """A timestamp without schema, in one of its forms."""
    return rng.choice((_millis(rng), logical.millis_to_timestamp(_millis(rng)), rng.choice(DATES)))


def _struct_schema(rng: random.Random, depth: int) -> Schema:
    names = rng.sample(NAMES, rng.randrange(1, 5))
    schema = struct(
        rng.choice((None, "com.example.Order")),
        {name: _when_schema(rng) if name == "when" else _schema(rng, depth) for name in names},
        is_optional=rng.random() < 0.3,
        version=rng.choice((None, 1, 7)),
        doc=rng.choice((None, "an order")),
        parameters=rng.choice((None, {"p": "1"})),
    )
    if rng.random() < 0.1:
        schema = schema.replace(default=_value(rng, schema))
    return schema


def _millis(rng: random.Random) -> int:
    """Mostly our time; sometimes before 1970, at midnight, or under the Julian calendar."""
    choices = (
        rng.randrange(4_000_000_000_000),
        rng.randrange(4_000_000_000_000),
        -rng.randrange(1_000_000_000_000),
        rng.randrange(20_000) * logical.MILLIS_PER_DAY,
        rng.randrange(logical.MILLIS_PER_DAY),
        -rng.randrange(11_000_000_000_000, 60_000_000_000_000),
    )
    return rng.choice(choices)


def _float(rng: random.Random) -> float:
    # Few digits: older versions of Java print more digits of some numbers than are needed.
    values = (rng.randrange(-10_000, 10_000) / 100, rng.randrange(1000) * 1e9, 1e300, 0.0, -0.0)
    return rng.choice((*values, float("nan"), float("inf"), 2.5e-5, 3e9, -200.75))


def _float32(rng: random.Random) -> float:
    return to_float32(rng.choice((rng.randrange(-10_000, 10_000) / 100, 0.0, 1e30, -0.5, 2.5e-5)))


def _integer(rng: random.Random, bits: int) -> int:
    bound = 1 << (bits - 1)
    return rng.choice(
        (0, 1, -1, bound - 1, -bound, rng.randrange(-bound, bound), rng.randrange(99))
    )


def _value(rng: random.Random, schema: Schema) -> Any:
    millis = _millis(rng)
    match schema.name:
        case logical.DATE_NAME:
            return logical.days_to_date(millis // logical.MILLIS_PER_DAY)
        case logical.TIME_NAME:
            return logical.millis_to_time(millis % logical.MILLIS_PER_DAY)
        case logical.TIMESTAMP_NAME:
            return logical.millis_to_timestamp(millis)
        case logical.DECIMAL_NAME:
            return logical.from_unscaled(rng.choice((0, 5, -1250, 10**30, 12345)), 2)
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32:
            return _integer(rng, int(schema.type.value.removeprefix("int")))
        case Type.INT64:
            return rng.choice((_integer(rng, 64), millis, millis, millis // 1000, millis * 1000))
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_value(rng, schema.value_schema) for _ in range(rng.randrange(3))]
        case Type.MAP:
            assert schema.value_schema is not None
            return {name: _value(rng, schema.value_schema) for name in NAMES[: rng.randrange(3)]}
        case Type.STRUCT:
            return Struct.of(schema, [_field_value(rng, f.schema) for f in schema.struct_fields])
        case Type.FLOAT32:
            return _float32(rng)
    return _scalar(rng, schema.type)


def _scalar(rng: random.Random, kind: Type) -> Any:
    match kind:
        case Type.FLOAT64:
            return _float(rng)
        case Type.BOOLEAN:
            return rng.random() < 0.5
        case Type.BYTES:
            return rng.randbytes(rng.randrange(4))
    numbers = (str(rng.randrange(-128, 128)), str(rng.randrange(-40_000, 40_000)))
    return rng.choice((rng.choice(TEXTS), rng.choice(DATES), *numbers, *numbers))


def _field_value(rng: random.Random, schema: Schema) -> Any:
    may_be_null = schema.is_optional or schema.default is not None
    return None if may_be_null and rng.random() < 0.25 else _value(rng, schema)


def _plain_map(rng: random.Random, depth: int) -> dict[str, Any]:
    # In the order in which the call to Java has them: where two fields get one name, the last wins.
    names = sorted(rng.sample(NAMES, rng.randrange(len(NAMES))))
    return {name: _when(rng) if name == "when" else _plain(rng, depth) for name in names}


def _plain(rng: random.Random, depth: int) -> Any:
    """A value without schema, whose class tells its type."""
    if depth > 0 and rng.random() < 0.2:
        return _plain_map(rng, depth - 1)
    choices: tuple[Callable[[], Any], ...] = (
        lambda: Int8(_integer(rng, 8)),
        lambda: Int16(_integer(rng, 16)),
        lambda: Int32(_integer(rng, 32)),
        lambda: rng.choice((_integer(rng, 64), _millis(rng))),
        lambda: Float32(_float32(rng)),
        lambda: _float(rng),
        lambda: rng.random() < 0.5,
        lambda: rng.choice(TEXTS),
        lambda: rng.choice(TEXTS),
        lambda: rng.randbytes(2),
        lambda: ["x", Int32(1), None],
        lambda: None,
        lambda: logical.millis_to_timestamp(_millis(rng)),
        lambda: Decimal("12.50"),
    )
    return rng.choice(choices)()


def _names(rng: random.Random) -> str:
    return ",".join(rng.choices(NAMES, k=rng.randrange(1, 4)))


def _distinct(rng: random.Random) -> str:
    return ",".join(rng.sample(NAMES, rng.randrange(1, 4)))


def _maybe(rng: random.Random, **options: str) -> dict[str, str]:
    """Some of the options, and sometimes whether null is replaced by a default."""
    chosen = {name.replace("_", "."): text for name, text in options.items() if rng.random() < 0.5}
    if rng.random() < 0.4:
        chosen["replace.null.with.default"] = rng.choice(("true", "false", "FALSE", "maybe"))
    return chosen


def _cast(rng: random.Random) -> dict[str, str]:
    kinds = [kind.value for kind in OUTPUT_TYPES] + ["STRING", " Int32 ", "bytes", "nothing"]
    if rng.random() < 0.25:
        return {"spec": rng.choice(kinds)} | _maybe(rng)
    fields = rng.sample(NAMES, rng.choice((1, 1, 2, 4)))
    spec = ",".join(f"{name}:{rng.choice(kinds[:9])}" for name in fields)
    return {"spec": rng.choice((spec,) * 12 + ("", "a:b:int8", "a:,string"))} | _maybe(rng)


def _extract(rng: random.Random) -> dict[str, str]:
    paths = (
        *NAMES,
        "in.a",
        "in.b",
        "`x.y`",
        "`x.y`.a",
        "in.in.a",
        "in.",
        "`a",
        "",
        "`a`b`.c",
        "missing",
    )
    version = rng.choice(({}, {"field.syntax.version": rng.choice(("V1", "v2", "V2", "V3"))}))
    return {"field": rng.choice(paths)} | version | _maybe(rng)


def _header_from(rng: random.Random) -> dict[str, str]:
    fields = rng.sample(NAMES, rng.randrange(1, 3))
    headers = rng.choices(NAMES, k=len(fields))
    if rng.random() < 0.05:
        headers.append("h")
    operation = rng.choice(("move", "copy", "move", "copy", "delete"))
    chosen = {"fields": ",".join(fields), "headers": ",".join(headers), "operation": operation}
    return chosen | _maybe(rng)


def _insert(rng: random.Random) -> dict[str, str]:
    def name() -> str:
        return (
            rng.choice(("new", "t", "a", "late"))
            + str(rng.randrange(9))
            + rng.choice("!?") * rng.randrange(2)
        )

    options = {
        f"{source}_field": name() for source in ("topic", "partition", "offset", "timestamp")
    }
    static = {"static.field": rng.choice((name(), "a")), "static.value": "text"}
    return _maybe(rng, **options) | rng.choice(({}, static, {"static.field": "s"}))


def _mask(rng: random.Random) -> dict[str, str]:
    replacement = rng.choice(("7", "-300", "1.5", "text", "", "1E3", "99999999999999999999"))
    return {"fields": _names(rng)} | _maybe(rng, replacement=replacement)


def _replace(rng: random.Random) -> dict[str, str]:
    olds, news = rng.sample(NAMES, 2), rng.sample(("n1", "n2", "a", "b"), 2)
    renames = ",".join(f"{old}:{new}" for old, new in zip(olds, news, strict=True))
    renames = rng.choice((renames,) * 9 + ("a", "a:b:c", "a:"))
    return _maybe(rng, exclude=_names(rng), include=_names(rng), renames=renames)


def _metadata(rng: random.Random) -> dict[str, str]:
    return _maybe(rng, schema_name="com.example.Other", schema_version=rng.choice(("3", "3", "x")))


def _converter(rng: random.Random) -> dict[str, str]:
    precision = rng.choice(("seconds", "milliseconds", "microseconds", "nanoseconds", "years"))
    kinds = ("string", "unix", "Date", "Time", "Timestamp", "timestamp")
    field = rng.choice(("when", "when", "when", "a", ""))
    options = {"target.type": rng.choice(kinds), "format": rng.choice(PATTERNS)}
    if rng.random() < 0.2:
        del options["format"]
    return options | {"field": field} | _maybe(rng, unix_precision=precision)


def _timestamp_router(rng: random.Random) -> dict[str, str]:
    topics = ("${topic}-${timestamp}", "${timestamp}", "x${topic}$", "${topic}${topic}")
    options = {"topic.format": rng.choice(topics), "timestamp.format": rng.choice(PATTERNS)}
    return {name: text for name, text in options.items() if rng.random() < 0.8}


def _regex_router(rng: random.Random) -> dict[str, str]:
    replacements = ("$1", "x-$0", "${word}", "$12", "a\\$b", "$9", "$", "${no}", "new", "\\")
    return {"regex": regex(rng), "replacement": rng.choice(replacements)}


def regex(rng: random.Random) -> str:
    """A pattern of Java, with what differs from Python's."""
    return rng.choice(
        (
            "(.*)", "(?<word>[a-z]+).*", "orders|orders-eu", "o|orders(-eu)?", r"\w+",
            r"(\p{Alpha}+)-.*",
            r"[a-z&&[^x]]+", "(?i)prod.*", r"\Qa.b.c\E", "(a)(?i)(.B)(.*)", r".*+", r"(\d{4})-(.*)",
            r"[[a-z][.]]+", "(", "a{", "*a", r"(?x) a", r"(o)r\w*\1?.*", r"^orders$", r"(?:.|-)++",
            r"[\w&&[^d]]*", r"(\p{Lu}|\P{Lu})*", r"[^-]*-?(?<word>.*)", "", r"\x78", r"(?s-i:.)+",
        )
    )  # fmt: skip


def _insert_header(rng: random.Random) -> dict[str, str]:
    literals = (
        *(text for text in TEXTS if text.isascii()),
        "null",
        "[1,2]",
        '{"a":1}',
        "[1,",
        "1970-01-01T00:00:00.000Z",
        "12:00:00.000Z",
    )
    return {"header": rng.choice((*NAMES, "")), "value.literal": rng.choice(literals)}


CONFIGS: dict[str, Callable[[random.Random], dict[str, str]]] = {
    "Cast": _cast,
    "DropHeaders": lambda rng: {"headers": rng.choice((_names(rng), _distinct(rng), ""))},
    "ExtractField": _extract,
    "Filter": lambda rng: {},
    "Flatten": lambda rng: _maybe(rng, delimiter=rng.choice(("_", "-", "", "::"))),
    "HeaderFrom": _header_from,
    "HoistField": lambda rng: {"field": rng.choice((*NAMES, ""))},
    "InsertField": _insert,
    "InsertHeader": _insert_header,
    "MaskField": _mask,
    "RegexRouter": _regex_router,
    "ReplaceField": _replace,
    "SetSchemaMetadata": _metadata,
    "TimestampConverter": _converter,
    "TimestampRouter": _timestamp_router,
    "ValueToKey": lambda rng: {"fields": rng.choice((_names(rng), _distinct(rng)))} | _maybe(rng),
    "predicates.HasHeaderKey": lambda rng: {"name": rng.choice((*NAMES, ""))},
    "predicates.RecordIsTombstone": lambda rng: {},
    "predicates.TopicNameMatches": lambda rng: {"pattern": regex(rng)},
}
