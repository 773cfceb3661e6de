"""Where a sink starts: its stored progress, checked against what the topics still have.

Progress comes from the target if it stores offsets with the data, else from the group. A partition
without any starts at its beginning, or at its end with ``auto.offset.reset=latest``. Progress that
the topic does not have any more is an error of the query, never a reason to go elsewhere: records
would be skipped or repeated silently.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from moldau.client.cluster import Cluster
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.connect.config.cross_checks import BOTH_TOPICS, NO_TOPICS, reads_dead_letters
from moldau.connect.config.errors import ConfigError, invalid
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine.clients import group_of
from moldau.connect.engine.failures import LOST_REMEDY
from moldau.connect.engine_api import ConnectorSpec
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern
from moldau.ids import INTERNAL_TOPICS, TopicPartition

_RESETS = ("earliest", "latest")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


def topic_pattern(config: Mapping[str, str]) -> str:
    """The regular expression for the names of the topics that a sink reads.

    Also for a list of names: so a sink runs before its topics exist, as in Kafka, and reads one
    from the beginning when it is created.

    Raises:
        ConfigError: there is neither ``topics`` nor ``topics.regex``, or both.
    """
    names = [name.strip() for name in config.get("topics", "").split(",") if name.strip()]
    regex = config.get("topics.regex", "").strip()
    if bool(names) == bool(regex):
        raise ConfigError(BOTH_TOPICS if regex else NO_TOPICS)
    dead_letters = config.get("errors.deadletterqueue.topic.name", "").strip()
    if names:
        if dead_letters in names:
            raise ConfigError(
                reads_dead_letters(dead_letters, f"is one of topics={','.join(names)}")
            )
        for name in names:
            if not _NAME.fullmatch(name) or name in (".", ".."):
                raise invalid(
                    "topics",
                    name,
                    "names of topics have letters, digits, '.', '_' and '-', at most 249",
                )
        return "|".join(re.escape(name) for name in sorted(set(names)))
    try:
        pattern = compile_pattern(regex)
    except JavaRegexError as error:
        raise invalid("topics.regex", regex, f"not a regular expression: {error}") from None
    if dead_letters and pattern.fullmatch(dead_letters):
        raise ConfigError(reads_dead_letters(dead_letters, f"matches topics.regex={regex}"))
    return pattern.pattern


def partitions_of(cluster: Cluster, pattern: str) -> list[TopicPartition]:
    """The partitions of all topics that match, in order."""
    cluster.retrying(lambda: cluster.refresh(None))
    wanted = re.compile(pattern)
    return [
        TopicPartition(name, each.partition)
        for name in sorted(cluster.topics)
        if wanted.fullmatch(name) and name not in INTERNAL_TOPICS
        for each in cluster.topics[name].partitions
    ]


class Log(NamedTuple):
    """Which offsets a partition has: from ``start`` up to, not including, ``end``."""

    start: int
    end: int


def logs_of(
    cluster: Cluster, partitions: Collection[TopicPartition], *, read_committed: bool
) -> dict[TopicPartition, Log]:
    """What the brokers have of ``partitions``."""
    if not partitions:
        return {}
    ends, starts = (
        list_offsets(cluster, dict.fromkeys(partitions, which), read_committed=read_committed)
        for which in (LATEST, EARLIEST)
    )
    return {each: Log(starts[each].offset, ends[each].offset) for each in partitions}


def starting_offsets(
    spec: ConnectorSpec,
    logs: Mapping[TopicPartition, Log],
    committed: Mapping[TopicPartition, int],
    stored: Mapping[TopicPartition, int] | None,
    reset: str,
    *,
    has_parts: bool = False,
) -> dict[TopicPartition, int]:
    """Where to start in each partition of ``logs``.

    ``has_parts``: the target stores offsets in several parts (see ``SinkConnector.has_parts``).

    Raises:
        ConnectError: a partition does not have its progress any more, or has none with
            ``auto.offset.reset=none``.
    """
    where = {}
    for partition, log in sorted(logs.items()):
        # What a group has beyond the target would be lost, and behind it written twice.
        offset = (stored or {}).get(partition, committed.get(partition))
        # 0 in the target alone: a user has reset it, and some targets cannot forget an offset.
        if offset is None or (offset == 0 and partition not in committed):
            where[partition] = _reset(spec, partition, log, reset)
            continue
        if partition not in committed:
            raise made_again(spec, partition, offset)
        if has_parts:
            # After a crash between two parts, one is ahead; one that is rarely written is behind.
            offset = committed[partition]
        if not log.start <= offset <= log.end:
            raise _lost(
                spec,
                f"it is at offset {offset} of {partition}, which has {log.start} to {log.end}: "
                "records were deleted before they were written, or the topic was created again",
            )
        where[partition] = offset
    return where


def _reset(spec: ConnectorSpec, partition: TopicPartition, log: Log, reset: str) -> int:
    if reset not in _RESETS:
        raise ConnectError(
            f"connector {spec.name}: {partition} has no committed offset, and "
            f"auto.offset.reset={reset} names no place to start: use earliest or latest"
        )
    return log.end if reset == "latest" else log.start


def made_again(spec: ConnectorSpec, partition: TopicPartition, offset: int) -> ConnectError:
    """The error of a partition that the target has up to ``offset``, and the group not at all."""
    return _lost(
        spec,
        f"the target has {partition} up to offset {offset}, and the group {group_of(spec)} has no "
        "offset of it: the topic was deleted and created again, or the group's offsets were "
        "deleted. If the target's offsets cannot be changed, write to another one",
    )


def _lost(spec: ConnectorSpec, problem: str) -> ConnectError:
    return ConnectError(f"connector {spec.name}: {problem}. {LOST_REMEDY}")


def starting_option(where: Mapping[TopicPartition, int], reset: str) -> str:
    """The option ``startingOffsets``; without partitions the start of topics that come later."""
    if not where:
        return reset if reset in _RESETS else "earliest"
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(where.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics)
