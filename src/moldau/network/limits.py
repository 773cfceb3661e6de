"""Limits on the resources of one client, one address and one listener.

``ServerLimits`` has the settings; ``ConnectionCounts`` counts open connections and determines
whether another is allowed. Both work as in Kafka: a listener at its limit stops accepting, so new
connections wait in the operating system's backlog; a connection from an address at its limit is
closed immediately.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moldau.network.rate import RateWindow

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Kafka's settings of the socket server, and a few limits that Kafka does not have.

    The buffer sizes default to -1, the operating system's default: a fixed size (Kafka's 102400)
    disables the kernel's auto-tuning and costs throughput, so it is used only if it is set.
    """

    request_max_bytes: int = 104857600
    """socket.request.max.bytes"""
    max_idle_ms: int = 600000
    """connections.max.idle.ms; negative means never"""
    max_connections: int = UNLIMITED
    """max.connections"""
    max_connections_per_ip: int = UNLIMITED
    """max.connections.per.ip"""
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """max.connections.per.ip.overrides; host names are resolved when the server starts"""
    listener_max_connections: Mapping[str, int] = field(default_factory=dict)
    """listener.name.<name>.max.connections"""
    max_connection_rate: int = UNLIMITED
    """max.connection.creation.rate: connections per second"""
    listener_connection_rates: Mapping[str, int] = field(default_factory=dict)
    """listener.name.<name>.max.connection.creation.rate"""
    default_ip_connection_rate: float = UNLIMITED
    """connection_creation_rate, a client quota, of addresses that have none of their own"""
    ip_connection_rates: Mapping[str, float] = field(default_factory=dict)
    """connection_creation_rate by address"""
    rate_window: RateWindow = field(default_factory=RateWindow)
    """quota.window.num and quota.window.size.seconds"""
    inter_broker_listener: str = ""
    """Never refused for max.connections, so that brokers reach each other through a crowd"""
    send_buffer_bytes: int = -1
    """socket.send.buffer.bytes"""
    receive_buffer_bytes: int = -1
    """socket.receive.buffer.bytes"""
    listen_backlog: int = 50
    """socket.listen.backlog.size"""
    unsent_max_bytes: int = 1048576
    """Above this many unsent bytes a connection's next request waits."""
    overlapping_max: int = 64
    """So many replies of a connection may be outstanding at a time."""


class ConnectionCounts:
    """Open connections by listener and by address."""

    def __init__(
        self, limits: ServerLimits, listeners: list[str], ip_limits: Mapping[str, int]
    ) -> None:
        self.total = 0
        self.limits = limits
        self.ip_limits = ip_limits
        self._by_listener: dict[str, int] = dict.fromkeys(listeners, 0)
        self._by_ip: dict[str, int] = {}

    def has_room(self, listener: str) -> bool:
        """Whether ``listener`` may accept another connection."""
        limits = self.limits
        if self._by_listener[listener] >= limits.listener_max_connections.get(listener, UNLIMITED):
            return False
        return self.is_protected(listener) or self.total < limits.max_connections

    def is_protected(self, listener: str) -> bool:
        """Whether ``listener`` is the inter-broker listener and there is another for clients."""
        return listener == self.limits.inter_broker_listener and len(self._by_listener) > 1

    @property
    def excess(self) -> int:
        """The number of connections above ``max.connections``.

        Inter-broker connections may exceed it, and it may be lowered.
        """
        return max(0, self.total - self.limits.max_connections)

    def refusal(self, ip: str) -> str | None:
        """The reason to refuse another connection from ``ip``; None if it is allowed."""
        limit = self.ip_limits.get(ip, self.limits.max_connections_per_ip)
        if self._by_ip.get(ip, 0) < limit:
            return None
        setting = "max.connections.per.ip"
        if ip in self.ip_limits:
            setting += ".overrides"
        return f"{ip} has {limit} connections, as many as {setting} allows"

    def opened(self, listener: str, ip: str) -> None:
        self.total += 1
        self._by_listener[listener] += 1
        self._by_ip[ip] = self._by_ip.get(ip, 0) + 1

    def closed(self, listener: str, ip: str) -> None:
        self.total -= 1
        self._by_listener[listener] -= 1
        left = self._by_ip[ip] - 1
        if left:
            self._by_ip[ip] = left
        else:
            del self._by_ip[ip]
