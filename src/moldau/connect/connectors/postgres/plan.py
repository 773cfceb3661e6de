"""What to do at a start, and how far the slot may be confirmed (pure)."""

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from moldau.connect.connectors.postgres.catalog import Slot
from moldau.connect.connectors.postgres.pgoutput import format_lsn
from moldau.connect.connectors.postgres.position import Position
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.data.errors import ConnectError


class Plan(Enum):
    """How to begin."""

    SNAPSHOT = "read all rows, then the log"
    STREAM = "read the log"
    REST = "nothing is left to do"


def plan(settings: Settings, position: Position | None, slot: Slot | None) -> Plan:
    """What to do with this stored position and this slot.

    Raises:
        ConnectError: if changes are lost, and the mode allows no new snapshot.
    """
    mode = settings.snapshot
    is_lost = slot is None or slot.wal_status == "lost"
    if slot is not None:
        _check(settings, slot)
    has_rows = position is not None and position.is_complete
    if mode == "always":
        return Plan.SNAPSHOT
    if not has_rows:
        return Plan.STREAM if mode in ("never", "no_data") else Plan.SNAPSHOT
    if mode == "initial_only":
        return Plan.REST
    if is_lost:
        if mode == "when_needed":
            return Plan.SNAPSHOT
        assert position is not None
        raise ConnectError(_lost(settings, position, slot))
    return Plan.STREAM


def _check(settings: Settings, slot: Slot) -> None:
    name = settings.slot
    if slot.plugin != "pgoutput":
        message = f"replication slot {name} has the plugin {slot.plugin}, not pgoutput"
        raise ConnectError(f"{message}; choose another slot.name")
    if slot.database != settings.database:
        message = f"replication slot {name} belongs to database {slot.database}"
        raise ConnectError(f"{message}, not {settings.database}; choose another slot.name")


def _lost(settings: Settings, position: Position, slot: Slot | None) -> str:
    how = "does not exist any more" if slot is None else "has lost its log (wal_status lost)"
    return (
        f"replication slot {settings.slot} {how}: changes after {format_lsn(position.lsn)} cannot "
        "be read, and a new snapshot is needed. Stop the connector, reset its offsets (DELETE "
        "/connectors/NAME/offsets) and resume it, or set snapshot.mode=when_needed"
    )


class Confirmations:
    """How far the log is needed no more.

    Records are durable some time after they were handed out, which is reported by the offset of the
    last of them. An LSN may be confirmed when all records before it are durable.
    """

    def __init__(self) -> None:
        # The offset of the last record of each poll, and the LSN that is free once it is durable.
        self._sent: deque[tuple[dict[str, Any], int]] = deque()
        self._free = 0

    @property
    def lsn(self) -> int:
        """Everything before it is durable."""
        return self._free

    @property
    def is_waiting(self) -> bool:
        return bool(self._sent)

    def sent(self, offset: Mapping[str, Any]) -> None:
        """Records were handed out, the last one with ``offset``."""
        last = self._sent[-1][1] if self._sent else self._free
        self._sent.append((dict(offset), last))

    def reached(self, lsn: int) -> None:
        """All transactions were read that end before ``lsn``."""
        if self._sent:
            offset, last = self._sent[-1]
            self._sent[-1] = offset, max(last, lsn)
        else:
            self._free = max(self._free, lsn)

    def durable(self, offset: Mapping[str, Any]) -> None:
        """Records up to the one with ``offset`` are durable."""
        if any(known == offset for known, _ in self._sent):
            while True:
                known, lsn = self._sent.popleft()
                self._free = max(self._free, lsn)
                if known == offset:
                    return
        # In the middle of a poll: transactions before its own are complete.
        commit_lsn = offset.get("lsn_commit")
        if isinstance(commit_lsn, int):
            self._free = max(self._free, commit_lsn)
