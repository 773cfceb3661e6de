"""The topics of a cluster as SQL needs them: names, offsets, and a few records to look at."""

from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from moldau.client.cluster import TopicMetadata
from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.ids import TopicPartition
from moldau.sql.settings import SqlSettings

# Samples: enough to see several schemas, and little to read each time.
_SAMPLE_BYTES: Final = 32 * 1024
_SAMPLED_PARTITIONS: Final = 8
_LAST_RECORDS: Final = 20
_FIRST_RECORDS: Final = 20


class Samples(NamedTuple):
    """Some of the first and of the last records of a topic, the oldest first."""

    records: tuple[ConsumerRecord, ...]

    @property
    def keys(self) -> list[bytes | None]:
        return [each.key for each in self.records]

    @property
    def values(self) -> list[bytes | None]:
        return [each.value for each in self.records]


class TopicCatalog:
    """Asks the brokers; keeps its connections. Use as a context manager, or call ``close()``."""

    def __init__(self, settings: SqlSettings) -> None:
        self._consumer = Consumer(
            settings.bootstrap,
            client_id="moldau-sql",
            max_partition_bytes=_SAMPLE_BYTES,
            max_wait_ms=0,
            read_committed=True,
            timeout_s=settings.timeout_s,
            security=settings.parsed_security(),
        )

    def topics(self, *, include_internal: bool = False) -> list[TopicMetadata]:
        """All topics, by name.

        Raises:
            ConnectionFailed: no broker answers.
        """
        cluster = self._consumer.cluster
        # Topics that were deleted stay in the client's cache otherwise.
        cluster.forget(list(cluster.topics))
        cluster.retrying(lambda: cluster.refresh(None), ())
        found = sorted(cluster.topics.values(), key=lambda each: each.name)
        return [each for each in found if include_internal or not each.is_internal]

    def cluster_id(self) -> str | None:
        cluster = self._consumer.cluster
        cluster.retrying(lambda: cluster.refresh(()), ())
        return cluster.cluster_id

    def names(self, *, include_internal: bool = True) -> list[str]:
        return [each.name for each in self.topics(include_internal=include_internal)]

    def partitions(self, topic: str) -> list[TopicPartition]:
        return self._consumer.partitions_of(topic)

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._consumer.offsets_at(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The end of what has been committed."""
        return self._consumer.offsets_at(dict.fromkeys(partitions, LATEST))

    def first_after(
        self, partitions: Iterable[TopicPartition], moment_ms: int
    ) -> dict[TopicPartition, int]:
        """The offset of the first record that is younger than a moment, or else the end."""
        return self._consumer.offsets_at(dict.fromkeys(partitions, moment_ms + 1))

    def first_timestamp_ms(self, partitions: Iterable[TopicPartition]) -> int | None:
        """The time of the oldest record that is left; None if there are none."""
        found = list_offsets(
            self._consumer.cluster, dict.fromkeys(partitions, 0), read_committed=True
        )
        times = [each.timestamp for each in found.values() if each.offset >= 0]
        return min(times, default=None)

    def samples(self, topic: str) -> Samples:
        """The first and the last records of some of the topic's partitions."""
        chosen = self.partitions(topic)[:_SAMPLED_PARTITIONS]
        starts, ends = self.earliest(chosen), self.latest(chosen)
        there = [each for each in chosen if starts[each] < ends[each]]
        if not there:
            return Samples(())
        records = self._read({each: starts[each] for each in there})[: _FIRST_RECORDS * len(there)]
        seen = {(each.partition, each.offset) for each in records}
        tails = {each: max(starts[each], ends[each] - _LAST_RECORDS) for each in there}
        records += [each for each in self._read(tails) if (each.partition, each.offset) not in seen]
        return Samples(tuple(sorted(records, key=lambda each: each.timestamp)))

    def _read(self, positions: dict[TopicPartition, int]) -> list[ConsumerRecord]:
        self._consumer.assign(positions)
        try:
            return self._consumer.poll(timeout_s=0)
        finally:
            self._consumer.assign({})

    def close(self) -> None:
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
