"""Serdes: how a key or a value is bytes in a topic and a typed column in Spark.

Each is both ways and on both sides: ``decode`` and ``encode`` work on Columns, ``loads`` and
``dumps`` on one value in Python, for tests and for looking up a key. The numbers are those of
Kafka's own serializers: big-endian, of fixed length. All of these but FLOAT and DOUBLE are plain
Spark expressions, with no Python on the way; Avro and Protobuf are in modules of their own.

Rules kept here:

* What cannot be decoded becomes null, and nothing else that is not null does. The source decides
  what happens then (``decoding``); a serde never guesses.
* Null is null both ways: a tombstone stays one.
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
    """A way between bytes and a typed value."""

    # For people to read: what it decodes to, in Spark's words.
    name: str

    @property
    def expects(self) -> str:
        """What a record should have been, for the error that says that it is not."""
        return self.name

    @abstractmethod
    def decode(self, raw: "Column") -> "Column":
        """The value in ``raw`` (binary); null where it is null or cannot be decoded."""

    @abstractmethod
    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        """``value``, a column of ``value_type``, as binary."""

    @abstractmethod
    def loads(self, data: bytes) -> Any:
        """One value in Python; ValueError if it cannot be decoded."""

    @abstractmethod
    def dumps(self, value: Any) -> bytes:
        """One value from Python."""

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

        # A negative base reads the digits as a signed number of 64 bits.
        number = F.conv(F.hex(raw), 16, -10).cast("long")
        if self._size == 4:
            number = F.when(number >= 2**31, number - 2**32).otherwise(number).cast("int")
        return F.when(F.length(raw) == self._size, number)

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from pyspark.sql import functions as F

        # Through the type itself: a number that does not fit is an error, not another number.
        digits = F.lpad(F.hex(value.cast(self.name).cast("long")), 16, "0")
        return F.unhex(F.right(digits, F.lit(2 * self._size)))

    def loads(self, data: bytes) -> int:
        if len(data) != self._size:
            raise ValueError(f"{len(data)} bytes are not one {self.name} of {self._size}")
        return int.from_bytes(data, "big", signed=True)

    def dumps(self, value: int) -> bytes:
        return int(value).to_bytes(self._size, "big", signed=True)


class _Real(Serde):
    """FLOAT and DOUBLE: IEEE 754, big-endian. Spark has no function for these bits, Arrow has."""

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

    A record that is not one JSON value, or whose field has another type than the schema says,
    cannot be decoded; a field that is missing is null, and one that the schema does not have is
    left out.
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
        # Where this field is asked for, the parser puts there what does not fit the schema;
        # otherwise it would make nulls of it.
        corrupt = StructField("_corrupt_record", StringType())
        options = {"columnNameOfCorruptRecord": corrupt.name}
        # Spark's parser reads one object and does not look at what follows. Within an object
        # whatever follows must end it or add a field, and within an array end it or add an element:
        # nothing but one value is right in both.
        wrapped = F.concat(F.lit('{"v":'), text, F.lit("}"))
        parsed = F.from_json(wrapped, StructType([StructField("v", wanted), corrupt]), options)
        is_one = F.json_array_length(F.concat(F.lit("["), text, F.lit("]"))) == 1
        return F.when(parsed[corrupt.name].isNull() & is_one, parsed["v"])

    def encode(self, value: "Column", value_type: "DataType") -> "Column":
        from pyspark.sql import functions as F

        if value_type.typeName() in ("struct", "map", "array"):
            return F.to_json(value).cast("binary")
        # Spark writes no bare numbers and strings: as the only one of an array, brackets removed.
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
    """How a column is written if nobody says: text, numbers as Kafka's, the rest as JSON."""
    by_type = {
        "binary": BYTES,
        "string": STRING,
        "integer": INT,
        "long": LONG,
        "float": FLOAT,
        "double": DOUBLE,
    }
    return by_type.get(data_type.typeName(), Json())
