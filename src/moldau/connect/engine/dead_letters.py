"""Writes records that failed to the dead-letter topic of their connector, with the reason.

The letters of a task are durable before its batch is committed, so a failed record is either in
the topic or not yet passed. A crash in between can write one twice.
"""

from collections.abc import Callable
from typing import Final

from moldau.client.batches import Delivery
from moldau.client.producer import Producer
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine.error_policy import Failure
from moldau.connect.engine.raw_record import RawRecord
from moldau.connect.engine.traces import class_name, trace_of
from moldau.errors import ApiError

PREFIX: Final = "__connect.errors."
Headers = list[tuple[str, bytes | None]]


def headers_of(connector: str, failure: Failure) -> Headers:
    """Kafka's headers that say where a record came from and why it failed."""
    record = failure.record
    said: list[tuple[str, object]] = []
    if isinstance(record, RawRecord):
        said = [
            ("topic", record.topic),
            ("partition", record.partition),
            ("offset", record.offset),
        ]
    said += [
        ("connector.name", connector),
        ("task.id", 0),
        ("stage", failure.stage),
        ("class.name", failure.class_name),
        ("exception.class.name", class_name(failure.error)),
        ("exception.message", str(failure.error)),
        ("exception.stacktrace", trace_of(failure.error)),
    ]
    return [(PREFIX + name, str(value).encode()) for name, value in said]


class DeadLetters:
    """The dead letters of one task."""

    def __init__(
        self, connector: str, topic: str, producer: Callable[[], Producer], *, has_headers: bool
    ) -> None:
        """``producer`` is called for the first letter: most tasks have none."""
        self._connector = connector
        self._topic = topic
        self._new_producer = producer
        self._producer: Producer | None = None
        self._has_headers = has_headers
        self._failure: Exception | None = None

    def add(self, failure: Failure) -> None:
        """Send one letter; ``flush`` tells whether it arrived."""
        record = failure.record
        if not isinstance(record, RawRecord):
            return
        headers: Headers = list(record.headers)
        if self._has_headers:
            headers += headers_of(self._connector, failure)
        try:
            if self._producer is None:
                self._producer = self._new_producer()
            self._producer.send(
                self._topic,
                record.value,
                record.key,
                timestamp=record.timestamp_ms if record.timestamp_ms >= 0 else None,
                headers=headers,
                on_delivery=self._delivered,
            )
        except ApiError as error:
            raise self._unwritable(error) from error

    def flush(self) -> None:
        """Wait until all letters are durable.

        Raises:
            ConnectError: one is not.
        """
        if self._producer is None:
            return
        self._producer.flush()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise self._unwritable(failure)

    def close(self) -> None:
        if self._producer is not None:
            self._producer.close()

    def _delivered(self, delivery: Delivery) -> None:
        if delivery.error is not None and self._failure is None:
            self._failure = delivery.error

    def _unwritable(self, error: Exception) -> ConnectError:
        return ConnectError(
            f"a record that failed cannot be written to errors.deadletterqueue.topic.name="
            f"{self._topic}: {error}. Nothing of its batch counts as done: mend the topic and "
            "restart the connector"
        )
