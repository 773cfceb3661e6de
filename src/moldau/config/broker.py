"""The configuration of a broker: Kafka's settings, validated once and immutable.

``from_properties`` takes the contents of a ``server.properties``. An invalid setting raises
``ConfigError`` with its name, its value and the allowed values; so does a setting that would be
unsafe to ignore, such as an authorizer. Unknown settings, and known ones that have no effect
yet, are listed in ``warnings``.

If ``process.roles`` is not set, the node is a cluster of its own: broker and controller in one,
with the settings that a single node needs (Kafka requires all of them in the file). Nobody talks
to its controller, so it has no controller listener unless one is configured.
"""

import socket
from collections.abc import Mapping
from typing import Any, Final

from moldau.config.broker_fields import BrokerFields
from moldau.config.cordoning import CORDONED_LOG_DIRS, cordoned
from moldau.config.definition import (
    ConfigError,
    MissingSettingError,
    Setting,
    SettingType,
    Status,
    UpdateMode,
    Value,
    parse_table,
    to_text,
)
from moldau.config.listeners import (
    LISTENER_PREFIX,
    Listener,
    check_ports,
    of_listeners,
    parse_listeners,
    parse_overrides,
    protocol_map,
)
from moldau.config.settings.groups import GROUPS, INTERNAL_GROUPS
from moldau.config.settings.log import LOG
from moldau.config.settings.moldau import MOLDAU
from moldau.config.settings.network import NETWORK
from moldau.config.settings.quorum import QUORUM
from moldau.config.settings.security import SECURITY
from moldau.config.settings.server import SERVER
from moldau.config.settings.tiered import TIERED
from moldau.config.settings.transactions import TRANSACTIONS
from moldau.errors import ApiError, ErrorCode

_TABLES: Final = (
    *(SERVER, QUORUM, NETWORK, LOG, GROUPS, INTERNAL_GROUPS, TRANSACTIONS, TIERED, SECURITY),
    MOLDAU,
)

BROKER_SETTINGS: Final[dict[str, Setting]] = {
    setting.name: setting for table in _TABLES for setting in parse_table(table)
}
# DescribeConfigs shows these only if they are set.
INTERNAL_SETTINGS: Final = frozenset(
    setting.name for table in (INTERNAL_GROUPS, MOLDAU) for setting in parse_table(table)
)
_DEFAULTS: Final[dict[str, Value]] = {
    name: setting.default_value()
    for name, setting in BROKER_SETTINGS.items()
    if not setting.is_required
}

# Broker settings that exist only dynamically: replication throttles (KIP-73).
_THROTTLES: Final = {
    "leader.replication.throttled.rate": Status.HONOURED,
    "follower.replication.throttled.rate": Status.HONOURED,
    "replica.alter.log.dirs.io.max.bytes.per.second": Status.HONOURED,
}
DYNAMIC_ONLY_SETTINGS: Final[dict[str, Setting]] = {
    name: Setting(
        name,
        SettingType.LONG,
        "9223372036854775807",
        "0..",
        "MEDIUM",
        UpdateMode.CLUSTER_WIDE,
        status,
        "Bytes per second that replication may use for the throttled replicas.",
    )
    for name, status in _THROTTLES.items()
}

# The values of Kafka's sample configuration for one node, for a node without settings.
STANDALONE: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
_STANDALONE_LISTENER: Final = "PLAINTEXT://localhost:9092"
# Whoever sets one of these wants to reach the controller.
_CONTROLLER_SETTINGS: Final = (
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
)

# Keystores can be changed for a single listener only; connection limits also for all.
_PER_LISTENER: Final = (
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.truststore.certificates",
)
_CLUSTER_LEVEL_LISTENER: Final = (
    "max.connections",
    "max.connection.creation.rate",
    "num.network.threads",
)

_MS_PER_MINUTE: Final = 60_000
_MS_PER_HOUR: Final = 3_600_000


class BrokerConfig(BrokerFields):
    """All settings as attributes (``log.segment.bytes`` is ``log_segment_bytes``).

    ``originals`` has the given settings, as text; ``values`` every setting as parsed, before
    any is derived from others; the attributes have the effective values.
    """

    originals: Mapping[str, str]
    values: Mapping[str, Value]
    warnings: tuple[str, ...]
    advertised: tuple[Listener, ...]
    controller_listeners: tuple[Listener, ...]
    # Where the controller is said to be: at its listeners, or else at the broker's first.
    controller_endpoints: tuple[Listener, ...]
    connection_overrides: Mapping[str, int]
    listener_max_connections: Mapping[str, int]
    listener_connection_rates: Mapping[str, int]
    is_broker: bool
    is_controller: bool
    # Whether nothing was said about roles: the controller may do without a listener.
    is_lone: bool

    def __init__(self, originals: Mapping[str, str], *, is_lone: bool = False) -> None:
        given = _with_node_id(dict(originals))
        values = dict(_DEFAULTS)
        values.update(_parse(given, BROKER_SETTINGS))
        state: dict[str, Any] = {
            setting.attribute: values.get(name) for name, setting in BROKER_SETTINGS.items()
        }
        state["originals"] = given
        state["is_lone"] = is_lone
        state["values"] = values
        state["_dynamic"] = {}
        self.__dict__.update(state)
        self.__dict__.update(_derive(given, values))
        _validate(self)
        self.__dict__["warnings"] = tuple(_warnings(given))

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> "BrokerConfig":
        """Raises ConfigError with the setting, its value and the allowed values."""
        given = dict(properties)
        is_lone = "process.roles" not in given
        if is_lone:
            given = standalone_properties(given)
        for name in ("node.id", "controller.listener.names"):
            if name not in given and not (name == "node.id" and "broker.id" in given):
                raise MissingSettingError(name)
        return cls(given, is_lone=is_lone)

    def with_dynamic(
        self, cluster_wide: Mapping[str, str], per_broker: Mapping[str, str]
    ) -> "BrokerConfig":
        """This configuration with dynamic changes applied.

        Invalid values, and values that cannot be set at their level, are ignored: they were
        validated when they were set, and a broker must be able to start with them.
        """
        if not cluster_wide and not per_broker:
            return self
        key = (tuple(cluster_wide.items()), tuple(per_broker.items()))
        known: dict[object, BrokerConfig] = self.__dict__["_dynamic"]
        if key not in known:
            merged = dict(self.originals)
            merged.update(_valid_dynamic(cluster_wide, per_broker=False))
            merged.update(_valid_dynamic(per_broker, per_broker=True, log_dirs=self.log_dirs))
            known.clear()
            known[key] = BrokerConfig(merged, is_lone=self.is_lone)
        return known[key]

    def value_text(self, name: str) -> str | None:
        """The parsed value of a setting, as Kafka writes it."""
        return to_text(self.values.get(name))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a configuration is immutable: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrokerConfig) and self.originals == other.originals

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.originals.items())))

    def __repr__(self) -> str:
        shown = {
            name: "[hidden]" if _is_secret(name) else value
            for name, value in self.originals.items()
        }
        return f"BrokerConfig({shown})"


def standalone_properties(given: Mapping[str, str]) -> dict[str, str]:
    """``given``, completed to a cluster of one node.

    There is a controller listener only if one of the settings of controllers is given. If that does
    not include its address, it gets the port after that of the first client listener; if that is
    0, the system chooses both.
    """
    properties = {**STANDALONE, **given}
    if "broker.id" in given and "node.id" not in given:
        properties["node.id"] = given["broker.id"]
    names = properties["controller.listener.names"]
    controller = names.split(",")[0].strip()
    listeners = properties.setdefault("listeners", _STANDALONE_LISTENER)
    is_listening = f"{controller.upper()}://" in listeners.upper()
    if not is_listening and not any(given.get(name) for name in _CONTROLLER_SETTINGS):
        address = listeners.split(",")[0].partition("://")[2]
        address = f"localhost{address}" if address.startswith(":") else address
        properties.setdefault("controller.quorum.bootstrap.servers", address)
        return properties
    if not is_listening:
        host, _, port = listeners.split(",")[0].partition("://")[2].rpartition(":")
        following = int(port) + 1 if port.isdigit() and port != "0" else 0
        properties["listeners"] = f"{listeners},{controller}://{host}:{following}"
    if not given.get("controller.quorum.voters"):
        address = properties["listeners"].upper().partition(f"{controller.upper()}://")[2]
        address = address.split(",")[0].lower()
        address = f"localhost{address}" if address.startswith(":") else address
        properties.setdefault("controller.quorum.bootstrap.servers", address)
    return properties


def dynamic_setting(name: str) -> Setting | None:
    """The setting for the name of a dynamic broker setting, with or without listener prefix."""
    if name.startswith(LISTENER_PREFIX):
        name = name.split(".", 3)[3] if name.count(".") >= 3 else name
    return BROKER_SETTINGS.get(name) or DYNAMIC_ONLY_SETTINGS.get(name)


def validate_dynamic(changes: Mapping[str, str], *, per_broker: bool) -> None:
    """Validate settings that a client changes on a running broker.

    Raises:
        ApiError: INVALID_REQUEST if a setting cannot be changed dynamically, or not at this
            level, or its value is invalid. Unknown names are accepted, as in Kafka.
    """
    for name, text in changes.items():
        setting = dynamic_setting(name)
        if setting is None:
            continue
        if setting.mode is UpdateMode.READ_ONLY:
            message = f"Cannot update these configs dynamically: [{name}]"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        if name in _PER_LISTENER:
            message = f"{name} can be updated only for a listener: listener.name.<name>.{name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        is_for_one = setting.mode is UpdateMode.PER_BROKER or (
            name.startswith(LISTENER_PREFIX) and setting.name not in _CLUSTER_LEVEL_LISTENER
        )
        if is_for_one and not per_broker:
            message = f"{name} cannot be set for all brokers at once: name a broker"
            raise ApiError(ErrorCode.INVALID_REQUEST, message)
        try:
            setting.parse(text)
            if setting.name in _CLUSTER_LEVEL_LISTENER:
                of_listeners(setting, {name: text})
            if setting.status is Status.REFUSED:
                _refuse(setting, text)
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None


def validate_cordoned(changes: Mapping[str, str], log_dirs: tuple[str, ...]) -> None:
    """Check that the directories to be cordoned are directories of the broker.

    Raises ApiError: INVALID_REQUEST.
    """
    setting = BROKER_SETTINGS[CORDONED_LOG_DIRS]
    items = setting.parse(changes.get(CORDONED_LOG_DIRS, ""))
    assert isinstance(items, tuple)
    try:
        cordoned(items, log_dirs)
    except ConfigError as error:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None


def _valid_dynamic(
    changes: Mapping[str, str], *, per_broker: bool, log_dirs: tuple[str, ...] = ()
) -> dict[str, str]:
    valid = {}
    for name, text in changes.items():
        try:
            validate_dynamic({name: text}, per_broker=per_broker)
            validate_cordoned({name: text}, log_dirs)
        except ApiError:
            continue
        is_known = name in BROKER_SETTINGS or name.startswith(LISTENER_PREFIX)
        if is_known and name != "listeners":
            valid[name] = text
    return valid


def _with_node_id(given: dict[str, str]) -> dict[str, str]:
    """``broker.id`` is the older name of ``node.id``; each sets the other."""
    if "node.id" in given:
        given.setdefault("broker.id", given["node.id"])
    elif "broker.id" in given:
        given["node.id"] = given["broker.id"]
    if given.get("node.id") != given.get("broker.id"):
        raise ConfigError("broker.id", given["broker.id"], f"must equal node.id={given['node.id']}")
    return given


def _parse(given: Mapping[str, str], settings: Mapping[str, Setting]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, text in given.items():
        setting = settings.get(name)
        if setting is None:
            continue
        values[name] = setting.parse(text)
        if setting.status is Status.REFUSED:
            _refuse(setting, text)
    return values


def _refuse(setting: Setting, text: str) -> None:
    if setting.parse(text) != setting.default_value():
        problem = "Moldau does not support this, and ignoring it would not be safe; remove it"
        raise ConfigError(setting.name, text, problem)


def _derive(given: Mapping[str, str], values: Mapping[str, Any]) -> dict[str, Any]:
    """Derive values from several settings, in Kafka's order of priority."""
    log_dirs = values["log.dirs"] if values["log.dirs"] is not None else values["log.dir"]
    retention_ms = _first(
        values["log.retention.ms"],
        _times(values["log.retention.minutes"], _MS_PER_MINUTE),
        values["log.retention.hours"] * _MS_PER_HOUR,
    )
    protocols = protocol_map(
        values["listener.security.protocol.map"],
        "listener.security.protocol.map" not in given,
        values["listeners"],
        values["controller.listener.names"],
    )
    listeners = parse_listeners("listeners", values["listeners"], protocols)
    controller_names = [name.upper() for name in values["controller.listener.names"]]
    controllers = tuple(lsn for lsn in listeners if lsn.name in controller_names)
    roles = values["process.roles"]
    inter_broker = values["inter.broker.listener.name"] or values["security.inter.broker.protocol"]
    return {
        "log_dirs": log_dirs,
        "metadata_log_dir": values["metadata.log.dir"] or log_dirs[0],
        "cordoned_log_dirs": cordoned(values[CORDONED_LOG_DIRS], log_dirs),
        "num_replica_alter_log_dirs_threads": _first(
            values["num.replica.alter.log.dirs.threads"], len(log_dirs)
        ),
        # Every negative value means unlimited.
        "log_retention_ms": -1 if retention_ms < 0 else retention_ms,
        "log_roll_ms": _first(values["log.roll.ms"], values["log.roll.hours"] * _MS_PER_HOUR),
        "log_roll_jitter_ms": _first(
            values["log.roll.jitter.ms"], values["log.roll.jitter.hours"] * _MS_PER_HOUR
        ),
        "log_flush_interval_ms": _first(
            values["log.flush.interval.ms"], values["log.flush.scheduler.interval.ms"]
        ),
        "listeners": listeners,
        "controller_listeners": controllers,
        "controller_endpoints": _controller_endpoints(
            values, listeners, controllers, protocols, controller_names
        ),
        "advertised": _advertised(values, listeners, protocols, controller_names),
        "inter_broker_listener_name": inter_broker.upper(),
        "connection_overrides": parse_overrides(values["max.connections.per.ip.overrides"]),
        "listener_max_connections": of_listeners(BROKER_SETTINGS["max.connections"], given),
        "listener_connection_rates": of_listeners(
            BROKER_SETTINGS["max.connection.creation.rate"], given
        ),
        "is_broker": "broker" in roles,
        "is_controller": "controller" in roles,
    }


def _advertised(
    values: Mapping[str, Any],
    listeners: tuple[Listener, ...],
    protocols: Mapping[str, str],
    controller_names: list[str],
) -> tuple[Listener, ...]:
    """The addresses that clients and brokers use: those of the broker role."""
    given = values["advertised.listeners"]
    if given is not None:
        listeners = parse_listeners("advertised.listeners", given, protocols)
    named = (listener for listener in listeners if listener.name not in controller_names)
    return tuple(
        listener if listener.host else listener._replace(host=local_host_name())
        for listener in named
    )


def _controller_endpoints(
    values: Mapping[str, Any],
    listeners: tuple[Listener, ...],
    controllers: tuple[Listener, ...],
    protocols: Mapping[str, str],
    controller_names: list[str],
) -> tuple[Listener, ...]:
    """The addresses that other nodes use to reach this controller.

    A controller without a listener of its own is reached at the broker's first listener.
    """
    if not controllers:
        return tuple(each._replace(name=controller_names[0]) for each in listeners[:1])
    given = values["advertised.listeners"] or ()
    advertised = {
        each.name: each for each in parse_listeners("advertised.listeners", given, protocols)
    }
    return tuple(advertised.get(each.name, each) for each in controllers)


def local_host_name() -> str:
    """The host name of this machine, for a listener on every interface."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "localhost"
    return name


def _first(*candidates: Any) -> Any:
    return next(candidate for candidate in candidates if candidate is not None)


def _times(number: int | None, factor: int) -> int | None:
    return None if number is None else number * factor


def _warnings(given: Mapping[str, str]) -> list[str]:
    """One line per setting that is unknown or has no effect."""
    warnings = []
    for name in given:
        setting = dynamic_setting(name)
        if setting is None:
            warnings.append(f"{name} is not a known setting; it is ignored")
        elif setting.status is Status.ACCEPTED and name not in STANDALONE:
            value = setting.parse(given[name])
            if value != setting.default_value():
                warnings.append(
                    f"{name}={given[name]} is accepted, but has no effect in Moldau yet"
                )
    return warnings


def _is_secret(name: str) -> bool:
    setting = dynamic_setting(name)
    return setting is None or setting.sensitive


def _validate(config: BrokerConfig) -> None:
    """Validate combinations of settings."""
    from moldau.config.broker_checks import check_broker_config

    check_ports("listeners", config.listeners)
    check_broker_config(config)
