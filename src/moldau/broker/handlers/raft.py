"""What other nodes of the metadata quorum ask: votes, records, snapshots, changes of voters.

These requests are served on the listeners of controllers. A fetch waits at the raft node until
there is something to send, or its time is over.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.raft_driver import RaftDriver
from moldau.network.session import Session
from moldau.protocol.message import Message
from moldau.raft.messages import FetchRequest
from moldau.raft.wire_context import WireContext

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext


# AddRaftVoter and RemoveRaftVoter, which clients send through any node.
VOTER_CHANGE_KEYS: Final = (80, 81)


class Raft:
    """Passes requests on to this node's part in the quorum."""

    def __init__(self, raft: RaftDriver, seen: Callable[[Session, int], None]) -> None:
        """``seen`` is called with each connection over which a node fetches, and its id."""
        self._raft = raft
        self._seen = seen

    async def handle(self, request: Message, context: "RequestContext") -> Message:
        """Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot and the changes of voters.

        A request for another cluster or another partition is refused here.
        """
        session = context.session
        return await self.answer(request, context.api_version, session.listener, session)

    async def answer(
        self, request: Message, version: int, listener: str, session: Session | None = None
    ) -> Message:
        """The response to a request that came in ``version``, at ``listener``."""
        # Imported late: a node that is alone needs none of it.
        from moldau.raft.wire import decode_request, encode_response

        raft = self._raft
        wire = WireContext(raft.cluster_id, listener, version, raft.current_leader)
        asked = decode_request(request, wire)
        if isinstance(asked, Message):
            return asked
        if session is not None and isinstance(asked, FetchRequest):
            self._seen(session, asked.replica.id)
        return encode_response(await raft.ask(asked), wire)
