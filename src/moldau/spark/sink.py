"""``format("moldau")`` for writing: rows of a batch or of a stream into topics, at least once.

A task is done when the brokers have acknowledged all of its rows. A task that is retried writes
its rows again, so there may be duplicates after a failure; ``moldau.spark.exactly_once`` writes
streams without duplicates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from moldau.spark.errors import PipelineError
from moldau.spark.sink_options import SinkOptions, parse_sink_options
from moldau.spark.sink_schema import check_sink_schema
from moldau.spark.writing import write_rows


@dataclass
class Written(WriterCommitMessage):
    """The report of a task to the driver."""

    rows: int


class MoldauWriter(DataSourceArrowWriter):
    """Writes the result of a batch query."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(write_rows(iterator, self._options))


class MoldauStreamWriter(DataSourceStreamArrowWriter):
    """Writes the micro-batches of a streaming query."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(write_rows(iterator, self._options))


def sink_options(
    options: Mapping[str, str], schema: StructType, *, is_overwriting: bool = False
) -> SinkOptions:
    """Parse the options of a write and check them together with the columns of the rows.

    Raises:
        PipelineError: an option or a column is invalid, or the mode is overwrite.
    """
    if is_overwriting:
        raise PipelineError(
            "mode overwrite cannot be: a topic is only ever appended to; use mode append"
        )
    parsed = parse_sink_options(options)
    check_sink_schema(schema, parsed)
    return parsed
