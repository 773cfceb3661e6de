"""The settings of the metadata quorum, as the raft node takes them."""

from moldau.config.broker import BrokerConfig
from moldau.raft.config import RaftConfig
from moldau.raft.voters import VoterEndpoint


def controller_listener_name(config: BrokerConfig) -> str:
    """The listener at which voters reach each other."""
    names = config.controller_listener_names
    return names[0] if names else "CONTROLLER"


def raft_config(
    config: BrokerConfig, directory_id: bytes, endpoints: tuple[VoterEndpoint, ...]
) -> RaftConfig:
    """``controller.quorum.*`` and who this node is: its directory, and where it listens."""
    servers = [server.rpartition(":") for server in config.controller_quorum_bootstrap_servers]
    return RaftConfig(
        node_id=config.node_id,
        directory_id=directory_id,
        listener_name=controller_listener_name(config),
        endpoints=endpoints,
        bootstrap_servers=tuple((host.strip("[]"), int(port)) for host, _, port in servers),
        can_become_voter=config.is_controller,
        auto_join=config.controller_quorum_auto_join_enable,
        election_timeout_ms=config.controller_quorum_election_timeout_ms,
        election_backoff_max_ms=config.controller_quorum_election_backoff_max_ms,
        fetch_timeout_ms=config.controller_quorum_fetch_timeout_ms,
        request_timeout_ms=config.controller_quorum_request_timeout_ms,
        retry_backoff_ms=config.controller_quorum_retry_backoff_ms,
        fetch_max_bytes=config.controller_quorum_fetch_max_bytes,
        fetch_snapshot_max_bytes=config.controller_quorum_fetch_snapshot_max_bytes,
    )
