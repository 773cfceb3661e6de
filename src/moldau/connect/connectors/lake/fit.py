"""Rows of records in the columns of a table that is already there.

Columns go by name. One that the records lack is null. One whose type differs is converted if both
are of the same kind, and value by value: a long goes into an integer as long as it fits. Nothing is
rounded, cut or parsed.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from moldau.connect.data.errors import DataError

_KINDS: Final[tuple[tuple[str, Callable[[pa.DataType], bool]], ...]] = (
    ("integer", pa.types.is_integer),
    ("float", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("string", lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    ("binary", lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind)),
    ("timestamp", pa.types.is_timestamp),
    ("time", pa.types.is_time),
    ("struct", pa.types.is_struct),
    ("list", lambda kind: _is_list(kind)),
    ("map", pa.types.is_map),
)


def missing_columns(wanted: pa.Schema, target: pa.Schema) -> list[pa.Field]:
    """Columns of the records that the table lacks, also inside structs: then the whole column."""
    found = []
    for field in wanted:
        place = target.get_field_index(field.name)
        if place < 0 or _lacks(field.type, target.field(place).type):
            found.append(field)
    return found


def _lacks(wanted: pa.DataType, target: pa.DataType) -> bool:
    """Whether a struct, at any depth, has fields that the target's lacks."""
    if pa.types.is_struct(wanted) and pa.types.is_struct(target):
        for field in wanted:
            place = target.get_field_index(field.name)
            if place < 0 or _lacks(field.type, target.field(place).type):
                return True
        return False
    if _is_list(wanted) and _is_list(target):
        return _lacks(wanted.value_type, target.value_type)
    if pa.types.is_map(wanted) and pa.types.is_map(target):
        return _lacks(wanted.item_type, target.item_type)
    return False


def wider_columns(wanted: pa.Schema, target: pa.Schema) -> list[pa.Field]:
    """Columns of the records that could be stored without loss if the table's were wider."""
    found = []
    for field in wanted:
        place = target.get_field_index(field.name)
        if place >= 0 and _is_wider(field.type, target.field(place).type):
            found.append(field)
    return found


def _is_wider(wanted: pa.DataType, target: pa.DataType) -> bool:
    """Whether Iceberg would widen the target (its rules of type promotion)."""
    if pa.types.is_decimal(wanted) and pa.types.is_decimal(target):
        return bool(wanted.scale == target.scale and wanted.precision > target.precision)
    return (target, wanted) in (
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
    )


def check(wanted: pa.Schema, target: pa.Schema, table: str, *, evolves: bool) -> None:
    """Raise a DataError unless rows of ``wanted`` can be rows of the table ``target``."""
    for field in wanted:
        place = target.get_field_index(field.name)
        if place < 0 or _lacks(field.type, target.field(place).type):
            remedy = (
                "it could not be added"
                if evolves
                else "add it, let the connector add columns (auto.evolve), or leave the field "
                "out with the transform ReplaceField"
            )
            raise DataError(
                f"table {table} has no column for {field.name} ({field.type}): {remedy}"
            )
        found = target.field(place).type
        if not _is_same_kind(field.type, found):
            raise DataError(
                f"column {field.name} of table {table} is {found}, but the records have "
                f"{field.type}: convert the field with the transform Cast, or rename it with "
                "ReplaceField"
            )


def _is_same_kind(wanted: pa.DataType, target: pa.DataType) -> bool:
    if wanted == target:
        return True
    for _, is_kind in _KINDS:
        if is_kind(wanted) and is_kind(target):
            return True
    # Any integer of 32 bits is a double.
    return bool(pa.types.is_integer(wanted) and pa.types.is_float64(target))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def fit(table: pa.Table, target: pa.Schema, name: str) -> pa.Table:
    """The rows with the columns of ``target``, in its order.

    Raises:
        DataError: a value does not fit, or is missing where the table needs one.
    """
    arrays = []
    for field in target:
        place = table.schema.get_field_index(field.name)
        if place < 0:
            column = pa.chunked_array([pa.nulls(table.num_rows, field.type)])
        else:
            column = table.column(place)
            if column.type != field.type:
                try:
                    column = column.cast(field.type)
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                    raise DataError(
                        f"column {field.name} of table {name} is {field.type}: {error}"
                    ) from None
        if not field.nullable and column.null_count:
            raise DataError(
                f"column {field.name} of table {name} needs a value, but the record has none"
            )
        arrays.append(column)
    return pa.Table.from_arrays(arrays, schema=target)
