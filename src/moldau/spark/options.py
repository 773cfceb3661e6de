"""The options of ``format("moldau")``: Spark's own names, checked before any request is sent.

They are the options of Spark's Kafka source, so that a query moves from ``kafka`` to ``moldau``
by changing that one word, and two more: ``columns`` and ``groupId``. Their names are not case
sensitive, because Spark passes them in lower case.

Rules this module keeps:

* No option is silently ignored, except those that tune the Java client, which is not used here.
* The error for an invalid option has its name, its value and what is expected.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from moldau.client.cluster import parse_bootstrap
from moldau.client.offsets import EARLIEST, LATEST
from moldau.ids import TopicPartition
from moldau.spark.client_options import ClientOptions, parse_client_options
from moldau.spark.errors import PipelineError
from moldau.spark.option_values import (
    Given,
    duration_ms,
    moment_ms,
    parse_assignment,
    parse_moments,
    parse_offsets,
)

COLUMNS: Final = (
    "key",
    "value",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)
_DEFAULT_MAX_TRIGGER_DELAY_MS: Final = 15 * 60 * 1000

# The names as users write them; Spark passes them in lower case.
_OWN: Final = (
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "includeHeaders",
    "groupId",
    "columns",
)
# Tuning of the Java client that Spark's own source offers; there is nothing here to tune.
_WITHOUT_EFFECT: Final = (
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
_NAMES: Final = {name.lower(): name for name in (*_OWN, *_WITHOUT_EFFECT)}
_ENDING: Final = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_STREAMING_ONLY: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")


@dataclass(frozen=True)
class Subscription:
    """The partitions to read: exactly one of the fields is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()


class OnNoMatch(Enum):
    """What to do if no record is at or after the starting timestamp."""

    ERROR = "error"
    LATEST = "latest"


@dataclass(frozen=True)
class OffsetsSpec:
    """Where to start or end: earliest or latest, offsets by partition, or timestamps.

    Exactly one of the fields is set. In ``offsets``, -2 is the earliest and -1 the latest.
    """

    everywhere: int | None = None
    offsets: Mapping[TopicPartition, int] | None = None
    timestamp_ms: int | None = None
    timestamps_ms: Mapping[TopicPartition, int] | None = None


@dataclass(frozen=True)
class SourceOptions:
    """The parsed options of a query that reads."""

    client: ClientOptions
    subscription: Subscription
    starting: OffsetsSpec
    ending: OffsetsSpec
    on_no_match: OnNoMatch
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    include_headers: bool
    columns: tuple[str, ...]
    group_id: str | None


def parse_source_options(options: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    """Parse and check all options of a query.

    Raises:
        PipelineError: an option is unknown, missing or invalid, or conflicts with another.
    """
    given = Given(options)
    _check_names(given, is_streaming)
    starting = _offsets_spec(given, "starting", LATEST if is_streaming else EARLIEST)
    ending = _offsets_spec(given, "ending", LATEST)
    _check_ends(starting, ending, is_streaming)
    strategy = given.parse(
        "startingOffsetsByTimestampStrategy",
        lambda text: OnNoMatch(text.lower()),
        "error or latest",
    )
    max_offsets = given.count("maxOffsetsPerTrigger")
    min_offsets = given.count("minOffsetsPerTrigger")
    if max_offsets is not None and min_offsets is not None and min_offsets > max_offsets:
        raise PipelineError(
            f"minOffsetsPerTrigger={min_offsets} is above maxOffsetsPerTrigger={max_offsets}: "
            "it must not be"
        )
    delay = given.parse("maxTriggerDelay", duration_ms, "write a duration such as 30s or 15m")
    include_headers = given.flag("includeHeaders", False)
    return SourceOptions(
        client=parse_client_options(options, check_bootstrap=parse_bootstrap),
        subscription=_subscription(given),
        starting=starting,
        ending=ending,
        on_no_match=strategy or OnNoMatch.ERROR,
        fail_on_data_loss=given.flag("failOnDataLoss", True),
        min_partitions=given.count("minPartitions"),
        max_records_per_partition=given.count("maxRecordsPerPartition"),
        max_offsets_per_trigger=max_offsets,
        min_offsets_per_trigger=min_offsets,
        max_trigger_delay_ms=_DEFAULT_MAX_TRIGGER_DELAY_MS if delay is None else delay,
        include_headers=include_headers,
        columns=_columns(given, include_headers),
        group_id=given.text("groupId"),
    )


def parse_columns(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a query reads; its other options are checked when it is planned."""
    given = Given(options)
    return _columns(given, given.flag("includeHeaders", False))


def _check_names(given: Given, is_streaming: bool) -> None:
    for name in given.names:
        if name.startswith("kafka."):
            continue
        if name not in _NAMES:
            close = _closest(name)
            hint = f"did you mean {close}?" if close else f"there are {', '.join(_OWN)} and kafka.*"
            raise PipelineError(f"there is no option {name}: {hint}")
    if is_streaming:
        for name in _ENDING:
            if given.text(name) is not None:
                raise PipelineError(
                    f"option {name} is for batch queries: a streaming query has no end"
                )
    else:
        for name in (*_STREAMING_ONLY, "groupId"):
            if given.text(name) is not None:
                raise PipelineError(
                    f"option {name} is for streaming queries: a batch query has no triggers "
                    "and commits no progress"
                )


def _closest(name: str) -> str | None:
    import difflib

    found = difflib.get_close_matches(name, _NAMES, n=1)
    return _NAMES[found[0]] if found else None


def _subscription(given: Given) -> Subscription:
    ways = [name for name in ("subscribe", "subscribePattern", "assign") if given.text(name)]
    if len(ways) != 1:
        said = f"there are {' and '.join(ways)}" if ways else "there is none of them"
        raise PipelineError(
            f"one of subscribe, subscribePattern and assign says what to read: {said}"
        )
    if ways == ["assign"]:
        example = 'write {"topic": [0, 1]} as JSON'
        assigned = given.parse("assign", parse_assignment, example)
        return Subscription(assigned=tuple(sorted(assigned or ())))
    if ways == ["subscribePattern"]:
        pattern = given.parse(
            "subscribePattern",
            lambda text: re.compile(text).pattern,
            "this is not a regular expression",
        )
        return Subscription(pattern=pattern)
    names = (name.strip() for name in (given.text("subscribe") or "").split(","))
    topics = tuple(sorted({name for name in names if name}))
    if not topics:
        raise PipelineError("option subscribe names no topic: write one, or several with commas")
    return Subscription(topics=topics)


def _columns(given: Given, include_headers: bool) -> tuple[str, ...]:
    names = given.text("columns")
    if names is None:
        return COLUMNS if include_headers else COLUMNS[:-1]
    by_name = {column.lower(): column for column in COLUMNS}
    chosen = []
    for name in (part.strip() for part in names.split(",")):
        column = by_name.get(name.lower())
        if column is None or column in chosen:
            wrong = "is there twice" if column else "does not exist"
            raise PipelineError(
                f"option columns={names}: {name!r} {wrong}; there are {', '.join(COLUMNS)}"
            )
        chosen.append(column)
    return tuple(chosen)


def _offsets_spec(given: Given, which: str, default: int) -> OffsetsSpec:
    """The most specific of the three options wins, as in Spark."""
    moment = given.parse(f"{which}Timestamp", moment_ms, "milliseconds since 1970 are expected")
    if moment is not None:
        return OffsetsSpec(timestamp_ms=moment)
    example = 'write {"topic": {"0": 23, "1": -1}} as JSON'
    times = given.parse(f"{which}OffsetsByTimestamp", parse_moments, example)
    if times is not None:
        return OffsetsSpec(timestamps_ms=times)
    words = {"earliest": EARLIEST, "latest": LATEST}
    if which == "ending":
        del words["earliest"]
    text = (given.text(f"{which}Offsets") or "").strip()
    if not text:
        return OffsetsSpec(everywhere=default)
    if text.lower() in words:
        return OffsetsSpec(everywhere=words[text.lower()])
    expected = f"{' or '.join(words)}, or {example}"
    return OffsetsSpec(offsets=given.parse(f"{which}Offsets", parse_offsets, expected))


def _check_ends(starting: OffsetsSpec, ending: OffsetsSpec, is_streaming: bool) -> None:
    latest = starting.everywhere == LATEST or LATEST in (starting.offsets or {}).values()
    if latest and not is_streaming:
        raise PipelineError(
            "option startingOffsets says latest (-1), where a batch query finds nothing: "
            "earliest (-2) or an offset is expected"
        )
    if EARLIEST in (ending.offsets or {}).values():
        raise PipelineError(
            "option endingOffsets says earliest (-2), before which there is nothing: "
            "latest (-1) or an offset is expected"
        )
