"""The plugins that come with Moldau: Kafka's class names, and where the code is.

Only names: a module is imported when its plugin is used, so that a worker starts without the
libraries of connectors that nobody configured.
"""

from enum import Enum
from typing import Final


class PluginType(Enum):
    """The kinds of plugins, in the order in which Kafka lists them."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    CONFIG_PROVIDER = "configprovider"


# What a name may end with and still be found without it: FileStreamSource, Json.
SUFFIXES: Final = {
    PluginType.SINK: "Connector",
    PluginType.SOURCE: "Connector",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.CONFIG_PROVIDER: "ConfigProvider",
}

_CONNECTORS: Final = "moldau.connect.connectors"
_CONVERTERS: Final = "moldau.connect.converters"
_TRANSFORMS: Final = "moldau.connect.transforms"
_KAFKA: Final = "org.apache.kafka.connect"
_NUMBERS: Final = ("Double", "Float", "Integer", "Long", "Short")

SINKS: Final = {
    f"{_KAFKA}.file.FileStreamSinkConnector": f"{_CONNECTORS}.file_sink:FileStreamSink",
    "io.moldau.connect.HttpSink": f"{_CONNECTORS}.http.sink:HttpSink",
    "io.moldau.connect.IcebergSink": f"{_CONNECTORS}.lake.iceberg:IcebergSink",
    "io.moldau.connect.JdbcSink": f"{_CONNECTORS}.jdbc.sink:JdbcSink",
    "io.moldau.connect.SqlQuery": f"{_CONNECTORS}.sql_query:SqlQuery",
    "io.moldau.connect.DeltaSink": f"{_CONNECTORS}.lake.delta:DeltaSink",
    "io.moldau.connect.ParquetSink": f"{_CONNECTORS}.lake.parquet:ParquetSink",
}
SOURCES: Final = {
    "io.moldau.connect.DirectorySource": f"{_CONNECTORS}.directory:DirectorySource",
    f"{_KAFKA}.file.FileStreamSourceConnector": f"{_CONNECTORS}.file_source:FileStreamSource",
    "io.moldau.connect.JdbcSource": f"{_CONNECTORS}.jdbc.source:JdbcSource",
    "io.moldau.connect.PostgresSource": f"{_CONNECTORS}.postgres.connector:PostgresSource",
}
# Other names for the same connectors, those of the products whose configs they understand.
CONNECTOR_ALIASES: Final[dict[str, str]] = {
    "io.confluent.connect.jdbc.JdbcSinkConnector": "io.moldau.connect.JdbcSink",
    "io.confluent.connect.jdbc.JdbcSourceConnector": "io.moldau.connect.JdbcSource",
    "io.debezium.connector.postgresql.PostgresConnector": "io.moldau.connect.PostgresSource",
    "org.apache.iceberg.connect.IcebergSinkConnector": "io.moldau.connect.IcebergSink",
}

CONVERTERS: Final = {
    f"{_KAFKA}.json.JsonConverter": f"{_CONVERTERS}.json_converter:JsonConverter",
    f"{_KAFKA}.storage.StringConverter": f"{_CONVERTERS}.string:StringConverter",
    f"{_KAFKA}.converters.ByteArrayConverter": f"{_CONVERTERS}.byte_array:ByteArrayConverter",
    f"{_KAFKA}.converters.BooleanConverter": f"{_CONVERTERS}.primitives:BooleanConverter",
} | {
    f"{_KAFKA}.converters.{number}Converter": f"{_CONVERTERS}.primitives:{number}Converter"
    for number in _NUMBERS
}
AVRO_CONVERTER: Final = {
    "io.confluent.connect.avro.AvroConverter": f"{_CONVERTERS}.avro:AvroConverter",
}
HEADER_CONVERTERS: Final = CONVERTERS | {
    f"{_KAFKA}.storage.SimpleHeaderConverter": f"{_CONVERTERS}.simple_header:SimpleHeaderConverter",
}

# Transforms of keys and values are nested classes in Kafka: Cast$Key, Cast$Value.
_KEY_AND_VALUE: Final = {
    "Cast": "cast",
    "ExtractField": "extract_field",
    "Flatten": "flatten",
    "HeaderFrom": "header_from",
    "HoistField": "hoist_field",
    "InsertField": "insert_field",
    "MaskField": "mask_field",
    "ReplaceField": "replace_field",
    "SetSchemaMetadata": "set_schema_metadata",
    "TimestampConverter": "timestamp_converter",
}
_WHOLE_RECORD: Final = {
    "DropHeaders": "drop_headers",
    "Filter": "filter",
    "InsertHeader": "insert_header",
    "RegexRouter": "regex_router",
    "TimestampRouter": "timestamp_router",
    "ValueToKey": "value_to_key",
}
TRANSFORMS: Final = {
    f"{_KAFKA}.transforms.{name}${part}": f"{_TRANSFORMS}.{module}:{name}{part}"
    for name, module in _KEY_AND_VALUE.items()
    for part in ("Key", "Value")
} | {
    f"{_KAFKA}.transforms.{name}": f"{_TRANSFORMS}.{module}:{name}"
    for name, module in _WHOLE_RECORD.items()
}
# What nearly every pipeline has that reads changes of tables.
TRANSFORMS["io.debezium.transforms.ExtractNewRecordState"] = (
    f"{_TRANSFORMS}.extract_new_record_state:ExtractNewRecordState"
)
PREDICATES: Final = {
    f"{_KAFKA}.transforms.predicates.{name}": f"{_TRANSFORMS}.predicates:{name}"
    for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
}
CONFIG_PROVIDERS: Final = {
    f"org.apache.kafka.common.config.provider.{name}": f"moldau.connect.providers:{name}"
    for name in ("DirectoryConfigProvider", "EnvVarConfigProvider", "FileConfigProvider")
}

BUILT_IN: Final[dict[PluginType, dict[str, str]]] = {
    PluginType.SINK: SINKS,
    PluginType.SOURCE: SOURCES,
    PluginType.TRANSFORMATION: TRANSFORMS,
    PluginType.PREDICATE: PREDICATES,
    PluginType.CONVERTER: CONVERTERS | AVRO_CONVERTER,
    PluginType.HEADER_CONVERTER: HEADER_CONVERTERS,
    PluginType.CONFIG_PROVIDER: CONFIG_PROVIDERS,
}
