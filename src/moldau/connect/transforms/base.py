"""What a transform and a predicate are, and what the stock ones share.

A transform is made without arguments, configured once with the options of its alias (without the
prefix ``transforms.ALIAS.``), and then called for one record after the other, by one thread. It
never changes a record that it gets: it returns that record, another one, or None to drop it.

Most stock transforms come in two classes, for the key and for the value of a record. ``KeyPart``
and ``ValuePart`` are the difference between them.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from moldau.connect.config.definition import ConfigDef
from moldau.connect.data.columns import NULLS, Column, RecordColumns
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema

__all__ = [
    "Changed",
    "KeyPart",
    "Part",
    "PartTransform",
    "Predicate",
    "Transform",
    "ValuePart",
    "copied",
    "with_headers",
    "with_topic",
]

PACKAGE = "org.apache.kafka.connect.transforms."


class Transform:
    """A change to records. ``java_class`` is the name that status and dead letters show."""

    config: ClassVar[ConfigDef] = ConfigDef()
    java_class: ClassVar[str] = ""
    # Whether there is an ``apply_columns``.
    has_columns: ClassVar[bool] = False

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: an option is missing or has a value that it does not take.
        """

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """The record to go on with, or None to drop it. Raises a ConnectError for one it cannot
        change.
        """
        raise NotImplementedError

    def apply_columns(self, records: RecordColumns) -> RecordColumns | None:
        """``apply`` for many records at once, which must not drop any. None where it cannot, or if
        it is not known that it has the same result: then ``apply`` is called for each.
        """
        return None

    def close(self) -> None:
        """Release what ``configure`` took."""


class Predicate:
    """A question about a record, which decides whether a transform is applied to it."""

    config: ClassVar[ConfigDef] = ConfigDef()
    java_class: ClassVar[str] = ""

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options. Raises a ConfigError for what is missing or wrong."""

    def test(self, record: ConnectRecord) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        """Release what ``configure`` took."""


class Part(Protocol):
    """The key or the value of a record."""

    @staticmethod
    def schema(record: ConnectRecord) -> Schema | None: ...

    @staticmethod
    def content(record: ConnectRecord) -> Any: ...

    @staticmethod
    def updated(record: ConnectRecord, schema: Schema | None, content: Any) -> ConnectRecord:
        """A copy of the record with another schema and content of this part."""
        ...


# Copies are made for every record and transform, so not with copy.copy, which goes through pickle's
# protocol and takes three times as long. The first eight attributes are those of every record.
_COPIERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def _attributes(record: ConnectRecord) -> tuple[Any, ...]:
    kind = type(record)
    getter = _COPIERS.get(kind)
    if getter is None:
        getter = _COPIERS[kind] = attrgetter(*kind.__dataclass_fields__)
    return getter(record)


def copied(record: ConnectRecord) -> ConnectRecord:
    """A record of its own, which shares the key, value and headers."""
    return type(record)(*_attributes(record))


def with_topic(record: ConnectRecord, topic: str) -> ConnectRecord:
    return type(record)(topic, *_attributes(record)[1:])


def with_headers(record: ConnectRecord, headers: list[Any]) -> ConnectRecord:
    attributes = _attributes(record)
    made: type[Any] = type(record)
    copied: ConnectRecord = made(*attributes[:7], headers, *attributes[8:])
    return copied


class KeyPart:
    """Transforms of this kind work on the key."""

    @staticmethod
    def schema(record: ConnectRecord) -> Schema | None:
        return record.key_schema

    @staticmethod
    def content(record: ConnectRecord) -> Any:
        return record.key

    @staticmethod
    def updated(record: ConnectRecord, schema: Schema | None, content: Any) -> ConnectRecord:
        topic, partition, _, _, *rest = _attributes(record)
        return type(record)(topic, partition, schema, content, *rest)


class ValuePart:
    """Transforms of this kind work on the value."""

    @staticmethod
    def schema(record: ConnectRecord) -> Schema | None:
        return record.value_schema

    @staticmethod
    def content(record: ConnectRecord) -> Any:
        return record.value

    @staticmethod
    def updated(record: ConnectRecord, schema: Schema | None, content: Any) -> ConnectRecord:
        topic, partition, key_schema, key, _, _, *rest = _attributes(record)
        return type(record)(topic, partition, key_schema, key, schema, content, *rest)


# The schema and content that a key or value gets.
Changed = tuple[Schema | None, Any]


class PartTransform(Transform):
    """A transform of either the key or the value, and of nothing else.

    ``change`` says what becomes of it. A chain of them copies a record only once: see ``chain``.
    """

    part: ClassVar[type[Part]]

    def change(self, record: ConnectRecord, schema: Schema | None, content: Any) -> Changed:
        """The new schema and content; those that came in, if nothing changes. ``content`` itself is
        not changed. Of ``record`` only the metadata is read.
        """
        raise NotImplementedError

    def change_column(self, records: RecordColumns, column: Column) -> Column | None:
        """``change`` for many records at once, none of which is null: see ``apply_columns``."""
        return None

    def apply_columns(self, records: RecordColumns) -> RecordColumns | None:
        is_value = self.part is ValuePart
        column = records.value if is_value else records.key
        if column.cells == NULLS:
            return None
        changed = self.change_column(records, column)
        if changed is None:
            return None
        return records.replace(value=changed) if is_value else records.replace(key=changed)

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        part = self.part
        schema, content = part.schema(record), part.content(record)
        new_schema, new_content = self.change(record, schema, content)
        if new_content is content and new_schema is schema:
            return record
        return part.updated(record, new_schema, new_content)
