"""Settings of a single group (KIP-848, KIP-932, KIP-1071), within the broker's bounds."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.config.broker import BROKER_SETTINGS, BrokerConfig
from moldau.config.definition import ConfigError, SettingType, parse_value
from moldau.config.describe import ConfigEntry, ConfigSource, ConfigSynonym, broker_synonyms
from moldau.errors import ApiError, ErrorCode


class _GroupSetting(NamedTuple):
    type: SettingType
    # The lowest value, or the allowed values.
    minimum: int = 0
    words: tuple[str, ...] = ()
    # The broker's setting without its "min." or "max.": group.consumer.{}session.timeout.ms.
    bounds: str = ""
    # The default of a setting without a broker setting; others have that of ``group.{name}``.
    default: str = ""
    doc: str = ""


_INT: Final = SettingType.INT
GROUP_SETTINGS: Final[dict[str, _GroupSetting]] = {
    "consumer.assignment.interval.ms": _GroupSetting(
        _INT, 0, bounds="group.consumer.{}.assignment.interval.ms"
    ),
    "consumer.heartbeat.interval.ms": _GroupSetting(
        _INT, 1, bounds="group.consumer.{}.heartbeat.interval.ms"
    ),
    "consumer.session.timeout.ms": _GroupSetting(
        _INT, 1, bounds="group.consumer.{}.session.timeout.ms"
    ),
    "share.assignment.interval.ms": _GroupSetting(
        _INT, 0, bounds="group.share.{}.assignment.interval.ms"
    ),
    "share.auto.offset.reset": _GroupSetting(
        SettingType.STRING,
        default="latest",
        doc="Where a share group starts to read: latest, earliest, or by_duration:PnDTnHnMn.nS.",
    ),
    "share.delivery.count.limit": _GroupSetting(
        _INT, 2, bounds="group.share.{}.delivery.count.limit"
    ),
    "share.heartbeat.interval.ms": _GroupSetting(
        _INT, 1, bounds="group.share.{}.heartbeat.interval.ms"
    ),
    "share.isolation.level": _GroupSetting(
        SettingType.STRING,
        words=("read_committed", "read_uncommitted"),
        default="read_uncommitted",
        doc="Whether a share group reads records of transactions that are not committed.",
    ),
    "share.partition.max.record.locks": _GroupSetting(
        _INT, 100, bounds="group.share.{}.partition.max.record.locks"
    ),
    "share.record.lock.duration.ms": _GroupSetting(
        _INT, 1000, bounds="group.share.{}.record.lock.duration.ms"
    ),
    "share.renew.acknowledge.enable": _GroupSetting(
        SettingType.BOOLEAN,
        default="true",
        doc="Whether a member of a share group may renew its lock on a record.",
    ),
    "share.session.timeout.ms": _GroupSetting(_INT, 1, bounds="group.share.{}.session.timeout.ms"),
    "streams.assignment.interval.ms": _GroupSetting(
        _INT, 0, bounds="group.streams.{}.assignment.interval.ms"
    ),
    "streams.heartbeat.interval.ms": _GroupSetting(
        _INT, 1, bounds="group.streams.{}.heartbeat.interval.ms"
    ),
    "streams.initial.rebalance.delay.ms": _GroupSetting(_INT, 0),
    "streams.num.standby.replicas": _GroupSetting(
        _INT, 0, bounds="group.streams.{}.standby.replicas"
    ),
    "streams.session.timeout.ms": _GroupSetting(
        _INT, 1, bounds="group.streams.{}.session.timeout.ms"
    ),
}

_DURATION: Final = re.compile(r"by_duration:P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$")


def describe_group(
    overrides: Mapping[str, str],
    broker_config: BrokerConfig,
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
) -> list[ConfigEntry]:
    """Every setting of a group: its own value, or the broker's value for all groups."""
    effective = broker_config.with_dynamic(dynamic_default, dynamic_broker)
    entries = []
    for name, setting in GROUP_SETTINGS.items():
        on_broker = BROKER_SETTINGS.get(f"group.{name}")
        if on_broker is None:
            doc, value = setting.doc, setting.default
            synonyms = [ConfigSynonym(name, value, ConfigSource.DEFAULT_CONFIG)]
        else:
            doc, value = on_broker.doc, effective.value_text(on_broker.name) or ""
            synonyms = broker_synonyms(
                on_broker.name, False, broker_config, dynamic_broker, dynamic_default
            )
        if name in overrides:
            value = overrides[name]
            synonyms.insert(0, ConfigSynonym(name, value, ConfigSource.GROUP_CONFIG))
        source = synonyms[0].source
        kind = int(setting.type)
        entries.append(ConfigEntry(name, value, False, source, False, synonyms, kind, doc))
    return entries


def validate_group(settings: Mapping[str, str], config: BrokerConfig) -> None:
    """Raises ApiError INVALID_CONFIG."""
    values: dict[str, object] = {}
    for name, text in settings.items():
        setting = GROUP_SETTINGS.get(name)
        if setting is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown group config name: {name}")
        try:
            values[name] = parse_value(name, setting.type, text)
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
        _check_value(name, text, values[name], setting)
        _check_bounds(name, values[name], setting, config)
    for kind in ("consumer", "share", "streams"):
        heartbeat = f"{kind}.heartbeat.interval.ms"
        session = f"{kind}.session.timeout.ms"
        interval = values.get(heartbeat, config.values.get(f"group.{heartbeat}"))
        timeout = values.get(session, config.values.get(f"group.{session}"))
        both_known = isinstance(interval, int) and isinstance(timeout, int)
        if both_known and interval >= timeout:  # type: ignore[operator]
            message = f"{session} must be greater than {heartbeat}"
            raise ApiError(ErrorCode.INVALID_CONFIG, message)


def _check_value(name: str, text: str, value: object, setting: _GroupSetting) -> None:
    problem = None
    if isinstance(value, int) and setting.type is _INT and value < setting.minimum:
        problem = f"Value must be at least {setting.minimum}"
    elif setting.words and text not in setting.words:
        problem = f"String must be one of: {', '.join(setting.words)}"
    elif name == "share.auto.offset.reset":
        is_duration = _DURATION.match(text) is not None
        if text not in ("latest", "earliest") and not is_duration:
            problem = "Must be 'latest', 'earliest' or 'by_duration:PnDTnHnMn.nS'"
    if problem is not None:
        message = f"Invalid value {text} for configuration {name}: {problem}"
        raise ApiError(ErrorCode.INVALID_CONFIG, message)


def _check_bounds(name: str, value: object, setting: _GroupSetting, config: BrokerConfig) -> None:
    if not setting.bounds or not isinstance(value, int):
        return
    lowest = config.values.get(setting.bounds.format("min"))
    highest = config.values.get(setting.bounds.format("max"))
    if isinstance(lowest, int) and value < lowest:
        message = f"{name} must be greater than or equal to {setting.bounds.format('min')}"
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    if isinstance(highest, int) and value > highest:
        message = f"{name} must be less than or equal to {setting.bounds.format('max')}"
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
