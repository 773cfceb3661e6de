"""Avro keys and values on the command line, in Avro's own JSON encoding.

In that encoding a value of a union is wrapped in an object that names its type,
``{"string": "Prague"}``, and bytes are a string of the characters U+0000 to U+00FF. So what
``consume`` prints, ``produce`` can read back without losing anything.
"""

import io
import json
from typing import Any, Final

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.field_formats import FieldFormat
from moldau.cli.text_files import read_text

_MAGIC: Final = b"\0"
_HEADER_BYTES: Final = 5


def avro_format(option: str, where: str) -> FieldFormat:
    """``where`` is ``FILE`` or ``FILE#ID``. Raises UsageError, or OSError if it cannot be read."""
    try:
        import fastavro
    except ImportError:
        raise CommandError("the avro format needs fastavro: pip install 'moldau[spark]'") from None
    file, _, schema_id = where.partition("#")
    if schema_id and not (schema_id.isdigit() and int(schema_id) < 1 << 31):
        raise UsageError(f"{option} avro:{where}: the schema id {schema_id!r} is not a number")
    text = read_text(file)
    try:
        schema = fastavro.parse_schema(json.loads(text))
    except Exception as error:
        # fastavro has an exception of its own for each kind of mistake, without a common base.
        raise UsageError(f"{option}: {file} is not an Avro schema: {error}") from error
    return _Avro(schema, int(schema_id) if schema_id else None)


class _Avro(FieldFormat):
    def __init__(self, schema: Any, schema_id: int | None) -> None:
        self._schema = schema
        self._schema_id = schema_id
        self._header = b"" if schema_id is None else _MAGIC + schema_id.to_bytes(4, "big")

    def to_json(self, raw: bytes) -> Any:
        import fastavro

        self._check_header(raw)
        encoded = io.BytesIO(raw[len(self._header) :])
        shown = io.StringIO()
        try:
            value = fastavro.schemaless_reader(encoded, self._schema, None)
            fastavro.json_writer(shown, self._schema, [value])
        except Exception as error:
            # The decoder fails in many ways on bytes that are not of this schema.
            raise ValueError(f"does not match the Avro schema: {_reason(error)}") from error
        left = len(encoded.read())
        if left:
            raise ValueError(f"does not match the Avro schema: {left} bytes are left over")
        return json.loads(shown.getvalue())

    def from_json(self, value: Any) -> bytes:
        import fastavro

        given = io.StringIO(json.dumps(value))
        encoded = io.BytesIO()
        try:
            (datum,) = fastavro.json_reader(given, self._schema)
            fastavro.schemaless_writer(encoded, self._schema, datum)
        except Exception as error:
            raise ValueError(
                f"{value!r} does not match the Avro schema in Avro's JSON encoding, where a value "
                f'of a union is written as {{"TYPE": VALUE}}: {_reason(error)}'
            ) from error
        return self._header + encoded.getvalue()

    def _check_header(self, raw: bytes) -> None:
        if raw.startswith(self._header):
            return
        if len(raw) < _HEADER_BYTES or not raw.startswith(_MAGIC):
            raise ValueError("does not begin with the header of a schema registry")
        found = int.from_bytes(raw[1:_HEADER_BYTES], "big")
        raise ValueError(f"has schema id {found}, not {self._schema_id}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
