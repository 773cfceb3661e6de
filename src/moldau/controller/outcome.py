"""The result of a request: records to commit, and a response to send after that."""

from collections.abc import Generator
from typing import Generic, NamedTuple, TypeVar

from moldau.protocol.message import Message

R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """The response is sent when the records are committed; without records, at once."""

    records: list[Message]
    response: R


# A decision that may be large, in steps between which the owner may do other things. Nothing
# may be decided or replayed meanwhile.
Deciding = Generator[None, None, Outcome[R]]


def decided(steps: Generator[None, None, R]) -> R:
    """Take all the steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result
