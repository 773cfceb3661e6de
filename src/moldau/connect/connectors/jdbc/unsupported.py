"""Options of Confluent's connectors that choose something we do not have (pure)."""

from collections.abc import Iterator, Mapping
from typing import Final

from moldau.connect.connector import ConfigProblem

# By option: the values that change nothing here.
_BOTH: Final[Mapping[str, tuple[str, ...]]] = {
    "db.timezone": ("UTC",),
    "date.timezone": ("UTC", "DB_TIMEZONE"),
    "date.calendar.system": ("PROLEPTIC_GREGORIAN",),
    "jdbc.credentials.provider.class": (),
}
SINK: Final[Mapping[str, tuple[str, ...]]] = {
    **_BOTH,
    "table.types": ("TABLE", "PARTITIONED TABLE", "TABLE,PARTITIONED TABLE"),
    "string.output.value.column.name": (),
    "timestamp.precision.mode": ("microseconds",),
    "timestamp.fields.list": (),
    "trim.sensitive.log": ("false",),
}
SOURCE: Final[Mapping[str, tuple[str, ...]]] = {
    **_BOTH,
    "table.types": ("TABLE",),
    "catalog.pattern": (),
    "numeric.precision.mapping": ("false",),
    "timestamp.granularity": ("connect_logical",),
    "timestamp.columns.mapping": (),
    "incrementing.column.mapping": (),
    "query.masked": (),
    "transaction.isolation.mode": ("DEFAULT", "READ_COMMITTED"),
}


def unsupported(
    options: Mapping[str, tuple[str, ...]], config: Mapping[str, str]
) -> Iterator[ConfigProblem]:
    """The options in ``config`` that ask for more than there is."""
    for name, harmless in options.items():
        value = config.get(name)
        if value is not None and value not in harmless:
            message = f"{name}={value} is an option of Confluent's connector that is not supported"
            remedy = f"remove it, or set it to {' or '.join(harmless)}" if harmless else "remove it"
            yield ConfigProblem(name, f"{message}: {remedy}")
