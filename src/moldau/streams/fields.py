"""Columns whose fields take precedence over Spark's own methods: ``value.name`` is the field.

``Column`` has dozens of methods, among them ``name``, ``like``, ``over`` and ``desc``. A record may
well have a field with such a name, and Python would find the method first: ``value.name == "ann"``
compares a method with a string, which is False for every record. So a user's function gets a
Column that knows its type.

Rules this module keeps:

* A field of the struct takes precedence over a method; ``F.col("value")`` still has the method.
* The same holds for structs within structs, arrays and maps.
* Names that start with ``_`` are Spark's: write ``value["_id"]`` for such a field.
"""

from typing import Any

from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import ArrayType, DataType, MapType, StructType


class TypedColumn(ClassicColumn):
    """A Column that knows its type."""

    def __init__(self, plain: Column, data_type: DataType) -> None:
        super().__init__(plain._jc)
        self._type = data_type

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            data_type = self._type
            if isinstance(data_type, StructType) and name in data_type.names:
                return self[name]
        return super().__getattribute__(name)

    def __getitem__(self, key: Any) -> Column:
        return typed(super().__getitem__(key), _part(self._type, key))


def typed(column: Column, data_type: DataType | None) -> Column:
    """``column`` with precedence for fields, if it is a struct, an array or a map."""
    if not isinstance(data_type, StructType | ArrayType | MapType):
        return column
    return TypedColumn(column, data_type)


def plain(column: Column) -> Column:
    """``column`` as Spark's own Column, without precedence for fields."""
    return ClassicColumn(column._jc) if isinstance(column, TypedColumn) else column


def _part(data_type: DataType, key: Any) -> DataType | None:
    """The type of the part of a value at ``key``; None if it is not certain."""
    if isinstance(data_type, StructType):
        found = [each for each in data_type.fields if each.name.lower() == str(key).lower()]
        return found[0].dataType if len(found) == 1 else None
    if isinstance(data_type, ArrayType):
        return data_type.elementType if isinstance(key, int) else None
    if isinstance(data_type, MapType):
        return data_type.valueType
    return None
