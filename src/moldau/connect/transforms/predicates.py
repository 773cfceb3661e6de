"""The stock predicates: a header of a name, no value, a topic that matches."""

import re
from collections.abc import Mapping

from moldau.connect.config.definition import AllOf, ConfigDef, Importance, NonEmptyString, Type
from moldau.connect.data.record import ConnectRecord
from moldau.connect.transforms.base import PACKAGE, Predicate
from moldau.connect.transforms.java_regex import compile_pattern
from moldau.connect.transforms.options import valid_regex

__all__ = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"]


class HasHeaderKey(Predicate):
    """True for records with a header of the name."""

    java_class = f"{PACKAGE}predicates.HasHeaderKey"
    config = ConfigDef().define(
        "name",
        Type.STRING,
        validator=NonEmptyString(),
        importance=Importance.MEDIUM,
        doc="The name of the header.",
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._name: str = self.config.parse(config)["name"]

    def test(self, record: ConnectRecord) -> bool:
        return any(header.name == self._name for header in record.headers)


class RecordIsTombstone(Predicate):
    """True for records without a value."""

    java_class = f"{PACKAGE}predicates.RecordIsTombstone"

    def test(self, record: ConnectRecord) -> bool:
        return record.value is None


class TopicNameMatches(Predicate):
    """True for records whose whole topic matches a regular expression of Java."""

    java_class = f"{PACKAGE}predicates.TopicNameMatches"
    config = ConfigDef().define(
        "pattern",
        Type.STRING,
        validator=AllOf(NonEmptyString(), valid_regex),
        importance=Importance.MEDIUM,
        doc="The regular expression, in Java's syntax, for the topic.",
    )

    def configure(self, config: Mapping[str, str]) -> None:
        self._pattern: re.Pattern[str] = compile_pattern(self.config.parse(config)["pattern"])

    def test(self, record: ConnectRecord) -> bool:
        return self._pattern.fullmatch(record.topic) is not None
