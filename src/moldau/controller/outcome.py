"""What the controller answers to a request: records to commit, and a response to send then."""

from typing import Generic, NamedTuple, TypeVar

from moldau.protocol.message import Message

R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """The response goes out when the records are committed; with no records, at once."""

    records: list[Message]
    response: R
