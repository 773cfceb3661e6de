"""How fast connections may be made: on the broker, on a listener, from an address (KIP-612).

A connection too many for the broker or for its listener waits, and so does everybody behind
it in the backlog. One too many for its address is not let in: it is closed, but only after
the wait, so that a client that tries again at once gains nothing by it.

Rules this module keeps:

* Brokers reach each other through a crowd: their listener has its own limit only.
* A connection that is not let in does not count, or the one address would use up what all
  may have.
* Addresses that have been quiet are forgotten.
"""

from typing import Final

from moldau.network.limits import UNLIMITED, ServerLimits
from moldau.network.rate import Rate

# Below this many addresses it is not worth looking for quiet ones.
_FEW_ADDRESSES: Final = 1024


class ConnectionRates:
    """Meters new connections. Time comes in from outside, and never goes back."""

    def __init__(self, limits: ServerLimits, listeners: list[str]) -> None:
        self.limits = limits
        window = limits.rate_window
        self._broker = Rate(window)
        self._by_listener = {name: Rate(window) for name in listeners}
        self._by_ip: dict[str, Rate] = {}
        self._many_addresses = _FEW_ADDRESSES

    def wait_ms(self, listener: str, is_protected: bool, now_ms: int) -> int:
        """Count a new connection on ``listener``; how long it has to wait, 0 if not at all."""
        limits = self.limits
        limit = limits.listener_connection_rates.get(listener, UNLIMITED)
        wait_ms = _counted(self._by_listener[listener], limit, now_ms)
        if is_protected:
            return wait_ms
        return max(wait_ms, _counted(self._broker, limits.max_connection_rate, now_ms))

    def ip_wait_ms(self, listener: str, is_protected: bool, ip: str, now_ms: int) -> int:
        """How long ``ip`` must be kept waiting before its new connection is closed.

        0 if the connection may stay. One that may not is taken back from the other counts,
        in which it is since ``wait_ms``.
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
        # Twice as many as are left: looking costs each newcomer the same, however many there are.
        self._many_addresses = max(_FEW_ADDRESSES, 2 * len(self._by_ip))


def _counted(rate: Rate, limit: float, now_ms: int) -> int:
    rate.record(1, now_ms)
    return rate.excess_ms(limit, now_ms)
