"""Every setting of a group and of a subscription is shown, whether or not it was set."""

from moldau.config.broker import BrokerConfig
from moldau.config.describe import ConfigEntry, ConfigSource
from moldau.controller.group_settings import describe_group
from moldau.controller.telemetry_settings import describe_client_metrics

CONFIG = BrokerConfig.from_properties({"group.consumer.heartbeat.interval.ms": "6000"})


def described(**overrides: str) -> dict[str, ConfigEntry]:
    dotted = {name.replace("_", "."): value for name, value in overrides.items()}
    return {each.name: each for each in describe_group(dotted, CONFIG, {}, {})}


def test_a_group_has_what_its_brokers_have_for_all() -> None:
    entries = described()
    assert len(entries) == 17
    timeout = entries["consumer.session.timeout.ms"]
    assert (timeout.value, timeout.source) == ("45000", ConfigSource.DEFAULT_CONFIG)
    assert [each.name for each in timeout.synonyms] == ["group.consumer.session.timeout.ms"]
    heartbeat = entries["consumer.heartbeat.interval.ms"]
    assert (heartbeat.value, heartbeat.source) == ("6000", ConfigSource.STATIC_BROKER_CONFIG)
    reset = entries["share.auto.offset.reset"]
    assert (reset.value, reset.source) == ("latest", ConfigSource.DEFAULT_CONFIG)
    assert all(each.doc for each in entries.values())


def test_a_groups_own_value_goes_first() -> None:
    timeout = described(consumer_session_timeout_ms="50000")["consumer.session.timeout.ms"]
    assert (timeout.value, timeout.source) == ("50000", ConfigSource.GROUP_CONFIG)
    assert [(each.name, each.value) for each in timeout.synonyms] == [
        ("consumer.session.timeout.ms", "50000"),
        ("group.consumer.session.timeout.ms", "45000"),
    ]


def test_a_subscription_shows_its_defaults() -> None:
    entries = {each.name: each for each in describe_client_metrics({"interval.ms": "5000"})}
    interval, match = entries["interval.ms"], entries["match"]
    assert (interval.value, interval.source) == ("5000", ConfigSource.CLIENT_METRICS_CONFIG)
    assert (match.value, match.source, match.synonyms) == ("", ConfigSource.DEFAULT_CONFIG, [])
