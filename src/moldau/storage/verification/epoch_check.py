"""Check of the leader epochs in batches against the partition's checkpoint.

The leader epoch of a batch is not covered by its checksum, because the leader stamps it. But epochs
never decrease along a log, and ``leader-epoch-checkpoint`` has the start offset of each. Followers
and consumers truncate their logs by that file, so a wrong epoch can cost them records.
"""

from bisect import bisect_right
from typing import Final

from moldau.record.header import NO_LEADER_EPOCH, BatchHeader
from moldau.storage.log.leader_epochs import EpochEntry
from moldau.storage.verification.findings import MOST_PER_FILE, Finding, Severity

_FOLLOWS: Final = "replicas that compare their logs by leader epochs can cut off good records"
_REMEDY: Final = "restore the file from a replica or a backup"


class EpochCheck:
    """The epochs of one partition, from its first batch to its last."""

    def __init__(self, path: str, entries: list[EpochEntry] | None, *, is_final: bool) -> None:
        """``entries`` is None if the file is unreadable.

        ``is_final`` means that the shutdown was clean: batches with a newer epoch than the file are
        then wrong; otherwise the file is merely outdated.
        """
        self._path = path
        self._entries = entries
        self._starts = [entry.start_offset for entry in entries or ()]
        self._is_final = is_final
        self._latest = NO_LEADER_EPOCH
        self._reported = 0

    def on_batch(self, path: str, position: int, header: BatchHeader) -> Finding | None:
        """What is wrong with the epoch of a batch in the segment ``path``."""
        epoch = header.partition_leader_epoch
        if epoch == NO_LEADER_EPOCH:
            return None
        problem = None
        expected = self._expected(header)
        if expected is not None and epoch != expected:
            problem = f"where leader-epoch-checkpoint says {expected}"
        elif epoch < self._latest:
            problem = f"after one of epoch {self._latest}"
        else:
            self._latest = epoch
        if problem is None:
            return None
        self._reported += 1
        if self._reported > MOST_PER_FILE:
            # If the file is wrong, every batch is reported.
            return None
        return Finding(
            Severity.DAMAGE,
            path,
            f"a batch of leader epoch {epoch}, {problem}",
            position,
            header.base_offset,
            _FOLLOWS,
            _REMEDY,
        )

    def _expected(self, header: BatchHeader) -> int | None:
        """The epoch of a batch according to the file; None if the file does not cover it."""
        if not self._entries:
            return None
        # By the last offset, because the first entry begins at the log start offset, which may be
        # inside a batch.
        slot = bisect_right(self._starts, header.last_offset) - 1
        if slot < 0:
            return None
        is_newer = slot == len(self._entries) - 1 and not self._is_final
        if is_newer and header.partition_leader_epoch > self._entries[slot].epoch:
            return None
        return self._entries[slot].epoch

    def finish(self, log_end_offset: int) -> list[Finding]:
        """What is wrong with the file itself."""
        findings: list[Finding] = []
        severity = Severity.DAMAGE if self._is_final else Severity.NOTE
        if not self._entries:
            if self._entries is not None and self._latest != NO_LEADER_EPOCH:
                problem = (
                    "is missing or names no epoch, but the log has batches up to epoch "
                    f"{self._latest}"
                )
                findings.append(self._finding(severity, problem))
            return findings
        previous = EpochEntry(-1, -1)
        for entry in self._entries:
            if entry.epoch <= previous.epoch or entry.start_offset < previous.start_offset:
                problem = (
                    f"epoch {entry.epoch} from offset {entry.start_offset} on does not follow "
                    f"epoch {previous.epoch} from {previous.start_offset} on"
                )
                findings.append(self._finding(Severity.DAMAGE, problem))
            previous = entry
        if previous.start_offset > log_end_offset:
            problem = (
                f"epoch {previous.epoch} begins at offset {previous.start_offset}, beyond the "
                f"end of the log at {log_end_offset}"
            )
            findings.append(self._finding(severity, problem))
        return findings

    def _finding(self, severity: Severity, problem: str) -> Finding:
        return Finding(severity, self._path, problem, follows=_FOLLOWS, remedy=_REMEDY)
