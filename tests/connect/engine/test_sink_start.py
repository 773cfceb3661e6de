"""Which topics a sink reads, and from where."""

import json
import re

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import ConnectError
from moldau.connect.engine.clients import client_settings, group_of, offset_reset
from moldau.connect.engine.sink_start import (
    Log,
    starting_offsets,
    starting_option,
    topic_pattern,
)
from moldau.connect.engine_api import ConnectorSpec
from moldau.ids import TopicPartition

SPEC = ConnectorSpec("sink", {}, {})
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def test_names_match_only_themselves() -> None:
    pattern = re.compile(topic_pattern({"topics": "a.b, c"}))
    assert [bool(pattern.fullmatch(name)) for name in ("a.b", "c", "axb", "ca")] == [
        True,
        True,
        False,
        False,
    ]


def test_patterns_are_those_of_java() -> None:
    pattern = re.compile(topic_pattern({"topics.regex": r"\p{Lower}+-[a-c&&[b-d]]"}))
    names = ("orders-b", "orders-a", "ORDERS-b")
    assert [bool(pattern.fullmatch(name)) for name in names] == [True, False, False]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "Set topics or topics.regex"),
        ({"topics": "a", "topics.regex": "b"}, "Remove topics or topics.regex"),
        ({"topics": "a,b c"}, "topics cannot be b c: names of topics have letters"),
        ({"topics": "x" * 250}, "at most 249"),
        ({"topics.regex": "("}, "not a regular expression"),
        (
            {"topics": "a", "errors.deadletterqueue.topic.name": "a"},
            "topic.name=a is one of topics=a",
        ),
        (
            {"topics.regex": "a.*", "errors.deadletterqueue.topic.name": "ab"},
            r"topic.name=ab matches topics.regex=a\.\*",
        ),
    ],
)
def test_wrong_topics_are_refused(config: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        topic_pattern(config)


def test_the_targets_offsets_take_precedence_over_the_groups() -> None:
    committed = {A0: 5, A1: 6}
    logs = {A0: Log(2, 9), A1: Log(0, 6), B0: Log(3, 8)}
    where = starting_offsets(SPEC, logs, committed, {A0: 7}, "earliest")
    assert where == {A0: 7, A1: 6, B0: 3}
    assert json.loads(starting_option(where, "earliest")) == {
        "a": {"0": 7, "1": 6},
        "b": {"0": 3},
    }
    del logs[A1]
    assert starting_offsets(SPEC, logs, committed, None, "latest") == {A0: 5, B0: 8}
    assert starting_option({}, "latest") == "latest"
    assert starting_option({}, "none") == "earliest"


def test_a_target_of_several_parts_starts_where_all_of_them_are() -> None:
    """One part may be ahead of the others after a crash, or far behind as it is rarely written."""
    logs = {A0: Log(4, 9), A1: Log(0, 6)}
    for stored in ({A0: 7}, {A0: 1}):
        where = starting_offsets(SPEC, logs, {A0: 5}, stored, "earliest", has_parts=True)
        assert where == {A0: 5, A1: 0}
    with pytest.raises(ConnectError, match="the target has a-0 up to offset 7, and the group"):
        starting_offsets(SPEC, logs, {}, {A0: 7}, "earliest", has_parts=True)


def test_without_progress_and_a_reset_there_is_no_start() -> None:
    with pytest.raises(ConnectError, match=r"b-0 has no committed offset.*auto.offset.reset=none"):
        starting_offsets(SPEC, {B0: Log(0, 0)}, {}, None, "none")


@pytest.mark.parametrize(
    ("committed", "stored", "problem"),
    [
        ({A0: 1}, None, "at offset 1 of a-0, which has 2 to 9"),
        ({A0: 10}, None, "at offset 10 of a-0, which has 2 to 9"),
        ({A0: 5}, {A0: 1}, "at offset 1 of a-0, which has 2 to 9"),
        # A group's offsets are deleted with their topic, those of a target are not.
        ({A1: 5}, {A0: 5}, "the target has a-0 up to offset 5, and the group connect-sink has no"),
    ],
)
def test_progress_that_a_topic_does_not_have_is_never_passed_over(
    committed: dict[TopicPartition, int], stored: dict[TopicPartition, int] | None, problem: str
) -> None:
    with pytest.raises(ConnectError, match=problem) as caught:
        starting_offsets(SPEC, {A0: Log(2, 9)}, committed, stored, "earliest")
    assert "delete its offsets" in str(caught.value)


def test_a_target_without_any_progress_starts_as_new() -> None:
    """A user has reset the offsets of the connector: those of the group, and of the target."""
    assert starting_offsets(SPEC, {A0: Log(2, 9)}, {}, {A0: 0}, "earliest") == {A0: 2}
    assert starting_offsets(SPEC, {A0: Log(2, 9)}, {}, {}, "earliest") == {A0: 2}


def test_settings_of_clients_override_each_other() -> None:
    spec = ConnectorSpec(
        "c",
        {"consumer.override.auto.offset.reset": "latest", "consumer.override.fetch.min.bytes": "2"},
        {
            "bootstrap.servers": "h:1",
            "security.protocol": "SSL",
            "consumer.fetch.min.bytes": "1",
            "consumer.max.poll.records": "9",
            "producer.acks": "1",
            "group.id": "workers",
        },
    )
    assert client_settings(spec, "consumer") == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SSL",
        "fetch.min.bytes": "2",
        "max.poll.records": "9",
        "auto.offset.reset": "latest",
    }
    assert offset_reset(spec) == "latest"
    assert group_of(spec) == "connect-c"
