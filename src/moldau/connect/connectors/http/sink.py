"""The sink of HTTP requests: at least once.

Each record is the body of a request, or up to ``batch.size`` of them are a JSON array. What a
server refuses (4xx) is a bad record: of an array that is refused, the records are sent one by one,
so that only the bad ones count. Answers that ask to come again (429, 5xx) and servers that cannot
be reached are tried again, after the pause that the server asks for. Redirects are refused.

A request of one record has the header ``Idempotency-Key`` with topic, partition and offset, by
which a server can tell a record that it already has.
"""

import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, quote, urlsplit

from moldau.connect.config.definition import (
    ConfigDef,
    ConfigError,
    Importance,
    NonEmptyString,
    Range,
    Type,
    ValidString,
    invalid,
)
from moldau.connect.connector import AT_LEAST_ONCE, ConfigProblem, SinkConnector, SinkTask
from moldau.connect.connectors.http.answers import Verdict, retry_after_s, verdict, wait_s
from moldau.connect.connectors.json_values import json_text
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord

HEADER: Final = "header."
_TOPIC: Final = "${topic}"
# How much of an answer is shown in an error.
_SHOWN: Final = 200


class HttpSink(SinkConnector):
    """Sends records to a server."""

    config = (
        ConfigDef()
        .define(
            "url",
            Type.STRING,
            validator=NonEmptyString(),
            importance=Importance.HIGH,
            doc="Where to send records: http:// or https://. ${topic} stands for the topic. "
            "Options header.NAME are headers of each request.",
        )
        .define(
            "method",
            Type.STRING,
            "POST",
            ValidString("POST", "PUT", "PATCH"),
            doc="The method of the requests.",
        )
        .define(
            "batch.size",
            Type.INT,
            1,
            Range(1),
            doc="Records in a request. With more than 1 the body is a JSON array.",
        )
        .define(
            "body.format",
            Type.STRING,
            "json",
            ValidString("json", "raw"),
            doc="The body of a record: its value as JSON, or a string or bytes as they are.",
        )
        .define(
            "behavior.on.null.values",
            Type.STRING,
            "ignore",
            ValidString("ignore", "fail"),
            importance=Importance.LOW,
            doc="Records without a value (tombstones): left out, or bad records.",
        )
        .define("request.timeout.ms", Type.INT, 30_000, Range(1), doc="The longest request.")
        .define("max.retries", Type.INT, 5, Range(0), doc="Tries after one that failed.")
        .define("retry.backoff.ms", Type.INT, 500, Range(0), doc="The first pause; then doubled.")
        .define("retry.backoff.max.ms", Type.INT, 30_000, Range(0), doc="The longest pause.")
        .define(
            "ssl.ca.location",
            Type.STRING,
            None,
            importance=Importance.LOW,
            doc="A file of certificates to trust instead of the system's.",
        )
    )
    delivery = AT_LEAST_ONCE

    @classmethod
    def validate(cls, config: Mapping[str, str]) -> list[ConfigProblem]:
        """Whether the options go together. Nothing is sent."""
        try:
            _parse(cls.config.parse(config), config)
        except ConfigError as error:
            return [ConfigProblem(error.option or "url", str(error))]
        return []

    def start(self, config: Mapping[str, str]) -> None:
        _parse(self.config.parse(config), config)

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        self._settings = _parse(self.config.parse(config), config)
        self._connection: http.client.HTTPConnection | None = None
        self._server: tuple[str, str] | None = None

    def write(self, records: Any, task: SinkTask) -> None:
        # Only ``write`` is given the task of this batch, which bad records are reported to.
        self._task = task
        super().write(records, task)

    def put(self, records: list[SinkRecord]) -> None:
        batch: list[tuple[SinkRecord, bytes]] = []
        for record in records:
            try:
                body = self._body(record)
            except DataError as error:
                self._report(record, error)
                continue
            if body is None:
                continue
            if batch and (
                len(batch) >= self._settings.batch_size or batch[0][0].topic != record.topic
            ):
                self._send(batch)
                batch = []
            batch.append((record, body))
        if batch:
            self._send(batch)

    def stop(self) -> None:
        self._close()

    def _body(self, record: SinkRecord) -> bytes | None:
        value = record.value
        if value is None:
            if self._settings.refuses_nulls:
                raise DataError(
                    "the record has no value: set behavior.on.null.values=ignore to leave such out"
                )
            return None
        if not self._settings.is_raw:
            return (json_text(record.value_schema, value) or "null").encode()
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        raise DataError(
            "body.format=raw takes strings and bytes: use StringConverter or ByteArrayConverter, "
            "or body.format=json"
        )

    def _send(self, batch: list[tuple[SinkRecord, bytes]]) -> None:
        """Send a batch; if it is refused as a whole, its records one by one."""
        refusal = self._request(batch)
        if refusal is None:
            return
        if len(batch) == 1:
            self._report(batch[0][0], DataError(refusal))
            return
        for each in batch:
            self._send([each])

    def _request(self, batch: list[tuple[SinkRecord, bytes]]) -> str | None:
        """Make one request, as often as it takes; returns why the records were refused.

        Raises:
            RetriableError: it failed ``max.retries`` times more.
            ConnectError: the server redirects.
        """
        settings = self._settings
        first = batch[0][0]
        url = urlsplit(settings.url.replace(_TOPIC, quote(first.topic, safe="")))
        headers = {"Content-Type": settings.content_type}
        if settings.batch_size == 1 or len(batch) == 1:
            place = f"{first.original_topic}-{first.original_partition}-{first.offset}"
            headers["Idempotency-Key"] = place
        headers.update(settings.headers)
        bodies = [body for _, body in batch]
        body = bodies[0] if settings.batch_size == 1 else b"[" + b",".join(bodies) + b"]"
        for attempt in range(settings.max_retries + 1):
            asked_s = None
            try:
                answer, text = self._exchange(url, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self._close()
                problem = f"{_place(url)} cannot be reached: {error or type(error).__name__}"
            else:
                problem = f"{_place(url)} answered {answer.status} {answer.reason}{_shown(text)}"
                found = verdict(answer.status)
                if found is Verdict.DONE:
                    return None
                if found is Verdict.BAD_RECORDS:
                    return problem
                if found is Verdict.WRONG_URL:
                    target = answer.getheader("Location") or "nowhere"
                    raise ConnectError(
                        f"{problem}, leading to {target}: redirects are not followed. Set url to "
                        "where records should go"
                    )
                asked_s = retry_after_s(answer.getheader("Retry-After"), answer.getheader("Date"))
            if attempt < settings.max_retries:
                time.sleep(wait_s(attempt, asked_s, settings.backoff_s, settings.most_backoff_s))
        raise RetriableError(f"{problem}, also after {settings.max_retries} more tries")

    def _exchange(
        self, url: SplitResult, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        is_used = self._connection is not None and self._server == (url.scheme, url.netloc)
        try:
            return self._ask(url, body, headers)
        except (ConnectionError, http.client.RemoteDisconnected):
            if not is_used:
                raise
        # The server has closed a connection that was idle: no reason to wait.
        self._close()
        return self._ask(url, body, headers)

    def _ask(
        self, url: SplitResult, body: bytes, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connected(url)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.request(self._settings.method, path, body, headers)
        answer = connection.getresponse()
        # Read to the end, or the connection cannot be used again.
        text = answer.read()
        if answer.will_close:
            self._close()
        return answer, text

    def _connected(self, url: SplitResult) -> http.client.HTTPConnection:
        server = (url.scheme, url.netloc)
        if self._connection is None or self._server != server:
            self._close()
            timeout_s = self._settings.timeout_s
            host, port = url.hostname or "", url.port
            if url.scheme == "https":
                context = ssl.create_default_context(cafile=self._settings.ca_file)
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=timeout_s, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
            self._server = server
        return self._connection

    def _close(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()
        self._connection = None

    def _report(self, record: SinkRecord, error: Exception) -> None:
        where = f"{record.original_topic}-{record.original_partition}@{record.offset}"
        self._task.report(record, DataError(f"record {where}: {error}"))


@dataclass(frozen=True)
class _Settings:
    url: str
    method: str
    batch_size: int
    is_raw: bool
    refuses_nulls: bool
    timeout_s: float
    max_retries: int
    backoff_s: float
    most_backoff_s: float
    ca_file: str | None
    headers: dict[str, str]

    @property
    def content_type(self) -> str:
        return "application/octet-stream" if self.is_raw else "application/json"


def _parse(values: Mapping[str, Any], config: Mapping[str, str]) -> _Settings:
    """The settings.

    Raises:
        ConfigError: options do not go together.
    """
    try:
        url = urlsplit(values["url"].replace(_TOPIC, "topic"))
        is_valid = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise invalid("url", values["url"], "it must be like https://host:port/path")
    if url.username or url.password:
        raise invalid("url", "[hidden]", "it contains a password: use header.Authorization instead")
    is_raw = values["body.format"] == "raw"
    if is_raw and values["batch.size"] > 1:
        message = "several values make a JSON array only with body.format=json, or set batch.size=1"
        raise invalid("body.format", "raw", message)
    ca_file = values["ssl.ca.location"]
    if ca_file:
        try:
            ssl.create_default_context(cafile=ca_file)
        except OSError as error:
            raise invalid("ssl.ca.location", ca_file, f"no file of certificates: {error}") from None
    headers = {
        name.removeprefix(HEADER): value
        for name, value in config.items()
        if name.startswith(HEADER)
    }
    for name, value in headers.items():
        if not name or any(mark in name + value for mark in "\r\n"):
            raise invalid(HEADER + name, "[hidden]", "a header is one line, with a name")
    return _Settings(
        url=values["url"],
        method=values["method"],
        batch_size=values["batch.size"],
        is_raw=is_raw,
        refuses_nulls=values["behavior.on.null.values"] == "fail",
        timeout_s=values["request.timeout.ms"] / 1000,
        max_retries=values["max.retries"],
        backoff_s=values["retry.backoff.ms"] / 1000,
        most_backoff_s=values["retry.backoff.max.ms"] / 1000,
        ca_file=ca_file,
        headers=headers,
    )


def _place(url: SplitResult) -> str:
    """The URL in errors: without its query, which may have a token."""
    return f"{url.scheme}://{url.netloc}{url.path}"


def _shown(text: bytes) -> str:
    shown = text[:_SHOWN].decode(errors="replace").strip()
    return f": {shown}" if shown else ""
