"""The options of the Iceberg sink, with the names of Iceberg's own connector."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.connect.config.definition import ConfigDef, Importance, Type, invalid
from moldau.connect.connector import ConfigProblem
from moldau.connect.connectors.lake.arrow_types import ICEBERG
from moldau.connect.connectors.lake.rows import RowOptions, parse_options, row_options
from moldau.connect.connectors.lake.tables import named
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import SinkRecord
from moldau.connect.data.struct import Struct

CATALOG: Final = "iceberg.catalog."
_TABLES: Final = "iceberg.tables."
_CREATE_PROPERTIES: Final = "iceberg.tables.auto-create-props."
_ROUTE: Final = re.compile(r"iceberg\.table\.(.+)\.route-regex")
# Options of Iceberg's connector that change what is written, and are not supported here.
_UNSUPPORTED: Final = {
    "iceberg.tables.cdc-field": "all records are appended",
    "iceberg.tables.upsert-mode-enabled": "all records are appended",
    "iceberg.tables.default-id-columns": "all records are appended",
    "iceberg.tables.default-commit-branch": "records are committed to main",
    "iceberg.tables.default-partition-by": "create partitioned tables beforehand",
    "iceberg.tables.schema-case-insensitive": "names of columns are compared as they are",
    "iceberg.catalog.catalog-impl": "set iceberg.catalog.type to rest, sql, hive or glue",
}
_UNSUPPORTED_PARTS: Final = ("id-columns", "partition-by", "commit-branch")


def _definition() -> ConfigDef:
    definition = ConfigDef()

    def define(name: str, kind: Type, default: Any, doc: str, importance: Importance) -> None:
        definition.define(name, kind, default, doc=doc, importance=importance, group="Iceberg")

    high, medium, low = Importance.HIGH, Importance.MEDIUM, Importance.LOW
    define(
        "iceberg.tables",
        Type.LIST,
        "",
        "The tables, as namespace.name; each gets all records. ${topic} stands for the topic.",
        high,
    )
    define(
        "iceberg.catalog",
        Type.STRING,
        "iceberg",
        "The name of the catalog. Its properties (type, uri, warehouse, ...) are the options "
        "below iceberg.catalog. and those of PyIceberg's own configuration.",
        medium,
    )
    define(
        "iceberg.tables.route-field",
        Type.STRING,
        None,
        "The field of the value that says which tables a record goes to; dots lead into structs.",
        medium,
    )
    define(
        "iceberg.tables.dynamic-enabled",
        Type.BOOLEAN,
        False,
        "The route field has the name of the table itself.",
        medium,
    )
    flag = Type.BOOLEAN
    define(f"{_TABLES}auto-create-enabled", flag, False, "Create missing tables.", medium)
    define(f"{_TABLES}evolve-schema-enabled", flag, False, "Add and widen columns.", medium)
    define(f"{_TABLES}schema-force-optional", flag, False, "New columns are always optional.", low)
    return row_options(definition)


DEFINITION: Final = _definition()


@dataclass(frozen=True)
class IcebergSettings:
    """The options of one sink, parsed."""

    catalog: str
    catalog_properties: dict[str, str]
    tables: tuple[str, ...]
    route_field: tuple[str, ...]
    # By table: what the route field must match as a whole.
    routes: dict[str, re.Pattern[str]]
    is_dynamic: bool
    creates: bool
    create_properties: dict[str, str]
    evolves: bool
    rows: RowOptions

    def tables_of(self, record: SinkRecord) -> tuple[str, ...]:
        """The tables that a record goes to."""
        if not self.route_field:
            return tuple(_checked(named(each, record.topic)) for each in self.tables)
        route = _route(record.value, self.route_field)
        if route is None:
            return ()
        if self.is_dynamic:
            return (_checked(str(route).lower()),)
        return tuple(
            _checked(named(each, record.topic))
            for each in self.tables
            if each in self.routes and self.routes[each].fullmatch(str(route))
        )


def _checked(name: str) -> str:
    if "." not in name.strip("."):
        raise DataError(f"table {name!r} has no namespace: name it as namespace.table")
    return name


def _route(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if isinstance(value, Struct):
            field = value.schema.field(name)
            value = None if field is None else value.get(field)
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def problems_of(config: Mapping[str, str]) -> list[ConfigProblem]:
    """Options that are set but not supported."""
    found = []
    for name, value in config.items():
        is_part = name.startswith("iceberg.table.") and name.endswith(_UNSUPPORTED_PARTS)
        reason = _UNSUPPORTED.get(name) or ("see iceberg.tables.default-*" if is_part else None)
        if name.startswith("iceberg.hadoop"):
            reason = "storage is configured by PyIceberg's properties below iceberg.catalog."
        if reason and value not in ("", "false"):
            found.append(ConfigProblem(name, f"{name}={value} is not supported: {reason}"))
    return found


def parse(config: Mapping[str, str]) -> IcebergSettings:
    """The settings in ``config``.

    Raises:
        ConfigError: an option is invalid, or does not go with another.
    """
    values = DEFINITION.parse(config)
    tables, route = tuple(values["iceberg.tables"]), values["iceberg.tables.route-field"] or ""
    is_dynamic = values["iceberg.tables.dynamic-enabled"]
    if is_dynamic and not route:
        name = "iceberg.tables.dynamic-enabled"
        raise invalid(name, "true", "set iceberg.tables.route-field to the field with the table")
    if not tables and not is_dynamic:
        raise invalid("iceberg.tables", "", "name at least one table, as namespace.table")
    for table in tables:
        if "." not in table:
            raise invalid("iceberg.tables", table, "name the namespace too, as namespace.table")
    routes = {}
    for name, value in config.items():
        found = _ROUTE.fullmatch(name)
        if found:
            try:
                routes[found[1]] = re.compile(value)
            except re.error as error:
                raise invalid(name, value, f"no regular expression: {error}") from None
    return IcebergSettings(
        catalog=values["iceberg.catalog"],
        catalog_properties=_below(CATALOG, config),
        tables=tables,
        route_field=tuple(route.split(".")) if route else (),
        routes=routes,
        is_dynamic=is_dynamic,
        creates=values["iceberg.tables.auto-create-enabled"],
        create_properties=_below(_CREATE_PROPERTIES, config),
        evolves=values["iceberg.tables.evolve-schema-enabled"],
        rows=parse_options(values, ICEBERG),
    )


def _below(prefix: str, config: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }
