"""The options that every connector has, as Kafka 4.3 defines them.

Names, types, defaults, groups and their orders are Kafka's: user interfaces lay out their forms by
them. ``Defaults`` has what depends on the worker and the plugins.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.connect.config.definition import (
    NO_DEFAULT,
    CaseInsensitiveValidString,
    ConfigDef,
    Importance,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    Range,
    Type,
    Validator,
    ValidList,
    ValidString,
    Width,
    invalid,
)
from moldau.connect.config.validators import duplicate
from moldau.connect.config.version_range import parse_range
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern

CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
TOPIC_CREATION: Final = "Topic Creation"
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"

# name | type | default | importance | group | order in group | width | display name, and below it
# what the option means. Without a default ("-") an option is required; "null" is no value.
_EVERY_CONNECTOR: Final = """
name | STRING | - | HIGH | Common | 1 | MEDIUM | Connector name
    The name of this connector, unique among all connectors.
connector.class | STRING | - | HIGH | Common | 2 | LONG | Connector class
    The class of this connector, or a short name such as FileStreamSource.
connector.plugin.version | STRING | null | MEDIUM | Common | 3 | MEDIUM | Connector version
    The version of the connector, or a range of versions.
tasks.max | INT | 1 | HIGH | Common | 4 | SHORT | Tasks max
    How many tasks may run at the same time.
tasks.max.enforce | BOOLEAN | true | LOW | Common | 5 | SHORT | Enforce tasks max
    Accepted for compatibility: a connector never has more tasks than tasks.max.
key.converter | CLASS | null | LOW | Common | 6 | SHORT | Key converter class
    Converts keys between Connect's data and bytes. That of the worker by default.
key.converter.plugin.version | STRING | null | LOW | Common | 7 | SHORT | Key converter version
    The version of the key converter.
value.converter | CLASS | null | LOW | Common | 8 | SHORT | Value converter class
    Converts values between Connect's data and bytes. That of the worker by default.
value.converter.plugin.version | STRING | null | LOW | Common | 9 | SHORT | Value converter version
    The version of the value converter.
header.converter | CLASS | null | LOW | Common | 10 | SHORT | Header converter class
    Converts headers between Connect's data and bytes. That of the worker by default.
header.converter.plugin.version | STRING | null | LOW | Common | 11 | SHORT | \
Header converter version
    The version of the header converter.
transforms | LIST | | LOW | Transforms | 12 | LONG | Transforms
    Names of the transforms, in order. Each has its options below transforms.NAME.
predicates | LIST | | LOW | Predicates | 13 | LONG | Predicates
    Names of the predicates of transforms. Each has its options below predicates.NAME.
config.action.reload | STRING | restart | LOW | Common | 14 | MEDIUM | Reload Action
    Whether a connector restarts when a value from a config provider changes.
errors.retry.timeout | LONG | 0 | MEDIUM | Error Handling | 1 | MEDIUM | Retry Timeout for Errors
    For how many ms a failed operation is repeated: 0 is never, -1 without end.
errors.retry.delay.max.ms | LONG | 60000 | MEDIUM | Error Handling | 2 | MEDIUM | \
Maximum Delay Between Retries for Errors
    The longest wait between two tries.
errors.tolerance | STRING | none | MEDIUM | Error Handling | 3 | SHORT | Error Tolerance
    none: a record that cannot be processed fails the task. all: it is skipped.
errors.log.enable | BOOLEAN | false | MEDIUM | Error Handling | 4 | SHORT | Log Errors
    Whether tolerated errors are logged.
errors.log.include.messages | BOOLEAN | false | MEDIUM | Error Handling | 5 | SHORT | \
Log Error Details
    Whether the log says which record it was: its topic, partition, offset and timestamp.
"""
_SINKS: Final = """
topics | LIST | | HIGH | Common | 4 | LONG | Topics
    The topics to read, separated by commas.
topics.regex | STRING | | HIGH | Common | 4 | LONG | Topics regex
    A regular expression, instead of topics: those with matching names are read.
errors.deadletterqueue.topic.name | STRING | | MEDIUM | Error Handling | 6 | MEDIUM | \
Dead Letter Queue Topic Name
    The topic for records that could not be processed. None by default.
errors.deadletterqueue.topic.replication.factor | SHORT | 3 | MEDIUM | Error Handling | 7 | \
MEDIUM | Dead Letter Queue Topic Replication Factor
    The number of replicas of that topic, if it has to be created.
errors.deadletterqueue.context.headers.enable | BOOLEAN | false | MEDIUM | Error Handling | 8 | \
MEDIUM | Enable Error Context Headers
    Whether dead letters say in headers (__connect.errors.*) what went wrong, and where.
"""
_SOURCES: Final = """
topic.creation.groups | LIST | | LOW | Topic Creation | 1 | LONG | Topic Creation Groups
    Names of groups of topics that are created with settings of their own.
exactly.once.support | STRING | requested | MEDIUM | Exactly Once Support | 2 | SHORT | \
Exactly once support
    required: refuse the connector unless it can deliver exactly once.
transaction.boundary | STRING | poll | MEDIUM | Exactly Once Support | 3 | SHORT | \
Transaction Boundary
    When a transaction ends: with each batch (poll), or after an interval (interval).
transaction.boundary.interval.ms | LONG | null | LOW | Exactly Once Support | 4 | SHORT | \
Transaction boundary interval
    The interval of transaction.boundary=interval. By default that of offset.flush.interval.ms.
offsets.storage.topic | STRING | null | LOW | offsets.topic | 1 | LONG | Offsets topic
    A topic for the offsets of this connector alone. That of the worker by default.
"""
# What Kafka does not have.
_MOLDAU: Final = """
moldau.trigger.ms | LONG | null | LOW | Moldau | 1 | SHORT | Trigger interval
    How often a batch begins. That of the worker by default.
moldau.task.memory.mb | INT | null | LOW | Moldau | 2 | SHORT | Memory of a task
    How much memory a task may use, in MB. That of the worker by default, or 2048.
"""
_MOLDAU_SINKS: Final = """
moldau.batch.max.records | LONG | 500000 | LOW | Moldau | 3 | SHORT | Records in a batch
    How many records of all partitions one batch has at most.
moldau.sink.retry.timeout.ms | LONG | 60000 | LOW | Moldau | 4 | SHORT | Retry timeout of writes
    For how many ms a batch that the target refused for a passing reason is written again.
"""
# The options of each group of topics; -1 is the broker's default.
_TOPIC_GROUP: Final = """
include | LIST | | LOW | {group} | 1 | LONG | Inclusion Topic Pattern for {group}
    Regular expressions: topics with matching names belong to this group.
exclude | LIST | | LOW | {group} | 2 | LONG | Exclusion Topic Pattern for {group}
    Regular expressions of topics that do not belong to this group, even if they are included.
replication.factor | SHORT | {default} | LOW | {group} | 3 | LONG | \
Replication Factor for Topics in {group}
    The number of replicas of new topics.
partitions | INT | {default} | LOW | {group} | 4 | LONG | Partition Count for Topics in {group}
    The number of partitions of new topics.
"""


@dataclass(frozen=True)
class Defaults:
    """What is used where a connector's config says nothing, by the name of the option."""

    values: Mapping[str, Any] = field(default_factory=dict)


def sink_options(defaults: Defaults) -> ConfigDef:
    """The options of every sink."""
    return _define(_EVERY_CONNECTOR + _SINKS + _MOLDAU + _MOLDAU_SINKS, defaults)


def source_options(defaults: Defaults) -> ConfigDef:
    """The options of every source."""
    return _define(_EVERY_CONNECTOR + _SOURCES + _MOLDAU, defaults)


def topic_creation_options(group: str) -> ConfigDef:
    """What ``topic.creation.GROUP.`` stands before (KIP-158).

    The group ``default`` must have numbers; the others take them from there.
    """
    if group == "default":
        return _define(_TOPIC_GROUP.format(group=group, default="-"), Defaults())
    shown = f"{TOPIC_CREATION}: {group}"
    return _define(_TOPIC_GROUP.format(group=shown, default="-1"), Defaults())


def _define(table: str, defaults: Defaults) -> ConfigDef:
    definition = ConfigDef()
    lines = [line for line in table.splitlines() if line]
    for row, doc in zip(lines[::2], lines[1::2], strict=True):
        name, kind, default, importance, group, order, width, display_name = (
            cell.strip() for cell in row.split("|")
        )
        value: Any = {"-": NO_DEFAULT, "null": None}.get(default, default)
        definition.define(
            name,
            Type(kind),
            defaults.values.get(name, value),
            _VALIDATORS.get(name),
            Importance(importance),
            doc.strip(),
            group,
            int(order),
            Width(width),
            display_name,
        )
    return definition


def valid_version(name: str, value: Any) -> None:
    parse_range(value)


def valid_regex(name: str, value: Any) -> None:
    try:
        compile_pattern(value or "")
    except JavaRegexError as error:
        raise invalid(name, value, f"not a regular expression: {error}") from None


def _regexes(name: str, value: Sequence[str] | None) -> None:
    for pattern in value or ():
        valid_regex(name, pattern)


def _unique_aliases(name: str, value: Sequence[str] | None) -> None:
    if value is None:
        raise invalid(name, "null", "give a list")
    if (twice := duplicate(value)) is not None:
        raise invalid(name, f"[{', '.join(value)}]", f"remove one of the two {twice}")


def _at_least_zero(name: str, value: Any) -> None:
    if value is not None:
        Range(0)(name, value)


def _positive_or_default(reason: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is not None and value != -1 and value < 1:
            raise invalid(name, value, f"{reason}, or -1 for that of the broker")

    return check


_VALIDATORS: Final[dict[str, Validator]] = {
    "name": NonEmptyStringWithoutControlChars(),
    "connector.plugin.version": valid_version,
    "tasks.max": Range(1),
    **{f"{name}.plugin.version": valid_version for name in CONVERTERS},
    "transforms": _unique_aliases,
    "predicates": _unique_aliases,
    "config.action.reload": ValidString("none", "restart"),
    "errors.tolerance": ValidString("none", "all"),
    "topics": ValidList(),
    "topics.regex": valid_regex,
    "topic.creation.groups": _unique_aliases,
    "exactly.once.support": CaseInsensitiveValidString("REQUESTED", "REQUIRED"),
    "transaction.boundary": CaseInsensitiveValidString("POLL", "INTERVAL", "CONNECTOR"),
    "transaction.boundary.interval.ms": _at_least_zero,
    "offsets.storage.topic": NonEmptyString(),
    "moldau.trigger.ms": _at_least_zero,
    "moldau.batch.max.records": Range(1),
    "moldau.sink.retry.timeout.ms": Range(-1),
    "include": _regexes,
    "exclude": _regexes,
    "replication.factor": _positive_or_default(
        "give a number of replicas, at most one on each broker"
    ),
    "partitions": _positive_or_default("give at least 1 partition"),
}
