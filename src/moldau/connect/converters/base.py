"""What a converter is.

A worker makes one converter for the keys and one for the values of a connector, and configures it
once; every record then passes ``to_connect`` (sinks) or ``from_connect`` (sources). Converters are
made again from their config in each Spark task, so they need not be picklable, and they are used by
one thread at a time.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from moldau.connect.config.definition import ConfigDef, Importance, Type, ValidString
from moldau.connect.data.columns import Column
from moldau.connect.data.headers import Header
from moldau.connect.data.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

TYPE = "converter.type"


def converter_config() -> ConfigDef:
    """The options that all converters share; each one adds its own."""
    return ConfigDef().define(
        TYPE,
        Type.STRING,
        validator=ValidString("key", "value", "header"),
        importance=Importance.LOW,
        doc="What is converted: keys, values or headers.",
    )


class Converter:
    """Converts keys or values."""

    config: ClassVar[ConfigDef] = converter_config()
    # Whether there is a ``to_connect_column``.
    has_columns: ClassVar[bool] = False

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Take the options, without the prefix ``key.converter.`` or ``value.converter.``.

        Raises:
            ConfigError: if an option has a value that it cannot have.
        """

    def from_connect(
        self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any
    ) -> bytes | None:
        """The bytes of a value for ``topic``; None for a tombstone.

        Raises:
            DataError: if the value does not suit its schema or this format.
        """
        raise NotImplementedError

    def to_connect(
        self, topic: str, headers: Sequence[Header], data: bytes | None
    ) -> tuple[Schema | None, Any]:
        """The schema, or None without one, and the value of bytes read from ``topic``.

        Raises:
            DataError: if the bytes are not in this format.
        """
        raise NotImplementedError

    def from_connect_column(self, column: Column, count: int) -> "pa.Array | None":
        """``from_connect`` for many values, as an array of bytes; None where only that can."""
        return None

    def to_connect_column(self, data: "pa.Array") -> Column | None:
        """``to_connect`` for many values; None where only that can. An exception says no more."""
        return None

    def close(self) -> None:
        """Let go of connections and files. The default has none."""


class HeaderConverter:
    """Converts the values of headers."""

    config: ClassVar[ConfigDef] = converter_config()

    def configure(self, config: Mapping[str, str], is_key: bool = False) -> None:
        """Take the options, without the prefix ``header.converter.``; ``is_key`` has no meaning
        here.
        """

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: Any
    ) -> bytes | None:
        """The bytes of the value of header ``name``."""
        raise NotImplementedError

    def to_connect_header(
        self, topic: str, name: str, data: bytes | None
    ) -> tuple[Schema | None, Any]:
        """The schema and the value of the bytes of header ``name``."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections and files. The default has none."""


class ValueAndHeaderConverter(Converter, HeaderConverter):
    """A converter that treats a header as it treats a value, as most do."""

    def from_connect_header(
        self, topic: str, name: str, schema: Schema | None, value: Any
    ) -> bytes | None:
        return self.from_connect(topic, (), schema, value)

    def to_connect_header(
        self, topic: str, name: str, data: bytes | None
    ) -> tuple[Schema | None, Any]:
        return self.to_connect(topic, (), data)

    def close(self) -> None:
        """Let go of connections and files. The default has none."""
