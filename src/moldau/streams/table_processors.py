"""What joins and groupings of tables keep for each key, and what they give out when it changes.

In a micro-batch the changes of a key are taken in the order of their offsets, and one result is
given out: a table is about the latest value, so those in between need not be seen.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Row

from moldau.streams.folding import Step
from moldau.streams.keyed_processor import TableProcessor, latest_of, moment_of, newest
from moldau.streams.keyed_state import MapState, States


class JoinSides(TableProcessor):
    """Both values of a key."""

    def __init__(self, how: str) -> None:
        self._how = how

    def prepare(self, states: States) -> None:
        self._sides = states.value("sides")

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        left, right = before = self._sides.get((None, None))
        for row in rows:
            if row["is_left"]:
                left = row["left"]
            else:
                right = row["right"]
        if left is None and right is None:
            self._sides.clear()
        else:
            self._sides.set((left, right))
        is_there = self._is_there(left, right)
        if is_there or self._is_there(*before):
            moment = newest(rows)
            yield Row(key=key[0], left=left, right=right, is_there=is_there, timestamp=moment)

    def _is_there(self, left: Any, right: Any) -> bool:
        if self._how == "inner":
            return left is not None and right is not None
        return left is not None or (self._how == "outer" and right is not None)


class PointFromRow(TableProcessor):
    """Where a row points, so that the place it leaves can be told; nowhere is a place too."""

    def prepare(self, states: States) -> None:
        self._foreign = states.value("foreign")

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        latest = rows[-1]
        foreign, row, moment = latest["foreign"], latest["value"], moment_of(latest["timestamp"])
        # In a tuple: to have pointed nowhere is something else than not to have been there.
        before = self._foreign.get()
        if row is None:
            self._foreign.clear()
            if before is not None:
                yield _message(key[0], before[0], None, moment, moved=False)
            return
        self._foreign.set((foreign,))
        if before is not None and before[0] != foreign:
            yield _message(key[0], before[0], None, moment, moved=True)
        yield _message(key[0], foreign, row, moment, moved=False)


def _message(row_key: Any, foreign: Any, row: Any, moment: Any, *, moved: bool) -> Row:
    value = {"foreign": foreign, "row": row, "moved": moved}
    return Row(key=row_key, value=value, timestamp=moment)


class _Pointing:
    """The rows that point to a key, as the messages of ``PointFromRow`` tell."""

    def __init__(self, rows: MapState) -> None:
        self._rows = rows

    def take(self, message: Any) -> tuple[str, Any]:
        """The name of the row that a message is about, and what the row was before it."""
        # Any plain value has one text of its own, so that the map can be by text.
        name = repr(message["row_key"])
        before = self._rows.get(name)
        if message["row"] is None:
            self._rows.delete(name)
        else:
            self._rows.set(name, (message["row_key"], message["row"]))
        return name, None if before is None else before[1]

    def items(self) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """By name the key of each row and the row."""
        return self._rows.items()


class JoinPointed(TableProcessor):
    """The right value of a foreign key, and the left rows that point to it."""

    def __init__(self, how: str) -> None:
        self._how = how

    def prepare(self, states: States) -> None:
        self._right = states.value("right")
        self._lefts = _Pointing(states.map("lefts"))

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        moment = newest(rows)
        right = self._right.get()
        changed: dict[str, tuple[Any, Any]] = {}
        for row in rows:
            if row["is_left"]:
                self._point(row["left"], changed)
            else:
                right = row["right"]
        if not all(row["is_left"] for row in rows):
            if right is None:
                self._right.clear()
            else:
                self._right.set(right)
            changed |= dict(self._lefts.items())
        for left_key, left in changed.values():
            is_there = left is not None and (right is not None or self._how == "left")
            yield Row(key=left_key, left=left, right=right, is_there=is_there, timestamp=moment)

    def _point(self, message: Any, changed: dict[str, tuple[Any, Any]]) -> None:
        name, _ = self._lefts.take(message)
        if message["moved"]:
            changed.pop(name, None)
        else:
            changed[name] = (message["row_key"], message["row"])


class FoldPointed(TableProcessor):
    """What the rows that point to a key come to, and the rows: one that changes is subtracted.

    A message that comes twice changes nothing, for the second time it subtracts what it adds.
    """

    def __init__(self, adder: Step, subtractor: Callable[[Any, Any], Any]) -> None:
        self._adder = adder
        self._subtractor = subtractor

    def prepare(self, states: States) -> None:
        self._folded = states.value("folded")
        self._rows = _Pointing(states.map("rows"))

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        kept, latest = self._folded.get((None, None))
        moment = newest(rows) if latest is None else latest_of([newest(rows), latest])
        was_there = kept is not None
        for row in rows:
            message = row["value"]
            _, before = self._rows.take(message)
            if before is not None and kept is not None:
                kept = _there(self._subtractor(kept[0], before))
            if message["row"] is not None:
                kept = _there(self._adder.over(kept, [message["row"]]))
        if kept is None:
            self._folded.clear()
        else:
            self._folded.set((kept, moment))
        if was_there or kept is not None:
            value = None if kept is None else kept[0]
            yield Row(key=key[0], value=value, timestamp=moment)


def _there(value: Any) -> tuple[Any] | None:
    """A function that gives None says that there is nothing left, as in Kafka Streams."""
    return None if value is None else (value,)
