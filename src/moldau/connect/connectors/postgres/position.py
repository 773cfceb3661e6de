"""How far a database was read, as Debezium stores it in a source offset (pure).

``lsn_commit`` is where the last transaction ended that was read completely. ``lsn_proc`` and
``txId`` are the last change that was read, which may be in the middle of the next one. Transactions
come in the order of their commits, while their changes are scattered over the log; so a change was
read if its transaction ended by ``lsn_commit``, or if it is in the transaction ``txId``, not behind
``lsn_proc``.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moldau.connect.data.errors import ConnectError


class Position(NamedTuple):
    """A stored position. ``is_snapshot``: existing rows were being read; all of them, if
    ``is_complete``.
    """

    lsn: int
    tx_id: int | None = None
    commit_lsn: int | None = None
    time_us: int | None = None
    message_type: str | None = None
    is_snapshot: bool = False
    is_complete: bool = True

    def has_transaction(self, commit_lsn: int) -> bool:
        """Whether a transaction was read completely whose commit is at ``commit_lsn``.

        Our ``commit_lsn`` is the end of a commit, so the next commit cannot be before it.
        """
        if self.is_snapshot:
            return commit_lsn < self.lsn
        # Without one, the first transaction of the stream is not over.
        return self.commit_lsn is not None and commit_lsn < self.commit_lsn

    def has_change(self, xid: int, lsn: int) -> bool:
        """Whether a change of a transaction that was not read completely was itself read."""
        return not self.is_snapshot and xid == self.tx_id and lsn <= self.lsn

    def to_offset(self) -> dict[str, Any]:
        """The JSON object that Debezium stores."""
        offset: dict[str, Any] = {}
        if self.time_us is not None:
            offset["ts_usec"] = self.time_us
        if self.tx_id is not None:
            offset["txId"] = self.tx_id
        offset["lsn"] = self.lsn
        if self.is_snapshot:
            offset["snapshot"] = "INITIAL"
            offset["last_snapshot_record"] = self.is_complete
            offset["snapshot_completed"] = self.is_complete
            return offset
        offset["lsn_proc"] = self.lsn
        if self.commit_lsn is not None:
            offset["lsn_commit"] = self.commit_lsn
        if self.message_type is not None:
            offset["messageType"] = self.message_type
        return offset


def from_offset(offset: Mapping[str, Any]) -> Position:
    """The position in a stored offset, Debezium's or ours.

    Raises:
        ConnectError: naming the field that is missing or not a number.
    """
    lsn = _number(offset, "lsn_proc")
    if lsn is None:
        lsn = _number(offset, "lsn")
    if lsn is None:
        message = f"offset {dict(offset)} has no lsn: alter it, or reset it for a new snapshot"
        raise ConnectError(message)
    # Before 2.0, Debezium stored true; later the kind of the snapshot, such as INITIAL.
    is_snapshot = offset.get("snapshot") not in (None, False, "false")
    is_complete = bool(offset.get("last_snapshot_record") or offset.get("snapshot_completed"))
    message_type = offset.get("messageType")
    return Position(
        lsn=lsn,
        tx_id=_number(offset, "txId"),
        commit_lsn=_number(offset, "lsn_commit"),
        time_us=_number(offset, "ts_usec"),
        message_type=None if message_type is None else str(message_type),
        is_snapshot=is_snapshot,
        is_complete=is_complete or not is_snapshot,
    )


def _number(offset: Mapping[str, Any], name: str) -> int | None:
    value = offset.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConnectError(f"offset has {name}={value!r}, which must be a number")
    return value
