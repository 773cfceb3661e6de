"""Columns whose fields come before Spark's own methods: ``value.name`` is the field.

``Column`` has dozens of methods, among them ``name``, ``like``, ``over`` and ``desc``. A record may
well have a field of such a name, and Python would find the method first: ``value.name == "ann"``
compares a method with a string, which is False for every record. So a user's function is given a
Column that knows its type.

Rules kept here:

* A field of the struct wins over a method; ``F.col("value")`` still has the method.
* The same holds for structs within structs, arrays and maps.
* Names that begin with ``_`` are Spark's: such a field is ``value["_id"]``.
"""

from typing import Any

from pyspark.sql import Column
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import ArrayType, DataType, MapType, StructType


class TypedColumn(ClassicColumn):
    """A Column of which the type is known."""

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
    """``column`` with its fields before its methods, where it has fields or may lead to some."""
    if not isinstance(data_type, StructType | ArrayType | MapType):
        return column
    return TypedColumn(column, data_type)


def plain(column: Column) -> Column:
    """``column`` as Spark made it, whose methods are Spark's."""
    return ClassicColumn(column._jc) if isinstance(column, TypedColumn) else column


def _part(data_type: DataType, key: Any) -> DataType | None:
    """The type of what ``key`` gets out of a value; None where that is not certain."""
    if isinstance(data_type, StructType):
        found = [each for each in data_type.fields if each.name.lower() == str(key).lower()]
        return found[0].dataType if len(found) == 1 else None
    if isinstance(data_type, ArrayType):
        return data_type.elementType if isinstance(key, int) else None
    if isinstance(data_type, MapType):
        return data_type.valueType
    return None
