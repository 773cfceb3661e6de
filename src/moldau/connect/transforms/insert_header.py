"""InsertHeader: one more header, with a fixed value."""

from collections.abc import Mapping

from moldau.connect.config.definition import ConfigDef, Importance, NonNull, Type
from moldau.connect.data.headers import Header
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.value_parsing import parse_string
from moldau.connect.transforms.base import PACKAGE, Transform, with_headers

__all__ = ["InsertHeader"]


class InsertHeader(Transform):
    """Append a header to each record."""

    java_class = f"{PACKAGE}InsertHeader"
    config = (
        ConfigDef()
        .define(
            "header",
            Type.STRING,
            validator=NonNull(),
            importance=Importance.HIGH,
            doc="The name of the header.",
        )
        .define(
            "value.literal",
            Type.STRING,
            validator=NonNull(),
            importance=Importance.HIGH,
            doc="The value of the header. Its type is guessed from the text, as that of headers "
            "that are read from a topic.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        schema, value = parse_string(options["value.literal"])
        self._header = Header(options["header"], schema, value)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        return with_headers(record, [*record.headers, self._header])
