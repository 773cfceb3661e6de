"""The result of a request: records to commit, and a response to send after that."""

from typing import Generic, NamedTuple, TypeVar

from moldau.protocol.message import Message

R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """The response is sent when the records are committed; without records, at once."""

    records: list[Message]
    response: R
