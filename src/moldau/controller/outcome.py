"""The result of a request: records to commit, and a response to send after that."""

from collections.abc import Callable, Generator
from typing import Generic, NamedTuple, TypeVar

from moldau.protocol.message import Message

R = TypeVar("R")


class Outcome(NamedTuple, Generic[R]):
    """The response is sent when the records are committed; without records, at once.

    Records that are not atomic may be written in several batches, in their order: what a failure
    leaves of them is sound. ``kraft_version`` is set if the quorum is to be upgraded to it, which
    the quorum writes as control records of its own, before these.
    """

    records: list[Message]
    response: R
    kraft_version: int | None = None
    is_atomic: bool = True


# Work in steps between which the owner may do other things.
Steps = Generator[None, None, R]

# A decision that may be large, in steps. Nothing may be decided or replayed meanwhile.
Deciding = Generator[None, None, Outcome[R]]


def decided(steps: Generator[None, None, R]) -> R:
    """Take all the steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: R = end.value
            return result


def in_one_step(decide: Callable[[], Outcome[R]]) -> Deciding[R]:
    """A decision that is small, where steps are expected."""
    yield
    return decide()
