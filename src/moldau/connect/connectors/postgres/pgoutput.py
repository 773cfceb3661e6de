"""Messages of PostgreSQL's logical decoding plugin ``pgoutput``, protocol version 1 (pure).

A transaction is Begin, the changes in their order, Commit; transactions come in the order of their
commits. A Relation precedes the first change of a table and comes again after the table was
altered, so each change is read with the columns that its table had then. Values are texts, as
``SELECT`` prints them.
"""

import struct
from typing import Any, Final, NamedTuple

from moldau.connect.data.errors import ConnectError

# PostgreSQL counts microseconds from 2000-01-01, everybody else from 1970-01-01.
EPOCH_US: Final = 946_684_800_000_000


class Unchanged:
    """A large (TOAST) value that an update did not touch: the log does not have it."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()
# A row as texts by column: None for null, UNCHANGED for what the log does not have.
Row = list[Any]


class Begin(NamedTuple):
    """The start of a transaction. ``final_lsn`` is where its commit is."""

    final_lsn: int
    commit_us: int
    xid: int


class Commit(NamedTuple):
    """The end of a transaction. ``end_lsn`` is where the log goes on after its commit."""

    commit_lsn: int
    end_lsn: int
    commit_us: int


class Column(NamedTuple):
    """A column of a Relation. ``is_key``: part of the replica identity."""

    name: str
    type_oid: int
    type_modifier: int
    is_key: bool


class Relation(NamedTuple):
    """A table as of the changes that follow. ``identity``: ``d``, ``n``, ``f`` or ``i``."""

    oid: int
    schema: str
    table: str
    identity: str
    columns: tuple[Column, ...]


class TypeName(NamedTuple):
    """The name of a type that is not built in."""

    oid: int
    schema: str
    name: str


class Origin(NamedTuple):
    """The server on which a replicated transaction was committed at first."""

    lsn: int
    name: str


class Insert(NamedTuple):
    relation: int
    new: Row


class Update(NamedTuple):
    """``old`` is None, the key (``old_kind`` K; other columns are null) or the whole row (O)."""

    relation: int
    old: Row | None
    old_kind: str
    new: Row


class Delete(NamedTuple):
    """``old`` is the key (``old_kind`` K; other columns are null) or the whole row (O)."""

    relation: int
    old: Row
    old_kind: str


class Truncate(NamedTuple):
    relations: tuple[int, ...]
    is_cascade: bool
    restarts_identity: bool


class LogicalMessage(NamedTuple):
    """What ``pg_logical_emit_message`` wrote."""

    is_transactional: bool
    lsn: int
    prefix: str
    content: bytes


Change = Insert | Update | Delete | Truncate | LogicalMessage
Message = Begin | Commit | Relation | TypeName | Origin | Change

_BEGIN: Final = struct.Struct(">QqI")
_COMMIT: Final = struct.Struct(">BQQq")
_COLUMN: Final = struct.Struct(">Ii")
_NULL, _UNCHANGED, _TEXT, _BINARY = b"nutb"
_INSERT, _UPDATE, _DELETE, _BEGIN_TAG, _COMMIT_TAG = b"IUDBC"
# Where a new row begins that nothing comes before: after the kind, the relation and its mark.
NEW_ROW_AT: Final = 6
_LENGTH: Final = struct.Struct(">I").unpack_from


def decode(data: bytes) -> Message:
    """The message in ``data``.

    Raises:
        ConnectError: if it is cut short or of a kind that version 1 does not have.
    """
    kind = data[0] if data else 0
    try:
        if kind == _INSERT:
            return Insert(int.from_bytes(data[1:5], "big"), _row(data, 6)[0])
        if kind == _UPDATE:
            return _update(data)
        if kind == _DELETE:
            return Delete(int.from_bytes(data[1:5], "big"), _row(data, 6)[0], chr(data[5]))
        if kind == _BEGIN_TAG:
            final_lsn, commit_us, xid = _BEGIN.unpack_from(data, 1)
            return Begin(final_lsn, commit_us + EPOCH_US, xid)
        if kind == _COMMIT_TAG:
            _, commit_lsn, end_lsn, commit_us = _COMMIT.unpack_from(data, 1)
            return Commit(commit_lsn, end_lsn, commit_us + EPOCH_US)
        return _rare(chr(kind), data)
    except (IndexError, struct.error, ValueError) as error:
        raise _cut_short(data) from error


def starts_of_new_rows(relation: int) -> tuple[bytes, bytes]:
    """How an insert begins, and an update without an old row: the new one is at ``NEW_ROW_AT``."""
    oid = relation.to_bytes(4, "big")
    return b"I" + oid + b"N", b"U" + oid + b"N"


def new_row(data: bytes) -> Row:
    """The row at ``NEW_ROW_AT``. Raises as ``decode`` does."""
    try:
        return _row(data, NEW_ROW_AT)[0]
    except (IndexError, struct.error, ValueError) as error:
        raise _cut_short(data) from error


def _cut_short(data: bytes) -> ConnectError:
    kind = chr(data[0]) if data else "\0"
    message = f"pgoutput message of kind {kind!r} and {len(data)} bytes is cut short"
    return ConnectError(f"{message}: {data[:40].hex()}")


def _update(data: bytes) -> Update:
    relation = int.from_bytes(data[1:5], "big")
    kind = chr(data[5])
    if kind == "N":
        return Update(relation, None, "", _row(data, 6)[0])
    old, end = _row(data, 6)
    if data[end] != ord("N"):
        raise ValueError("no new row")
    return Update(relation, old, kind, _row(data, end + 1)[0])


def _row(data: bytes, at: int) -> tuple[Row, int]:
    """The row that begins at ``at``, and where it ends."""
    count = data[at] << 8 | data[at + 1]
    at += 2
    values: Row = []
    append, length = values.append, _LENGTH
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == _TEXT:
            start = at + 4
            at = start + length(data, at)[0]
            if at > len(data):
                raise IndexError("value is cut short")
            append(data[start:at].decode())
        elif kind == _NULL:
            append(None)
        elif kind == _UNCHANGED:
            append(UNCHANGED)
        else:
            raise ValueError(f"value of kind {chr(kind)!r}, where n, u or t is possible")
    return values, at


def _rare(kind: str, data: bytes) -> Message:
    match kind:
        case "R":
            return _relation(data)
        case "Y":
            schema, at = _text(data, 5)
            name, _ = _text(data, at)
            return TypeName(int.from_bytes(data[1:5], "big"), schema, name)
        case "O":
            return Origin(int.from_bytes(data[1:9], "big"), _text(data, 9)[0])
        case "T":
            count, options = struct.unpack_from(">IB", data, 1)
            relations = struct.unpack_from(f">{count}I", data, 6)
            return Truncate(relations, bool(options & 1), bool(options & 2))
        case "M":
            flags, lsn = struct.unpack_from(">BQ", data, 1)
            prefix, at = _text(data, 10)
            size = int.from_bytes(data[at : at + 4], "big")
            if len(data) < at + 4 + size:
                raise IndexError("content is cut short")
            return LogicalMessage(bool(flags & 1), lsn, prefix, data[at + 4 : at + 4 + size])
    message = f"pgoutput message of unknown kind {kind!r}: protocol version 1 has BCORYIUDTM"
    raise ConnectError(message)


def _relation(data: bytes) -> Relation:
    oid = int.from_bytes(data[1:5], "big")
    schema, at = _text(data, 5)
    table, at = _text(data, at)
    identity = chr(data[at])
    (count,) = struct.unpack_from(">H", data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        name, at = _text(data, at + 1)
        type_oid, modifier = _COLUMN.unpack_from(data, at)
        at += _COLUMN.size
        columns.append(Column(name, type_oid, modifier, bool(flags & 1)))
    # The schema of the catalog is sent as an empty name.
    return Relation(oid, schema or "pg_catalog", table, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    """The text that begins at ``at``, and where the next value begins."""
    end = data.index(0, at)
    return data[at:end].decode(), end + 1


def format_lsn(lsn: int) -> str:
    """``16/B374D848``, as PostgreSQL writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """The number of ``16/B374D848``."""
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)
