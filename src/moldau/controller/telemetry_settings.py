"""Settings of a client-metrics subscription (KIP-714): metrics, interval, clients."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from moldau.config.definition import ConfigError, SettingType, parse_value
from moldau.config.describe import ConfigEntry, ConfigSource, ConfigSynonym
from moldau.errors import ApiError, ErrorCode

CLIENT_METRICS_SETTINGS: Final[dict[str, SettingType]] = {
    "metrics": SettingType.LIST,
    "interval.ms": SettingType.INT,
    "match": SettingType.LIST,
}
_MATCHED: Final = frozenset(
    (
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    )
)
_MIN_INTERVAL_MS: Final = 100
_MAX_INTERVAL_MS: Final = 3_600_000


class _Described(NamedTuple):
    default: str
    doc: str


_DESCRIBED: Final[dict[str, _Described]] = {
    "metrics": _Described("", "Name prefixes of the requested metrics."),
    "interval.ms": _Described("300000", "How often a client sends metrics."),
    "match": _Described("", "Which clients send metrics: pairs of parameter and pattern."),
}


def describe_client_metrics(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """Every setting of a subscription, set or not."""
    entries = []
    for name, kind in CLIENT_METRICS_SETTINGS.items():
        value, doc = _DESCRIBED[name]
        source = ConfigSource.DEFAULT_CONFIG
        synonyms = []
        if name in overrides:
            value, source = overrides[name], ConfigSource.CLIENT_METRICS_CONFIG
            synonyms.append(ConfigSynonym(name, value, source))
        entries.append(ConfigEntry(name, value, False, source, False, synonyms, int(kind), doc))
    return entries


def validate_client_metrics(name: str, settings: Mapping[str, str]) -> None:
    """Raises ApiError INVALID_REQUEST or INVALID_CONFIG."""
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for key, text in settings.items():
        kind = CLIENT_METRICS_SETTINGS.get(key)
        if kind is None:
            message = f"Unknown client metrics configuration: {key}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        try:
            value = parse_value(key, kind, text)
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
        if isinstance(value, int) and not _MIN_INTERVAL_MS <= value <= _MAX_INTERVAL_MS:
            message = (
                f"Invalid value {value} for {key}, interval must be between 100 and "
                "3600000 (1 hour)"
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        if key == "match" and isinstance(value, tuple):
            for pattern in value:
                _check_pattern(pattern)


def _check_pattern(pattern: str) -> None:
    parameter, separator, expression = pattern.partition("=")
    is_valid = bool(separator) and "=" not in expression and parameter.strip() in _MATCHED
    if is_valid:
        try:
            re.compile(expression.strip())
        except re.error:
            is_valid = False
    if not is_valid:
        message = f"Illegal client matching pattern: {pattern}"
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
