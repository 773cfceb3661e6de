"""Check of a partition's directory: its segments as one log, and the files beside them."""

from collections.abc import Iterator
from typing import Final

from moldau.ids import METADATA_TOPIC, uuid_to_str
from moldau.storage.disk.checkpoint import (
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    CorruptCheckpoint,
    read_leader_epochs,
    read_partition_metadata,
)
from moldau.storage.disk.disk import Disk
from moldau.storage.log.leader_epochs import EpochEntry
from moldau.storage.log.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_path,
)
from moldau.storage.verification.epoch_check import EpochCheck
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.leftover_check import leftover_notes
from moldau.storage.verification.log_state import LogState, PartitionFacts
from moldau.storage.verification.segment_check import SegmentCheck, SegmentPlace
from moldau.storage.verification.snapshot_check import check_kraft_snapshot, check_producers

_INDEX_SUFFIXES: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX)
_KRAFT_SNAPSHOT: Final = ".checkpoint"


class PartitionCheck:
    """Checks one partition; ``log_end_offset`` is valid when ``run`` is complete."""

    def __init__(
        self, disk: Disk, directory: str, facts: PartitionFacts, options: Options, tally: Tally
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._facts = facts
        self._options = options
        self._tally = tally
        self._names = disk.list_dir(directory)
        stems = [n.removesuffix(LOG_SUFFIX) for n in self._names if n.endswith(LOG_SUFFIX)]
        self._base_offsets = sorted(int(stem) for stem in stems if stem.isdigit())
        self.log_end_offset = 0

    def run(self) -> Iterator[Finding]:
        yield from self._check_names()
        yield from self._check_topic_id()
        entries, unreadable = self._read_epochs()
        if unreadable is not None:
            yield unreadable
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        epochs = EpochCheck(path, entries, is_final=self._facts.was_clean)
        state = LogState(self._facts, self._options, self._tally, epochs)
        for place in self._places():
            yield from SegmentCheck(self._disk, place, state).run()
        yield from state.take_gaps()
        self.log_end_offset = self._find_end(state)
        yield from epochs.finish(self.log_end_offset)
        yield from self._check_snapshots()
        yield from self._check_bounds()
        self._tally.partitions += 1

    def _find_end(self, state: LogState) -> int:
        facts = self._facts
        end = state.next_offset or facts.log_start_offset or 0
        if state.has_lost_its_end:
            # The damage at the end is already reported; the checkpoints show where the end was.
            return max(end, facts.recovery_point or 0, facts.high_watermark or 0)
        return end

    def _places(self) -> Iterator[SegmentPlace]:
        """The segments in order, and how the next startup treats each."""
        bases = self._base_offsets
        paths = [segment_path(self._directory, base, LOG_SUFFIX) for base in bases]
        sizes = [self._disk.size(path) for path in paths]
        recovery_point = self._facts.recovery_point or 0
        # Recovery begins with the segment that contains the recovery point.
        flushed = [number for number, base in enumerate(bases) if base <= recovery_point]
        first_recovered = flushed[-1] if flushed else 0
        for number, base in enumerate(bases):
            is_recovered = not self._facts.was_clean and number >= first_recovered
            following = bases[number + 1 : number + 2]
            next_base = following[0] if following else None
            is_followed = any(sizes[number + 1 :])
            yield SegmentPlace(self._directory, base, next_base, is_followed, is_recovered)

    # -- the files around the segments

    def _check_names(self) -> Iterator[Finding]:
        yield from leftover_notes(self._directory, self._names)
        logs = {f"{base:020d}" for base in self._base_offsets}
        for name in self._names:
            stem, _, suffix = name.partition(".")
            if f".{suffix}" in _INDEX_SUFFIXES and stem not in logs:
                yield Finding(
                    Severity.NOTE,
                    f"{self._directory}/{name}",
                    f"an index without its segment, {stem}{LOG_SUFFIX}",
                    follows="the next start removes it",
                    remedy="restore the .log file if it was lost",
                )
        if not self._base_offsets:
            yield Finding(
                Severity.NOTE,
                self._directory,
                "there is no segment",
                follows="the next start creates an empty one",
                remedy="restore the .log files if they were lost",
            )

    def _check_topic_id(self) -> Iterator[Finding]:
        path = f"{self._directory}/{PARTITION_METADATA}"
        try:
            topic_id = read_partition_metadata(self._disk, self._directory)
        except CorruptCheckpoint as error:
            yield Finding(
                self._unless_clean(),
                path,
                error.problem,
                follows="the topic id of the partition is not known",
                remedy="delete the file: the next start rewrites it from the cluster's metadata",
            )
            return
        known = self._facts.topic_id
        if topic_id is not None and known is not None and topic_id != known:
            yield Finding(
                Severity.DAMAGE,
                path,
                f"the topic id is {uuid_to_str(topic_id)}, but the cluster's metadata says "
                f"{uuid_to_str(known)} for {self._facts.topic_partition.topic}",
                follows="this is the partition of another topic of that name, deleted since or of "
                "another cluster; a broker puts it aside as -stray",
                remedy="move the directory away if its records are not wanted",
            )

    def _read_epochs(self) -> tuple[list[EpochEntry] | None, Finding | None]:
        path = f"{self._directory}/{LEADER_EPOCH_CHECKPOINT}"
        try:
            entries = read_leader_epochs(self._disk, path)
        except CorruptCheckpoint as error:
            return None, Finding(
                Severity.DAMAGE,
                path,
                error.problem,
                follows="replicas cannot compare their logs with this one",
                remedy="delete the file: the next start reads the epochs again from the batches",
            )
        return [EpochEntry(*entry) for entry in entries], None

    def _check_snapshots(self) -> Iterator[Finding]:
        for name in self._names:
            path = f"{self._directory}/{name}"
            if name.endswith(_KRAFT_SNAPSHOT) and self._is_metadata_log:
                yield from check_kraft_snapshot(self._disk, path, self._tally)
        yield from check_producers(
            self._disk,
            self._directory,
            self._names,
            self.log_end_offset,
            self._unless_clean(),
            self._tally,
        )

    @property
    def _is_metadata_log(self) -> bool:
        return self._facts.topic_partition.topic == METADATA_TOPIC

    # -- the log against the checkpoints of its directory

    def _check_bounds(self) -> Iterator[Finding]:
        facts, end = self._facts, self.log_end_offset
        recovery_point = facts.recovery_point
        if recovery_point is not None and recovery_point > end:
            yield self._ends_early(
                Severity.DAMAGE, f"everything before offset {recovery_point} was on the device"
            )
        elif facts.was_clean and recovery_point is not None and recovery_point < end:
            yield self._bound(
                f"the log ends at offset {end}, but ended at {recovery_point} when it was closed",
                "bytes were added or changed since the broker stopped",
            )
        elif facts.high_watermark is not None and facts.high_watermark > end:
            yield self._ends_early(
                self._unless_clean(), f"consumers could read up to offset {facts.high_watermark}"
            )
        start = facts.log_start_offset
        if start is not None and start > end:
            yield self._bound(
                f"the log ends at offset {end}, before its start offset {start}",
                "the next start drops all segments and begins an empty log",
            )

    def _ends_early(self, severity: Severity, known: str) -> Finding:
        return self._bound(
            f"the log ends at offset {self.log_end_offset}, but {known}",
            "records are lost that were written",
        )._replace(severity=severity)

    def _bound(self, problem: str, follows: str) -> Finding:
        return Finding(
            Severity.DAMAGE,
            self._directory,
            problem,
            offset=self.log_end_offset,
            follows=follows,
            remedy="restore the partition from a replica or a backup",
        )

    def _unless_clean(self) -> Severity:
        """For findings that a crash may leave and the next startup repairs."""
        return Severity.DAMAGE if self._facts.was_clean else Severity.NOTE
