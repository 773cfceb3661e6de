"""Combinations of group settings."""

import pytest

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.config.describe import ConfigSource, describe_broker
from moldau.config.group_checks import assignor_name

REFRESH = "group.consumer.regex.refresh.interval.ms"


@pytest.mark.parametrize(
    ("settings", "name", "problem"),
    [
        (
            {"group.consumer.session.timeout.ms": "1000"},
            "group.consumer.session.timeout.ms",
            "must be between group.consumer.min.session.timeout.ms=45000",
        ),
        (
            {"group.consumer.heartbeat.interval.ms": "15001"},
            "group.consumer.heartbeat.interval.ms",
            "and group.consumer.max.heartbeat.interval.ms=15000",
        ),
        (
            {
                "group.consumer.max.assignment.interval.ms": "1",
                "group.consumer.min.assignment.interval.ms": "2",
            },
            "group.consumer.max.assignment.interval.ms",
            "must be at least group.consumer.min.assignment.interval.ms=2",
        ),
        (
            {
                "group.consumer.max.heartbeat.interval.ms": "50000",
                "group.consumer.heartbeat.interval.ms": "45000",
            },
            "group.consumer.heartbeat.interval.ms",
            "must be less than group.consumer.session.timeout.ms=45000",
        ),
        (
            {"group.streams.session.timeout.ms": "60001"},
            "group.streams.session.timeout.ms",
            "must be between",
        ),
        ({"group.consumer.assignors": "mine"}, "group.consumer.assignors", "uniform, range"),
        ({"group.consumer.assignors": ""}, "group.consumer.assignors", "at least one"),
        (
            {"group.coordinator.rebalance.protocols": "consumer"},
            "group.coordinator.rebalance.protocols",
            "cannot be disabled",
        ),
        (
            {"offsets.topic.compression.codec": "5"},
            "offsets.topic.compression.codec",
            "must be 0 (none)",
        ),
    ],
)
def test_settings_that_do_not_go_together_stop_the_start(
    settings: dict[str, str], name: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        BrokerConfig.from_properties(settings)
    assert refused.value.name == name
    assert problem in refused.value.problem


def test_assignors_are_known_by_kafkas_class_names_too() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"
    assert assignor_name(f"{package}.UniformAssignor") == "uniform"
    assert assignor_name("range") == "range"


def test_an_internal_setting_is_shown_where_it_is_set() -> None:
    assert describe_broker(BrokerConfig.from_properties({}), {}, {}, [REFRESH]) == []
    config = BrokerConfig.from_properties({REFRESH: "20000"})
    (entry,) = describe_broker(config, {}, {}, [REFRESH])
    assert (entry.value, entry.source) == ("20000", ConfigSource.STATIC_BROKER_CONFIG)
    assert config.warnings == ()
