"""The state of a log during verification.

The valid offsets of a segment depend on the segments before it. So one ``LogState`` is passed from
the first segment to the last.
"""

from typing import NamedTuple

from moldau.ids import TopicPartition
from moldau.storage.verification.epoch_check import EpochCheck
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.txn_check import OpenTransactions


class PartitionFacts(NamedTuple):
    """What the files of a log directory and the cluster metadata say about a partition."""

    topic_partition: TopicPartition
    # Whether the directory has a clean-shutdown marker.
    was_clean: bool = False
    is_compacted: bool = False
    topic_id: bytes | None = None
    # None if the partition is in no checkpoint.
    recovery_point: int | None = None
    log_start_offset: int | None = None
    high_watermark: int | None = None


class LogState:
    """The state of the log up to the current position."""

    def __init__(
        self, facts: PartitionFacts, options: Options, tally: Tally, epochs: EpochCheck
    ) -> None:
        self.facts = facts
        self.options = options
        self.tally = tally
        self.epochs = epochs
        self.transactions = OpenTransactions()
        # The smallest valid offset of the next batch; None before the first segment.
        self.next_offset: int | None = None
        # Whether the last batches are unreadable, so that the log end offset is unknown.
        self.has_lost_its_end = False
        # Also set when a batch shows that the log was compacted.
        self.is_compacted = facts.is_compacted
        self._gaps: list[Finding] = []

    @property
    def flushed_offset(self) -> int:
        """Everything below it was durable."""
        return self.facts.recovery_point or 0

    def note_gap(self, path: str, position: int, expected: int, found: int) -> None:
        """Record missing offsets, which are normal in a compacted log."""
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
        """The missing offsets, once it is known whether the log is compacted."""
        return [] if self.is_compacted else self._gaps
