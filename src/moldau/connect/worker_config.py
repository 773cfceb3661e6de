"""The settings of a worker, from a properties file.

Kafka's connect-distributed.properties and connect-standalone.properties work unchanged. What only
matters to Java (``plugin.path``, metrics reporters) or to the protocol between Apache's workers is
accepted and has no effect; a setting that neither Kafka nor Moldau knows is named in a warning. By
itself a worker listens on the loopback address only.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from moldau.client.security import Security, is_security_setting, parse_security
from moldau.config.properties import parse_properties
from moldau.connect.config.errors import ConfigError, invalid
from moldau.connect.listeners import (
    ADMIN_LISTENERS,
    CLIENT_AUTH,
    LISTENERS,
    ListenerTls,
    RestListener,
    advertised,
    is_listener_setting,
    parse_listeners,
    parse_tls_of,
)
from moldau.connect.providers import Providers
from moldau.connect.stores.topic_log import ClientSettings, TopicSettings
from moldau.connect.worker_settings import (
    DISTRIBUTED,
    IGNORED,
    IGNORED_PREFIXES,
    KNOWN_PREFIXES,
    STANDALONE,
    nearest_setting,
)

# Settings of internal topics that Kafka does not leave to the user.
_NOT_TOPIC_SETTINGS: Final = (
    "topic",
    "partitions",
    "replication.factor",
    "cleanup.policy",
    "file.filename",
)
_STORAGES: Final = {
    "config": "connector configurations",
    "offset": "source connector offsets",
    "status": "connector and task statuses",
}


@dataclass(frozen=True)
class WorkerConfig:
    """The settings of a worker, read and checked once.

    ``properties`` has the texts with config providers resolved: it holds secrets and is not shown.
    """

    is_distributed: bool
    properties: Mapping[str, str] = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()
    # Values that came from config providers, with the references that they stand for.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_text(cls, text: str, *, distributed: bool) -> "WorkerConfig":
        """Parse the text of a properties file. Raises ConfigError."""
        return cls.from_properties(parse_properties(text), distributed=distributed)

    @classmethod
    def from_properties(cls, given: Mapping[str, str], *, distributed: bool) -> "WorkerConfig":
        """Check ``given``.

        Raises:
            ConfigError: a setting is missing or has an invalid value; the message names it.
        """
        properties, secrets = Providers.from_settings(given).resolve(given)
        values = (DISTRIBUTED if distributed else STANDALONE).parse(properties)
        warnings = tuple(_warnings(given, distributed))
        config = cls(distributed, properties, values, warnings, secrets)
        config._check()
        return config

    @property
    def bootstrap(self) -> str:
        return ",".join(self.values["bootstrap.servers"])

    @property
    def group_id(self) -> str:
        """The name of the group of workers; of a standalone worker too, for its client ids."""
        return str(self.values["group.id"]) if self.is_distributed else "connect-standalone"

    @cached_property
    def security(self) -> Security:
        """How internal topics and the group are reached: the settings without a prefix."""
        return self._security({})

    def client_settings(self, purpose: str) -> ClientSettings:
        """A client of the worker itself. ``purpose`` is in its client id."""
        client_id = self.properties.get("client.id") or f"connect-{self.group_id}"
        return ClientSettings(
            self.bootstrap,
            f"{client_id}-{purpose}",
            timeout_s=int(self.values["request.timeout.ms"]) / 1000,
            security=self.security,
        )

    def client_overrides(self, kind: str) -> dict[str, str]:
        """The settings for a connector's clients of a kind: ``producer``, ``consumer``, ``admin``.

        Without the prefix; the worker's own security settings, overridden by those with it.
        """
        prefix = f"{kind}."
        shared = {
            name: value
            for name, value in self.properties.items()
            if name == "bootstrap.servers" or _is_of_clients(name)
        }
        own = {
            name.removeprefix(prefix): value
            for name, value in self.properties.items()
            if name.startswith(prefix)
        }
        return {**shared, **own}

    def topic(self, storage: str) -> TopicSettings:
        """The internal topic of a storage: ``config``, ``offset`` or ``status``."""
        prefix = f"{storage}.storage."
        configs = {
            name.removeprefix(prefix): value
            for name, value in self.properties.items()
            if name.startswith(prefix) and name.removeprefix(prefix) not in _NOT_TOPIC_SETTINGS
        }
        partitions = 1 if storage == "config" else self.values[f"{prefix}partitions"]
        return TopicSettings(
            self.values[f"{prefix}topic"],
            f"{prefix}topic",
            _STORAGES[storage],
            partitions,
            self.values[f"{prefix}replication.factor"],
            configs,
        )

    @cached_property
    def listeners(self) -> list[RestListener]:
        """The listeners of the REST API."""
        return parse_listeners(LISTENERS, self.values[LISTENERS], self.properties)

    @cached_property
    def admin_listeners(self) -> list[RestListener] | None:
        """The listeners of ``/admin``: None for those of the REST API, none at all if empty."""
        given = self.values[ADMIN_LISTENERS]
        return None if given is None else parse_listeners(ADMIN_LISTENERS, given, self.properties)

    def forwarding_tls(self) -> ListenerTls:
        """How other workers are reached over HTTPS: with the settings of the listeners.

        Raises:
            ConfigError: one of them is invalid.
        """
        return parse_tls_of(LISTENERS, self.properties)

    def advertised_url(self, ports: Sequence[int]) -> str:
        """Where other workers reach this one, whose listeners are bound to ``ports``."""
        listener = advertised(self.listeners, self.values)
        port = ports[self.listeners.index(listener)]
        host = self.values["rest.advertised.host.name"] or listener.host
        if host in ("", "0.0.0.0", "::"):
            host = socket.gethostname()
        host = f"[{host}]" if ":" in host else host
        scheme = (self.values["rest.advertised.listener"] or listener.scheme).lower()
        return f"{scheme}://{host}:{self.values['rest.advertised.port'] or port}/"

    @property
    def exactly_once_source(self) -> bool:
        return str(self.values.get("exactly.once.source.support", "disabled")).lower() == "enabled"

    @property
    def transactional_id(self) -> str | None:
        """With which the config topic is written where sources may be exactly once (KIP-618)."""
        support = str(self.values.get("exactly.once.source.support", "disabled")).lower()
        return None if support == "disabled" else f"connect-cluster-{self.group_id}"

    def _security(self, overrides: Mapping[str, str]) -> Security:
        try:
            given = {**self.properties, **overrides}
            return parse_security({n: value for n, value in given.items() if _is_of_clients(n)})
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def _check(self) -> None:
        """What no single setting says. Read once here, so that a mistake is found at the start."""
        assert self.security is not None
        listeners, _ = self.listeners, self.admin_listeners
        advertised(listeners, self.values)
        if not self.is_distributed:
            return
        names = [self.values[f"{each}.storage.topic"] for each in _STORAGES]
        if len(set(names)) < len(names):
            raise ConfigError(
                f"config.storage.topic, offset.storage.topic and status.storage.topic must be "
                f"three topics, not {', '.join(names)}"
            )
        session_ms = self.values["session.timeout.ms"]
        heartbeat_ms = self.values["heartbeat.interval.ms"]
        if heartbeat_ms >= session_ms:
            reason = f"it must be less than session.timeout.ms={session_ms}"
            raise invalid("heartbeat.interval.ms", heartbeat_ms, reason)


def _is_of_clients(name: str) -> bool:
    """Whether it is a security setting of clients, and not only of listeners."""
    return is_security_setting(name) and name != CLIENT_AUTH


def _is_of_tls(name: str) -> bool:
    """Whether it is a security setting of clients or listeners."""
    return is_security_setting(name) or is_listener_setting(name)


def _warnings(given: Mapping[str, str], distributed: bool) -> list[str]:
    """One line for each setting without effect."""
    known = (DISTRIBUTED if distributed else STANDALONE).keys
    other = (STANDALONE if distributed else DISTRIBUTED).keys
    found = []
    for name in sorted(given):
        if name in IGNORED:
            found.append(f"{name} has no effect: {IGNORED[name]}")
        elif name in known or name.startswith(KNOWN_PREFIXES) or _is_of_tls(name):
            continue
        elif name.startswith(IGNORED_PREFIXES):
            found.append(f"{name} has no effect here")
        elif name in other:
            mode = "standalone" if distributed else "distributed"
            found.append(f"{name} has no effect: it is a setting of {mode} workers")
        else:
            close = nearest_setting(name, distributed)
            hint = f"; did you mean {close}?" if close else ""
            found.append(f"{name} is not a setting of a worker and has no effect{hint}")
    return found
