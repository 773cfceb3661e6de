"""Results of a coordinator: records to append, and replies to send after the commit.

A request has a token, an opaque number. Its reply can be in the outcome of the same call, or of
a later one (a join waits for the other members, a sync for the leader's assignments): the token
identifies the request.

Replies wait for all earlier records: an outcome without records is sent only when everything
this shard has written so far is committed, because the replies may depend on it.
"""

from moldau.protocol.message import Message, Struct


class CoordinatorRecord:
    """A record of a coordinator's topic: a key, and a value or None to delete it.

    A large record may be encoded before it is appended: ``encoded`` has the bytes of both then.
    """

    __slots__ = ("encoded", "key", "value")

    def __init__(self, key: Message, value: Message | None) -> None:
        self.key = key
        self.value = value
        self.encoded: tuple[bytes, bytes | None] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoordinatorRecord):
            return NotImplemented
        return self.key == other.key and self.value == other.value

    def __hash__(self) -> int:
        raise TypeError("a CoordinatorRecord is mutable")

    def __repr__(self) -> str:
        return f"CoordinatorRecord({self.key!r}, {self.value!r})"


class Reply:
    """The reply to the request with ``token``."""

    __slots__ = ("response", "token")

    def __init__(self, token: int, response: Struct) -> None:
        self.token = token
        self.response = response

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reply):
            return NotImplemented
        return self.token == other.token and self.response == other.response

    def __hash__(self) -> int:
        raise TypeError("the response of a Reply is mutable")

    def __repr__(self) -> str:
        return f"Reply({self.token!r}, {self.response!r})"


class Outcome:
    """Records to append and replay in order, and replies to send when they are committed."""

    __slots__ = ("records", "replies")

    def __init__(
        self,
        records: list[CoordinatorRecord] | None = None,
        replies: list[Reply] | None = None,
    ) -> None:
        self.records: list[CoordinatorRecord] = [] if records is None else records
        self.replies: list[Reply] = [] if replies is None else replies

    @classmethod
    def reply(cls, token: int, response: Struct) -> "Outcome":
        """An outcome with a reply and no records."""
        return cls([], [Reply(token, response)])

    @property
    def is_empty(self) -> bool:
        return not self.records and not self.replies

    def add(self, other: "Outcome") -> None:
        """Append the records and replies of ``other``."""
        self.records.extend(other.records)
        self.replies.extend(other.replies)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcome):
            return NotImplemented
        return self.records == other.records and self.replies == other.replies

    def __hash__(self) -> int:
        raise TypeError("an Outcome is mutable")

    def __repr__(self) -> str:
        return f"Outcome({self.records!r}, {self.replies!r})"
