"""Converts types that Spark writes as JSON but cannot read back.

These are maps with keys that are not strings, at any depth: each becomes an array of structs of
``key`` and ``value``. All other types are unchanged.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import ArrayType, DataType, MapType


def json_type(data_type: "DataType") -> "DataType":
    """The type that a value of ``data_type`` has in JSON."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(data_type, StructType):
        return StructType(
            [StructField(each.name, json_type(each.dataType)) for each in data_type.fields]
        )
    if isinstance(data_type, ArrayType):
        return ArrayType(json_type(data_type.elementType))
    if isinstance(data_type, MapType) and _has_text_keys(data_type):
        return MapType(data_type.keyType, json_type(data_type.valueType))
    if isinstance(data_type, MapType):
        return json_type(_entries(data_type))
    return data_type


def to_json_type(column: "Column", data_type: "DataType") -> "Column":
    """``column``, of ``data_type``, as ``json_type(data_type)``."""
    return _converted(column, data_type, is_back=False)


def from_json_type(column: "Column", data_type: "DataType") -> "Column":
    """``column``, of ``json_type(data_type)``, as ``data_type``."""
    return _converted(column, data_type, is_back=True)


def _converted(column: "Column", data_type: "DataType", *, is_back: bool) -> "Column":
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if not _needs(data_type):
        return column
    if isinstance(data_type, StructType):
        fields = [
            _converted(column[each.name], each.dataType, is_back=is_back).alias(each.name)
            for each in data_type.fields
        ]
        # A struct of nulls is not the same as null.
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(data_type, ArrayType):
        element = data_type.elementType
        return F.transform(column, lambda each: _converted(each, element, is_back=is_back))
    assert isinstance(data_type, MapType)
    if _has_text_keys(data_type):
        value = data_type.valueType
        return F.transform_values(column, lambda _, each: _converted(each, value, is_back=is_back))
    entries = _entries(data_type)
    if is_back:
        return F.map_from_entries(_converted(column, entries, is_back=True))
    return _converted(F.map_entries(column), entries, is_back=False)


def _needs(data_type: "DataType") -> bool:
    return json_type(data_type).simpleString() != data_type.simpleString()


def _has_text_keys(data_type: "MapType") -> bool:
    return data_type.keyType.typeName() == "string"


def _entries(data_type: "MapType") -> "ArrayType":
    from pyspark.sql.types import ArrayType, StructField, StructType

    entry = [StructField("key", data_type.keyType), StructField("value", data_type.valueType)]
    return ArrayType(StructType(entry))
