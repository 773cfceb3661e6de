"""The requests that are in flight: at most one to each node.

A request that fails is followed by a pause (``controller.quorum.retry.backoff.ms``); one that is
not answered within ``controller.quorum.request.timeout.ms`` is forgotten. Every change of role
forgets all of them, so that no answer is applied to a state other than the one that asked.
"""

from typing import Final, NamedTuple

from moldau.raft.messages import Peer, Request

FOREVER_MS: Final = (1 << 63) - 1


class _Connection(NamedTuple):
    """The state of one node that is not ready: waiting for an answer, or pausing."""

    peer: Peer
    request: Request
    request_id: int
    is_backing_off: bool
    ready_ms: int


class Requests:
    def __init__(self, retry_backoff_ms: int, request_timeout_ms: int) -> None:
        self._retry_backoff_ms = retry_backoff_ms
        self._request_timeout_ms = request_timeout_ms
        self._connections: dict[int, _Connection] = {}
        self._last_id = 0

    def is_ready(self, peer_id: int, now_ms: int) -> bool:
        connection = self._connections.get(peer_id)
        return connection is None or now_ms >= connection.ready_ms

    def is_backing_off(self, peer_id: int, now_ms: int) -> bool:
        connection = self._connections.get(peer_id)
        return connection is not None and connection.is_backing_off and now_ms < connection.ready_ms

    def has_timed_out(self, peer_id: int, now_ms: int) -> bool:
        connection = self._connections.get(peer_id)
        return (
            connection is not None
            and not connection.is_backing_off
            and now_ms >= connection.ready_ms
        )

    def any_in_flight(self, now_ms: int) -> bool:
        return any(
            not connection.is_backing_off and now_ms < connection.ready_ms
            for connection in self._connections.values()
        )

    def ready_ms(self, peer_id: int) -> int:
        """When a request to this node is possible; 0 if at once."""
        connection = self._connections.get(peer_id)
        return 0 if connection is None else connection.ready_ms

    def first_change_ms(self, now_ms: int) -> int:
        """When the first of the nodes becomes ready that are not."""
        times = [each.ready_ms for each in self._connections.values() if each.ready_ms > now_ms]
        return min(times, default=FOREVER_MS)

    def sent(self, peer: Peer, request: Request, now_ms: int) -> int:
        """A request is sent; returns its number."""
        self._last_id += 1
        ready_ms = now_ms + self._request_timeout_ms
        self._connections[peer.id] = _Connection(peer, request, self._last_id, False, ready_ms)
        return self._last_id

    def expecting(self, request_id: int) -> tuple[Peer, Request] | None:
        """Who was asked what; None if the answer is no longer of interest."""
        for connection in self._connections.values():
            if connection.request_id == request_id and not connection.is_backing_off:
                return connection.peer, connection.request
        return None

    def finished(self, peer: Peer, request_id: int, is_success: bool, now_ms: int) -> None:
        connection = self._connections.get(peer.id)
        if connection is None or connection.request_id != request_id:
            return
        if is_success:
            del self._connections[peer.id]
        else:
            ready_ms = now_ms + self._retry_backoff_ms
            self._connections[peer.id] = connection._replace(is_backing_off=True, ready_ms=ready_ms)

    def forget(self, peer_id: int) -> None:
        self._connections.pop(peer_id, None)

    def forget_all(self) -> None:
        self._connections.clear()
