"""``DESCRIBE topic``: its columns, and a note about what its records look like."""

from typing import TYPE_CHECKING

from moldau.sql.formats import Encoding
from moldau.sql.statements import shown
from moldau.sql.tables import METADATA, TopicTable

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_MEANINGS = {
    "_key": "the key of the record",
    "_partition": "the partition it is in",
    "_offset": "its offset in the partition",
    "_timestamp": "when it was written",
    "_headers": "its headers",
}


def description(schema: "StructType", table: TopicTable) -> list[tuple[str, str, str]]:
    """Name, type and meaning of each column."""
    return [
        (each.name, each.dataType.simpleString(), _meaning(each.name, table)) for each in schema
    ]


def _meaning(column: str, table: TopicTable) -> str:
    if column in METADATA:
        return _MEANINGS[column]
    if table.value_schema is not None:
        return f"Avro, schema {table.value_schema.id}"
    return {
        Encoding.JSON: "JSON: value:field names a field",
        Encoding.AVRO: "Avro: --registry URL decodes it",
        Encoding.TEXT: "text",
        Encoding.BINARY: "bytes",
        Encoding.EMPTY: "JSON or text: there are no records yet",
    }[table.value.encoding]


def remark(table: TopicTable) -> str | None:
    """What else a user should know; None if there is nothing."""
    value = table.value
    if value.others:
        return (
            f"{value.others} of {value.samples} records that were looked at are not JSON: their "
            "value is a string"
        )
    if value.encoding is Encoding.JSON:
        return f"SUGGEST SCHEMA FOR {shown(table.topic)} offers a view with typed columns"
    if len(value.schema_ids) > 1:
        ids = ", ".join(map(str, value.schema_ids))
        return f"records have the schemas {ids}"
    return None
