"""A topic's configuration, and how settings are shown."""

import dataclasses

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import parse_value
from moldau.config.describe import (
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    describe_broker,
    describe_cluster_default,
    describe_topic,
)
from moldau.config.tables import settings_tables
from moldau.config.topic import (
    TOPIC_SETTINGS,
    TOPIC_SYNONYMS,
    LogConfig,
    validate_topic_overrides,
)
from moldau.errors import ApiError, ErrorCode

BROKER = BrokerConfig.from_properties({"log.segment.bytes": "2000000"})


def entry(name: str, entries: list[ConfigEntry]) -> ConfigEntry:
    return next(entry for entry in entries if entry.name == name)


def test_the_defaults_in_code_are_those_of_the_table() -> None:
    defaults = dataclasses.asdict(LogConfig())
    assert set(defaults) == {setting.attribute for setting in TOPIC_SETTINGS.values()}
    for setting in TOPIC_SETTINGS.values():
        assert defaults[setting.attribute] == setting.default_value(), setting.name
    assert LogConfig.build(BrokerConfig.from_properties({}), {}) == LogConfig()


def test_a_topic_takes_what_it_does_not_say_from_the_broker() -> None:
    built = LogConfig.build(BROKER, {"retention.ms": "5", "cleanup.policy": "compact,delete"})
    assert built.segment_bytes == 2_000_000
    assert built.retention_ms == 5
    assert built.is_compacted
    assert not built.is_log_append_time


def test_every_synonym_gives_a_value_of_the_same_type() -> None:
    for topic_name, broker_name in TOPIC_SYNONYMS.items():
        setting = TOPIC_SETTINGS[topic_name]
        value = getattr(BROKER, broker_name.replace(".", "_"))
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        assert parse_value(topic_name, setting.type, text) == value, topic_name


def test_tests_may_make_small_segments_through_kafkas_back_door() -> None:
    assert LogConfig.build(BROKER, {"internal.segment.bytes": "1000"}).segment_bytes == 1000


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"retention.ms": "-5"}, "Value must be at least -1"),
        ({"rétention": "1"}, "Unknown topic config name: rétention"),
        ({"segment.bytes": "100"}, "at least 1048576"),
        (
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"},
            r"setting min.compaction.lag.ms \(9\) > max.compaction.lag.ms \(5\)",
        ),
        ({"remote.storage.enable": "true"}, "tiered storage is disabled"),
        ({"retention.ms": None}, "Null value"),
    ],
)
def test_wrong_overrides_are_an_invalid_config(
    overrides: dict[str, str | None], problem: str
) -> None:
    with pytest.raises(ApiError, match=problem) as caught:
        validate_topic_overrides(overrides)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_good_overrides_pass() -> None:
    validate_topic_overrides({"cleanup.policy": "", "retention.ms": " 5 "}, BROKER)


def test_a_topics_own_setting_comes_first_and_the_brokers_follow() -> None:
    shown = describe_topic(
        {"segment.bytes": "3000000"},
        BROKER,
        {"log.segment.bytes": "4000000"},
        {"log.segment.bytes": "5000000"},
    )
    assert len(shown) == 33
    segment = entry("segment.bytes", shown)
    assert segment.value == "3000000"
    assert segment.source is ConfigSource.TOPIC_CONFIG
    assert not segment.read_only
    assert segment.type == 3
    assert segment.synonyms == [
        ConfigSynonym("segment.bytes", "3000000", ConfigSource.TOPIC_CONFIG),
        ConfigSynonym("log.segment.bytes", "4000000", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ConfigSynonym("log.segment.bytes", "5000000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ConfigSynonym("log.segment.bytes", "2000000", ConfigSource.STATIC_BROKER_CONFIG),
        ConfigSynonym("log.segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG),
    ]


def test_a_value_that_only_a_coarser_unit_gives_shows_no_synonym() -> None:
    retention = entry("retention.ms", describe_topic({}, BROKER, {}, {}))
    assert retention.value == "604800000"
    assert retention.source is ConfigSource.DEFAULT_CONFIG
    assert retention.synonyms == []


def test_only_the_names_asked_for_are_shown() -> None:
    shown = describe_topic({}, BROKER, {}, {}, names=["flush.ms"])
    assert [each.name for each in shown] == ["flush.ms"]
    brokers = describe_broker(BROKER, {}, {}, names=["node.id", "nobody"])
    assert [each.name for each in brokers] == ["node.id"]


def test_a_broker_shows_every_setting_and_hides_secrets() -> None:
    config = BrokerConfig.from_properties({"ssl.key.password": "hunter2"})
    shown = describe_broker(config, {"leader.replication.throttled.rate": "9"}, {})
    assert len(shown) == 341
    password = entry("ssl.key.password", shown)
    assert password.sensitive
    assert password.value is None
    assert password.synonyms[0].value is None
    assert entry("node.id", shown).read_only
    assert entry("log.dirs", shown).value is None
    throttle = entry("leader.replication.throttled.rate", shown)
    assert (throttle.value, throttle.read_only) == ("9", False)


def test_a_listeners_own_setting_goes_before_the_common_one() -> None:
    own = "listener.name.plaintext.max.connections"
    (entry,) = describe_broker(BROKER, {own: "7"}, {"max.connections": "99"}, names=[own])
    assert [(each.name, each.value) for each in entry.synonyms] == [
        (own, "7"),
        ("max.connections", "99"),
        ("max.connections", "2147483647"),
    ]


def test_the_clusters_defaults_are_what_was_set_for_all() -> None:
    shown = describe_cluster_default({"message.max.bytes": "5", "my.secret": "x"})
    assert [(each.name, each.value) for each in shown] == [
        ("message.max.bytes", "5"),
        ("my.secret", None),
    ]


def test_the_compatibility_tables_name_every_setting() -> None:
    text = settings_tables()
    assert "| `log.segment.bytes` | honoured |" in text
    assert "| `authorizer.class.name` | refused |" in text
    assert text.count("\n| `") == 375
