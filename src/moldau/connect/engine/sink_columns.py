"""Records of a sink as columns, where they can be: converted and transformed all at once.

``columns_of`` has a result for a batch of one partition without headers, whose keys and values are
all of one schema, by converters and transforms that work on columns. Everything else is left to
``RecordReader``, record by record; so is a batch in which something fails, for only that finds the
record.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat

import pyarrow as pa
import pyarrow.compute as pc

from moldau.connect.data.columns import RecordColumns, values_in
from moldau.connect.data.record import SinkRecord
from moldau.connect.engine.raw_record import TIMESTAMP_TYPES
from moldau.connect.engine.stages import Stages


@dataclass(frozen=True)
class SinkPart:
    """Records of a sink (see ``connector.SinkBatch``)."""

    columns: RecordColumns | None
    records: Callable[[], Iterator[SinkRecord]]


def columns_of(batch: pa.RecordBatch, stages: Stages) -> RecordColumns | None:
    """The records of rows of ``format("moldau")``, converted and transformed; None if they have
    to be looked at one by one.
    """
    if batch.column("headers").null_count != batch.num_rows or not _is_of_one_partition(batch):
        return None
    try:
        key = stages.key.to_connect_column(batch.column("key"))
        value = stages.value.to_connect_column(batch.column("value"))
        if key is None or value is None:
            return None
        read = RecordColumns(
            batch.num_rows,
            batch.column("topic")[0].as_py(),
            batch.column("partition")[0].as_py(),
            key,
            value,
            timestamps_ms(batch),
            batch.column("offset"),
        )
        return stages.chain.apply_columns(read)
    except Exception:
        return None


def records_of(columns: RecordColumns, batch: pa.RecordBatch) -> Iterator[SinkRecord]:
    """The records one by one; ``batch`` are the rows that they were made of."""
    count = columns.count
    kinds = (TIMESTAMP_TYPES[kind] for kind in batch.column("timestampType").to_pylist())
    return map(
        SinkRecord,
        repeat(columns.topic, count),
        repeat(columns.partition),
        repeat(columns.key.schema),
        values_in(columns.key, count),
        repeat(columns.value.schema),
        values_in(columns.value, count),
        timestamps_ms(batch).to_pylist(),
        # A list of its own for each.
        ([] for _ in range(count)),
        batch.column("offset").to_pylist(),
        kinds,
        batch.column("topic").to_pylist(),
        batch.column("partition").to_pylist(),
    )


def _is_of_one_partition(batch: pa.RecordBatch) -> bool:
    return all(len(pc.unique(batch.column(name))) == 1 for name in ("topic", "partition"))


def timestamps_ms(batch: pa.RecordBatch) -> pa.Array:
    return pc.divide(batch.column("timestamp").cast(pa.int64()), 1000)
