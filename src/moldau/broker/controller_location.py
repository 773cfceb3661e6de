"""Where the active controller is: the leader of the metadata quorum, and its address."""

from moldau.broker.metadata_cache import MetadataCache
from moldau.broker.node_to_controller import ControllerNode
from moldau.broker.raft_driver import RaftDriver
from moldau.config.broker import BrokerConfig


class ControllerLocation:
    """Finds the leader as this node knows it; it may be out of date."""

    def __init__(self, config: BrokerConfig, raft: RaftDriver, metadata: MetadataCache) -> None:
        self._node_id = config.node_id
        self._listeners = config.controller_listener_names
        self._raft = raft
        self._metadata = metadata

    def find(self) -> ControllerNode | None:
        leader_id = self._raft.leader_id
        if leader_id < 0:
            return None
        if leader_id == self._node_id:
            # Nobody connects to itself.
            return ControllerNode(leader_id, "", 0)
        voter = self._raft.quorum.voters.voters.get(leader_id)
        registration = self._metadata.image.controllers.get(leader_id)
        # The voters first: the registration of a new leader may not be here yet.
        known: dict[str, tuple[str, int]] = {}
        for endpoint in registration.endpoints if registration is not None else ():
            known[endpoint.name] = (endpoint.host, endpoint.port)
        for address in voter.endpoints if voter is not None else ():
            known[address.name] = (address.host, address.port)
        for listener in self._listeners:
            if listener in known:
                return ControllerNode(leader_id, *known[listener])
        return None
