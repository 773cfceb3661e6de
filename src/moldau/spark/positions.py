"""The starting and ending offsets of a query, as reported by the cluster.

All requests that planning makes are here: which partitions exist, where their logs start and end,
and the offset for a timestamp. Everything else is arithmetic (``offsets`` and ``tasks``).
"""

import re
from collections.abc import Collection, Iterable, Mapping

from moldau.client.cluster import Cluster
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.errors import ApiError, ErrorCode
from moldau.ids import INTERNAL_TOPICS, NO_UUID, TopicPartition, uuid_to_str
from moldau.spark.errors import PipelineError
from moldau.spark.offsets import Offsets, TopicIds
from moldau.spark.options import OffsetsSpec, OnNoMatch, SourceOptions


class Positions:
    """The offsets of the partitions of one query, from the brokers."""

    def __init__(self, cluster: Cluster, options: SourceOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._read_committed = options.client.fetch.read_committed

    def partitions(self) -> list[TopicPartition]:
        """The partitions that the query currently subscribes to.

        Raises:
            ApiError: a topic does not exist.
            PipelineError: a partition does not exist, or no topic matches the pattern.
        """
        subscription = self._options.subscription
        if subscription.assigned:
            wanted = list(subscription.assigned)
            there = set(self._partitions_of({each.topic for each in wanted}))
            for each in wanted:
                if each not in there:
                    raise PipelineError(f"option assign names {each}, which does not exist")
            return wanted
        if subscription.pattern is None:
            return self._partitions_of(subscription.topics)
        pattern = re.compile(subscription.pattern)
        self._cluster.retrying(lambda: self._cluster.refresh(None))
        names = [
            name
            for name in sorted(self._cluster.topics)
            if pattern.fullmatch(name) and name not in INTERNAL_TOPICS
        ]
        return self._partitions_of(names)

    def topic_ids(self, partitions: Iterable[TopicPartition]) -> TopicIds:
        """The topic ids of ``partitions``, of topics that exist and have one.

        As of the last call of ``partitions``; for other topics the current ids.
        """
        topics = sorted({each.topic for each in partitions})
        unknown = [name for name in topics if name not in self._cluster.topics]
        if unknown:
            try:
                self._cluster.retrying(lambda: self._cluster.refresh(unknown))
            except ApiError as error:
                if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
        known = [self._cluster.topics[name] for name in topics if name in self._cluster.topics]
        return {each.name: uuid_to_str(each.topic_id) for each in known if each.topic_id != NO_UUID}

    def why_gone(self, partition: TopicPartition, offset: int) -> str:
        """Why a partition that the query has read up to ``offset`` is no longer read."""
        subscription = self._options.subscription
        pattern = subscription.pattern
        if pattern is not None and re.fullmatch(pattern, partition.topic):
            return "it is not there any more"
        return (
            f"the checkpoint is at its offset {offset}, and this query does not subscribe to it: "
            "subscribe to it again, or use another checkpoint"
        )

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return self._at(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """The end offsets for readers: the last stable offsets with read_committed."""
        return self._at(dict.fromkeys(partitions, LATEST))

    def starting(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The starting offsets according to the options."""
        return self._resolve(self._options.starting, partitions, "starting")

    def ending(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The ending offsets according to the options."""
        return self._resolve(self._options.ending, partitions, "ending")

    def not_before(self, partitions: Iterable[TopicPartition], moment_ms: int) -> Offsets:
        """The offset of the first record at or after a time; the end offset if there is none."""
        found = self._at(dict.fromkeys(partitions, moment_ms))
        ends = self.latest([each for each, offset in found.items() if offset < 0])
        return {**found, **ends}

    def _resolve(
        self, spec: OffsetsSpec, partitions: Collection[TopicPartition], which: str
    ) -> Offsets:
        if spec.everywhere is not None:
            return self._at(dict.fromkeys(partitions, spec.everywhere))
        if spec.offsets is not None:
            self._check_all_named(f"{which}Offsets", spec.offsets, partitions)
            return self._specific(spec.offsets, which)
        if spec.timestamps_ms is not None:
            option, moments = f"{which}OffsetsByTimestamp", dict(spec.timestamps_ms)
            self._check_all_named(option, moments, partitions)
        else:
            assert spec.timestamp_ms is not None
            option, moments = f"{which}Timestamp", dict.fromkeys(partitions, spec.timestamp_ms)
        found = self._at(moments)
        unmatched = [each for each, offset in found.items() if offset < 0]
        if unmatched and which == "starting" and self._options.on_no_match is OnNoMatch.ERROR:
            first = unmatched[0]
            raise PipelineError(
                f"option {option}: {first} has no record at or after {moments[first]}; with "
                "startingOffsetsByTimestampStrategy=latest it is read from its end"
            )
        return {**found, **self.latest(unmatched)}

    def _specific(self, offsets: Mapping[TopicPartition, int], which: str) -> Offsets:
        """Explicit offsets, checked against the start and end of the log."""
        earliest, latest = self.earliest(offsets), self.latest(offsets)
        resolved: Offsets = {}
        for partition, offset in offsets.items():
            first, end = earliest[partition], latest[partition]
            named = {EARLIEST: first, LATEST: end}.get(offset, offset)
            if not first <= named <= end and self._options.fail_on_data_loss:
                raise PipelineError(
                    f"option {which}Offsets names offset {named} of {partition}, which has "
                    f"{first} to {end}; with failOnDataLoss=false the nearest is taken"
                )
            resolved[partition] = min(max(named, first), end)
        return resolved

    def _check_all_named(
        self, option: str, named: Collection[TopicPartition], there: Collection[TopicPartition]
    ) -> None:
        missing = sorted(set(there) - set(named))
        unknown = sorted(set(named) - set(there))
        if missing or unknown:
            wrong = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not read"
            raise PipelineError(
                f"option {option} must name every partition that is read, and no other: {wrong}"
            )

    def _partitions_of(self, topics: Iterable[str]) -> list[TopicPartition]:
        wanted = sorted(topics)
        if not wanted:
            return []
        self._cluster.retrying(lambda: self._cluster.refresh(wanted), wanted)
        return [
            TopicPartition(name, each.partition)
            for name in wanted
            for each in self._cluster.topics[name].partitions
        ]

    def _at(self, timestamps: Mapping[TopicPartition, int]) -> Offsets:
        if not timestamps:
            return {}
        found = list_offsets(self._cluster, timestamps, read_committed=self._read_committed)
        return {partition: found[partition].offset for partition in timestamps}
