"""Members in the order in which they take partitions, or give them up, one each at a time.

Members stand in a row, the least loaded first. Those at one end that are level with each
other form a range: takers at the front, givers at the back. Everybody in the range has a
turn; then the range has moved by one level, and those that it has reached join it.

    load  |          ##          givers, from the back: the last two, then the fourth too
          |       ## ##
          |       ## ##
          | .. -> ## ##
          | ## ## ## ##          takers, from the front: the first two
          +------------->

Whoever holds the row changes ``loads`` by one after each ``next``, so that they stay true.
"""

from collections.abc import Sequence


class Takers:
    """The least loaded, one after the other."""

    def __init__(self, row: Sequence[int], loads: Sequence[int]) -> None:
        self._row = row
        self._loads = loads
        self._end = 0
        self._turn = 0
        # What the members of the range had at the beginning of the round.
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
    """The most loaded, one after the other; those with nothing to give are taken out."""

    def __init__(self, row: Sequence[int], loads: Sequence[int]) -> None:
        self._row = list(row)
        self._loads = loads
        self._begin = len(row)
        self._end = len(row)
        self._turn = len(row) - 1
        self.level = loads[row[-1]] + 1

    def next(self) -> int | None:
        """The member that gives the next partition; None if there is nobody left."""
        if self._turn < self._begin:
            if self._end <= self._begin and self._begin > 0:
                # All in the range were taken out: go on at the level of the next one.
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
        """Take out the member that ``next`` gave: the last of the range gets its place."""
        place, last = self._turn + 1, self._end - 1
        self._row[place], self._row[last] = self._row[last], self._row[place]
        self._end -= 1
