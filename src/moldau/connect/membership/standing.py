"""What workers tell each other through the group, and what a worker knows of itself (pure).

Workers join the group ``group.id`` with a protocol type of their own. Kafka's coordinator admits
only one protocol type at a time, so workers of Apache and of Moldau with the same group id keep
each other out, and never run the same connectors at once.

The leader of the group, whom the coordinator chooses, is the active worker. It stays the leader for
as long as it is a member, so that a new standby moves nothing.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

PROTOCOL_TYPE: Final = "moldau-connect"
PROTOCOL_NAME: Final = "active-standby-v1"

# The part of the session timeout after which an active worker that hears nothing from the
# coordinator stops its connectors. The rest is the time it has for that, before the coordinator
# gives the group to another worker.
LEASE_SHARE: Final = 2 / 3


@dataclass(frozen=True)
class Standing:
    """A worker's place in one generation of the group."""

    generation: int
    member_id: str
    is_active: bool
    active_url: str


class Membership(Protocol):
    """What a herder needs to know."""

    @property
    def standing(self) -> Standing | None:
        """None while this worker is not in the group, or has lost it."""

    @property
    def has_joined(self) -> bool:
        """Whether this worker has been in the group, now or before."""

    def is_active(self) -> bool:
        """Whether this worker may run connectors and write configurations, at this moment."""


class AlwaysActive:
    """The membership of a standalone worker."""

    def __init__(self, url: str) -> None:
        self._standing = Standing(0, "standalone", True, url)

    @property
    def standing(self) -> Standing | None:
        return self._standing

    @property
    def has_joined(self) -> bool:
        return True

    def is_active(self) -> bool:
        return True


def encode_member(url: str) -> bytes:
    """What a worker says when it joins: where its REST API is."""
    return json.dumps({"url": url}).encode()


def encode_assignment(leader_id: str, members: Iterable[tuple[str, bytes]]) -> bytes:
    """What the leader tells every member: that it is the active one, and where it is."""
    for member_id, metadata in members:
        if member_id == leader_id:
            url = json.loads(metadata)["url"]
            return json.dumps({"active": leader_id, "url": url}).encode()
    raise ValueError(f"the leader {leader_id} is not a member")


def decode_assignment(assignment: bytes, generation: int, member_id: str) -> Standing:
    """The standing that follows from the leader's word."""
    content = json.loads(assignment)
    is_active = content["active"] == member_id
    return Standing(generation, member_id, is_active, content["url"])
