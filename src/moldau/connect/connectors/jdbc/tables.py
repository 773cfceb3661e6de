"""Makes sure that a table has the columns that records need."""

from moldau.connect.connectors.jdbc.database import Database
from moldau.connect.connectors.jdbc.shape import Column, Shape
from moldau.connect.connectors.jdbc.sink_settings import SinkSettings
from moldau.connect.data.errors import ConnectError


def prepare(db: Database, settings: SinkSettings, table: str, shape: Shape) -> None:
    """Create ``table``, or add columns to it, as the options allow.

    Raises:
        ConnectError: naming what is missing, and the option or statement that mends it.
    """
    columns = db.columns(table)
    if columns is None:
        _create(db, settings, table, shape)
        columns = db.columns(table) or {}
    missing = [column for column in shape.columns if column.name not in columns]
    if not missing:
        return
    names = ", ".join(column.name for column in missing)
    if not settings.evolves:
        statements = "; ".join(db.dialect.add_column(table, column) for column in missing)
        message = f"table {table} has no columns {names}, and auto.evolve is false"
        raise ConnectError(f"{message}: set auto.evolve=true, or run: {statements}")
    for column in missing:
        _add(db, table, column)


def _create(db: Database, settings: SinkSettings, table: str, shape: Shape) -> None:
    statement = db.dialect.create_table(table, shape.columns)
    if not settings.creates:
        message = f"table {table} does not exist, and auto.create is false"
        raise ConnectError(f"{message}: set auto.create=true, or run: {statement}")
    _exclusively(db, table, statement)


def _add(db: Database, table: str, column: Column) -> None:
    if column.is_key or not (column.schema.is_optional or column.schema.default is not None):
        message = f"the rows of table {table} need a default for the required field {column.name}"
        remedy = db.dialect.add_column(table, column)
        raise ConnectError(f"{message}, which has none. Run: {remedy}")
    _exclusively(db, table, db.dialect.add_column(table, column), column.name)


def _exclusively(db: Database, table: str, statement: str, column: str | None = None) -> None:
    """Run a change of a table while no other task changes it."""
    db.begin()
    try:
        db.lock(f"moldau connect table {table}")
        if column is None or column not in (db.columns(table) or {}):
            db.execute(statement)
        db.commit()
    except BaseException:
        db.rollback()
        raise
