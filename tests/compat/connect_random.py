"""Random schemas, values and headers of Connect, from a seed: for comparisons with Apache Kafka's.

Values are in the range of Python's dates (years 1 to 9999), and the first century of them is left
out, where Java's calendar and Python's disagree on what is outside it.
"""

import datetime
import math
import random
import struct
from decimal import Decimal
from typing import Any

from moldau.connect.data import logical
from moldau.connect.data.schema import Field, Schema, Type
from moldau.connect.data.struct import Struct
from moldau.connect.data.values import Float32, Int8, Int16, Int32, to_float32

PRIMITIVES = tuple(kind for kind in Type if kind.is_primitive)
BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_CHARACTERS = "abcXYZ 019_-.:,;'\"\\/{}[]()<>=\t\n\r\b\f\x00\x0b\x1b\x7f\x85äß€\u2028漢😀"
_WORDS = ("id", "name", "a", "b", "c", "price", "created at", "ümlaut", "x.y", "$k", "")
_NAMES = (None, None, None, "Order", "com.example.Kunde", "io.debezium.time.Date")


class Random:
    """Draws schemas and values; each method takes all its randomness from one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def text(self, longest: int = 12) -> str:
        rng = self.rng
        if rng.random() < 0.3:
            return rng.choice(("", "a", "true", "null", "42", "-1.5", "2024-02-29", "hello world"))
        return "".join(rng.choice(_CHARACTERS) for _ in range(rng.randint(0, longest)))

    def integer(self, bits: int) -> int:
        rng = self.rng
        half = 1 << (bits - 1)
        if rng.random() < 0.2:
            return rng.choice((0, 1, -1, half - 1, -half))
        width = rng.randint(1, bits - 1)
        return rng.getrandbits(width) * rng.choice((1, -1))

    def double(self) -> float:
        rng = self.rng
        roll = rng.random()
        if roll < 0.15:
            return rng.choice((0.0, -0.0, 1.0, 1e7, 1e-3, 0.1, 1e16, math.inf, -math.inf, math.nan))
        if roll < 0.6:
            return round(rng.uniform(-1000, 1000), rng.randint(0, 6))
        if roll < 0.8:
            return rng.uniform(-1, 1) * 10.0 ** rng.randint(-300, 300)
        number: float = struct.unpack(">d", rng.randbytes(8))[0]
        return number

    def single(self) -> float:
        rng = self.rng
        if rng.random() < 0.5:
            return to_float32(self.double())
        number: float = struct.unpack(">f", rng.randbytes(4))[0]
        return number

    def decimal(self, scale: int) -> Decimal:
        return logical.from_unscaled(self.integer(self.rng.choice((8, 32, 64, 150))), scale)

    def date(self) -> datetime.date:
        return datetime.date(100, 1, 1) + datetime.timedelta(days=self.rng.randrange(3_600_000))

    def time(self) -> datetime.time:
        return logical.millis_to_time(self.rng.randrange(logical.MILLIS_PER_DAY))

    def timestamp(self) -> datetime.datetime:
        day = datetime.datetime.combine(self.date(), self.time(), datetime.UTC)
        return day if self.chance(0.8) else day.replace(hour=0, minute=0, second=0, microsecond=0)

    def schema(self, depth: int = 2) -> Schema:
        """Any schema, nested at most ``depth`` times."""
        rng = self.rng
        roll = rng.random()
        if depth > 0 and roll < 0.25:
            return self.struct(depth - 1)
        if depth > 0 and roll < 0.35:
            return self._named(Schema(Type.ARRAY, value_schema=self.schema(depth - 1)))
        if depth > 0 and roll < 0.45:
            key = Schema(rng.choice(PRIMITIVES)) if self.chance(0.4) else Schema(Type.STRING)
            inner = self.schema(depth - 1)
            return self._named(Schema(Type.MAP, key_schema=key, value_schema=inner))
        if roll < 0.65:
            return self._with_default(self.logical())
        return self._with_default(self._named(Schema(rng.choice(PRIMITIVES))))

    def logical(self) -> Schema:
        kinds = (logical.DATE, logical.TIME, logical.TIMESTAMP)
        schema = self.rng.choice((*kinds, logical.decimal_schema(self.rng.randint(-2, 6))))
        return schema.optional() if self.chance(0.4) else schema

    def struct(self, depth: int = 1, most: int = 6) -> Schema:
        names = list(dict.fromkeys(self.rng.choices(_WORDS[:-1], k=self.rng.randint(0, most))))
        fields = [Field(name, at, self.schema(depth)) for at, name in enumerate(names)]
        return self._named(Schema(Type.STRUCT, fields=tuple(fields)))

    def _named(self, schema: Schema) -> Schema:
        rng = self.rng
        return schema.replace(
            is_optional=self.chance(0.4),
            name=rng.choice(_NAMES),
            version=rng.choice((None, None, 1, 7)),
            doc=rng.choice((None, None, None, 'Say "what"')),
            parameters=rng.choice((None, None, None, {"k": "v", "ä": ""})),
        )

    def _with_default(self, schema: Schema) -> Schema:
        return schema.replace(default=self.present(schema)) if self.chance(0.2) else schema

    def value(self, schema: Schema) -> Any:
        """A value of ``schema``, sometimes null if that is allowed."""
        if schema.is_optional and self.chance(0.2):
            return None
        return self.present(schema)

    def present(self, schema: Schema) -> Any:
        rng = self.rng
        match schema.name:
            case logical.DECIMAL_NAME:
                return self.decimal(logical.scale_of(schema))
            case logical.DATE_NAME:
                return self.date()
            case logical.TIME_NAME:
                return self.time()
            case logical.TIMESTAMP_NAME:
                return self.timestamp()
        match schema.type:
            case Type.FLOAT32:
                return self.single()
            case Type.FLOAT64:
                return self.double()
            case Type.BOOLEAN:
                return self.chance(0.5)
            case Type.STRING:
                return self.text()
            case Type.BYTES:
                return rng.randbytes(rng.randint(0, 9))
            case Type.ARRAY:
                assert schema.value_schema is not None
                return [self.value(schema.value_schema) for _ in range(rng.randint(0, 3))]
            case Type.MAP:
                assert schema.key_schema is not None
                assert schema.value_schema is not None
                count = rng.randint(0, 3)
                keys = [self.present(schema.key_schema) for _ in range(count)]
                # NaN and the two zeros are equal or not by the language.
                keys = [key for key in keys if key == key and key != 0.0]
                return {key: self.value(schema.value_schema) for key in keys}
            case Type.STRUCT:
                return Struct.of(schema, [self._field(f.schema) for f in schema.struct_fields])
        return self.integer(BITS[schema.type])

    def _field(self, schema: Schema) -> Any:
        if schema.has_default and self.chance(0.3):
            return None
        return self.value(schema)

    def schemaless(self, depth: int = 2, has_odd_keys: bool = False) -> Any:
        """A value without a schema, of the classes that Connect's values may have."""
        rng = self.rng
        roll = rng.random()
        if depth > 0 and roll < 0.2:
            return [self.schemaless(depth - 1) for _ in range(rng.randint(0, 4))]
        if depth > 0 and roll < 0.45:
            names = rng.choices(_WORDS, k=rng.randint(0, 5))
            entries: dict[Any, Any] = {name: self.schemaless(depth - 1) for name in names}
            if has_odd_keys and self.chance(0.2):
                entries[Int32(rng.randint(2, 99))] = self.schemaless(depth - 1)
            return entries
        draw = rng.choice(_CLASSES)
        return draw(self)

    def wrong(self, value: Any) -> Any:
        """Another value in place of ``value``, mostly of another class."""
        return self.schemaless(1) if self.chance(0.8) else value


_CLASSES = (
    lambda r: None,
    lambda r: r.chance(0.5),
    lambda r: Int8(r.integer(8)),
    lambda r: Int16(r.integer(16)),
    lambda r: Int32(r.integer(32)),
    lambda r: r.integer(64),
    lambda r: Float32(r.single()),
    lambda r: r.double(),
    lambda r: r.text(),
    lambda r: r.text(),
    lambda r: r.rng.randbytes(r.rng.randint(0, 5)),
)
