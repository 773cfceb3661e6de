"""What a decision depends on besides the request: the client that sent it, and the quorum."""

from typing import NamedTuple


class DecisionContext(NamedTuple):
    """Facts about one request, from the connection and from the quorum.

    ``received_by`` is the broker that received the request from a client, -1 if the client sent it
    to the controller itself.
    ``is_local`` is true for requests of this process to itself: an earlier incarnation of its
    broker is then known to have ended. ``has_predecessor_left`` is true for a registration if the
    registered incarnation has had no connection for a while. ``next_offset`` is the end of the
    metadata log.
    ``max_kraft_version`` is the highest kraft.version that every voter supports; the default
    refuses upgrades.
    """

    principal: str = "User:ANONYMOUS"
    client_address: str = ""
    listener: str = ""
    received_by: int = -1
    is_local: bool = False
    has_predecessor_left: bool = False
    next_offset: int = 0
    kraft_version: int = 1
    max_kraft_version: int = -1
