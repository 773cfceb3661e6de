"""Limits on the rate of new connections: per broker, listener and address (KIP-612).

A connection above the rate of the broker or its listener waits, and so do all behind it in the
backlog. One above the rate of its address is refused: it is closed, but only after a wait, so that
a client gains nothing by reconnecting immediately.

Rules this module keeps:

* The limit of the broker does not apply to the inter-broker listener, only that listener's own.
* A refused connection does not count; otherwise one address could use up the rate of all.
* Idle addresses are removed.
"""

from typing import Final

from moldau.network.limits import UNLIMITED, ServerLimits
from moldau.network.rate import Rate

# Below this many addresses, a search for idle ones is not worth its cost.
_FEW_ADDRESSES: Final = 1024


class ConnectionRates:
    """Measures new connections. Time is an argument, and must never decrease."""

    def __init__(self, limits: ServerLimits, listeners: list[str]) -> None:
        self.limits = limits
        window = limits.rate_window
        self._broker = Rate(window)
        self._by_listener = {name: Rate(window) for name in listeners}
        self._by_ip: dict[str, Rate] = {}
        self._many_addresses = _FEW_ADDRESSES

    def wait_ms(self, listener: str, is_protected: bool, now_ms: int) -> int:
        """Count a new connection on ``listener``; returns how long it has to wait, or 0."""
        limits = self.limits
        limit = limits.listener_connection_rates.get(listener, UNLIMITED)
        wait_ms = _counted(self._by_listener[listener], limit, now_ms)
        if is_protected:
            return wait_ms
        return max(wait_ms, _counted(self._broker, limits.max_connection_rate, now_ms))

    def ip_wait_ms(self, listener: str, is_protected: bool, ip: str, now_ms: int) -> int:
        """How long to wait before the new connection from ``ip`` is closed; 0 if it is allowed.

        A refused connection is removed from the counts to which ``wait_ms`` added it.
        """
        limit = self.limits.ip_connection_rates.get(ip, self.limits.default_ip_connection_rate)
        if limit >= UNLIMITED:
            return 0
        rate = self._rate_of(ip, now_ms)
        wait_ms = _counted(rate, limit, now_ms)
        if wait_ms:
            rate.record(-1, now_ms)
            self._by_listener[listener].record(-1, now_ms)
            if not is_protected:
                self._broker.record(-1, now_ms)
        return wait_ms

    def _rate_of(self, ip: str, now_ms: int) -> Rate:
        rate = self._by_ip.get(ip)
        if rate is None:
            if len(self._by_ip) >= self._many_addresses:
                self._forget_quiet_addresses(now_ms)
            rate = self._by_ip[ip] = Rate(self.limits.rate_window)
        return rate

    def _forget_quiet_addresses(self, now_ms: int) -> None:
        self._by_ip = {ip: rate for ip, rate in self._by_ip.items() if not rate.is_idle(now_ms)}
        # Twice the remaining number, so that the amortized cost of the search is constant.
        self._many_addresses = max(_FEW_ADDRESSES, 2 * len(self._by_ip))


def _counted(rate: Rate, limit: float, now_ms: int) -> int:
    rate.record(1, now_ms)
    return rate.excess_ms(limit, now_ms)
