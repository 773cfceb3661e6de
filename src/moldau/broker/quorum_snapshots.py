"""The snapshots of the metadata log: written here, or fetched from the leader in parts.

Rules this module keeps:

* A snapshot has its final name only when its contents are on the device (KAFKA-15312), and a
  fetched one only if it is whole: a node with a damaged snapshot does not start.
* The log is deleted only up to the end of a snapshot that exists, and only what is committed. The
  newest snapshot is always kept (KAFKA-14238).
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from typing import Final

from moldau.broker.metadata_snapshot import (
    ControlState,
    encode_snapshot,
    parse_snapshot_name,
    snapshot_batches,
    snapshot_control,
    snapshot_name,
)
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.metadata.image import MetadataImage
from moldau.metadata.snapshot import snapshot_records
from moldau.protocol.message import Message
from moldau.raft.log_view import SnapshotId
from moldau.raft.voters import VoterSet
from moldau.storage.disk.disk import Disk, DiskFile
from moldau.storage.disk.late_writes import Executor
from moldau.storage.log.partition_log import PartitionLog

logger = logging.getLogger(__name__)

_PART: Final = ".part"
_UNFINISHED: Final = (".checkpoint.part", ".checkpoint.tmp", ".checkpoint.deleted")


class QuorumSnapshots:
    """The complete snapshots in a directory, oldest first, and the one that is being fetched."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: str,
        disk: Disk,
        clock: Clock,
        executor: Executor | None,
    ) -> None:
        self._config = config
        self._directory = directory
        self._disk = disk
        self._clock = clock
        self._executor = executor
        self._sizes: dict[SnapshotId, int] = {}
        self._fetching: DiskFile | None = None

    def open(self) -> None:
        """Find the complete snapshots, and remove unfinished ones."""
        for name in self._disk.list_dir(self._directory):
            if name.endswith(_UNFINISHED):
                self._disk.remove(os.path.join(self._directory, name), missing_ok=True)
        names = map(parse_snapshot_name, self._disk.list_dir(self._directory))
        for snapshot in sorted(found for found in names if found is not None):
            self._sizes[snapshot] = self._disk.size(self._path(snapshot))

    def _path(self, snapshot: SnapshotId) -> str:
        return os.path.join(self._directory, snapshot_name(snapshot))

    # Reading

    @property
    def all(self) -> list[SnapshotId]:
        return list(self._sizes)

    @property
    def earliest(self) -> SnapshotId | None:
        return next(iter(self._sizes), None)

    @property
    def latest(self) -> SnapshotId | None:
        return next(reversed(self._sizes), None)

    def size_bytes(self, snapshot: SnapshotId) -> int | None:
        return self._sizes.get(snapshot)

    def control(self, snapshot: SnapshotId) -> ControlState:
        """What the control records of a snapshot say. Raises CorruptSnapshot."""
        path = self._path(snapshot)
        return snapshot_control(self._disk.read_bytes(path), path)

    def batches(self, snapshot: SnapshotId, control: ControlState) -> Iterator[list[Message]]:
        """The metadata records of each batch of a snapshot. Raises CorruptSnapshot."""
        path = self._path(snapshot)
        return snapshot_batches(self._disk.read_bytes(path), path, control)

    def read(self, snapshot: SnapshotId, position: int, max_bytes: int) -> bytes:
        """A part of the file of a snapshot."""
        file = self._disk.open(self._path(snapshot))
        try:
            size_bytes = min(max_bytes, self._sizes[snapshot] - position)
            return file.pread(size_bytes, position)
        finally:
            file.close()

    # Writing

    def write(
        self,
        image: MetadataImage,
        kraft_version: int,
        voters: VoterSet | None,
        on_written: Callable[[], None],
        *,
        in_background: bool = True,
    ) -> None:
        """Write a snapshot of ``image``, which is committed; then call ``on_written``."""
        snapshot = SnapshotId(image.offset + 1, image.epoch)

        def write() -> int:
            return self._write(snapshot, image, kraft_version, voters)

        if self._executor is None or not in_background:
            self._written(snapshot, write())
            on_written()
            return

        def on_done(future: "asyncio.Future[int]") -> None:
            if future.cancelled():
                return
            error = future.exception()
            if error is not None:
                logger.error("snapshot %s was not written: %s", snapshot_name(snapshot), error)
                return
            self._written(snapshot, future.result())
            on_written()

        writing: asyncio.Future[int] = asyncio.wrap_future(self._executor.submit(write))
        writing.add_done_callback(on_done)

    def _write(
        self,
        snapshot: SnapshotId,
        image: MetadataImage,
        kraft_version: int,
        voters: VoterSet | None,
    ) -> int:
        data = encode_snapshot(
            snapshot_records(image),
            metadata_version=image.metadata_version,
            epoch=image.epoch,
            last_log_timestamp_ms=image.timestamp_ms,
            wall_ms=self._clock.wall_ms(),
            kraft_version=kraft_version,
            voters=voters if kraft_version > 0 else None,
        )
        self._disk.write_atomically(self._path(snapshot), data)
        return len(data)

    def _written(self, snapshot: SnapshotId, size_bytes: int) -> None:
        self._sizes[snapshot] = size_bytes
        self._sizes = dict(sorted(self._sizes.items()))
        logger.info("wrote snapshot %s of %d bytes", snapshot_name(snapshot), size_bytes)

    # Fetching

    def append_part(self, snapshot: SnapshotId, position: int, data: bytes | memoryview) -> None:
        """Write a part of a snapshot that is being fetched; position 0 starts a new file."""
        if position == 0:
            self.abandon_part()
            path = self._path(snapshot) + _PART
            self._disk.remove(path, missing_ok=True)
            self._fetching = self._disk.open(path, create=True)
        assert self._fetching is not None
        self._fetching.append([data])

    def install(self, snapshot: SnapshotId) -> ControlState:
        """The snapshot is complete: check it, make it durable, and give it its name.

        Returns what its control records say. Raises CorruptSnapshot; then the next start fetches
        it again.
        """
        assert self._fetching is not None
        path = self._path(snapshot)
        self._fetching.fsync()
        self._fetching.close()
        self._fetching = None
        name = f"{snapshot_name(snapshot)} of the leader"
        control = snapshot_control(self._disk.read_bytes(path + _PART), name)
        self._disk.rename(path + _PART, path)
        self._disk.sync_dir(self._directory)
        self._written(snapshot, self._disk.size(path))
        return control

    def abandon_part(self) -> None:
        if self._fetching is not None:
            self._fetching.close()
            self._fetching = None

    # Deleting

    def drop_before(self, start_offset: int) -> None:
        """Remove the snapshots that end before the log begins: it does not continue them.

        The earliest snapshot tells the epoch before the start of the log. With another one, a
        replica that ends there would be sent to a snapshot that it has, for ever.
        """
        for snapshot in [each for each in self._sizes if each.end_offset < start_offset]:
            # It may be gone already, if it was written twice at the same time.
            self._disk.remove(self._path(snapshot), missing_ok=True)
            del self._sizes[snapshot]

    def drop_old(self, log: PartitionLog) -> None:
        """Apply metadata.max.retention.bytes and .ms to the snapshots and the log before them."""
        # One of them may have been written while another, of the leader, replaced the log.
        self.drop_before(log.log_start_offset)
        config = self._config
        wall_ms = self._clock.wall_ms()
        while len(self._sizes) > 1:
            oldest, second, *_ = self._sizes
            total = sum(self._sizes.values()) + log.size_bytes
            age_ms = wall_ms - self._disk.modified_ms(self._path(oldest))
            is_too_big = 0 <= config.metadata_max_retention_bytes < total
            is_too_old = 0 <= config.metadata_max_retention_ms < age_ms
            if not is_too_big and not is_too_old:
                break
            self._disk.remove(self._path(oldest))
            del self._sizes[oldest]
            if second.end_offset <= log.high_watermark:
                log.delete_records_before(second.end_offset)
        log.delete_old_segments(wall_ms)
        log.remove_deleted_files(self._clock.monotonic_ms())
