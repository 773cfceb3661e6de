"""DropHeaders: a record without the headers of some names."""

from collections.abc import Mapping

from moldau.connect.config.definition import ConfigDef, Importance, Type, ValidList
from moldau.connect.data.headers import without
from moldau.connect.data.record import ConnectRecord
from moldau.connect.transforms.base import PACKAGE, Transform, with_headers

__all__ = ["DropHeaders"]


class DropHeaders(Transform):
    """Remove headers by name."""

    java_class = f"{PACKAGE}DropHeaders"
    config = ConfigDef().define(
        "headers",
        Type.LIST,
        validator=ValidList(is_empty_allowed=False),
        importance=Importance.HIGH,
        doc="The names of the headers to remove.",
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._names = frozenset(self.config.parse(config)["headers"])

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        return with_headers(record, without(record.headers, self._names))
