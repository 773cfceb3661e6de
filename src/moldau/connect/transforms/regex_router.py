"""RegexRouter: another topic for records whose topic matches a regular expression of Java."""

import re
from collections.abc import Mapping

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.data.columns import RecordColumns
from moldau.connect.data.record import ConnectRecord
from moldau.connect.transforms.base import PACKAGE, Transform, with_topic
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern
from moldau.connect.transforms.java_replacement import (
    NoSuchGroupError,
    Replacement,
    compile_replacement,
)
from moldau.connect.transforms.options import valid_regex
from moldau.connect.transforms.structs import IllegalArgumentError, IndexOutOfBoundsError

__all__ = ["RegexRouter"]


class RegexRouter(Transform):
    """Rename the topic of a record."""

    java_class = f"{PACKAGE}RegexRouter"
    has_columns = True
    config = (
        ConfigDef()
        .define(
            "regex",
            Type.STRING,
            validator=valid_regex,
            importance=Importance.HIGH,
            doc="The regular expression that the whole topic must match.",
        )
        .define(
            "replacement",
            Type.STRING,
            importance=Importance.HIGH,
            doc="The new topic, in which <code>$1</code> and <code>${name}</code> are groups.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._regex: re.Pattern[str] = compile_pattern(options["regex"])
        self._text: str = options["replacement"]
        self._expand: Replacement | None = None
        # A connector has few topics and many records.
        self._routes: dict[str, str] = {}

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        topic = record.topic
        route = self._routes.get(topic)
        if route is None:
            route = self._route(topic)
            if len(self._routes) < 1000:
                self._routes[topic] = route
        return record if route == topic else with_topic(record, route)

    def apply_columns(self, records: RecordColumns) -> RecordColumns:
        return records.replace(topic=self._route(records.topic))

    def _route(self, topic: str) -> str:
        if not self._regex.fullmatch(topic):
            return topic
        # Java replaces the first occurrence, which need not be the whole topic: ``a|ab`` in ``ab``.
        match = self._regex.search(topic)
        if match is None:
            return topic
        if self._expand is None:
            # A wrong replacement is no error until a topic matches, as in Kafka.
            try:
                self._expand = compile_replacement(self._text, self._regex)
            except NoSuchGroupError as error:
                raise IndexOutOfBoundsError(str(error)) from error
            except JavaRegexError as error:
                raise IllegalArgumentError(str(error)) from error
        return topic[: match.start()] + self._expand(match) + topic[match.end() :]
