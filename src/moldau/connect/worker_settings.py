"""The settings of a worker by name: Kafka's with Kafka's defaults, and Moldau's own."""

from collections.abc import Mapping
from typing import Any, Final

from moldau.connect.config.definition import ConfigDef, Importance, Type, nearest
from moldau.connect.config.errors import invalid
from moldau.connect.config.validators import (
    CaseInsensitiveValidString,
    NonEmptyString,
    Range,
    ValidList,
)

_HIGH: Final = Importance.HIGH
_LOW: Final = Importance.LOW


def _base() -> ConfigDef:
    """What distributed and standalone workers have in common."""
    definition = ConfigDef()
    definition.define(
        "bootstrap.servers",
        Type.LIST,
        validator=ValidList(is_empty_allowed=False),
        importance=_HIGH,
        doc="Brokers to begin with, as host:port,host:port.",
    )
    definition.define(
        "key.converter", Type.STRING, importance=_HIGH, doc="Converter of keys, unless overridden."
    )
    definition.define(
        "value.converter",
        Type.STRING,
        importance=_HIGH,
        doc="Converter of values, unless overridden.",
    )
    definition.define(
        "header.converter",
        Type.STRING,
        "org.apache.kafka.connect.storage.SimpleHeaderConverter",
        importance=_LOW,
        doc="Converter of headers, unless overridden.",
    )
    _numbers(definition, _BASE_NUMBERS)
    definition.define("config.providers", Type.LIST, "", importance=_LOW)
    definition.define("connector.client.config.override.policy", Type.STRING, "All")
    for name in ("topic.creation.enable", "topic.tracking.enable", "topic.tracking.allow.reset"):
        definition.define(name, Type.BOOLEAN, True, importance=_LOW)
    _add_rest(definition)
    _add_own(definition)
    return definition


def _add_rest(definition: ConfigDef) -> None:
    """The settings of the REST API."""
    definition.define(
        "listeners",
        Type.LIST,
        "http://127.0.0.1:8083",
        validator=ValidList(is_empty_allowed=False),
        importance=_LOW,
        doc="Where the REST API listens: http://host:port or https://host:port. Without a host, "
        "on every interface.",
    )
    definition.define("rest.advertised.host.name", Type.STRING, None, importance=_LOW)
    definition.define("rest.advertised.port", Type.INT, None, importance=_LOW)
    definition.define(
        "rest.advertised.listener",
        Type.STRING,
        None,
        importance=_LOW,
        doc="Where other workers send requests: http if there is such a listener, by default.",
    )
    definition.define("access.control.allow.origin", Type.STRING, "", importance=_LOW)
    definition.define("access.control.allow.methods", Type.STRING, "", importance=_LOW)
    definition.define("admin.listeners", Type.LIST, None, importance=_LOW)


def _add_own(definition: ConfigDef) -> None:
    """What only Moldau has."""
    definition.define(
        "moldau.master",
        Type.STRING,
        None,
        importance=_LOW,
        doc="Spark master, such as spark://head:7077; on this machine by default.",
    )
    definition.define(
        "moldau.task.memory.mb",
        Type.INT,
        None,
        validator=_positive,
        importance=_LOW,
        doc="What a process of a connector may allocate, in MB: 2048 by default.",
    )


# Name, type, default, smallest value.
_Number = tuple[str, Type, int, int]
_BASE_NUMBERS: Final[tuple[_Number, ...]] = (
    ("task.shutdown.graceful.timeout.ms", Type.LONG, 5_000, 0),
    ("offset.flush.interval.ms", Type.LONG, 60_000, 0),
    ("offset.flush.timeout.ms", Type.LONG, 5_000, 0),
    ("request.timeout.ms", Type.INT, 40_000, 0),
    ("default.api.timeout.ms", Type.INT, 60_000, 0),
    # How often each connector starts a batch.
    ("moldau.trigger.ms", Type.LONG, 1_000, 0),
)
_GROUP_NUMBERS: Final[tuple[_Number, ...]] = (
    ("session.timeout.ms", Type.INT, 10_000, 100),
    ("rebalance.timeout.ms", Type.INT, 60_000, 1),
    ("heartbeat.interval.ms", Type.INT, 3_000, 1),
    ("worker.sync.timeout.ms", Type.INT, 3_000, 0),
    ("worker.unsync.backoff.ms", Type.INT, 300_000, 0),
    ("scheduled.rebalance.max.delay.ms", Type.INT, 300_000, 0),
)


def _distributed() -> ConfigDef:
    definition = _base()
    definition.define(
        "group.id",
        Type.STRING,
        importance=_HIGH,
        validator=NonEmptyString(),
        doc="The group of workers that share connectors: one is active, the others stand by.",
    )
    _numbers(definition, _GROUP_NUMBERS)
    for storage, partitions in (("config", None), ("offset", 25), ("status", 5)):
        prefix = f"{storage}.storage."
        definition.define(
            f"{prefix}topic", Type.STRING, importance=_HIGH, validator=NonEmptyString()
        )
        definition.define(
            f"{prefix}replication.factor", Type.SHORT, 3, validator=_topic_number, importance=_LOW
        )
        if partitions is not None:
            definition.define(
                f"{prefix}partitions",
                Type.INT,
                partitions,
                validator=_topic_number,
                importance=_LOW,
            )
    definition.define(
        "exactly.once.source.support",
        Type.STRING,
        "disabled",
        validator=CaseInsensitiveValidString("disabled", "preparing", "enabled"),
        importance=_HIGH,
        doc="Whether sources write records and offsets in one transaction.",
    )
    return definition


def _standalone() -> ConfigDef:
    definition = _base()
    definition.define(
        "offset.storage.file.filename",
        Type.STRING,
        importance=_HIGH,
        validator=NonEmptyString(),
        doc="The file that stores how far sources have read.",
    )
    return definition


def _numbers(definition: ConfigDef, numbers: tuple[_Number, ...]) -> None:
    for name, kind, default, smallest in numbers:
        definition.define(name, kind, default, validator=Range(smallest, None), importance=_LOW)


def _positive(name: str, value: Any) -> None:
    if value is not None and value < 1:
        raise invalid(name, value, "it must not be less than 1")


def _topic_number(name: str, value: Any) -> None:
    """As many as the broker's default (-1), or at least one."""
    if value is not None and value != -1 and value < 1:
        raise invalid(name, value, "give at least 1, or -1 for that of the broker")


DISTRIBUTED: Final = _distributed()
STANDALONE: Final = _standalone()

_JAVA: Final = "there are no Java classes here"
_PROTOCOL: Final = "it belongs to the protocol between Apache's workers"
# Settings of Kafka's workers that are accepted in its files.
IGNORED: Final[Mapping[str, str]] = {
    "plugin.path": "connectors written in Java cannot run here; those in Python are installed with "
    "pip and found by their entry points",
    "plugin.discovery": _JAVA,
    "rest.extension.classes": _JAVA,
    "metric.reporters": _JAVA,
    "connect.protocol": _PROTOCOL,
    "inter.worker.key.generation.algorithm": _PROTOCOL,
    "inter.worker.key.size": _PROTOCOL,
    "inter.worker.key.ttl.ms": _PROTOCOL,
    "inter.worker.signature.algorithm": _PROTOCOL,
    "inter.worker.verification.algorithms": _PROTOCOL,
}
IGNORED_PREFIXES: Final = ("metrics.", "internal.", "response.http.headers.")
# Settings with a name that goes on, and of the clients of the worker itself.
KNOWN_PREFIXES: Final = (
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "producer.",
    "consumer.",
    "admin.",
    "config.providers.",
    "config.storage.",
    "offset.storage.",
    "status.storage.",
    "moldau.spark.",
    "client.",
    "retry.",
    "reconnect.",
    "connections.",
    "metadata.",
    "send.buffer.bytes",
    "receive.buffer.bytes",
    "socket.",
)


def nearest_setting(name: str, distributed: bool) -> str | None:
    """The known setting that ``name`` may have been meant to be."""
    return nearest(name, (DISTRIBUTED if distributed else STANDALONE).keys)
