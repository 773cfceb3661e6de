"""What is done about a record that cannot be converted, transformed or written (KIP-298).

An operation that raises ``RetriableError`` is repeated within ``errors.retry.timeout``. What fails
for good is reported (logged, written to the dead letters) and, with ``errors.tolerance=all``,
left out; otherwise the task fails. As in Kafka it is reported in both cases.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from moldau.connect.config.errors import invalid
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.connect.data.record import SourceRecord
from moldau.connect.engine.raw_record import RawRecord

T = TypeVar("T")

RETRY_DELAY_MIN_MS: Final = 300
_FLAGS: Final = {"true": True, "false": False}


class Stage(StrEnum):
    """Where on its way a record failed, with Kafka's names."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_PUT = "TASK_PUT"


class Skipped:
    """The type of ``SKIPPED``."""


# The result of an operation whose record is left out.
SKIPPED: Final = Skipped()


@dataclass(frozen=True)
class ErrorPolicy:
    """The settings ``errors.*`` of a connector."""

    is_tolerant: bool = False
    # -1: for ever.
    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    is_logged: bool = False
    logs_messages: bool = False
    dead_letter_topic: str = ""
    dead_letter_replication_factor: int = 3
    dead_letter_headers: bool = False

    @classmethod
    def parse(cls, config: Mapping[str, str]) -> "ErrorPolicy":
        """Raises ConfigError for a value that is not allowed."""
        tolerance = config.get("errors.tolerance", "none").strip().lower()
        if tolerance not in ("none", "all"):
            raise invalid("errors.tolerance", tolerance, "choose from none, all")
        queue = "errors.deadletterqueue."
        return cls(
            is_tolerant=tolerance == "all",
            retry_timeout_ms=_number(config, "errors.retry.timeout", 0),
            retry_delay_max_ms=_number(config, "errors.retry.delay.max.ms", 60_000),
            is_logged=_flag(config, "errors.log.enable"),
            logs_messages=_flag(config, "errors.log.include.messages"),
            dead_letter_topic=config.get(f"{queue}topic.name", "").strip(),
            dead_letter_replication_factor=_number(config, f"{queue}topic.replication.factor", 3),
            dead_letter_headers=_flag(config, f"{queue}context.headers.enable"),
        )


class Failure(NamedTuple):
    """A record that failed: where, in which class, why, and the record as it was read."""

    stage: Stage
    class_name: str
    error: Exception
    record: Any


class ErrorHandler:
    """Runs the operations of one task by a policy."""

    def __init__(
        self,
        policy: ErrorPolicy,
        report: Callable[[Failure], None],
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self._policy = policy
        self._report = report
        self._now_s = now_s
        self._sleep = sleep
        self._rng = rng or random.Random()

    def execute(
        self, stage: Stage, class_name: str, operation: Callable[[], T], record: Any
    ) -> T | Skipped:
        """The result of ``operation``; SKIPPED if it fails and that is tolerated.

        Raises:
            ConnectError: it failed, and is not tolerated.
        """
        try:
            return self._retry(operation)
        except Exception as error:
            self.failed(Failure(stage, class_name, error, record))
            return SKIPPED

    def failed(self, failure: Failure) -> None:
        """Report a failed record; raises ConnectError unless it is tolerated."""
        self._report(failure)
        if not self._policy.is_tolerant:
            message = f"A record could not be processed ({_place(failure)})"
            raise ConnectError(f"{message}, and errors.tolerance is none") from failure.error

    def _retry(self, operation: Callable[[], T]) -> T:
        limit_ms = self._policy.retry_timeout_ms
        deadline_s = float("inf") if limit_ms < 0 else self._now_s() + limit_ms / 1000
        attempt = 0
        while True:
            try:
                return operation()
            except RetriableError:
                now_s = self._now_s()
                if now_s >= deadline_s:
                    raise
                delay_s = delay_ms(attempt, self._policy.retry_delay_max_ms, self._rng) / 1000
                self._sleep(min(delay_s, deadline_s - now_s))
                attempt += 1


def delay_ms(attempt: int, max_ms: int, rng: random.Random) -> float:
    """How long to wait before trying again, after ``attempt`` earlier retries."""
    delay = RETRY_DELAY_MIN_MS << min(attempt, 30)
    # A random delay, once at the maximum: tasks that failed together should not retry together.
    return delay if delay <= max_ms else rng.uniform(0, max_ms)


def log_line(connector: str, failure: Failure, policy: ErrorPolicy) -> str:
    """What ``errors.log.enable`` writes to the log."""
    line = f"Task {connector}-0 failed on a record at {failure.stage}, in {failure.class_name}"
    return line + _described(failure.record) if policy.logs_messages else line


def _described(record: Any) -> str:
    if not isinstance(record, RawRecord):
        return f": {record}"
    return (
        f": topic={record.topic}, partition={record.partition}, "
        f"offset={record.offset}, timestamp={record.timestamp_ms}, "
        f"timestampType={record.timestamp_type}"
    )


def _place(failure: Failure) -> str:
    """Which record it was, as the offsets of its connector are shown, and where it failed."""
    record, where = failure.record, f"at {failure.stage}"
    if isinstance(record, RawRecord):
        return f"offset {record.offset} of {record.topic}-{record.partition}, {where}"
    if isinstance(record, SourceRecord) and record.source_offset:
        offset, partition = _listed(record.source_offset), _listed(record.source_partition)
        return f"{offset} of {partition}, {where}"
    return where


def _listed(fields: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items())


def _number(config: Mapping[str, str], name: str, default: int) -> int:
    text = config.get(name)
    if text is None:
        return default
    try:
        return int(text.strip())
    except ValueError:
        raise invalid(name, text, "it must be an integer of 64 bits (LONG)") from None


def _flag(config: Mapping[str, str], name: str) -> bool:
    text = config.get(name, "false")
    value = _FLAGS.get(text.strip().lower())
    if value is None:
        raise invalid(name, text, "it must be true or false")
    return value
