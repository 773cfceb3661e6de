"""Validation of combinations of group settings, with Kafka's rules."""

from typing import TYPE_CHECKING, Final

from moldau.config.definition import ConfigError

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig

CONSUMER_ASSIGNORS: Final = ("uniform", "range")
_GROUP_TYPES: Final = ("consumer", "share", "streams")
_BOUNDED: Final = ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
_HIGHEST_CODEC: Final = 4


def check_group_config(config: "BrokerConfig") -> None:
    """Raises ConfigError for the first setting that contradicts the others."""
    for group_type in _GROUP_TYPES:
        for what in _BOUNDED:
            _check_bounds(config, group_type, what)
        heartbeat = f"group.{group_type}.heartbeat.interval.ms"
        session = f"group.{group_type}.session.timeout.ms"
        if _number(config, heartbeat) >= _number(config, session):
            problem = f"must be less than {session}={_number(config, session)}"
            raise ConfigError(heartbeat, _number(config, heartbeat), problem)
    if not config.group_consumer_assignors:
        problem = f"name at least one of {', '.join(CONSUMER_ASSIGNORS)}"
        raise ConfigError("group.consumer.assignors", "''", problem)
    for text in config.group_consumer_assignors:
        assignor_name(text)
    if "classic" not in config.group_coordinator_rebalance_protocols:
        text = ",".join(config.group_coordinator_rebalance_protocols)
        problem = "the classic protocol cannot be disabled"
        raise ConfigError("group.coordinator.rebalance.protocols", text, problem)
    codec = config.offsets_topic_compression_codec
    if not 0 <= codec <= _HIGHEST_CODEC:
        problem = "must be 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"
        raise ConfigError("offsets.topic.compression.codec", codec, problem)


def assignor_name(text: str) -> str:
    """The assignor for an entry of ``group.consumer.assignors``.

    Kafka accepts names and Java classes; custom classes cannot be run here.
    """
    class_names = {f"{name.capitalize()}Assignor": name for name in CONSUMER_ASSIGNORS}
    name = class_names.get(text.rpartition(".")[2], text)
    if name not in CONSUMER_ASSIGNORS:
        problem = f"the assignors are {', '.join(CONSUMER_ASSIGNORS)}"
        raise ConfigError("group.consumer.assignors", text, problem)
    return name


def _check_bounds(config: "BrokerConfig", group_type: str, what: str) -> None:
    name = f"group.{group_type}.{what}"
    lowest_name = f"group.{group_type}.min.{what}"
    highest_name = f"group.{group_type}.max.{what}"
    lowest, highest = _number(config, lowest_name), _number(config, highest_name)
    if highest < lowest:
        problem = f"must be at least {lowest_name}={lowest}"
        raise ConfigError(highest_name, highest, problem)
    value = _number(config, name)
    if not lowest <= value <= highest:
        problem = f"must be between {lowest_name}={lowest} and {highest_name}={highest}"
        raise ConfigError(name, value, problem)


def _number(config: "BrokerConfig", name: str) -> int:
    value = config.values[name]
    assert isinstance(value, int)
    return value
