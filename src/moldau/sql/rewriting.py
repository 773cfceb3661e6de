"""Replaces parts of a statement, and translates positions in the result back.

Spark reports errors with positions in the text that it was given, and counts UTF-16 units, as Java
does. The user has to see the place in the statement they wrote.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moldau.sql.errors import Span


class Replacement(NamedTuple):
    """What to put in the place of a part of the statement."""

    span: Span
    text: str


class Rewritten(NamedTuple):
    """A statement after replacements, which knows where its parts come from."""

    text: str
    original: str
    # For each replacement: its place in ``text``, and the place in ``original``.
    moved: tuple[tuple[Span, Span], ...] = ()

    def back(self, span: Span) -> Span:
        """The part of the original for a part of ``text``."""
        start = self._position(span.start, is_end=False)
        return Span(start, max(start + 1, self._position(span.end, is_end=True)))

    def _position(self, position: int, *, is_end: bool) -> int:
        shift = 0
        for here, there in self.moved:
            if position < here.start or (position == here.start and is_end):
                break
            if position < here.end or (position == here.end and is_end):
                return there.end if is_end else there.start
            shift = there.end - here.end
        return position + shift


def rewrite(original: str, replacements: Iterable[Replacement]) -> Rewritten:
    """Replace parts that do not overlap."""
    pieces = []
    moved = []
    position = length = 0
    for span, text in sorted(replacements):
        assert position <= span.start, "replacements overlap"
        pieces += [original[position : span.start], text]
        length += span.start - position
        moved.append((Span(length, length + len(text)), span))
        length += len(text)
        position = span.end
    pieces.append(original[position:])
    return Rewritten("".join(pieces), original, tuple(moved))


def from_java(text: str, start: int, stop: int) -> Span:
    """A part of ``text`` from Java's positions, of which the last is included."""
    if text.isascii():
        return Span(start, stop + 1)
    encoded = text.encode("utf-16-le")
    before = encoded[: 2 * start].decode("utf-16-le", "ignore")
    within = encoded[2 * start : 2 * (stop + 1)].decode("utf-16-le", "ignore")
    return Span(len(before), len(before) + len(within))
