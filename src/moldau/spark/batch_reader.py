"""The reader of a batch query: the records between two offsets of each partition."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.spark.offsets import OffsetRange, ranges_between
from moldau.spark.options import SourceOptions
from moldau.spark.positions import Positions
from moldau.spark.pushdown import Bounds, push_filters
from moldau.spark.reading import HowToRead, ReadTask, cluster_of, read_task
from moldau.spark.tasks import plan_tasks
from moldau.spark.worker_garbage import freeze_modules


class MoldauReader(DataSourceReader):
    """A batch query, from the starting to the ending offsets at the time it is planned."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._bounds = Bounds()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        self._bounds, left = push_filters(filters)
        return left

    def partitions(self) -> list[InputPartition]:
        with pipeline_errors():
            ranges = self._ranges()
        tasks = plan_tasks(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records_per_partition=self._options.max_records_per_partition,
        )
        moment_ms = self._bounds.min_timestamp_ms
        freeze_modules()
        return [ReadTask(tuple(each), moment_ms) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Spark adds a task itself if there is nothing to read.
        if not isinstance(partition, ReadTask):
            return iter(())
        how = HowToRead(self._options.client, self._options.fail_on_data_loss)
        return read_task(partition, how, to_arrow_schema(self._schema, timezone="UTC"))

    def _ranges(self) -> list[OffsetRange]:
        positions = Positions(cluster_of(self._options.client), self._options)
        # All partitions: explicit offsets must be given for every one.
        wanted = positions.partitions()
        starts = positions.starting(wanted)
        ends = positions.ending(wanted)
        left = [each for each in wanted if self._bounds.includes(each)]
        ranges, gaps = ranges_between(
            {each: starts[each] for each in left}, {each: ends[each] for each in left}
        )
        if gaps and self._is_named():
            partition = gaps[0].partition
            raise PipelineError(
                f"{partition} would be read from {starts[partition]} to {ends[partition]}: "
                "the starting offset must not be greater than the ending offset"
            )
        ranges = [self._bounds.cut(each) for each in ranges]
        moment_ms = self._bounds.min_timestamp_ms
        if moment_ms is not None and ranges:
            first = positions.not_before([each.partition for each in ranges], moment_ms)
            ranges = [
                each._replace(start=min(max(each.start, first[each.partition]), each.end))
                for each in ranges
            ]
        return ranges

    def _is_named(self) -> bool:
        """Whether both ends are explicit offsets, so that a wrong order is the user's error."""
        return None not in (self._options.starting.offsets, self._options.ending.offsets)
