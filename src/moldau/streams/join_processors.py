"""What the joins of tables keep for each key, and what they give out when it changes.

In a micro-batch the changes of a key are taken in the order of their offsets, and one result is
given out: a table is about the latest value, so those in between need not be seen.
"""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from moldau.streams.keyed_state import States


class JoinSides(StatefulProcessor):
    """Both values of a key."""

    def __init__(self, how: str) -> None:
        self._how = how

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._sides = States(handle).value("sides")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        changes = _in_order(rows)
        left, right = before = self._sides.get((None, None))
        for change in changes:
            if change["is_left"]:
                left = change["left"]
            else:
                right = change["right"]
        if left is None and right is None:
            self._sides.clear()
        else:
            self._sides.set((left, right))
        is_there = self._is_there(left, right)
        if is_there or self._is_there(*before):
            newest = max(change["timestamp"] for change in changes)
            yield Row(key=key[0], left=left, right=right, is_there=is_there, timestamp=newest)

    def close(self) -> None:
        pass

    def _is_there(self, left: Any, right: Any) -> bool:
        if self._how == "inner":
            return left is not None and right is not None
        return left is not None or (self._how == "outer" and right is not None)


class PointFromLeft(StatefulProcessor):
    """Where a left row points, so that the place it leaves can be told."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._foreign = States(handle).value("foreign")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        latest = _in_order(rows)[-1]
        foreign, left, moment = latest["foreign"], latest["value"], latest["timestamp"]
        # In a tuple: to have pointed nowhere is something else than not to have been there.
        before = self._foreign.get()
        if left is None:
            self._foreign.clear()
            if before is not None:
                yield _message(before[0], key[0], None, moment, moved=False)
            return
        self._foreign.set((foreign,))
        if before is not None and before[0] is not None and before[0] != foreign:
            yield _message(before[0], key[0], None, moment, moved=True)
        yield _message(foreign, key[0], left, moment, moved=False)

    def close(self) -> None:
        pass


class JoinPointed(StatefulProcessor):
    """The right value of a foreign key, and the left rows that point to it."""

    def __init__(self, how: str) -> None:
        self._how = how

    def init(self, handle: StatefulProcessorHandle) -> None:
        states = States(handle)
        self._right = states.value("right")
        self._lefts = states.map("lefts")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        changes = _in_order(rows)
        newest = max(change["timestamp"] for change in changes)
        right = self._right.get()
        changed: dict[str, tuple[Any, Any]] = {}
        for change in changes:
            if change["is_left"]:
                self._point(change["left"], changed)
            else:
                right = change["right"]
        if any(not change["is_left"] for change in changes):
            if right is None:
                self._right.clear()
            else:
                self._right.set(right)
            changed |= dict(self._lefts.items())
        for left_key, left in changed.values():
            is_there = left is not None and (right is not None or self._how == "left")
            yield Row(key=left_key, left=left, right=right, is_there=is_there, timestamp=newest)

    def close(self) -> None:
        pass

    def _point(self, message: Any, changed: dict[str, tuple[Any, Any]]) -> None:
        left_key, left = message["left_key"], message["left"]
        # Any plain value has one text of its own, so that the map can be by text.
        name = repr(left_key)
        if left is None:
            self._lefts.delete(name)
        else:
            self._lefts.set(name, (left_key, left))
        if message["moved"]:
            changed.pop(name, None)
        else:
            changed[name] = (left_key, left)


def _message(foreign: Any, left_key: Any, left: Any, moment: Any, *, moved: bool) -> Row:
    value = {"left_key": left_key, "left": left, "moved": moved}
    return Row(key=foreign, value=value, timestamp=moment)


def _in_order(rows: Iterator[Any]) -> list[Any]:
    """Changes of one key by their offsets: what is later in a topic replaces what is earlier.

    Offsets of the two sides do not compare, but then neither do their changes.
    """
    return sorted(rows, key=lambda row: row["offset"])
