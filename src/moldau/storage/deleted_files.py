"""What became of segments that left their log.

Their files stay for ``file.delete.delay.ms`` under the suffix ``.deleted``, as Kafka's do, so that
whoever finds them can still undo it; readers that hold a region of one read on in any case. With a
segment goes its snapshot of producers, unless a segment that begins at the same offset stays.
"""

from collections.abc import Sequence

from moldau.storage.disk import Disk
from moldau.storage.producer_state import ProducerStateManager
from moldau.storage.segment import Segment

# When its time comes, the segments, and other files that go with them.
DeletedItem = tuple[int, list[Segment], list[str]]


class DeletedFiles:
    """Files of one log that wait, renamed, for the end of the delay."""

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
        """Rename the files of ``segments``, unless somebody has, and the snapshots with them.

        But for the one at ``keep_snapshot``. All go when ``due_ms`` has come. Raises OSError.
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
        """What has waited long enough; the caller sees to its ``remove``."""
        if not self._waiting:
            return []
        due = [item for item in self._waiting if item[0] <= now_ms]
        self._waiting = [item for item in self._waiting if item[0] > now_ms] or None
        return due

    def remove(self, due: list[DeletedItem]) -> None:
        """Delete it, in whichever thread."""
        for _, segments, paths in due:
            for segment in segments:
                segment.remove_files()
            for path in paths:
                self._disk.remove(path, missing_ok=True)

    def moved(self) -> None:
        """The directory was renamed; what waits goes with it and is removed with it."""
        for _, segments, _ in self._waiting or ():
            for segment in segments:
                segment.log.close()
        self._waiting = None
