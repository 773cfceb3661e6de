"""TimestampRouter: a topic made of the old topic and the timestamp of the record."""

from collections.abc import Mapping

from moldau.clock import SystemClock
from moldau.connect.config.definition import ConfigDef, Importance, Type, invalid
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.transforms.base import PACKAGE, Transform, with_topic
from moldau.connect.transforms.date_format import DateFormat, DateFormatError

__all__ = ["TimestampRouter"]


class TimestampRouter(Transform):
    """Put the time of a record into its topic."""

    java_class = f"{PACKAGE}TimestampRouter"
    config = (
        ConfigDef()
        .define(
            "topic.format",
            Type.STRING,
            "${topic}-${timestamp}",
            importance=Importance.HIGH,
            doc="The new topic. <code>${topic}</code> in it is the old one; "
            "<code>${timestamp}</code> is the timestamp, formatted.",
        )
        .define(
            "timestamp.format",
            Type.STRING,
            "yyyyMMdd",
            importance=Importance.HIGH,
            doc="The pattern of the timestamp, in the syntax of Java's SimpleDateFormat.",
        )
    )

    def configure(self, config: Mapping[str, str]) -> None:
        options = self.config.parse(config)
        self._topic_format: str = options["topic.format"]
        pattern = options["timestamp.format"]
        # Kafka finds a wrong pattern at the first record; it is wrong for all of them.
        try:
            self._format = DateFormat(pattern, SystemClock().wall_ms())
        except DateFormatError as error:
            raise invalid("timestamp.format", pattern, str(error)) from error

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        if record.timestamp_ms is None:
            where = f"{record.topic}, partition {record.partition}"
            raise DataError(f"TimestampRouter needs a timestamp: a record of {where} has none")
        timestamp = self._format.format(record.timestamp_ms)
        topic = self._topic_format.replace("${topic}", record.topic)
        return with_topic(record, topic.replace("${timestamp}", timestamp))
