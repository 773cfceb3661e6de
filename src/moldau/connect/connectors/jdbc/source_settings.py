"""The options of the polling source, with Confluent's names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moldau.connect.config.definition import (
    ConfigDef,
    Importance,
    NonEmptyString,
    Range,
    Type,
    ValidString,
    invalid,
)
from moldau.connect.connectors.jdbc.sink_settings import connection_options, target
from moldau.connect.connectors.jdbc.url import Target

MODES: Final = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")


def _definition() -> ConfigDef:
    definition = connection_options(ConfigDef())

    def define(name: str, kind: Type, default: Any, doc: str, validator: Any = None) -> None:
        definition.define(name, kind, default, validator, doc=doc, group="Mode")

    definition.define(
        "mode",
        Type.STRING,
        validator=ValidString(*MODES),
        importance=Importance.HIGH,
        doc="How new rows are found: all rows each time, by a growing column, by a timestamp.",
        group="Mode",
    )
    definition.define(
        "topic.prefix",
        Type.STRING,
        validator=NonEmptyString(),
        importance=Importance.HIGH,
        doc="Comes before the table's name; with a query, the name of the topic.",
        group="Mode",
    )
    none = ValidString("none", "best_fit", "precision_only", "best_fit_eager_double")
    define("incrementing.column.name", Type.STRING, "", "A column that only grows, as an id.")
    define(
        "timestamp.column.name", Type.LIST, "", "Columns of the last change; the first not null."
    )
    define("timestamp.initial", Type.LONG, None, "Where to begin, in ms since 1970; -1 is now.")
    define("timestamp.delay.interval.ms", Type.LONG, 0, "Leave out the newest rows.", Range(0))
    define("validate.non.null", Type.BOOLEAN, True, "These columns must be NOT NULL.")
    define("query", Type.STRING, "", "A query to poll instead of tables.")
    define("query.suffix", Type.STRING, "", "Is appended to each query.")
    define("table.whitelist", Type.LIST, "", "Tables to poll: all by default.")
    define("table.include.list", Type.LIST, "", "The same.")
    define("table.blacklist", Type.LIST, "", "Tables not to poll.")
    define("table.exclude.list", Type.LIST, "", "The same.")
    define("schema.pattern", Type.STRING, None, "The schema of the tables: public by default.")
    define("table.poll.interval.ms", Type.LONG, 60_000, "How often tables are listed.", Range(0))
    define("poll.interval.ms", Type.INT, 5000, "How often a table is polled.", Range(0))
    define("batch.max.rows", Type.INT, 100, "Rows in one batch.", Range(1))
    define("numeric.mapping", Type.STRING, "none", "How numerics are written.", none)
    define("quote.sql.identifiers", Type.STRING, "always", "Names are quoted.", _ALWAYS)
    return definition


_ALWAYS: Final = ValidString("always")
DEFINITION: Final = _definition()


@dataclass(frozen=True)
class SourceSettings:
    """The options of one source, parsed."""

    target: Target
    mode: str
    prefix: str
    incrementing: str
    timestamps: tuple[str, ...]
    initial_ms: int | None
    delay_ms: int
    requires_not_null: bool
    query: str
    suffix: str
    included: tuple[str, ...]
    excluded: tuple[str, ...]
    schema: str | None
    table_poll_ms: int
    poll_ms: int
    batch_rows: int
    numeric: str

    @property
    def has_timestamp(self) -> bool:
        return self.mode.startswith("timestamp")

    @property
    def has_incrementing(self) -> bool:
        return self.mode.endswith("incrementing")


def parse(config: Mapping[str, str]) -> SourceSettings:
    """The settings in ``config``.

    Raises:
        ConfigError: for the first option that is invalid, or does not go with another.
    """
    values = DEFINITION.parse(config)
    included = (*values["table.whitelist"], *values["table.include.list"])
    excluded = (*values["table.blacklist"], *values["table.exclude.list"])
    mode = values["mode"]
    if included and excluded:
        raise invalid("table.blacklist", ",".join(excluded), "Tables are included, or excluded")
    if values["query"] and (included or excluded):
        raise invalid("query", values["query"], "With a query, no tables can be named")
    if mode.startswith("timestamp") and not values["timestamp.column.name"]:
        raise invalid("timestamp.column.name", "", f"mode={mode} needs a column")
    if mode.endswith("incrementing") and values["query"] and not values["incrementing.column.name"]:
        raise invalid("incrementing.column.name", "", "With a query, it cannot be found")
    return SourceSettings(
        target=target(values),
        mode=mode,
        prefix=values["topic.prefix"],
        incrementing=values["incrementing.column.name"],
        timestamps=tuple(values["timestamp.column.name"]),
        initial_ms=values["timestamp.initial"],
        delay_ms=values["timestamp.delay.interval.ms"],
        requires_not_null=values["validate.non.null"],
        query=values["query"],
        suffix=values["query.suffix"],
        included=included,
        excluded=excluded,
        schema=values["schema.pattern"],
        table_poll_ms=values["table.poll.interval.ms"],
        poll_ms=values["poll.interval.ms"],
        batch_rows=values["batch.max.rows"],
        numeric=values["numeric.mapping"],
    )
