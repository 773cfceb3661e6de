"""The state of joins and groupings of tables for each key, and the results they emit.

In a micro-batch the changes of a key are applied in the order of their offsets, and one result is
emitted: only the latest value of a table matters, so intermediate ones are omitted.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Row

from moldau.streams.folding import Step
from moldau.streams.keyed_processor import TableProcessor, latest_of, moment_of, newest
from moldau.streams.keyed_state import MapState, States


class JoinSides(TableProcessor):
    """Joins both values of a key."""

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
    """Keeps the target of a row, to notify the one it leaves; a null target counts too."""

    def prepare(self, states: States) -> None:
        self._foreign = states.value("foreign")

    def changed(self, key: Any, rows: list[Any]) -> Iterator[Row]:
        latest = rows[-1]
        foreign, row, moment = latest["foreign"], latest["value"], moment_of(latest["timestamp"])
        # In a tuple: a null target is not the same as a row that did not exist.
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
    """The rows that point to a key, from the messages of ``PointFromRow``."""

    def __init__(self, rows: MapState) -> None:
        self._rows = rows

    def take(self, message: Any) -> tuple[str, Any]:
        """Apply a message; returns the name of its row, and the previous row."""
        # The repr of a plain value is unique, so it can be the key of the map.
        name = repr(message["row_key"])
        before = self._rows.get(name)
        if message["row"] is None:
            self._rows.delete(name)
        else:
            self._rows.set(name, (message["row_key"], message["row"]))
        return name, None if before is None else before[1]

    def items(self) -> Iterator[tuple[str, tuple[Any, Any]]]:
        """The key and content of each row, by name."""
        return self._rows.items()


class JoinPointed(TableProcessor):
    """Joins the right value of a foreign key with the left rows that point to it."""

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
    """Folds the rows that point to a key; keeps them, to subtract a row that changes.

    A duplicate message has no effect, because it subtracts what it adds.
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
    """A function that returns None deletes the result, as in Kafka Streams."""
    return None if value is None else (value,)
