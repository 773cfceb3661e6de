"""Settings as DescribeConfigs returns them: the value and its source.

A value has a source, and synonyms: every place that defines it, highest priority first. For a
topic that is its own setting, then the dynamic, static and default values of the corresponding
broker setting.
"""

from collections.abc import Collection, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.config.broker import (
    BROKER_SETTINGS,
    DYNAMIC_ONLY_SETTINGS,
    INTERNAL_SETTINGS,
    BrokerConfig,
    dynamic_setting,
)
from moldau.config.definition import Setting, UpdateMode, to_text
from moldau.config.topic import INTERNAL_SEGMENT_BYTES, TOPIC_SETTINGS, TOPIC_SYNONYMS, LogConfig


class ConfigSource(IntEnum):
    """The source of a value, numbered as in DescribeConfigs."""

    UNKNOWN = 0
    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class ConfigSynonym(NamedTuple):
    """One of the places that define a value."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting, with all that DescribeConfigs returns about it."""

    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    sensitive: bool
    synonyms: list[ConfigSynonym]
    type: int
    doc: str


# Settings with several names, highest priority first.
_GROUPS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_LISTENER_PREFIX: Final = "listener.name."
_SYNONYMS: Final[dict[str, tuple[str, ...]]] = {
    **{name: names for names in _GROUPS for name in names},
    # The scheduler interval is the default of the flush interval, but not the reverse.
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}


def describe_topic(
    overrides: Mapping[str, str],
    broker_config: BrokerConfig,
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
    names: Collection[str] | None = None,
    effective: BrokerConfig | None = None,
) -> list[ConfigEntry]:
    """Every setting of a topic, or those among ``names``.

    ``broker_config`` is the configuration at start; the dynamic settings of this broker and of
    the whole cluster are applied here, unless ``effective`` has them.
    """
    if effective is None:
        effective = broker_config.with_dynamic(dynamic_default, dynamic_broker)
    shown = {name: text for name, text in overrides.items() if name in TOPIC_SETTINGS}
    config = LogConfig.build(effective, shown)
    entries = []
    for name, setting in TOPIC_SETTINGS.items():
        if names is not None and name not in names:
            continue
        value = None if setting.sensitive else to_text(getattr(config, setting.attribute))
        synonyms = []
        if name in overrides:
            synonyms.append(ConfigSynonym(name, value, ConfigSource.TOPIC_CONFIG))
        broker_name = TOPIC_SYNONYMS.get(name)
        if broker_name is not None:
            synonyms += broker_synonyms(
                broker_name, setting.sensitive, broker_config, dynamic_broker, dynamic_default
            )
        entries.append(_entry(name, value, setting, synonyms, read_only=False))
    hidden = INTERNAL_SEGMENT_BYTES
    if hidden.name in overrides and (names is None or hidden.name in names):
        value = overrides[hidden.name]
        synonyms = [ConfigSynonym(hidden.name, value, ConfigSource.TOPIC_CONFIG)]
        entries.append(_entry(hidden.name, value, hidden, synonyms, read_only=False))
    return entries


def describe_broker(
    broker_config: BrokerConfig,
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
    names: Collection[str] | None = None,
) -> list[ConfigEntry]:
    """Every setting of this broker, or those among ``names``."""
    effective = broker_config.with_dynamic(dynamic_default, dynamic_broker)
    entries = []
    for name, setting in BROKER_SETTINGS.items():
        if names is not None and name not in names:
            continue
        if name in INTERNAL_SETTINGS and name not in broker_config.originals:
            continue
        value = None if setting.sensitive else effective.value_text(name)
        synonyms = broker_synonyms(
            name, setting.sensitive, broker_config, dynamic_broker, dynamic_default
        )
        read_only = setting.mode is UpdateMode.READ_ONLY
        entries.append(_entry(name, value, setting, synonyms, read_only=read_only))
    for name in {**dynamic_default, **dynamic_broker}:
        if name in BROKER_SETTINGS or (names is not None and name not in names):
            continue
        entries.append(_extra_entry(name, broker_config, dynamic_broker, dynamic_default))
    return entries


def describe_cluster_default(
    dynamic_default: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The cluster-wide dynamic settings: the broker resource with the empty name."""
    entries = []
    for name, text in dynamic_default.items():
        if names is not None and name not in names:
            continue
        setting = dynamic_setting(name)
        sensitive = setting is None or setting.sensitive
        value = None if sensitive else text
        source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        synonyms = [ConfigSynonym(name, value, source)]
        read_only = setting is None or setting.mode is UpdateMode.READ_ONLY
        entries.append(_entry(name, value, setting, synonyms, read_only=read_only))
    return entries


def _extra_entry(
    name: str,
    broker_config: BrokerConfig,
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
) -> ConfigEntry:
    """A dynamic setting without a definition: a throttle, one of a listener, an unknown one."""
    setting = dynamic_setting(name)
    sensitive = setting is None or setting.sensitive
    synonyms = broker_synonyms(name, sensitive, broker_config, dynamic_broker, dynamic_default)
    value = None if sensitive else synonyms[0].value
    read_only = name not in DYNAMIC_ONLY_SETTINGS
    return _entry(name, value, setting, synonyms, read_only=read_only)


def _entry(
    name: str,
    value: str | None,
    setting: Setting | None,
    synonyms: list[ConfigSynonym],
    *,
    read_only: bool,
) -> ConfigEntry:
    source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
    sensitive = setting is None or setting.sensitive
    type = 0 if setting is None else int(setting.type)
    doc = "" if setting is None else setting.doc
    return ConfigEntry(name, value, read_only, source, sensitive, synonyms, type, doc)


def broker_synonyms(
    name: str,
    sensitive: bool,
    broker_config: BrokerConfig,
    dynamic_broker: Mapping[str, str],
    dynamic_default: Mapping[str, str],
) -> list[ConfigSynonym]:
    """Every place that defines broker setting ``name``.

    Kafka omits the synonyms before the first one with the requested name, so
    ``log.retention.ms`` has none if only ``log.retention.hours`` is set.
    """
    found: list[ConfigSynonym] = []
    for source, values in (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, dynamic_broker),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, dynamic_default),
        (ConfigSource.STATIC_BROKER_CONFIG, broker_config.originals),
    ):
        for synonym in _names(name):
            if synonym in values:
                value = None if sensitive else values[synonym]
                found.append(ConfigSynonym(synonym, value, source))
    for synonym in _names(name):
        setting = BROKER_SETTINGS.get(synonym)
        if setting is not None and setting.default is not None and not setting.is_required:
            value = None if sensitive else setting.default
            found.append(ConfigSynonym(synonym, value, ConfigSource.DEFAULT_CONFIG))
    while found and found[0].name != name:
        del found[0]
    return found


def _names(name: str) -> tuple[str, ...]:
    """The names under which a setting is looked up, highest priority first."""
    known = _SYNONYMS.get(name)
    if known is not None:
        return known
    if name.startswith(_LISTENER_PREFIX):
        # A setting of a single listener overrides that of all listeners.
        listener, _, common = name.removeprefix(_LISTENER_PREFIX).partition(".")
        if listener and common:
            return name, common
    return (name,)
