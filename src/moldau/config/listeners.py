"""Listeners and advertised listeners: ``NAME://host:port``."""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moldau.config.definition import ConfigError, Setting

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
SECURITY_PROTOCOL_IDS: Final = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

LISTENER_PREFIX: Final = "listener.name."

_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class Listener(NamedTuple):
    """One address. An empty host means every interface; port 0, one chosen by the system."""

    name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(
    setting: str, items: Iterable[str], protocols: Mapping[str, str]
) -> tuple[Listener, ...]:
    """The listeners in the value of ``setting``; ``protocols`` maps names to security protocols."""
    listeners: list[Listener] = []
    for item in items:
        match = _LISTENER.fullmatch(item)
        if match is None:
            raise ConfigError(setting, item, "must look like PLAINTEXT://localhost:9092")
        name, host, port = match[1].upper(), match[2], int(match[3])
        if not 0 <= port <= 65535:
            raise ConfigError(setting, item, "the port must be between 0 and 65535")
        if name not in protocols:
            problem = f"no security protocol is given for {name} in listener.security.protocol.map"
            raise ConfigError(setting, item, problem)
        listeners.append(Listener(name, host, port, protocols[name]))
    names = [listener.name for listener in listeners]
    if len(set(names)) != len(names):
        raise ConfigError(setting, ",".join(items), "each listener must have a unique name")
    return tuple(listeners)


def check_ports(setting: str, listeners: tuple[Listener, ...]) -> None:
    """Two listeners may share a port only if one address is IPv4 and the other IPv6."""
    for index, first in enumerate(listeners):
        for second in listeners[index + 1 :]:
            if first.port == second.port != 0 and not _are_two_stacks(first.host, second.host):
                text = ",".join(map(str, listeners))
                raise ConfigError(setting, text, f"two listeners have port {first.port}")


def _are_two_stacks(first: str, second: str) -> bool:
    return bool(first and second) and (":" in first) != (":" in second)


def protocol_map(
    text: str, is_default: bool, listeners: Iterable[str], controller_names: Iterable[str]
) -> dict[str, str]:
    """Security protocol by listener name (``listener.security.protocol.map``).

    If the map is not set and no listener uses TLS or SASL, controller listeners are PLAINTEXT
    without being in the map, as in Kafka.
    """
    setting = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = entry.partition(":")
        protocol = protocol.strip().upper()
        if not colon or protocol not in SECURITY_PROTOCOLS:
            allowed = (
                f"write NAME:PROTOCOL, where PROTOCOL is one of {', '.join(SECURITY_PROTOCOLS)}"
            )
            raise ConfigError(setting, entry, allowed)
        protocols[name.strip().upper()] = protocol
    secured = set(SECURITY_PROTOCOLS[1:])
    used = {item.partition(":")[0].upper() for item in listeners}
    if is_default and not secured & (used | {name.upper() for name in controller_names}):
        for name in controller_names:
            protocols.setdefault(name.upper(), "PLAINTEXT")
    return protocols


def parse_overrides(text: str) -> dict[str, int]:
    """``max.connections.per.ip.overrides``: host to connections, from ``a:10,[::1]:5``."""
    setting = "max.connections.per.ip.overrides"
    overrides: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        host, colon, count = entry.rpartition(":")
        if not colon or not host or not count.isdigit():
            raise ConfigError(setting, entry, "write host:count,host:count")
        overrides[host.strip("[]")] = int(count)
    return overrides


def of_listeners(setting: Setting, given: Mapping[str, str]) -> dict[str, int]:
    """The values of ``listener.name.<name>.<setting>`` in ``given``, by listener name."""
    found: dict[str, int] = {}
    for name, text in given.items():
        listener, dot, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
        if name.startswith(LISTENER_PREFIX) and dot and rest == setting.name:
            value = setting.parse(text)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(name, text, "Value must be at least 1")
            found[listener.upper()] = value
    return found
