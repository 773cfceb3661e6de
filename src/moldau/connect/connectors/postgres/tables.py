"""A captured table: its schemas as Debezium names them, and its rows as structs (pure).

A table is made from its columns, as a Relation message or the catalog has them, and from facts that
only the catalog has: which columns may be null, defaults, the primary key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from moldau.connect.connectors.postgres import envelope
from moldau.connect.connectors.postgres.column_type import ColumnType
from moldau.connect.connectors.postgres.defaults import default_value
from moldau.connect.connectors.postgres.pgoutput import UNCHANGED, Row
from moldau.connect.connectors.postgres.settings import Settings
from moldau.connect.connectors.postgres.types import TypeFacts, Types
from moldau.connect.data.errors import DataError
from moldau.connect.data.schema import Schema, struct
from moldau.connect.data.struct import Struct


class ColumnFacts(NamedTuple):
    """A column of the catalog. ``default`` is the expression of its default."""

    name: str
    type_oid: int
    type_modifier: int
    is_not_null: bool = False
    default: str | None = None


@dataclass(frozen=True)
class TableFacts:
    """A table of the catalog. ``key`` has the columns of its primary key, in its order; without
    one, of a unique index.
    """

    schema: str
    name: str
    columns: tuple[ColumnFacts, ...] = ()
    key: tuple[str, ...] = ()
    types: Mapping[int, TypeFacts] | None = None


class TableField(NamedTuple):
    """A column that is captured. ``place`` is where rows have it."""

    place: int
    name: str
    kind: ColumnType
    schema: Schema
    # What stands for null: None if the column may be null.
    missing: Any


class Table:
    """Schemas and conversions of one table, for columns in a fixed order."""

    def __init__(
        self,
        facts: TableFacts,
        columns: Sequence[tuple[str, int, int]],
        settings: Settings,
    ) -> None:
        """``columns`` are (name, type oid, type modifier) in the order of the rows to convert."""
        self.schema_name, self.name = facts.schema, facts.name
        self.topic = settings.topics.of_table(facts.schema, facts.name)
        key = _key_of(facts, settings)
        self.fields = tuple(_fields(facts, columns, settings, key))
        named = {field.name: field.schema for field in self.fields}
        self.row_schema = struct(f"{self.topic}.Value", named, is_optional=True)
        self.envelope_schema = envelope.schema(self.topic, self.row_schema)
        self.key_places = tuple(
            next(place for place, field in enumerate(self.fields) if field.name == name)
            for name in key
            if name in named
        )
        self.key_schema: Schema | None = None
        if self.key_places:
            keys = {self.fields[place].name: self.fields[place].schema for place in self.key_places}
            self.key_schema = struct(f"{self.topic}.Key", keys)
        self._reads = tuple((field.place, field.kind.convert) for field in self.fields)

    def row(self, texts: Row, old: Row | None = None) -> Struct:
        """The struct of a row; ``old`` is the whole row before the change, where known."""
        if UNCHANGED in texts:
            return Struct.of(self.row_schema, [self._value(f, texts, old) for f in self.fields])
        try:
            values = [
                None if texts[index] is None else convert(texts[index])
                for index, convert in self._reads
            ]
        except (TypeError, ValueError, ArithmeticError, DataError):
            # Say which column it was.
            values = [self._value(field, texts, old) for field in self.fields]
        if None in values:
            for place, field in enumerate(self.fields):
                if values[place] is None:
                    values[place] = field.missing
        return Struct.of(self.row_schema, values)

    def _value(self, field: TableField, texts: Row, old: Row | None) -> Any:
        text = texts[field.place]
        if text is UNCHANGED and old is not None and old[field.place] is not UNCHANGED:
            text = old[field.place]
        if text is UNCHANGED:
            place = field.kind.placeholder
            return field.missing if place is None else place
        try:
            value = None if text is None else field.kind.convert(text)
            return field.missing if value is None else value
        except (TypeError, ValueError, ArithmeticError, DataError) as error:
            place = f"{self.schema_name}.{self.name}.{field.name}"
            raise DataError(f"column {place} has {text[:100]!r}: {error}") from error

    def key(self, row: Struct) -> Struct | None:
        """The key of a row; None for a table without one."""
        if self.key_schema is None:
            return None
        values = row.values
        return Struct.of(self.key_schema, [values[place] for place in self.key_places])


def _key_of(facts: TableFacts, settings: Settings) -> tuple[str, ...]:
    for pattern, names in settings.keys:
        if pattern.fullmatch(f"{facts.schema}.{facts.name}"):
            return names
    return facts.key


def _fields(
    facts: TableFacts,
    columns: Sequence[tuple[str, int, int]],
    settings: Settings,
    key: tuple[str, ...],
) -> Iterable[TableField]:
    types = Types(facts.types or {}, settings.modes)
    known = {column.name: column for column in facts.columns}
    for index, (name, oid, modifier) in enumerate(columns):
        if not settings.tables.includes_column(facts.schema, facts.name, name) and name not in key:
            continue
        kind = types.column_type(oid, modifier)
        if kind is None:
            continue
        # A column that the catalog has no more was dropped since: nothing is known of it.
        column = known.get(name, ColumnFacts(name, oid, modifier))
        is_required = column.is_not_null
        type_facts = types.facts[oid]
        default = default_value(type_facts.name, type_facts.kind == "e", kind, column.default)
        schema = kind.schema.replace(is_optional=not is_required, default=default)
        kind = kind.with_schema(schema)
        missing = None
        if is_required:
            missing = default if default is not None else kind.fallback
        yield TableField(index, name, kind, schema, missing)
