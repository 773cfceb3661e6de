"""``format("moldau")``: the data source class that Spark calls for reading and for writing.

Spark pickles this class and calls it in separate Python processes: ``schema`` and planning in
short-lived ones, a stream's reader in one that runs as long as the query, ``read`` in the workers
of the tasks. So constructors must not open connections. And queries wait for a process that only
asks for the schema: readers and writers, which need Arrow, are imported when they are made.
"""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from moldau.spark.options import parse_columns, parse_source_options
from moldau.spark.schema import check_schema, source_schema


class MoldauDataSource(DataSource):
    """Topics of Moldau or Apache Kafka as DataFrames."""

    @classmethod
    def name(cls) -> str:
        return "moldau"

    def schema(self) -> StructType:
        return source_schema(parse_columns(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        from moldau.spark.batch_reader import MoldauReader

        check_schema(schema)
        return MoldauReader(parse_source_options(self.options, is_streaming=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from moldau.spark.stream_reader import MoldauStreamReader

        check_schema(schema)
        return MoldauStreamReader(parse_source_options(self.options, is_streaming=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from moldau.spark.sink import MoldauWriter, sink_options

        return MoldauWriter(sink_options(self.options, schema, is_overwriting=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from moldau.spark.sink import MoldauStreamWriter, sink_options

        return MoldauStreamWriter(sink_options(self.options, schema, is_overwriting=overwrite))
