"""The stream of a sink in Spark: which offsets to read, not the records.

Planning is that of ``format("moldau")``: what is new, within the limits, and never past a gap. But
the tasks that write also read, so records go from the broker to the sink in one process, and only
ranges of offsets pass through the JVM.
"""

import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from moldau.ids import TopicPartition
from moldau.spark.offsets import decode_offset
from moldau.spark.options import COLUMNS, SourceOptions, parse_source_options
from moldau.spark.reading import HowToRead, ReadTask, read_task
from moldau.spark.schema import source_schema
from moldau.spark.stream_reader import MoldauStreamReader
from moldau.spark.worker_garbage import freeze_modules

FORMAT: Final = "moldau-connect-topics"
# How often at most there is a batch, unless there is more than one batch may have.
INTERVAL_MS: Final = "interval"
_LONGEST_WAIT_S: Final = 1.0


class TopicRanges(DataSource):
    """The format in which the engine reads the topics of a sink; options as in ``moldau``."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return "task binary"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        interval_ms = int(self.options.get(INTERVAL_MS, "0"))
        given = {name: self.options[name] for name in self.options if name != INTERVAL_MS}
        options = parse_source_options(given, is_streaming=True)
        return RangeStreamReader(options, schema, Pace(interval_ms / 1000))


class Pace:
    """When the next batch is due: at once if the last one has left records, else one interval
    after that began. So a backlog is worked off without a pause, and single records do not make
    a batch each.
    """

    def __init__(self, interval_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self._interval_s = interval_s
        self._now_s = now_s
        self._due_s = now_s()

    def left_s(self) -> float:
        return self._due_s - self._now_s()

    def begun(self, *, has_left: bool) -> None:
        self._due_s = self._now_s() + (0.0 if has_left else self._interval_s)


class RangeStreamReader(MoldauStreamReader):
    """Plans as its base does, but waits itself, and returns the plan instead of the records."""

    def __init__(self, options: SourceOptions, schema: StructType, pace: Pace) -> None:
        super().__init__(options, schema)
        self._pace = pace

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        left_s = self._pace.left_s()
        if left_s > 0:
            # Not for longer: a query that is stopped waits for this.
            time.sleep(min(left_s, _LONGEST_WAIT_S))
            if left_s > _LONGEST_WAIT_S:
                return start
        planned = super().latestOffset(start, limit)
        end = decode_offset(planned).offsets
        has_left = any(last > end.get(each, last) for each, last in (self._latest or {}).items())
        self._pace.begun(has_left=has_left and planned != start)
        return planned

    def read(self, partition: InputPartition) -> Iterator[Any]:
        yield (pickle.dumps(partition),)
        freeze_modules()


class RangeInput:
    """The records of a writing task, read as they are needed."""

    def __init__(self, rows: Iterator[pa.RecordBatch], options: Mapping[str, str]) -> None:
        """``rows`` of the format above, and the options that it was given."""
        parsed = parse_source_options(options, is_streaming=True)
        self._how = HowToRead(parsed.client, fail_on_data_loss=True)
        self._schema = to_arrow_schema(source_schema(COLUMNS), timezone="UTC")
        self._tasks: list[ReadTask] = [
            pickle.loads(task) for batch in rows for task in batch.column("task").to_pylist()
        ]
        self.records = 0
        self.is_complete = False

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The records, partition by partition, in order."""
        for task in self._tasks:
            for batch in read_task(task, self._how, self._schema):
                self.records += batch.num_rows
                yield batch
        self.is_complete = True

    def next_offsets(self) -> dict[TopicPartition, int]:
        """How far the partitions are read, also where no record is: markers, compacted gaps."""
        ends: dict[TopicPartition, int] = {}
        for task in self._tasks:
            for each in task.ranges:
                ends[each.partition] = max(each.end, ends.get(each.partition, 0))
        return ends
