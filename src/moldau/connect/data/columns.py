"""Many records as columns: what is worked on where no single record has to be looked at.

The records are of one topic and partition and without headers, their keys have one schema, and so
have their values. No value and no field of a struct is null; only all keys together may be. What
does not fit this is worked on record by record: columns save time, and decide nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Union

from moldau.connect.data.java_text import to_text
from moldau.connect.data.schema import Schema, Type
from moldau.connect.data.struct import Struct

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all records."""

    value: Any


# A cell for each record: an array of Arrow, plain objects, or one value for all.
Cells = Union["pa.Array", list[Any], Same]
NULLS: Final = Same(None)


@dataclass(frozen=True, slots=True)
class Column:
    """The keys or the values of all records."""

    schema: Schema | None
    # Of a struct: the cells of each of its fields.
    cells: Cells | tuple[Cells, ...]

    @property
    def is_struct(self) -> bool:
        return isinstance(self.cells, tuple)

    @property
    def fields(self) -> tuple[Cells, ...]:
        assert isinstance(self.cells, tuple), "only structs have fields"
        return self.cells


@dataclass(frozen=True, slots=True)
class RecordColumns:
    """The records. Columns have as many rows as there are records, in the same order."""

    count: int
    topic: str
    # None: not chosen yet.
    partition: int | None
    key: Column
    value: Column
    timestamps_ms: Cells
    # None: records of a source have no offsets yet.
    offsets: Cells | None = None

    def replace(self, **changes: Any) -> "RecordColumns":
        return replace(self, **changes)


def values_in(column: Column, count: int) -> Iterator[Any]:
    """The values of a column as single objects, such as structs."""
    if column.is_struct:
        schema = column.schema
        assert schema is not None, "structs have schemas"
        if not column.fields:
            return (Struct.of(schema, ()) for _ in range(count))
        rows = zip(*(objects_in(cells, count) for cells in column.fields), strict=True)
        return (Struct.of(schema, row) for row in rows)
    return iter(objects_in(column.cells, count))


def texts_in(column: Column, count: int) -> "pa.Array | None":
    """``to_text`` of each value; None if it is not known for a whole column."""
    import pyarrow.compute as pc

    if not column.is_struct:
        cells = _texts(column.schema, column.cells)
        return _repeated(cells, count) if isinstance(cells, str) else cells
    assert column.schema is not None, "structs have schemas"
    pieces: list[Any] = []
    before = "Struct{"
    for field, cells in zip(column.schema.struct_fields, column.fields, strict=True):
        texts = _texts(field.schema, cells)
        if texts is None:
            return None
        before += f"{field.name}="
        if isinstance(texts, str):
            before += f"{texts},"
        else:
            pieces += [before, texts]
            before = ","
    if not column.fields:
        return _repeated("Struct{}", count)
    text = before.removesuffix(",") + "}"
    if not pieces:
        return _repeated(text, count)
    return pc.binary_join_element_wise(*pieces, text, "")


def objects_in(cells: Any, count: int) -> list[Any]:
    """The cells of all records as plain objects."""
    if isinstance(cells, Same):
        return [cells.value] * count
    return cells if isinstance(cells, list) else cells.to_pylist()


def first_of(cells: Cells) -> Any:
    """The cell of the first record."""
    if isinstance(cells, Same):
        return cells.value
    first = cells[0]
    return first if isinstance(cells, list) else first.as_py()


def _texts(schema: Schema | None, cells: Any) -> Any:
    """The texts of cells: an array, or a text that is the same for all."""
    import pyarrow as pa

    if isinstance(cells, Same):
        return to_text(cells.value, schema)
    if isinstance(cells, list):
        return None
    if pa.types.is_string(cells.type):
        return cells
    is_plain = schema is not None and schema.name is None and schema.type is not Type.BOOLEAN
    return cells.cast(pa.string()) if is_plain and pa.types.is_integer(cells.type) else None


def _repeated(text: str, count: int) -> "pa.Array":
    from moldau.connect.data.arrow_cells import repeated

    return repeated(text, count)
