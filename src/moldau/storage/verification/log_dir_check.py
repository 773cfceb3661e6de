"""Check of a log directory: its identity, its checkpoints, and its partitions."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from moldau.ids import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    TopicPartition,
    uuid_to_str,
)
from moldau.storage.disk.checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    CorruptCheckpoint,
    MetaProperties,
    has_clean_shutdown,
    read_meta_properties,
    read_offsets,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.log_dirs import FUTURE, parse_directory
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.leftover_check import directory_note, leftover_notes
from moldau.storage.verification.log_state import PartitionFacts
from moldau.storage.verification.partition_check import PartitionCheck
from moldau.storage.verification.snapshot_check import check_kraft_snapshot

_BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
_CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)

_MOST_NAMES: Final = 3


class TopicFacts(NamedTuple):
    """The properties of a topic in the cluster metadata."""

    topic_id: bytes
    is_compacted: bool


class Target(NamedTuple):
    """A log directory, and the partition directories to check: None for all."""

    log_dir: str
    only: frozenset[str] | None = None


class LogDirsCheck:
    """Checks the log directories of one broker, also against each other."""

    def __init__(
        self,
        disk: Disk,
        targets: Sequence[Target],
        options: Options,
        tally: Tally,
        topics: Mapping[str, TopicFacts] | None = None,
    ) -> None:
        """``topics`` is None if the cluster metadata is not available."""
        self._disk = disk
        self._targets = targets
        self._options = options
        self._tally = tally
        self._topics = topics
        # The first directory in which each partition was found.
        self._seen: dict[TopicPartition, str] = {}

    def size_bytes(self) -> int:
        """The number of bytes to read."""
        total = 0
        for target in self._targets:
            for name in self._partition_names(target):
                directory = f"{target.log_dir}/{name}"
                for file in self._disk.list_dir(directory):
                    if file.endswith((".log", ".checkpoint")):
                        total += self._disk.size(f"{directory}/{file}")
        return total

    def run(self) -> Iterator[Finding]:
        yield from self._check_identities()
        for target in self._targets:
            yield from self._check_directory(target)

    # -- identities

    def _check_identities(self) -> Iterator[Finding]:
        first: tuple[str, MetaProperties] | None = None
        for target in self._targets:
            path = f"{target.log_dir}/{META_PROPERTIES}"
            try:
                properties = read_meta_properties(self._disk, target.log_dir)
            except CorruptCheckpoint as error:
                yield _identity(path, error.problem)
                continue
            if properties is None:
                # The directory of a partition may be a copy that was taken elsewhere.
                if target.only is None:
                    yield _identity(path, "the file is missing")
                continue
            if first is None:
                first = path, properties
                continue
            for name in ("cluster_id", "node_id"):
                here, there = getattr(properties, name), getattr(first[1], name)
                if here != there:
                    shown = name.replace("_", ".")
                    yield _identity(path, f"{shown} is {here}, but {there} in {first[0]}")
            if properties.directory_id is not None and (
                properties.directory_id == first[1].directory_id
            ):
                shown = uuid_to_str(properties.directory_id)
                yield _identity(path, f"directory.id is {shown}, as in {first[0]}")

    # -- one directory

    def _check_directory(self, target: Target) -> Iterator[Finding]:
        log_dir = target.log_dir
        checkpoints: dict[str, dict[TopicPartition, int]] = {}
        for name in _CHECKPOINTS:
            path = f"{log_dir}/{name}"
            try:
                checkpoints[name] = read_offsets(self._disk, path)
            except CorruptCheckpoint as error:
                checkpoints[name] = {}
                yield Finding(
                    Severity.DAMAGE,
                    path,
                    error.problem,
                    follows="the next start takes it for empty",
                    remedy="delete the file, or restore it from a backup",
                )
        if target.only is None:
            yield from self._check_files(log_dir)
            yield from self._check_absent(target, checkpoints)
        was_clean = has_clean_shutdown(self._disk, log_dir)
        for name in self._partition_names(target):
            yield from self._check_partition(log_dir, name, was_clean, checkpoints)

    def _check_files(self, log_dir: str) -> Iterator[Finding]:
        names = self._disk.list_dir(log_dir)
        files = [name for name in names if not self._disk.is_dir(f"{log_dir}/{name}")]
        yield from leftover_notes(log_dir, files)
        if _BOOTSTRAP_CHECKPOINT in files:
            path = f"{log_dir}/{_BOOTSTRAP_CHECKPOINT}"
            yield from check_kraft_snapshot(self._disk, path, self._tally)

    def _check_absent(
        self, target: Target, checkpoints: Mapping[str, Mapping[TopicPartition, int]]
    ) -> Iterator[Finding]:
        """Partitions in a checkpoint that do not exist."""
        present = set(self._partition_names(target))
        for name, offsets in checkpoints.items():
            absent = [str(partition) for partition in offsets if str(partition) not in present]
            if absent:
                shown = ", ".join(absent[:_MOST_NAMES]) + (", ..." if absent[_MOST_NAMES:] else "")
                yield Finding(
                    Severity.NOTE,
                    f"{target.log_dir}/{name}",
                    f"names {shown}, of which there is no directory",
                    follows="as after a topic was deleted or a partition moved",
                    remedy="restore the directory if it was lost",
                )

    def _partition_names(self, target: Target) -> list[str]:
        names = self._disk.list_dir(target.log_dir)
        return [
            name
            for name in names
            if (target.only is None or name in target.only)
            and parse_directory(name) is not None
            and self._disk.is_dir(f"{target.log_dir}/{name}")
        ]

    def _check_partition(
        self,
        log_dir: str,
        name: str,
        was_clean: bool,
        checkpoints: Mapping[str, Mapping[TopicPartition, int]],
    ) -> Iterator[Finding]:
        path = f"{log_dir}/{name}"
        named = parse_directory(name)
        assert named is not None
        topic_partition = named.topic_partition
        note = directory_note(path, named)
        if note is not None:
            yield note
            # A future log is checked like any other; deleted and stray ones are not in use.
            if named.suffix != FUTURE:
                return
        elif topic_partition in self._seen:
            yield _twice(path, self._seen[topic_partition])
        else:
            self._seen[topic_partition] = path
            yield from self._check_known(path, topic_partition)
        is_plain = not named.suffix
        known = (self._topics or {}).get(topic_partition.topic)
        is_cleaned = topic_partition in checkpoints[CLEANER_OFFSET_CHECKPOINT]
        facts = PartitionFacts(
            topic_partition,
            was_clean=was_clean,
            is_compacted=is_cleaned
            or topic_partition.topic in INTERNAL_TOPICS
            or (known is not None and known.is_compacted),
            topic_id=self._topic_id(topic_partition.topic),
            # The checkpoints apply to the current log, not to its future log.
            recovery_point=checkpoints[RECOVERY_POINT_CHECKPOINT].get(topic_partition)
            if is_plain
            else None,
            log_start_offset=checkpoints[LOG_START_OFFSET_CHECKPOINT].get(topic_partition)
            if is_plain
            else None,
            high_watermark=checkpoints[HIGH_WATERMARK_CHECKPOINT].get(topic_partition)
            if is_plain
            else None,
        )
        yield from PartitionCheck(self._disk, path, facts, self._options, self._tally).run()

    def _check_known(self, path: str, topic_partition: TopicPartition) -> Iterator[Finding]:
        topic = topic_partition.topic
        if self._topics is not None and topic != METADATA_TOPIC and topic not in self._topics:
            yield Finding(
                Severity.NOTE,
                path,
                f"the cluster's metadata knows no topic {topic}",
                follows="a broker puts the directory aside as -stray, or removes it",
                remedy="move it away if its records are wanted",
            )

    def _topic_id(self, topic: str) -> bytes | None:
        if topic == METADATA_TOPIC:
            return METADATA_TOPIC_ID
        known = (self._topics or {}).get(topic)
        return None if known is None else known.topic_id


def _identity(path: str, problem: str) -> Finding:
    return Finding(
        Severity.DAMAGE,
        path,
        problem,
        follows="a broker does not start with this directory",
        remedy="restore the file, or name only directories of one broker",
    )


def _twice(path: str, other: str) -> Finding:
    return Finding(
        Severity.DAMAGE,
        path,
        f"the partition is also in {other}",
        follows="a broker cannot tell which of the two counts",
        remedy="move the older one away",
    )
