"""Kafka Connect on Apache Spark: workers, and what connectors are written with.

    from moldau.connect import ConfigDef, ConfigType, SinkConnector

    class Lines(SinkConnector):
        config = ConfigDef().define("file", ConfigType.STRING, doc="The file to append to.")
        ...

The names in ``__all__`` are the public API (docs/connectors.md); the submodules are private. A name
is imported when it is first used: a worker answers before all of them are there.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.connect.config.definition import ConfigDef
    from moldau.connect.config.definition import Type as ConfigType
    from moldau.connect.connector import (
        AT_LEAST_ONCE,
        EXACTLY_ONCE,
        ConfigProblem,
        OffsetReader,
        SinkConnector,
        SinkTask,
        SourceConnector,
    )
    from moldau.connect.data.errors import ConnectError, DataError, RetriableError
    from moldau.connect.data.headers import Header
    from moldau.connect.data.record import SinkRecord, SourceRecord
    from moldau.connect.data.schema import Schema, Type, array, map_of, struct
    from moldau.connect.data.struct import Struct
else:
    from importlib import import_module

    # Where each public name is defined, and by which name.
    _MODULES = {
        "AT_LEAST_ONCE": ("connector", "AT_LEAST_ONCE"),
        "EXACTLY_ONCE": ("connector", "EXACTLY_ONCE"),
        "ConfigDef": ("config.definition", "ConfigDef"),
        "ConfigProblem": ("connector", "ConfigProblem"),
        "ConfigType": ("config.definition", "Type"),
        "ConnectError": ("data.errors", "ConnectError"),
        "DataError": ("data.errors", "DataError"),
        "Header": ("data.headers", "Header"),
        "OffsetReader": ("connector", "OffsetReader"),
        "RetriableError": ("data.errors", "RetriableError"),
        "Schema": ("data.schema", "Schema"),
        "SinkConnector": ("connector", "SinkConnector"),
        "SinkRecord": ("data.record", "SinkRecord"),
        "SinkTask": ("connector", "SinkTask"),
        "SourceConnector": ("connector", "SourceConnector"),
        "SourceRecord": ("data.record", "SourceRecord"),
        "Struct": ("data.struct", "Struct"),
        "Type": ("data.schema", "Type"),
        "array": ("data.schema", "array"),
        "map_of": ("data.schema", "map_of"),
        "struct": ("data.schema", "struct"),
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _MODULES[name]
        value = getattr(import_module(f"{__name__}.{module}"), attribute)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "AT_LEAST_ONCE",
    "EXACTLY_ONCE",
    "ConfigDef",
    "ConfigProblem",
    "ConfigType",
    "ConnectError",
    "DataError",
    "Header",
    "OffsetReader",
    "RetriableError",
    "Schema",
    "SinkConnector",
    "SinkRecord",
    "SinkTask",
    "SourceConnector",
    "SourceRecord",
    "Struct",
    "Type",
    "array",
    "map_of",
    "struct",
]
