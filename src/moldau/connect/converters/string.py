"""``StringConverter``: the text of a value, in any character set."""

import codecs
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from moldau.connect.config.definition import Importance, Type, Width
from moldau.connect.config.errors import invalid
from moldau.connect.converters.base import ValueAndHeaderConverter, converter_config
from moldau.connect.data.columns import NULLS, Column, texts_in
from moldau.connect.data.headers import Header
from moldau.connect.data.java_text import to_text
from moldau.connect.data.schema import OPTIONAL_STRING, Schema

if TYPE_CHECKING:
    import pyarrow as pa

ENCODING = "converter.encoding"
# Java's codecs without a byte order write the high byte first; Python's write what the machine
# does.
_BIG_ENDIAN = {"utf-16": "utf-16-be", "utf-32": "utf-32-be"}


class StringConverter(ValueAndHeaderConverter):
    """Writes ``toString`` of a value, and reads every value as an optional string.

    What the character set cannot express is replaced, never refused, as in Kafka.
    """

    config = converter_config().define(
        ENCODING,
        Type.STRING,
        "UTF-8",
        importance=Importance.HIGH,
        doc="The character set in which strings are written and read.",
        width=Width.MEDIUM,
        display_name="Encoding",
    )

    has_columns = True

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        name = config.get(ENCODING, "UTF-8")
        try:
            codec = codecs.lookup(name).name
        except LookupError:
            example = "such as UTF-8, ISO-8859-1 or UTF-16"
            raise invalid(ENCODING, name, f"must be a character set, {example}") from None
        self._codec = codec
        self._written_as = _BIG_ENDIAN.get(codec, codec)
        self._mark = codecs.BOM_UTF16_BE if codec == "utf-16" else b""

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        if value is None:
            return None
        text = value if type(value) is str else to_text(value, schema)
        data = text.encode(self._written_as, "replace")
        return self._mark + data if self._mark and data else data

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        if data is None:
            return OPTIONAL_STRING, None
        codec = self._codec
        if codec in _BIG_ENDIAN and not data.startswith(_MARKS[codec]):
            codec = _BIG_ENDIAN[codec]
        return OPTIONAL_STRING, data.decode(codec, "replace")

    def from_connect_column(self, column: Column, count: int) -> "pa.Array | None":
        import pyarrow as pa

        if column.cells == NULLS:
            return pa.nulls(count, pa.binary())
        texts = texts_in(column, count) if self._codec == "utf-8" else None
        return None if texts is None else texts.cast(pa.binary())

    def to_connect_column(self, data: "pa.Array") -> Column | None:
        import pyarrow as pa

        if data.null_count == len(data):
            return Column(OPTIONAL_STRING, NULLS)
        if self._codec != "utf-8" or data.null_count:
            return None
        # Bytes that are not a text raise an error here: those are replaced one by one.
        return Column(OPTIONAL_STRING, data.cast(pa.string()))


_MARKS = {
    "utf-16": (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE),
    "utf-32": (codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE),
}
