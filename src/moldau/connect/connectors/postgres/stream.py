"""Reads the changes of a slot in portions.

A portion ends between two LSNs: rows that one statement wrote together (COPY) share one, and an
offset cannot name a place between them.
"""

from collections.abc import Iterator
from typing import Final

from moldau.clock import Clock
from moldau.connect.connectors.postgres import catalog, slot
from moldau.connect.connectors.postgres.changes import ChangeReader, Record
from moldau.connect.connectors.postgres.pgoutput import Relation
from moldau.connect.connectors.postgres.session import Connection
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.connectors.postgres.tables import TableFacts

# After so many records; and what gives none looks at it each time.
_LOOK_AT_CLOCK: Final = 16
# A poll should not take longer, however large the portion is.
_POLL_NS: Final = 1_000_000_000


class Describer:
    """Looks tables up in the catalog for ``ChangeReader``."""

    def __init__(self, control: Connection) -> None:
        self._control = control

    def __call__(self, relation: Relation) -> TableFacts:
        facts = catalog.table_facts(self._control, relation.oid)
        oids = [column.type_oid for column in relation.columns]
        types = catalog.type_facts(self._control, oids)
        return TableFacts(relation.schema, relation.table, facts.columns, facts.key, types)


class ChangeStream:
    """The changes of a slot. ``control`` is free while ``connection`` reads."""

    def __init__(
        self,
        connection: Connection,
        control: Connection,
        settings: Settings,
        reader: ChangeReader,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._control = control
        self._settings = settings
        self._reader = reader
        self._clock = clock
        self._peek: slot.Peek | None = None
        self._rows: Iterator[tuple[int, bytes]] = iter(())
        self._ahead: tuple[int, bytes] | None = None
        self._bound = 0
        self._limit = slot.PEEK_CHANGES
        # Nothing more is to be read before this.
        self.read_lsn = 0

    def poll(self) -> list[Record]:
        """The next changes; none if there are none now."""
        if self._peek is None and not self._open():
            return []
        records: list[Record] = []
        read = self._reader.read
        started = now = self._clock.wall_ms() * 1_000_000
        wanted = self._settings.batch_size
        row = self._ahead or next(self._rows, None)
        while row is not None:
            lsn, data = row
            records.extend(read(lsn, data, now))
            row = next(self._rows, None)
            if not len(records) % _LOOK_AT_CLOCK:
                now = self._clock.wall_ms() * 1_000_000
            is_enough = len(records) >= wanted or now - started > _POLL_NS
            if is_enough and row is not None and row[0] != lsn:
                break
        self._ahead = row
        if row is None:
            self._close_peek()
        return records

    def _open(self) -> bool:
        """Begin to read the slot again, if the log has grown."""
        end = slot.log_end(self._control)
        if end <= self.read_lsn:
            return False
        self._reader.restart()
        self._bound = end
        self._peek = slot.Peek(self._connection, self._settings, end, self._limit)
        self._rows = iter(self._peek)
        return True

    def _close_peek(self) -> None:
        assert self._peek is not None
        if self._peek.is_partial:
            # If nothing is confirmed until then, the next reading begins with the same messages.
            self._limit = 2 * self._peek.count
        else:
            self._limit = slot.PEEK_CHANGES
            self.read_lsn = self._bound
        self._peek.close()
        self._peek = None
        self._ahead = None

    def close(self) -> None:
        if self._peek is not None:
            self._peek.close()
            self._peek = None
