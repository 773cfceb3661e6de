"""The configuration of a topic: its own settings, or else those of the broker.

The default of most topic settings is a broker setting, often with another name and sometimes
in another unit (``log.retention.hours`` for ``retention.ms``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.config.broker import BrokerConfig
from moldau.config.definition import (
    ConfigError,
    Setting,
    SettingType,
    Status,
    UpdateMode,
    Value,
    parse_table,
)
from moldau.config.settings.topic import TOPIC
from moldau.errors import ApiError, ErrorCode

_FOREVER: Final = (1 << 63) - 1

TOPIC_SETTINGS: Final[dict[str, Setting]] = {
    setting.name: setting for setting in parse_table(TOPIC)
}

# Kafka's hidden setting for tests: segments smaller than segment.bytes allows.
INTERNAL_SEGMENT_BYTES: Final = Setting(
    "internal.segment.bytes",
    SettingType.INT,
    None,
    "any",
    "MEDIUM",
    UpdateMode.CLUSTER_WIDE,
    Status.HONOURED,
    "Segment size below the public minimum, for tests.",
)

# Topic setting -> the broker setting with the highest priority that is its default.
TOPIC_SYNONYMS: Final[dict[str, str]] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.gzip.level": "compression.gzip.level",
    "compression.lz4.level": "compression.lz4.level",
    "compression.type": "compression.type",
    "compression.zstd.level": "compression.zstd.level",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "flush.ms": "log.flush.interval.ms",
    "index.interval.bytes": "log.index.interval.bytes",
    "local.retention.bytes": "log.local.retention.bytes",
    "local.retention.ms": "log.local.retention.ms",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.timestamp.after.max.ms": "log.message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms": "log.message.timestamp.before.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "retention.ms": "log.retention.ms",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}


# Without ``slots``, which would create a second class that mypyc does not know.
@dataclass(frozen=True)
class LogConfig:
    """The configuration of a partition's log; ``LogConfig()`` has Kafka's defaults."""

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = _FOREVER
    flush_ms: int = _FOREVER
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4096
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    max_compaction_lag_ms: int = _FOREVER
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = _FOREVER
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False

    @staticmethod
    def build(broker: BrokerConfig, overrides: Mapping[str, str]) -> "LogConfig":
        """The configuration of a topic with ``overrides`` on ``broker``.

        Raises:
            ConfigError: an override has an invalid value. Unknown ones are ignored: they were
                refused when they were set, or come from a newer Kafka.
        """
        values: dict[str, Any] = dict(_broker_defaults(broker))
        for name, text in overrides.items():
            setting = TOPIC_SETTINGS.get(name)
            if setting is not None:
                values[setting.attribute] = setting.parse(text)
        if INTERNAL_SEGMENT_BYTES.name in overrides:
            text = overrides[INTERNAL_SEGMENT_BYTES.name]
            values["segment_bytes"] = INTERNAL_SEGMENT_BYTES.parse(text)
        return LogConfig(**values)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """How long a segment may stay active; ``max.compaction.lag.ms`` can shorten it."""
        if self.is_compacted:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @property
    def is_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"


def _broker_defaults(broker: BrokerConfig) -> dict[str, Any]:
    """The topic defaults from ``broker``, by attribute; computed once per broker."""
    known: dict[str, Any] | None = broker.__dict__.get("_topic_defaults")
    if known is None:
        known = {}
        for topic_name, broker_name in TOPIC_SYNONYMS.items():
            attribute = TOPIC_SETTINGS[topic_name].attribute
            known[attribute] = getattr(broker, broker_name.replace(".", "_"))
        broker.__dict__["_topic_defaults"] = known
    return known


def validate_topic_overrides(
    overrides: Mapping[str, str | None], broker: BrokerConfig | None = None
) -> None:
    """Validate the settings of a topic together.

    Raises:
        ApiError: INVALID_CONFIG for an unknown name, an invalid value, or settings that
            contradict each other.
    """
    values: dict[str, Value] = dict(_broker_defaults(broker)) if broker else {}
    for name, text in overrides.items():
        setting = _setting(name)
        if setting is None:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        if text is None:
            message = f"Null value not supported for topic configs: {name}"
            raise ApiError(ErrorCode.INVALID_CONFIG, message)
        try:
            values[setting.attribute] = setting.parse(text)
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
    _check_together(values)


def _setting(name: str) -> Setting | None:
    if name == INTERNAL_SEGMENT_BYTES.name:
        return INTERNAL_SEGMENT_BYTES
    return TOPIC_SETTINGS.get(name)


def _check_together(values: Mapping[str, Any]) -> None:
    lag_min = values.get("min_compaction_lag_ms", 0)
    lag_max = values.get("max_compaction_lag_ms", _FOREVER)
    if lag_min > lag_max:
        message = (
            f"conflict topic config setting min.compaction.lag.ms ({lag_min}) > "
            f"max.compaction.lag.ms ({lag_max})"
        )
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
    if values.get("remote_storage_enable"):
        message = (
            "remote.storage.enable=true: tiered storage is disabled in the broker, "
            "a topic cannot use it"
        )
        raise ApiError(ErrorCode.INVALID_CONFIG, message)
