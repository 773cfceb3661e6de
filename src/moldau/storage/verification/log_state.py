"""What is known about a log before its segments are read, and what they tell on the way.

Where a segment begins and what it may hold depends on the ones before it. So one ``LogState``
goes with the reader from the first segment to the last.
"""

from typing import NamedTuple

from moldau.ids import TopicPartition
from moldau.storage.verification.epoch_check import EpochCheck
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.txn_check import OpenTransactions


class PartitionFacts(NamedTuple):
    """What the files around a partition, and the cluster's metadata, say about it."""

    topic_partition: TopicPartition
    # Whether the directory has the mark of a clean stop.
    was_clean: bool = False
    is_compacted: bool = False
    topic_id: bytes | None = None
    # None where no checkpoint names the partition.
    recovery_point: int | None = None
    log_start_offset: int | None = None
    high_watermark: int | None = None


class LogState:
    """The log as far as it has been read."""

    def __init__(
        self, facts: PartitionFacts, options: Options, tally: Tally, epochs: EpochCheck
    ) -> None:
        self.facts = facts
        self.options = options
        self.tally = tally
        self.epochs = epochs
        self.transactions = OpenTransactions()
        # The smallest offset that the next batch may have; None before the first segment.
        self.next_offset: int | None = None
        # Whether the last batches cannot be read, so that nobody knows where the log ends.
        self.has_lost_its_end = False
        # Set by what only a cleaner leaves behind.
        self.is_compacted = facts.is_compacted
        self._gaps: list[Finding] = []

    @property
    def flushed_offset(self) -> int:
        """Below it everything was on the device, whatever happened afterwards."""
        return self.facts.recovery_point or 0

    def note_gap(self, path: str, position: int, expected: int, found: int) -> None:
        """Offsets are missing. In a compacted log that is as it should be."""
        if self.is_compacted:
            return
        self._gaps.append(
            Finding(
                Severity.DAMAGE,
                path,
                f"offset {found} where {expected} is due: {found - expected} offsets are missing",
                position,
                expected,
                "the records of these offsets are lost, or the base offset of the batch was "
                "changed, which its checksum does not cover",
                "restore the partition from a replica or a backup",
            )
        )

    def take_gaps(self) -> list[Finding]:
        """What is missing, once it is known whether it may be missing."""
        return [] if self.is_compacted else self._gaps
