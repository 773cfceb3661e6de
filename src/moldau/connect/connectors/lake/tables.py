"""Sinks of tables that commit files and offsets together: what Delta and Iceberg share.

Tasks write data files, which no reader sees yet, and tell the driver. The driver commits the files
of a batch to each table, with the next offsets in the same commit. So each table knows which
records it has, whatever happens between the commits of two tables:

* a batch that is repeated after a crash leaves out records below a table's stored offset;
* a commit that came through although its answer did not is not done again;
* a worker that was replaced finds other offsets than its own, and stops.

Where a partition's records go to one table, its stored offset is also where reading starts.
Otherwise (transforms that change topics, routes, several tables) that is the group's offset: the
table that is ahead after a crash does not have the records of the others.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from moldau.connect.connector import EXACTLY_ONCE, SinkConnector, SinkTask
from moldau.connect.connectors.lake.fit import check, fit, missing_columns, wider_columns
from moldau.connect.connectors.lake.rows import RowMaker, RowOptions
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord
from moldau.ids import TopicPartition

Offsets = dict[TopicPartition, int]
# How often a commit is tried again because others, such as a compaction, commit as well.
_COMMITS = 10


class CommitConflictError(Exception):
    """Somebody else has committed to the table at the same time."""


class LakeTable(ABC):
    """One table. Its schema and offsets are those of the last ``refresh``."""

    name: str
    # Whether a column can become one of a wider type.
    can_widen: ClassVar[bool] = False

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns, as rows must have them."""

    @abstractmethod
    def offsets(self) -> Offsets:
        """The next offsets that this connector has stored."""

    @abstractmethod
    def refresh(self) -> None:
        """See what others have committed."""

    @abstractmethod
    def add_columns(self, columns: list[pa.Field]) -> None:
        """Add columns that the table lacks, and widen others. May raise CommitConflictError."""

    @abstractmethod
    def write(self, rows: pa.Table) -> list[Any]:
        """Write data files, which nobody sees before they are committed. The result is pickled."""

    @abstractmethod
    def commit(self, files: list[Any], offsets: Offsets) -> None:
        """Add files and store offsets, in one commit. May raise CommitConflictError."""


class Staged(NamedTuple):
    """What a task has written for one table: nothing, if that has all its records already."""

    table: str
    files: list[Any]
    # Partitions that rows came from, and the stored offsets below which they were left out.
    partitions: frozenset[TopicPartition]
    seen: Offsets


class TableSink(SinkConnector):
    """A sink of tables. Subclasses say which tables there are, and how to make one."""

    delivery: ClassVar[str] = EXACTLY_ONCE

    def configure(self, config: Mapping[str, str]) -> None:
        """Read the options: on the driver and in tasks."""
        raise NotImplementedError

    def row_options(self) -> RowOptions:
        raise NotImplementedError

    def table_names(self, record: SinkRecord) -> tuple[str, ...]:
        """The tables that a record goes to. May raise a DataError."""
        raise NotImplementedError

    def known_tables(self) -> list[str]:
        """The tables that the options name, as far as one can tell without records."""
        raise NotImplementedError

    def find_table(self, name: str) -> LakeTable | None:
        """The table if it exists."""
        raise NotImplementedError

    def create_table(self, name: str, schema: pa.Schema) -> None:
        """Create a table; nothing happens if it exists meanwhile.

        Raises a DataError if tables are not to be created.
        """
        raise NotImplementedError

    # Whether columns are added that records have and a table lacks.
    evolves: bool
    # The topics that the options name.
    named_topics: frozenset[str] = frozenset()

    @property
    def known_topics(self) -> list[str]:
        return sorted({*self.named_topics, *self.topics})

    # -- driver -------------------------------------------------------------------------------

    def start(self, config: Mapping[str, str]) -> None:
        self.configure(config)
        self._tables: dict[str, LakeTable] = {}
        # The offsets that each table should have: those that we have found or written there.
        self._known: dict[str, Offsets] = {}
        for name in self.known_tables():
            table = self.find_table(name)
            if table is not None:
                self._tables[name] = table
                self._known[name] = table.offsets()

    def stored_offsets(self) -> Offsets:
        tables_of: dict[TopicPartition, list[str]] = {}
        for name, offsets in self._known.items():
            for partition in offsets:
                tables_of.setdefault(partition, []).append(name)
        return {
            partition: max(self._known[name][partition] for name in names)
            for partition, names in sorted(tables_of.items())
            if len(names) == 1 or self.has_parts
        }

    @classmethod
    def alter_offsets(
        cls, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]
    ) -> bool:
        """Store other offsets in the tables, by commits without files.

        A table cannot forget an offset: 0 stands for none.
        """
        sink = cls()
        # The config has no topics if it has a pattern of them.
        sink.topics = sorted({each.topic for each in offsets})
        sink.start(config)
        try:
            for name, known in sink._known.items():
                changed = {each: offsets[each] or 0 for each in known if each in offsets}
                if changed:
                    sink._commit_table(name, [], changed)
        finally:
            sink.stop()
        return True

    def found_offsets(self, messages: list[list[Staged]]) -> Offsets:
        found: Offsets = {}
        for staged in (each for message in messages for each in message):
            for place, offset in staged.seen.items():
                found[place] = max(offset, found.get(place, 0))
        return found

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        staged = [each for message in messages for each in message]
        for name in sorted({each.table for each in staged}):
            ours = [each for each in staged if each.table == name]
            partitions = {partition for each in ours for partition in each.partitions}
            self._known.setdefault(
                name, {place: at for each in ours for place, at in each.seen.items()}
            )
            wanted = {place: offsets[place] for place in sorted(partitions)}
            if wanted:
                self._commit_table(name, [file for each in ours for file in each.files], wanted)
        # Partitions of which no record was written: their progress counts nevertheless.
        for place, offset in sorted(offsets.items()):
            names = [name for name, known in self._known.items() if place in known]
            # A batch that is repeated may end earlier than the one that the table has.
            if len(names) == 1 and self._known[names[0]][place] < offset:
                self._commit_table(names[0], [], {place: offset})

    def _commit_table(self, name: str, files: list[Any], offsets: Offsets) -> None:
        table = self._tables.get(name) or self.find_table(name)
        if table is None:
            raise ConnectError(f"table {name} is gone: it was there when its files were written")
        self._tables[name] = table
        known = self._known[name]
        conflict: Exception | None = None
        for _ in range(_COMMITS):
            table.refresh()
            stored = table.offsets()
            if all(stored.get(place) == offset for place, offset in offsets.items()):
                known.update(offsets)
                return
            changed = [place for place in sorted(offsets) if stored.get(place) != known.get(place)]
            if changed:
                place = changed[0]
                raise ConnectError(
                    f"another worker has written to table {name}: it is at offset "
                    f"{stored.get(place)} of {place.topic}-{place.partition}, not at "
                    f"{known.get(place)}. Restart the connector if it should take over"
                )
            try:
                table.commit(files, offsets)
            except CommitConflictError as error:
                conflict = error
                continue
            known.update(offsets)
            return
        raise RetriableError(
            f"table {name} was changed by others in each of {_COMMITS} tries to commit: {conflict}"
        )

    # -- tasks --------------------------------------------------------------------------------

    def open(self, config: Mapping[str, str], task: SinkTask) -> None:
        self.configure(config)
        self._rows = RowMaker(self.row_options())
        self._targets: dict[str, LakeTable | None] = {}
        self._seen: dict[str, Offsets] = {}
        # Schemas of rows that are known to fit, by table.
        self._checked: set[tuple[str, pa.Schema]] = set()

    def write(self, records: Iterator[SinkRecord], task: SinkTask) -> list[Staged]:
        """Write the files of a task. Those of an attempt that fails belong to no table."""
        files: dict[str, list[Any]] = {}
        partitions: dict[str, set[TopicPartition]] = {}
        self._left_out: set[str] = set()
        several = self._rows.chunks(records, self._missing_tables, task, fit=self._checked_rows)
        for names, rows in several:
            for name in names:
                table = self._prepared(name, rows.table.schema)
                files.setdefault(name, []).extend(table.write(self._fitted(name, rows.table)))
                partitions.setdefault(name, set()).update(
                    TopicPartition(each.original_topic, each.original_partition)
                    for each in rows.records
                )
        return [
            Staged(
                name,
                files.get(name, []),
                frozenset(partitions.get(name, ())),
                self._seen[name],
            )
            for name in sorted({*files, *self._left_out})
        ]

    def _missing_tables(self, record: SinkRecord) -> tuple[str, ...] | None:
        """The tables that do not have this record yet; None for none."""
        place = TopicPartition(record.original_topic, record.original_partition)
        missing = []
        for name in self.table_names(record):
            if record.offset >= self._seen_offsets(name).get(place, 0):
                missing.append(name)
            else:
                self._left_out.add(name)
        return tuple(missing) or None

    def _seen_offsets(self, name: str) -> Offsets:
        if name not in self._seen:
            table = self._targets[name] = self.find_table(name)
            self._seen[name] = {} if table is None else table.offsets()
        return self._seen[name]

    def _checked_rows(self, names: tuple[str, ...], rows: pa.Table) -> pa.Table:
        """The rows, if all tables take them; otherwise raises a DataError."""
        for name in names:
            self._fitted(name, rows)
        return rows

    def _fitted(self, name: str, rows: pa.Table) -> pa.Table:
        return fit(rows, self._prepared(name, rows.schema).schema, name)

    def _prepared(self, name: str, wanted: pa.Schema) -> LakeTable:
        """The table, which has all columns of the rows.

        Raises:
            DataError: it does not exist or lacks columns, and may not be changed.
        """
        table = self._targets[name]
        if table is not None and (name, wanted) in self._checked:
            return table
        for _ in range(_COMMITS):
            if table is None:
                self.create_table(name, wanted)
                table = self.find_table(name)
                continue
            columns = missing_columns(wanted, table.schema)
            if table.can_widen:
                columns += wider_columns(wanted, table.schema)
            if not columns or not self.evolves:
                break
            # Another task may just be adding the same.
            with contextlib.suppress(CommitConflictError):
                table.add_columns(columns)
            table.refresh()
        if table is None:
            raise RetriableError(f"table {name} could not be created: others remove it")
        self._targets[name] = table
        check(wanted, table.schema, name, evolves=self.evolves)
        self._checked.add((name, wanted))
        return table


def topic_names(config: Mapping[str, str]) -> frozenset[str]:
    """The topics of the option ``topics``; none if there is a pattern instead."""
    names = (name.strip() for name in config.get("topics", "").split(","))
    return frozenset(filter(None, names))


def may_divide(pattern: str, config: Mapping[str, str]) -> bool:
    """Whether records of one topic may go to several tables: transforms can change their topic."""
    return "${topic}" in pattern and bool(config.get("transforms", "").strip())


def all_named(patterns: Iterable[str], topics: Iterable[str]) -> list[str]:
    """The names of the tables of ``topics``; of one for all topics, whatever they are."""
    known = list(topics)
    return sorted(
        {
            named(pattern, topic)
            for pattern in patterns
            for topic in (known if "${topic}" in pattern else ("",))
        }
    )


def named(pattern: str, topic: str) -> str:
    """The name of a topic's table."""
    if "${topic}" in pattern and not topic:
        raise DataError("the record has no topic to name its table by")
    return pattern.replace("${topic}", topic)
