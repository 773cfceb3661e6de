"""Functions that write and read the fields of one struct, generated as Python source.

A function per field would be called for every field of every record, mostly to find that an int is
an int. The generated function looks at the usual case itself, and calls the function of a field
(``w3``, ``r3``) only for the rest: nulls, logical types, nested values, and whatever does not suit
the schema. Only numbers of fields are put into the source; their names are passed as values.

    def write(value):
        if value.schema is not schema and value.schema != schema:
            raise mismatch()
        v0, v1 = value.values
        return f"{p0}{v0 if type(v0) is int and -128 <= v0 < 128 else w0(v0)}{p1}{...}}}"
"""

from collections.abc import Callable, Sequence
from typing import Any

from moldau.connect.data.logical import LOGICAL_NAMES
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct

_BITS = {Type.INT8: 7, Type.INT16: 15, Type.INT32: 31, Type.INT64: 63}


def struct_writer(
    schema: Schema,
    writers: Sequence[Callable[[Any], str]],
    string_text: Callable[[str], str],
    mismatch: Callable[[], Exception],
) -> Callable[[Any], str]:
    """The function from a struct of ``schema`` to its JSON.

    ``writers`` are those of the fields, also for null; ``mismatch`` makes the error for a struct of
    another schema. What has no schema at all is an AttributeError.
    """
    fields = schema.struct_fields
    named: dict[str, Any] = {
        "schema": schema,
        "mismatch": mismatch,
        "string_text": string_text,
        "float_text": float.__repr__,
    }
    parts = []
    for at, (field, writer) in enumerate(zip(fields, writers, strict=True)):
        named[f"p{at}"] = f"{',' if at else '{'}{string_text(field.name)}:"
        named[f"w{at}"] = writer
        parts.append(f"{{p{at}}}{{{_written(field.schema, at)}}}")
    lines = [
        "def write(value):",
        "    if value.schema is not schema and value.schema != schema:",
        "        raise mismatch()",
        f"    {''.join(f'v{at}, ' for at in range(len(fields)))} = value.values" if fields else "",
        f'    return f"{"".join(parts)}}}}}"' if fields else '    return "{}"',
    ]
    write: Callable[[Any], str] = _defined("write", lines, named)
    return write


def _written(schema: Schema, at: int) -> str:
    """The expression for a field's text."""
    if schema.name in LOGICAL_NAMES:
        return f"w{at}(v{at})"
    match schema.type:
        case Type.STRING:
            usual = f"string_text(v{at}) if type(v{at}) is str"
        case Type.FLOAT64:
            usual = f"float_text(v{at}) if type(v{at}) is float and 0.001 <= v{at} < 1e7"
        case kind if kind in _BITS:
            bound = 1 << _BITS[kind]
            usual = f"v{at} if type(v{at}) is int and {-bound} <= v{at} < {bound}"
        case _:
            return f"w{at}(v{at})"
    return f"{usual} else w{at}(v{at})"


def struct_reader(
    schema: Schema,
    readers: Sequence[Callable[[Any], Any]],
    mismatch: Callable[[Any], Exception],
) -> Callable[[Any], Struct]:
    """The function from a JSON object to a struct of ``schema``.

    ``readers`` are those of the fields, also for null; ``mismatch`` makes the error for what is no
    object.
    """
    fields = schema.struct_fields
    named: dict[str, Any] = {
        "schema": schema,
        "mismatch": mismatch,
        "Struct": Struct,
        "new": object.__new__,
    }
    lines = [
        "def read(node):",
        "    if type(node) is not dict:",
        "        raise mismatch(node)",
        "    get = node.get",
    ]
    for at, (field, reader) in enumerate(zip(fields, readers, strict=True)):
        named[f"n{at}"] = field.name
        named[f"r{at}"] = reader
        lines += [f"    v{at} = get(n{at})", *_read(field.schema, at)]
    lines += [
        "    made = new(Struct)",
        "    made.schema = schema",
        f"    made.values = [{', '.join(f'v{at}' for at in range(len(fields)))}]",
        "    return made",
    ]
    read: Callable[[Any], Struct] = _defined("read", lines, named)
    return read


def _read(schema: Schema, at: int) -> list[str]:
    """The lines that turn the JSON of a field into its value."""
    convert = f"v{at} = r{at}(v{at})"
    if schema.name in LOGICAL_NAMES:
        return [f"    {convert}"]
    match schema.type:
        case Type.STRING:
            unusual = f"type(v{at}) is not str"
        case Type.FLOAT64:
            unusual = f"type(v{at}) is not float"
        case Type.BOOLEAN:
            unusual = f"type(v{at}) is not bool"
        case kind if kind in _BITS:
            bound = 1 << _BITS[kind]
            unusual = f"type(v{at}) is not int or not {-bound} <= v{at} < {bound}"
        case _:
            return [f"    {convert}"]
    return [f"    if {unusual}:", f"        {convert}"]


def _defined(name: str, lines: Sequence[str], named: dict[str, Any]) -> Any:
    exec("\n".join(lines), named)
    return named[name]
