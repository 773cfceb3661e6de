"""Sinks of lakes that fail around their first commits, as a crash of the driver would.

The first commit is not done; the second is done, but the group's offsets do not move.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moldau.connect.connector import SinkConnector
from moldau.connect.connectors.lake.delta import DeltaSink
from moldau.connect.connectors.lake.iceberg import IcebergSink
from moldau.connect.connectors.lake.parquet import ParquetSink
from moldau.ids import TopicPartition


class Crashing(SinkConnector):
    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.commits = Path(config["commits.file"])

    def commit(
        self, messages: list[Any], offsets: Mapping[TopicPartition, int], batch_id: int
    ) -> None:
        count = len(self.commits.read_text())
        self.commits.write_text("." * (count + 1))
        if count == 0:
            raise RuntimeError("before the commit")
        super().commit(messages, offsets, batch_id)
        if count == 1:
            raise RuntimeError("after the commit")


class CrashingParquet(Crashing, ParquetSink):
    pass


class CrashingDelta(Crashing, DeltaSink):
    pass


class CrashingIceberg(Crashing, IcebergSink):
    pass
