"""The settings of one node of the quorum."""

from typing import Final, NamedTuple

from moldau.ids import NO_UUID
from moldau.raft.messages import Endpoints, ReplicaKey

_FETCH_MAX_WAIT_MS: Final = 500


class RaftConfig(NamedTuple):
    """``controller.quorum.*``, and who this node is.

    ``listener_name`` is the listener at which voters are reached, the first of
    ``controller.listener.names``; ``endpoints`` are this node's own controller listeners.
    ``can_become_voter`` is true with the controller role.
    """

    node_id: int
    directory_id: bytes = NO_UUID
    listener_name: str = "CONTROLLER"
    endpoints: Endpoints = ()
    bootstrap_servers: tuple[tuple[str, int], ...] = ()
    can_become_voter: bool = True
    auto_join: bool = False
    min_kraft_version: int = 0
    max_kraft_version: int = 1
    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_bytes: int = 1024 * 1024
    fetch_snapshot_max_bytes: int = 1024 * 1024

    @property
    def replica(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)

    @property
    def fetch_max_wait_ms(self) -> int:
        """How long a fetch may wait for records: the answer must come before the timeout."""
        return min(_FETCH_MAX_WAIT_MS, self.fetch_timeout_ms // 2, self.request_timeout_ms // 2)
