"""The reader of a streaming query: new records at each trigger, within the limits, each once.

It runs on the driver, in a separate Python process for as long as the query runs. For each batch
Spark asks for the end offset (``latestOffset``) and the tasks (``partitions``), and reports when
the batch is done (``commit``).
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.spark.offsets import (
    MADE_ANEW,
    Gap,
    OffsetRange,
    Offsets,
    StreamOffset,
    advance,
    clamp,
    count_new,
    decode_offset,
    encode_offset,
    go_on,
    is_another,
    limit_offsets,
    ranges_between,
)
from moldau.spark.options import SourceOptions
from moldau.spark.positions import Positions
from moldau.spark.progress import GroupProgress
from moldau.spark.reading import HowToRead, ReadTask, cluster_of, read_task
from moldau.spark.tasks import plan_tasks


class MoldauStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming query over the partitions that it subscribes to, including new ones."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._positions: Positions | None = None
        self._initial: StreamOffset | None = None
        self._progress: GroupProgress | None = None
        # With Trigger.AvailableNow: the end offsets when the query started.
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        # The first batch never waits for more records.
        self._last_trigger_s: float | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        # Spark asks again until the first batch is done, and expects the same offsets.
        if self._initial is None:
            with pipeline_errors():
                positions = self._ask()
                starting = positions.starting(positions.partitions())
                ids = positions.topic_ids(starting)
                self._initial = StreamOffset(starting, is_initial=True, topic_ids=ids)
        return encode_offset(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        with pipeline_errors():
            self._target = self._fetch_latest()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        position = decode_offset(start)
        if not position.is_initial:
            # Everything before ``start`` is done. Spark calls commit() only with the next batch,
            # and not at all after the last one.
            self._commit(position)
        with pipeline_errors():
            latest = self._fetch_latest()
            self._latest = latest
            known = go_on(position, latest, self._ask().topic_ids(latest), self._ask().why_gone)
            # The last chance: the result is in the checkpoint before partitions() is called.
            self._report(known.gaps)
            begin = self._with_new_partitions(known.begin, latest)
            self._report(ranges_between(begin, latest)[1])
        if self._target is not None:
            latest = {**known.begin, **clamp(latest, self._target)}
            begin = {each: begin[each] for each in latest}
            if position.is_initial:
                # Records may have been appended between the two requests.
                latest = {each: max(end, begin[each]) for each, end in latest.items()}
        if self._is_too_little(count_new(begin, latest)):
            return start
        self._last_trigger_s = time.monotonic()
        if isinstance(limit, ReadMaxRows):
            latest = limit_offsets(begin, latest, limit.max_rows)
        reached = StreamOffset(latest, topic_ids=known.topic_ids, gone=known.gone)
        return encode_offset(advance(position, begin, reached))

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._latest is None else encode_offset(StreamOffset(self._latest))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        ended = decode_offset(end)
        if ended.is_initial:
            # There were no records when the first batch was planned; Spark runs it anyway.
            return []
        begin = decode_offset(start)
        if ended.start is not None:
            begin = StreamOffset(ended.start, topic_ids=ended.topic_ids)
        with pipeline_errors():
            ranges = self._ranges(begin, ended)
            ids = self._ask().topic_ids(each.partition for each in ranges)
        tasks = plan_tasks(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records_per_partition=self._options.max_records_per_partition,
        )
        return [ReadTask(tuple(each), topic_ids=ids) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ReadTask), partition
        how = HowToRead(self._options.client, self._options.fail_on_data_loss)
        return read_task(partition, how, to_arrow_schema(self._schema, timezone="UTC"))

    def commit(self, end: dict[str, Any]) -> None:
        self._commit(decode_offset(end))

    def _commit(self, position: StreamOffset) -> None:
        if self._options.group_id is None:
            return
        if self._progress is None:
            cluster = cluster_of(self._options.client)
            self._progress = GroupProgress(cluster, self._options.group_id)
        self._progress.commit(position.offsets)

    def _ask(self) -> Positions:
        if self._positions is None:
            self._positions = Positions(cluster_of(self._options.client), self._options)
        return self._positions

    def _fetch_latest(self) -> Offsets:
        positions = self._ask()
        try:
            return positions.latest(positions.partitions())
        except ApiError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
        # A topic was deleted between two requests. A pattern no longer matches it, so its records
        # are reported as lost; a topic that is named is missing this time as well.
        return positions.latest(positions.partitions())

    def _ranges(self, begin: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
        """The ranges of a batch in the checkpoint, planned by this run or an earlier one."""
        known = go_on(begin, end.offsets, end.topic_ids, self._ask().why_gone)
        spoiled = [each for each in known.gaps if each.partition not in {**end.offsets, **end.gone}]
        if spoiled:
            partition, reason = spoiled[0]
            raise PipelineError(
                f"a batch was planned that leaves out {partition}: {reason}. To take the batch "
                "back, delete the newest file in offsets/ of the checkpoint if commits/ has none "
                "of that name"
            )
        starting = self._with_new_partitions(known.begin, end.offsets)
        ranges, gaps = ranges_between(starting, end.offsets)
        ids = self._ask().topic_ids(end.offsets)
        lost = [each for each in ranges if is_another(end.topic_ids, ids, each.partition.topic)]
        self._report([*gaps, *(Gap(each.partition, MADE_ANEW) for each in lost)])
        return [each for each in ranges if each not in lost]

    def _with_new_partitions(self, begin: Offsets, end: Offsets) -> Offsets:
        """``begin``, and the first offsets of partitions that were added since."""
        new = [partition for partition in end if partition not in begin]
        if not new:
            return begin
        earliest = self._ask().earliest(new)
        late = [(each, first) for each, first in sorted(earliest.items()) if first > 0]
        self._report([Gap(each, f"it is new and begins at {first}, not 0") for each, first in late])
        return {**begin, **earliest}

    def _is_too_little(self, count: int) -> bool:
        """Whether to wait for more records (minOffsetsPerTrigger and maxTriggerDelay)."""
        least = self._options.min_offsets_per_trigger
        # AvailableNow reads no more than it found at the start.
        if least is None or count >= least or self._target is not None:
            return False
        if self._last_trigger_s is None:
            return False
        waited_ms = (time.monotonic() - self._last_trigger_s) * 1000
        return waited_ms < self._options.max_trigger_delay_ms

    def _report(self, gaps: Sequence[Gap]) -> None:
        """Fail if unread records are lost, unless failOnDataLoss is false."""
        if gaps and self._options.fail_on_data_loss:
            partition, reason = gaps[0]
            raise PipelineError(
                f"records of {partition} may be lost: {reason}. With failOnDataLoss=false the "
                "query continues with the records that remain"
            )
