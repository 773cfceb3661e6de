"""A member of a classic group, with its pending requests."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from moldau.protocol.messages.describe_groups import DescribedGroupMember
from moldau.protocol.messages.join_group import JoinGroupRequestProtocol


class WaitingJoin(NamedTuple):
    """A JoinGroup that is answered when the next generation begins."""

    token: int
    api_version: int


def distinct_protocols(
    protocols: Sequence[JoinGroupRequestProtocol],
) -> list[JoinGroupRequestProtocol]:
    """The protocols in the member's order of preference, without duplicate names."""
    by_name: dict[str, JoinGroupRequestProtocol] = {}
    for protocol in protocols:
        by_name.setdefault(protocol.name, protocol)
    return list(by_name.values())


class ClassicMember:
    """The join data of a member, its assignment, and its pending requests.

    A new member has no id to send heartbeats with, so its session can expire while its join is
    pending; the session of any other member does not expire while a request is pending.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "waiting_join",
        "waiting_sync",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Sequence[JoinGroupRequestProtocol],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = distinct_protocols(protocols)
        self.assignment = assignment
        self.waiting_join: WaitingJoin | None = None
        # The token of a SyncGroup that is answered when the leader's arrives.
        self.waiting_sync: int | None = None
        self.is_new = False

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        if self.is_new:
            return False
        return self.waiting_join is not None or self.waiting_sync is not None

    @property
    def protocol_names(self) -> list[str]:
        return [protocol.name for protocol in self.protocols]

    def metadata(self, protocol_name: str) -> bytes:
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise AssertionError(f"member {self.member_id} has no protocol {protocol_name!r}")

    def matches(self, protocols: Sequence[JoinGroupRequestProtocol]) -> bool:
        """Whether a new join has the same protocols, in the same order."""
        return distinct_protocols(protocols) == self.protocols

    def vote(self, candidates: Collection[str]) -> str:
        """The candidate that this member prefers; it supports all of them."""
        return next(name for name in self.protocol_names if name in candidates)

    def describe(self, protocol_name: str | None) -> DescribedGroupMember:
        """The description; the subscription is included only if a protocol has been chosen."""
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=b"" if protocol_name is None else self.metadata(protocol_name),
            member_assignment=self.assignment,
        )

    def __repr__(self) -> str:
        return f"ClassicMember({self.member_id!r}, static={self.group_instance_id!r})"
