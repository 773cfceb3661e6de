"""The order in which members receive partitions, or give them up, one at a time.

Members are sorted by load, the least loaded first. Those at one end with equal load form a
range: takers at the front, givers at the back. Each member of the range has one turn; then the
level of the range has changed by one, and the members at that level join it.

    load  |          ##          givers, from the back: the last two, then the fourth too
          |       ## ##
          |       ## ##
          | .. -> ## ##
          | ## ## ## ##          takers, from the front: the first two
          +------------->

The caller changes ``loads`` by one after each ``next``.
"""

from collections.abc import Sequence


class Takers:
    """The least loaded members, one after the other."""

    def __init__(self, row: Sequence[int], loads: Sequence[int]) -> None:
        self._row = row
        self._loads = loads
        self._end = 0
        self._turn = 0
        # The load of the members of the range at the beginning of the round.
        self.level = loads[row[0]] - 1

    def next(self) -> int:
        """The member that gets the next partition."""
        if self._turn >= self._end:
            self.level += 1
            while self._end < len(self._row) and self._loads[self._row[self._end]] == self.level:
                self._end += 1
            self._turn = 0
        member = self._row[self._turn]
        self._turn += 1
        return member


class Givers:
    """The most loaded members, one after the other; those with nothing to give are excluded."""

    def __init__(self, row: Sequence[int], loads: Sequence[int]) -> None:
        self._row = list(row)
        self._loads = loads
        self._begin = len(row)
        self._end = len(row)
        self._turn = len(row) - 1
        self.level = loads[row[-1]] + 1

    def next(self) -> int | None:
        """The member that gives up the next partition; None if none is left."""
        if self._turn < self._begin:
            if self._end <= self._begin and self._begin > 0:
                # All members of the range are excluded: continue at the level of the next one.
                self.level = self._loads[self._row[self._begin - 1]]
            else:
                self.level -= 1
            while self._begin > 0 and self._loads[self._row[self._begin - 1]] == self.level:
                self._begin -= 1
            self._turn = self._end - 1
        if self._turn < 0:
            return None
        member = self._row[self._turn]
        self._turn -= 1
        return member

    def exclude_last(self) -> None:
        """Exclude the member that ``next`` returned; the last of the range takes its place."""
        place, last = self._turn + 1, self._end - 1
        self._row[place], self._row[last] = self._row[last], self._row[place]
        self._end -= 1
