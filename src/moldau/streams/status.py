"""The status of an app, from its checkpoints and the end offsets of its topics."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moldau.client.admin import Admin
from moldau.client.offsets import LATEST
from moldau.ids import TopicPartition
from moldau.spark.offsets import Offsets, count_new
from moldau.streams.checkpoints import QueryCheckpoint, read_checkpoint
from moldau.streams.queries import Query
from moldau.streams.run_lock import running_process
from moldau.streams.topics import source_topics, streamed_topics, topic_of


@dataclass(frozen=True)
class QueryStatus:
    """The status of one query, whether it is running or not."""

    query: str
    reads: list[str]
    writes: str
    is_internal: bool
    checkpoint: QueryCheckpoint
    # Records that are not processed yet; None if a topic does not exist.
    lag: int | None

    def as_json(self) -> dict[str, Any]:
        saved = self.checkpoint
        return {
            "query": self.query,
            "reads": self.reads,
            "writes": self.writes,
            "internal": self.is_internal,
            "committed_batch": saved.committed_batch,
            "open_batch": saved.open_batch,
            "planned_ms": saved.planned_ms,
            "watermark_ms": saved.watermark_ms,
            "lag": self.lag,
            "offsets": [
                {"topic": each.topic, "partition": each.partition, "offset": offset}
                for each, offset in sorted(saved.offsets.items())
            ],
        }


@dataclass(frozen=True)
class AppStatus:
    """The status of an app and its queries."""

    app: str
    checkpoint_dir: str
    # The id of the process that runs it on this machine, if any.
    process: int | None
    queries: list[QueryStatus]

    def as_json(self) -> dict[str, Any]:
        return {
            "app": self.app,
            "checkpoint_dir": self.checkpoint_dir,
            "process": self.process,
            "queries": [each.as_json() for each in self.queries],
        }


def read_status(admin: Admin, app: str, folder: Path, queries: Sequence[Query]) -> AppStatus:
    """The status of an app whose checkpoints are in ``folder``.

    Raises:
        PipelineError: a checkpoint cannot be parsed.
        ApiError, ConnectionFailed: the offsets cannot be read from the brokers.
    """
    existing = {each.name: each for each in admin.list_topics()}
    wanted = sorted(set().union(*map(source_topics, queries)) & existing.keys())
    partitions = [
        TopicPartition(name, each.partition)
        for name in wanted
        for each in existing[name].partitions
    ]
    found = admin.list_offsets(dict.fromkeys(partitions, LATEST), read_committed=True)
    ends = {partition: each.offset for partition, each in found.items()}
    return AppStatus(
        app,
        str(folder),
        running_process(folder),
        [_query_status(query, folder / query.name, ends) for query in queries],
    )


def _query_status(query: Query, folder: Path, ends: Offsets) -> QueryStatus:
    checkpoint = read_checkpoint(folder)
    return QueryStatus(
        query.name,
        sorted(source_topics(query)),
        topic_of(query),
        query.is_cut,
        checkpoint,
        query_lag(streamed_topics(query), checkpoint.offsets, ends),
    )


def query_lag(topics: set[str], offsets: Offsets, ends: Offsets) -> int | None:
    """The number of records of ``topics`` after ``offsets``; None if a topic does not exist."""
    if not topics <= {each.topic for each in ends}:
        return None
    mine = {each: end for each, end in ends.items() if each.topic in topics}
    return count_new(offsets, mine)
