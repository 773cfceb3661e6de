"""A process that writes Parquet files without end, from where it left off, until it is killed.

python -m tests.connect.lake.endless_writer PATH
"""

import sys

from moldau.connect.connectors.lake.parquet import ParquetSink
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, order

PARTITIONS = 3
# Of each partition in a batch; two files of it at the most.
ROWS = 50


def main(path: str) -> None:
    sink = Driven(ParquetSink, {"path": path, "flush.size": str(ROWS // 2)})
    stored = sink.offsets or {}
    ends = [stored.get(TopicPartition("orders", each), 0) for each in range(PARTITIONS)]
    while True:
        batch = [
            order(number, partition=each, id=number * PARTITIONS + each)
            for each, end in enumerate(ends)
            for number in range(end, end + ROWS)
        ]
        sink.write(*batch)
        ends = [end + ROWS for end in ends]


if __name__ == "__main__":
    main(sys.argv[1])
