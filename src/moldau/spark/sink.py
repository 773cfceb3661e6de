"""``format("moldau")`` for writing: rows of a batch or of a stream into topics, at least once.

Each task writes its rows and is done when the brokers have all of them. A task that is tried
again writes again, so a row may be there twice after a failure; for streams that must not have
that there is ``moldau.spark.exactly_once``.
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
    """What a task tells the driver when it is done."""

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
    """The options of a write, checked together with the columns that are to be written.

    Raises:
        PipelineError: an option or a column is wrong, or what is there would be overwritten.
    """
    if is_overwriting:
        raise PipelineError(
            "mode overwrite cannot be: a topic is only ever appended to; use mode append"
        )
    parsed = parse_sink_options(options)
    check_sink_schema(schema, parsed)
    return parsed
