"""Retries, tolerance and reports of records that fail."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SourceRecord
from moldau.connect.engine.dead_letters import headers_of
from moldau.connect.engine.error_policy import (
    SKIPPED,
    ErrorHandler,
    ErrorPolicy,
    Failure,
    Stage,
    delay_ms,
    log_line,
)
from moldau.connect.engine.raw_record import RawRecord
from moldau.connect.engine.traces import class_name, trace_of

RAW = RawRecord(b"k", b"v", "orders", 2, 17, 1000, "CreateTime", [])


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def handler(policy: ErrorPolicy, seen: list[Failure], time: Time | None = None) -> ErrorHandler:
    clock = time or Time()
    return ErrorHandler(
        policy, seen.append, now_s=lambda: clock.now_s, sleep=clock.sleep, rng=random.Random(1)
    )


def failing(times: int) -> Callable[[], str]:
    left = [times]

    def operation() -> str:
        if left[0]:
            left[0] -= 1
            raise RetriableError("not now")
        return "done"

    return operation


def test_settings_are_parsed() -> None:
    policy = ErrorPolicy.parse(
        {
            "errors.tolerance": "all",
            "errors.retry.timeout": "-1",
            "errors.retry.delay.max.ms": "500",
            "errors.log.enable": "true",
            "errors.deadletterqueue.topic.name": " dead ",
            "errors.deadletterqueue.topic.replication.factor": "1",
        }
    )
    assert policy == ErrorPolicy(
        is_tolerant=True,
        retry_timeout_ms=-1,
        retry_delay_max_ms=500,
        is_logged=True,
        dead_letter_topic="dead",
        dead_letter_replication_factor=1,
    )


@pytest.mark.parametrize(
    "config",
    [
        {"errors.tolerance": "some"},
        {"errors.retry.timeout": "soon"},
        {"errors.log.enable": "yes"},
    ],
)
def test_invalid_settings_are_named(config: dict[str, str]) -> None:
    [(name, value)] = config.items()
    with pytest.raises(ConfigError, match=f"{name} cannot be {value}"):
        ErrorPolicy.parse(config)


def test_without_tolerance_the_first_failure_is_reported_and_raised() -> None:
    seen: list[Failure] = []
    error = DataError("no")

    def operation() -> None:
        raise error

    with pytest.raises(ConnectError, match=r"errors\.tolerance is none$") as raised:
        handler(ErrorPolicy(), seen).execute(Stage.KEY_CONVERTER, "K", operation, RAW)
    assert raised.value.__cause__ is error
    assert seen == [Failure(Stage.KEY_CONVERTER, "K", error, RAW)]


@pytest.mark.parametrize(
    ("record", "place"),
    [
        (RAW, "offset 17 of orders-2, at KEY_CONVERTER"),
        (
            SourceRecord("t", source_partition={"file": "a"}, source_offset={"position": 3}),
            "position=3 of file=a, at KEY_CONVERTER",
        ),
        (None, "at KEY_CONVERTER"),
    ],
)
def test_the_error_says_which_record_it_was_and_where_it_failed(record: Any, place: str) -> None:
    with pytest.raises(ConnectError) as raised:
        handler(ErrorPolicy(), []).execute(Stage.KEY_CONVERTER, "K", lambda: 1 // 0, record)
    assert str(raised.value) == (
        f"A record could not be processed ({place}), and errors.tolerance is none"
    )


def test_with_tolerance_the_record_is_skipped() -> None:
    seen: list[Failure] = []
    policy = ErrorPolicy(is_tolerant=True)
    result = handler(policy, seen).execute(Stage.TRANSFORMATION, "T", lambda: 1 // 0, RAW)
    assert result is SKIPPED
    assert [type(each.error) for each in seen] == [ZeroDivisionError]


def test_retriable_errors_are_retried_within_the_time_limit() -> None:
    time, seen = Time(), list[Failure]()
    policy = ErrorPolicy(retry_timeout_ms=2000)
    assert handler(policy, seen, time).execute(Stage.TRANSFORMATION, "T", failing(3), RAW) == "done"
    # 300, 600 and 1200 ms, the last cut to what is left.
    assert time.slept == pytest.approx([0.3, 0.6, 1.1])
    with pytest.raises(ConnectError):
        handler(policy, seen, Time()).execute(Stage.TRANSFORMATION, "T", failing(4), RAW)
    assert len(seen) == 1


def test_without_a_retry_timeout_nothing_is_retried() -> None:
    time = Time()
    with pytest.raises(ConnectError):
        handler(ErrorPolicy(), [], time).execute(Stage.TRANSFORMATION, "T", failing(1), RAW)
    assert time.slept == []


def test_delays_are_random_below_the_maximum_once_they_reach_it() -> None:
    rng = random.Random(7)
    assert [delay_ms(each, 1000, rng) for each in range(2)] == [300, 600]
    later = [delay_ms(each, 1000, rng) for each in range(2, 50)]
    assert all(0 <= each <= 1000 for each in later)
    assert len(set(later)) > 40


def test_the_log_names_stage_and_record() -> None:
    failure = Failure(Stage.VALUE_CONVERTER, "org.apache.Json", DataError("no"), RAW)
    assert (
        log_line("c", failure, ErrorPolicy())
        == "Task c-0 failed on a record at VALUE_CONVERTER, in org.apache.Json"
    )
    assert log_line("c", failure, ErrorPolicy(logs_messages=True)).endswith(
        ": topic=orders, partition=2, offset=17, timestamp=1000, timestampType=CreateTime"
    )


def test_letters_have_kafkas_headers() -> None:
    failure = Failure(Stage.TRANSFORMATION, "org.T", DataError("no"), RAW)
    found = headers_of("c", failure)
    assert [name.removeprefix("__connect.errors.") for name, _ in found] == [
        "topic",
        "partition",
        "offset",
        "connector.name",
        "task.id",
        "stage",
        "class.name",
        "exception.class.name",
        "exception.message",
        "exception.stacktrace",
    ]
    assert [value for _, value in found][:9] == [
        b"orders",
        b"2",
        b"17",
        b"c",
        b"0",
        b"TRANSFORMATION",
        b"org.T",
        b"org.apache.kafka.connect.errors.DataException",
        b"no",
    ]


def test_traces_look_like_those_of_java() -> None:
    try:
        try:
            raise ValueError("inner")
        except ValueError as error:
            raise ConnectError("outer") from error
    except ConnectError as error:
        lines = trace_of(error).splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.ConnectException: outer"
    assert lines[1].startswith("\tat test_traces_look_like_those_of_java(test_error_policy.py:")
    assert "Caused by: ValueError: inner" in lines
    assert class_name(OSError()) == "OSError"
