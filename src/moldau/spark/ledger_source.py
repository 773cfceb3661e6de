"""``format("moldau-ledger")``: reads a topic whose writer keeps a ledger (``batch_ledger``).

It has the options and columns of ``format("moldau")``, and ``ledger``, the topic of the ledger.
Dead records are not even fetched: tasks get only the offsets that count.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from moldau.spark.batch_ledger import Ledger, LedgerTopic
from moldau.spark.batch_reader import MoldauReader
from moldau.spark.client_options import ClientOptions
from moldau.spark.errors import PipelineError, pipeline_errors
from moldau.spark.offsets import Offsets
from moldau.spark.options import SourceOptions, parse_source_options
from moldau.spark.reading import ReadTask, cluster_of
from moldau.spark.schema import check_schema
from moldau.spark.source import MoldauDataSource
from moldau.spark.stream_reader import MoldauStreamReader

if TYPE_CHECKING:
    from collections.abc import Mapping

LEDGER: Final = "ledger"


class LedgerDataSource(MoldauDataSource):
    """Internal topics: written and read only by this package."""

    @classmethod
    def name(cls) -> str:
        return "moldau-ledger"

    def reader(self, schema: StructType) -> DataSourceReader:
        check_schema(schema)
        options, ledger = self._parsed(is_streaming=False)
        return LedgerReader(options, schema, ledger)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        check_schema(schema)
        options, ledger = self._parsed(is_streaming=True)
        return LedgerStreamReader(options, schema, ledger)

    def _parsed(self, *, is_streaming: bool) -> tuple[SourceOptions, str]:
        given: Mapping[str, str] = self.options
        others = {name: value for name, value in given.items() if name.lower() != LEDGER}
        return parse_source_options(others, is_streaming=is_streaming), given[LEDGER]


class LedgerReader(MoldauReader):
    """A batch query, up to the last batch in the ledger."""

    def __init__(self, options: SourceOptions, schema: StructType, ledger: str) -> None:
        super().__init__(options, schema)
        self._ledger = _LedgerOf(options.client, ledger)

    def partitions(self) -> list[InputPartition]:
        return counting(super().partitions(), self._ledger.read())


class LedgerStreamReader(MoldauStreamReader):
    """A streaming query, up to the last batch in the ledger."""

    def __init__(self, options: SourceOptions, schema: StructType, ledger: str) -> None:
        super().__init__(options, schema)
        self._ledger = _LedgerOf(options.client, ledger)

    def partitions(
        self, start: "dict[str, object]", end: "dict[str, object]"
    ) -> Sequence[InputPartition]:
        return counting(super().partitions(start, end), self._ledger.read())

    def _fetch_latest(self) -> Offsets:
        latest = super()._fetch_latest()
        ends = self._ledger.read().ends
        # A partition that is not in the ledger is new, and none of its records count yet.
        return {each: min(last, ends.get(each.partition, 0)) for each, last in latest.items()}


class _LedgerOf:
    """The ledger of a reader on the driver; opened at the first read."""

    def __init__(self, client: ClientOptions, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._opened: LedgerTopic | None = None

    def read(self) -> Ledger:
        with pipeline_errors():
            if self._opened is None:
                self._opened = LedgerTopic(cluster_of(self._client), self._topic)
            ledger = self._opened.read()
        if ledger is None:
            raise PipelineError(f"{self._topic} says nothing yet: start the app that writes it")
        return ledger


def counting(tasks: Sequence[InputPartition], ledger: Ledger) -> list[InputPartition]:
    """``tasks`` with only the offsets that count; tasks without any are left out."""
    found: list[InputPartition] = []
    for task in tasks:
        assert isinstance(task, ReadTask), task
        ranges = ledger.alive(task.ranges)
        if ranges:
            found.append(replace(task, ranges=tuple(ranges)))
    return found
