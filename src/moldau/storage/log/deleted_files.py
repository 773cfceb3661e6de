"""The files of segments that were removed from their log.

As in Kafka, they stay for ``file.delete.delay.ms`` with the suffix ``.deleted``, so that a deletion
can still be undone by hand; readers that hold a region of a file can still read it. The producer
snapshot of a segment is deleted with it, unless a remaining segment begins at the same offset.
"""

from collections.abc import Sequence

from moldau.storage.log.log_reader import LogReader
from moldau.storage.log.log_state import LogState
from moldau.storage.log.segment import DELETED_SUFFIX, Segment

# The time at which they are due, the segments, and other files that belong to them.
DeletedItem = tuple[int, list[Segment], list[str]]


class DeletedFiles:
    """The renamed files of one log that wait for the end of the delay."""

    __slots__ = ("_reader", "_state", "_waiting")

    def __init__(self, state: LogState, reader: LogReader) -> None:
        self._state = state
        self._reader = reader
        self._waiting: list[DeletedItem] | None = None

    def put_away(
        self, segments: Sequence[Segment], keep_snapshot: int = -1, *, are_renamed: bool = False
    ) -> None:
        """Rename the files of ``segments``, unless ``are_renamed``, and their snapshots.

        The segments are no longer in the list. The snapshot at ``keep_snapshot`` is kept. Raises
        OSError.
        """
        self._reader.forget_places()
        if not segments:
            return
        state = self._state
        snapshots = [
            path
            for segment in segments
            if segment.base_offset != keep_snapshot
            and (path := state.producers.mark_snapshot_deleted(segment.base_offset)) is not None
        ]
        if not are_renamed:
            for segment in segments:
                segment.mark_deleted()
        due_ms = state.context.clock.monotonic_ms() + state.config.file_delete_delay_ms
        if self._waiting is None:
            self._waiting = []
        self._waiting.append((due_ms, list(segments), snapshots))

    def put_back(self, segments: Sequence[Segment]) -> None:
        """Undo ``put_away`` of ``segments``, which go into the list again; raises OSError.

        Their snapshots do not come back: they only make the next start faster.
        """
        if self._waiting is not None:
            self._waiting = [
                (due_ms, [each for each in waiting if each not in segments], snapshots)
                for due_ms, waiting, snapshots in self._waiting
            ]
        # The first one first: if the process ends meanwhile, the log ends earlier, without a gap.
        for segment in segments:
            segment.change_suffix(DELETED_SUFFIX, "")

    def remove_due(self, now_ms: int) -> None:
        """Delete the files that are due; in the executor, if any.

        Unlinking a gigabyte takes longer than clients should wait.
        """
        if not self._waiting:
            return
        due = [item for item in self._waiting if item[0] <= now_ms]
        self._waiting = [item for item in self._waiting if item[0] > now_ms] or None
        executor = self._state.context.executor
        if due and executor is not None:
            executor.submit(self._remove, due)
        elif due:
            self._remove(due)

    def _remove(self, due: list[DeletedItem]) -> None:
        """Delete the files; in any thread."""
        disk = self._state.context.disk
        try:
            for _, segments, paths in due:
                for segment in segments:
                    segment.remove_files()
                for path in paths:
                    disk.remove(path, missing_ok=True)
        except OSError as error:
            raise self._state.storage_error(error, "deleting files of") from error

    def moved(self) -> None:
        """The directory was renamed: the files stay in it and are removed with it."""
        for _, segments, _ in self._waiting or ():
            for segment in segments:
                segment.log.close()
        self._waiting = None
