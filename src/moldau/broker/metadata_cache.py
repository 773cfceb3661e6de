"""What handlers see of the metadata: the current image, and the quorum behind it."""

from typing import Protocol

from moldau.broker.raft_driver import QuorumView
from moldau.metadata.image import MetadataImage
from moldau.raft.description import QuorumDescription


class MetadataCache(Protocol):
    """Has the newest image that is committed and applied on this node."""

    @property
    def image(self) -> MetadataImage: ...


class QuorumSource(Protocol):
    """Has the state of the metadata quorum, as this node sees it."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def quorum(self) -> QuorumView: ...

    def describe(self) -> QuorumDescription | None:
        """What the leader knows about all nodes; None if this node does not lead."""
        ...
