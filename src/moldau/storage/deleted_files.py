"""The files of segments that were removed from their log.

As in Kafka, they stay for ``file.delete.delay.ms`` with the suffix ``.deleted``, so that a deletion
can still be undone by hand; readers that hold a region of a file can still read it. The producer
snapshot of a segment is deleted with it, unless a remaining segment begins at the same offset.
"""

from collections.abc import Sequence

from moldau.storage.disk import Disk
from moldau.storage.producer_state import ProducerStateManager
from moldau.storage.segment import Segment

# The time at which they are due, the segments, and other files that belong to them.
DeletedItem = tuple[int, list[Segment], list[str]]


class DeletedFiles:
    """The renamed files of one log that wait for the end of the delay."""

    __slots__ = ("_disk", "_waiting")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._waiting: list[DeletedItem] | None = None

    def put_away(
        self,
        segments: Sequence[Segment],
        producers: ProducerStateManager,
        due_ms: int,
        *,
        keep_snapshot: int,
        are_renamed: bool,
    ) -> None:
        """Rename the files of ``segments``, unless ``are_renamed``, and their snapshots.

        The snapshot at ``keep_snapshot`` is kept. The files are due at ``due_ms``. Raises OSError.
        """
        if not segments:
            return
        snapshots = [
            path
            for segment in segments
            if segment.base_offset != keep_snapshot
            and (path := producers.mark_snapshot_deleted(segment.base_offset)) is not None
        ]
        if not are_renamed:
            for segment in segments:
                segment.mark_deleted()
        if self._waiting is None:
            self._waiting = []
        self._waiting.append((due_ms, list(segments), snapshots))

    def take_due(self, now_ms: int) -> list[DeletedItem]:
        """Take the files that are due; the caller must pass them to ``remove``."""
        if not self._waiting:
            return []
        due = [item for item in self._waiting if item[0] <= now_ms]
        self._waiting = [item for item in self._waiting if item[0] > now_ms] or None
        return due

    def remove(self, due: list[DeletedItem]) -> None:
        """Delete the files; in any thread."""
        for _, segments, paths in due:
            for segment in segments:
                segment.remove_files()
            for path in paths:
                self._disk.remove(path, missing_ok=True)

    def moved(self) -> None:
        """The directory was renamed: the files stay in it and are removed with it."""
        for _, segments, _ in self._waiting or ():
            for segment in segments:
                segment.log.close()
        self._waiting = None
