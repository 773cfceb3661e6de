"""The voters and the kraft.version as the log has them, by offset (KIP-853).

A VotersRecord is valid from the moment it is in the log, committed or not. So that a truncation
brings the previous voters back, all sets of the log are kept with their offsets.
"""

from typing import Final

from moldau.raft.messages import KraftVersionChange, VotersChange
from moldau.raft.voters import VoterSet

# The offset of what the directory was formatted with: not in the log yet.
BOOTSTRAP_OFFSET: Final = -1


class VoterHistory:
    """``static_voters`` are valid until the log has a VotersRecord."""

    def __init__(self, static_voters: VoterSet) -> None:
        self.static_voters = static_voters
        self._voters: list[VotersChange] = []
        self._versions: list[KraftVersionChange] = []

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1].voters if self._voters else self.static_voters

    @property
    def voters_offset(self) -> int | None:
        """Where the latest voters are in the log; None for static voters."""
        return self._voters[-1].offset if self._voters else None

    @property
    def kraft_version(self) -> int:
        return self._versions[-1].kraft_version if self._versions else 0

    def add(self, change: VotersChange | KraftVersionChange) -> None:
        if isinstance(change, VotersChange):
            assert not self._voters or change.offset > self._voters[-1].offset, change
            self._voters.append(change)
        else:
            assert not self._versions or change.offset > self._versions[-1].offset, change
            self._versions.append(change)

    def voters_at(self, offset: int) -> VoterSet | None:
        """The voters as of an offset, for a snapshot that ends after it; None if static."""
        found = [each.voters for each in self._voters if each.offset <= offset]
        return found[-1] if found else None

    def kraft_version_at(self, offset: int) -> int:
        found = [each.kraft_version for each in self._versions if each.offset <= offset]
        return found[-1] if found else 0

    def truncate(self, end_offset: int) -> None:
        """The log was cut and ends at ``end_offset``."""
        self._voters = [each for each in self._voters if each.offset < end_offset]
        self._versions = [each for each in self._versions if each.offset < end_offset]

    def forget_before(self, start_offset: int) -> None:
        """The log begins at ``start_offset``; what was valid just before it is kept.

        What is at ``start_offset`` may not be committed, and a truncation brings back what was
        valid before.
        """
        while len(self._voters) > 1 and self._voters[1].offset < start_offset:
            del self._voters[0]
        while len(self._versions) > 1 and self._versions[1].offset < start_offset:
            del self._versions[0]

    def reset(self, offset: int, kraft_version: int, voters: VoterSet | None) -> None:
        """A snapshot replaced the log; its last record has ``offset``."""
        self._voters = [] if voters is None else [VotersChange(offset, voters)]
        self._versions = [KraftVersionChange(offset, kraft_version)] if kraft_version > 0 else []
