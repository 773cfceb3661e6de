"""Serdes: convert keys and values between bytes in a topic and typed columns in Spark.

``decode`` and ``encode`` work on Columns, ``loads`` and ``dumps`` on a single Python value, for
tests and for looking up a key. Numbers are encoded as by Kafka's own serializers: big-endian, of
fixed length. All serdes here but FLOAT and DOUBLE are plain Spark expressions, evaluated without
Python; Avro and Protobuf are in separate modules.

Rules this module keeps:

* Bytes that cannot be decoded become null, and no others do. The source decides what to do with
  them (``decoding``); a serde never guesses.
* Null is null in both directions: a tombstone stays a tombstone.
"""

import json
import struct
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType


class Serde(ABC):
    """Converts between bytes and a typed value."""

    # For display: the type it decodes to, as Spark's DDL.
    name: str

    @property
    def expects(self) -> str:
        """The expected content of a record, for error messages."""
        return self.name

    @abstractmethod
    def decode(self, raw: "Column") -> "Column":
        """The value in ``raw`` (binary); null if that is null or cannot be decoded."""

    @abstractmethod
    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        """``value``, a column of ``value_type``, as binary."""

    @abstractmethod
    def loads(self, data: bytes) -> Any:
        """Decode one value in Python; raises ValueError if that is not possible."""

    @abstractmethod
    def dumps(self, value: Any) -> bytes:
        """Encode one Python value."""

    def __repr__(self) -> str:
        return self.name


class _Bytes(Serde):
    name = "bytes"

    def decode(self, raw: "Column") -> "Column":
        return raw

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        if value_type.typeName() not in ("binary", "string"):
            raise PipelineError(
                f"a value of type {value_type.simpleString()} is not bytes: name another serde"
            )
        return value.cast("binary")

    def loads(self, data: bytes) -> bytes:
        return data

    def dumps(self, value: bytes) -> bytes:
        return bytes(value)


class _String(Serde):
    name = "string"

    def decode(self, raw: "Column") -> "Column":
        from pyspark.sql import functions as F

        return F.try_validate_utf8(raw.cast("string"))

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        return value.cast("string").cast("binary")

    def loads(self, data: bytes) -> str:
        return data.decode()

    def dumps(self, value: Any) -> bytes:
        return str(value).encode()


class _Integer(Serde):
    """INT and LONG: two's complement, big-endian."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._size = size

    def decode(self, raw: "Column") -> "Column":
        from pyspark.sql import functions as F

        # A negative target base makes it a signed 64-bit number.
        number = F.conv(F.hex(raw), 16, -10).cast("long")
        if self._size == 4:
            number = F.when(number >= 2**31, number - 2**32).otherwise(number).cast("int")
        return F.when(F.length(raw) == self._size, number)

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from pyspark.sql import functions as F

        # Cast to the type first: a number out of range must be an error, not another number.
        digits = F.lpad(F.hex(value.cast(self.name).cast("long")), 16, "0")
        return F.unhex(F.right(digits, F.lit(2 * self._size)))

    def loads(self, data: bytes) -> int:
        if len(data) != self._size:
            raise ValueError(f"{len(data)} bytes are not one {self.name} of {self._size}")
        return int.from_bytes(data, "big", signed=True)

    def dumps(self, value: int) -> bytes:
        return int(value).to_bytes(self._size, "big", signed=True)


class _Real(Serde):
    """FLOAT and DOUBLE: IEEE 754, big-endian. Spark has no function for that; uses Arrow UDFs."""

    def __init__(self, name: str, size: int, code: str) -> None:
        self.name = name
        self._size = size
        self._code = code

    def decode(self, raw: "Column") -> "Column":
        from moldau.streams.arrow_columns import decoding_column

        size, code = self._size, self._code

        def loads(data: bytes) -> Any:
            if len(data) != size:
                raise ValueError(f"{len(data)} bytes")
            return struct.unpack(code, data)[0]

        return decoding_column(loads, self.name)(raw)

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from moldau.streams.arrow_columns import encoding_column

        code = self._code
        return encoding_column(lambda number: struct.pack(code, number))(value.cast(self.name))

    def loads(self, data: bytes) -> float:
        if len(data) != self._size:
            raise ValueError(f"{len(data)} bytes are not one {self.name} of {self._size}")
        number: float = struct.unpack(self._code, data)[0]
        return number

    def dumps(self, value: float) -> bytes:
        return struct.pack(self._code, value)


BYTES: Final = _Bytes()
STRING: Final = _String()
INT: Final = _Integer("int", 4)
LONG: Final = _Integer("long", 8)
FLOAT: Final = _Real("float", 4, ">f")
DOUBLE: Final = _Real("double", 8, ">d")


class Json(Serde):
    """JSON in UTF-8. Reading needs a schema: Spark's DDL (``"amount double"``) or a DataType.

    A record that is not exactly one JSON value, or has a field of another type than the schema,
    cannot be decoded; a missing field is null, and a field that is not in the schema is ignored.
    """

    def __init__(self, schema: "str | DataType | None" = None) -> None:
        self._schema = schema
        self.name = "json"

    @property
    def expects(self) -> str:
        schema = self._schema
        if schema is None or isinstance(schema, str):
            return f"JSON of {schema}"
        return f"JSON of {schema.simpleString()}"

    def decode(self, raw: "Column") -> "Column":
        from pyspark.sql import functions as F
        from pyspark.sql.types import StringType, StructField, StructType

        wanted = self._data_type()
        text = F.try_validate_utf8(raw.cast("string"))
        # With this field in the schema, the parser stores malformed records there; otherwise it
        # would replace what does not fit the schema with nulls.
        corrupt = StructField("_corrupt_record", StringType())
        options = {"columnNameOfCorruptRecord": corrupt.name}
        # Spark's parser reads one object and ignores what follows. Within an object anything that
        # follows must end it or add a field, and within an array end it or add an element: only a
        # single value is valid in both.
        wrapped = F.concat(F.lit('{"v":'), text, F.lit("}"))
        parsed = F.from_json(wrapped, StructType([StructField("v", wanted), corrupt]), options)
        is_one = F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1
        return F.when(parsed[corrupt.name].isNull() & is_one, parsed["v"])

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from pyspark.sql import functions as F

        if value_type.typeName() in ("struct", "map", "array"):
            return F.to_json(value).cast("binary")
        # Spark cannot write bare numbers and strings: write an array of one, without brackets.
        bracketed = F.to_json(F.array(value))
        bare = F.substring(bracketed, F.lit(2), F.length(bracketed) - 2)
        return F.when(value.isNotNull(), bare.cast("binary"))

    def loads(self, data: bytes) -> Any:
        return json.loads(data)

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()

    def _data_type(self) -> "DataType":
        from pyspark.sql.types import DataType

        if self._schema is None:
            raise PipelineError(
                'JSON needs a schema to be read: Json("amount double, customer string")'
            )
        if isinstance(self._schema, DataType):
            return self._schema
        return DataType.fromDDL(self._schema)


def default_serde(data_type: "DataType") -> Serde:
    """The serde of a column if none is given: text, numbers as in Kafka, or else JSON."""
    by_type = {
        "binary": BYTES,
        "string": STRING,
        "integer": INT,
        "long": LONG,
        "float": FLOAT,
        "double": DOUBLE,
    }
    return by_type.get(data_type.typeName(), Json())
