"""Requests of one kind that are kept back on their way, so that something else overtakes them.

Connections are in no order among each other, but which one is late is up to the seed. A scenario
that needs a certain one to be late holds it.
"""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from moldau.simulator.transport import Chunk, Wire

# A request begins with its size, and the key of its API follows.
_KEY: Final = slice(4, 6)


class Hold:
    """Keeps back requests from one host to another, or the answers to them, until ``release``.

    What follows on the same connection waits behind them.
    """

    def __init__(self, source: str, target: str, api_key: int, *, only_answers: bool) -> None:
        self._source = source
        self._target = target
        self._key = api_key.to_bytes(2, "big")
        self._only_answers = only_answers
        # The ways back of the requests that have passed.
        self._answers: dict[Wire, None] = {}
        self._held: list[Wire] = []

    @property
    def count(self) -> int:
        """On how many connections something waits."""
        return len(self._held)

    def takes(self, wire: "Wire", chunk: "Chunk") -> bool:
        """Whether ``chunk``, which is about to arrive, has to wait."""
        is_taken = wire in self._answers
        if not is_taken and self._is_meant(wire, chunk):
            if self._only_answers:
                assert wire.answers is not None, "only requests are meant"
                self._answers[wire.answers] = None
            else:
                is_taken = True
        if is_taken:
            self._held.append(wire)
        return is_taken

    def _is_meant(self, wire: "Wire", chunk: "Chunk") -> bool:
        return (
            wire.answers is not None
            and (wire.source, wire.target) == (self._source, self._target)
            and isinstance(chunk, bytes)
            and chunk[_KEY] == self._key
        )

    def go_on(self) -> None:
        """What waits arrives next, in the order in which it would have arrived."""
        self._answers.clear()
        held, self._held = self._held, []
        for wire in held:
            wire.go_on(0)
