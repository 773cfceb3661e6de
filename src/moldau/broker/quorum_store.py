"""The files of ``__cluster_metadata-0``: the log, its snapshots, and ``quorum-state``."""

import logging
import os
import random
from typing import Final

from moldau.broker.format import (
    all_directories,
    make_durable_dirs,
    metadata_log_dir,
    read_directories,
)
from moldau.broker.metadata_snapshot import (
    BOOTSTRAP_CHECKPOINT,
    ControlState,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    metadata_records,
    parse_snapshot_name,
)
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.controller.state import ControllerState
from moldau.ids import METADATA_TOPIC, METADATA_TOPIC_ID, TopicPartition
from moldau.metadata.delta import MetadataError
from moldau.metadata.features import LATEST_METADATA_VERSION, METADATA_VERSION
from moldau.metadata.image import MetadataImage
from moldau.metadata.snapshot import snapshot_records
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records.metadata import FeatureLevelRecord
from moldau.raft.quorum_state import QuorumState, decode_quorum_state, encode_quorum_state
from moldau.raft.voters import VoterSet, parse_static_voters
from moldau.record.header import BatchHeader, CorruptBatch, iter_headers
from moldau.record.records import decode_records
from moldau.storage.checkpoint import read_partition_metadata, write_partition_metadata
from moldau.storage.disk import Disk
from moldau.storage.late_writes import Executor
from moldau.storage.log_context import LogContext
from moldau.storage.log_failure import FailureHandler
from moldau.storage.partition_log import PartitionLog
from moldau.storage.recovery import open_log

logger = logging.getLogger(__name__)

QUORUM_STATE: Final = "quorum-state"
_READ_BYTES: Final = 8 * 1024 * 1024
_FOREVER: Final = -1


class QuorumStore:
    """The files of the quorum. ``load`` sets ``log`` and ``voters``."""

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None,
        on_failure: FailureHandler | None = None,
    ) -> None:
        self._config = config
        self._disk = disk
        self._clock = clock
        self._executor = executor
        self._context = LogContext(disk, clock, rng, executor, on_failure)
        self._log_dir = metadata_log_dir(config)
        self.directory = os.path.join(self._log_dir, f"{METADATA_TOPIC}-0")
        self.kraft_version = 0
        self.voters = VoterSet()
        self.has_voters_in_log = False
        # The newest epoch in the log or in a snapshot.
        self.latest_epoch = 0
        self.log: PartitionLog

    # Loading

    def load(self, state: ControllerState) -> int:
        """Replay the newest snapshot and the log after it into ``state``.

        Returns the number of bytes read from the log.
        """
        make_durable_dirs(self._disk, self.directory)
        self._remove_unfinished()
        control = ControlState()
        snapshot = self._load_snapshot(state, control)
        self.log = open_log(
            self._context,
            self.directory,
            TopicPartition(METADATA_TOPIC, 0),
            self._log_config(),
            clean_shutdown=False,
        )
        if read_partition_metadata(self._disk, self.directory) is None:
            write_partition_metadata(self._disk, self.directory, METADATA_TOPIC_ID)
        if self.log.log_end_offset < snapshot.end_offset:
            # The snapshot came from a leader that was ahead of this log.
            self.log.truncate_fully_and_start_at(snapshot.end_offset)
        self._check_no_gap(snapshot)
        start = max(snapshot.end_offset, self.log.log_start_offset)
        size_bytes = self._replay_log(state, control, start)
        self.latest_epoch = max(snapshot.epoch, self.log.leader_epochs.latest_epoch)
        self.kraft_version = control.kraft_version
        if control.voters is not None:
            self.voters = control.voters
        elif self._config.controller_quorum_voters:
            self.voters = parse_static_voters(",".join(self._config.controller_quorum_voters))
        return size_bytes

    def _log_config(self) -> LogConfig:
        config = self._config
        return LogConfig(
            segment_bytes=config.metadata_log_segment_bytes,
            segment_ms=config.metadata_log_segment_ms,
            max_message_bytes=_READ_BYTES * 2,
            # Segments are deleted when a snapshot has replaced them, not by age or size.
            retention_ms=_FOREVER,
            retention_bytes=_FOREVER,
        )

    def _remove_unfinished(self) -> None:
        for name in self._disk.list_dir(self.directory):
            if name.endswith((".checkpoint.part", ".checkpoint.tmp", ".checkpoint.deleted")):
                self._disk.remove(os.path.join(self.directory, name), missing_ok=True)

    def snapshots(self) -> list[SnapshotId]:
        """The complete snapshots, oldest first."""
        ids = map(parse_snapshot_name, self._disk.list_dir(self.directory))
        return sorted(found for found in ids if found is not None)

    def _load_snapshot(self, state: ControllerState, control: ControlState) -> SnapshotId:
        found = self.snapshots()
        if not found:
            return SnapshotId(0, 0)
        newest = found[-1]
        path = os.path.join(self.directory, newest.file_name)
        contents = decode_snapshot(self._disk.read_bytes(path), path)
        control.kraft_version = contents.kraft_version
        control.voters = contents.voters
        # The voters that a directory is formatted with are not committed yet.
        self.has_voters_in_log = newest.end_offset > 0 and contents.voters is not None
        state.add_batch(
            newest.end_offset - len(contents.records),
            newest.epoch,
            contents.last_log_timestamp_ms,
            contents.records,
        )
        return newest

    def _check_no_gap(self, snapshot: SnapshotId) -> None:
        start = self.log.log_start_offset
        if start > snapshot.end_offset:
            raise MetadataError(
                f"{self.directory} has no records between offset {snapshot.end_offset}, where "
                f"the newest snapshot ends, and {start}, where the log begins: restore the "
                "snapshots that are missing"
            )

    def _replay_log(self, state: ControllerState, control: ControlState, offset: int) -> int:
        log = self.log
        size_bytes = 0
        while offset < log.log_end_offset:
            fetched = log.read(
                offset, _READ_BYTES, max_offset=log.log_end_offset, min_one_message=True
            )
            data = fetched.records if isinstance(fetched.records, bytes) else fetched.records.read()
            for position, header in iter_headers(data):
                if header.last_offset < offset:
                    continue
                try:
                    self._replay(state, control, header, data[position:])
                except (MetadataError, MalformedMessage, CorruptBatch) as error:
                    raise MetadataError(
                        f"the metadata at offset {header.base_offset} of {self.directory} cannot "
                        f"be read ({error}). Restore the directory from a copy; what a newer "
                        "version wrote, only that version can read"
                    ) from error
                offset = header.last_offset + 1
                size_bytes += header.size_bytes
        return size_bytes

    def _replay(
        self, state: ControllerState, control: ControlState, header: BatchHeader, data: bytes
    ) -> None:
        batch = decode_records(data[: header.size_bytes])
        epoch, timestamp = header.partition_leader_epoch, header.max_timestamp
        if header.is_control:
            self.has_voters_in_log |= control.add(batch)
            state.replay_control(header.last_offset, epoch, timestamp)
        else:
            state.add_batch(header.base_offset, epoch, timestamp, metadata_records(batch))

    def read_bootstrap(self) -> list[Message]:
        """The bootstrap records of the cluster."""
        path = os.path.join(self._log_dir, BOOTSTRAP_CHECKPOINT)
        if not self._disk.exists(path):
            latest = LATEST_METADATA_VERSION
            return [FeatureLevelRecord(name=METADATA_VERSION, feature_level=latest)]
        return decode_snapshot(self._disk.read_bytes(path), path).records

    def directory_ids(self) -> list[bytes]:
        """The ids of the existing log directories, in Kafka's order."""
        found = read_directories(all_directories(self._config), self._disk)
        ids = [
            properties.directory_id
            for path, properties in found.items()
            if properties is not None
            and properties.directory_id is not None
            and path in self._config.log_dirs
        ]
        return sorted(ids)

    # quorum-state

    def read_state(self) -> QuorumState:
        path = os.path.join(self.directory, QUORUM_STATE)
        state = QuorumState()
        if self._disk.exists(path):
            try:
                state = decode_quorum_state(self._disk.read_bytes(path))
            except ValueError as error:
                raise MetadataError(f"{path}: {error}") from error
        if self.latest_epoch > state.leader_epoch:
            # The file is older than the log: an epoch with records must not be used again.
            return QuorumState(self.latest_epoch)
        return state

    def write_state(self, state: QuorumState) -> None:
        data = encode_quorum_state(state, self.kraft_version, self.voters.ids)
        self._disk.write_atomically(os.path.join(self.directory, QUORUM_STATE), data)

    # Snapshots

    def write_snapshot(self, image: MetadataImage, *, in_background: bool = True) -> None:
        """Write a snapshot of ``image``, which is committed, and delete old ones."""
        if self._executor is None or not in_background:
            self._write_snapshot(image)
        else:
            self._executor.submit(self._write_snapshot_quietly, image)
        self._drop_old()

    def _write_snapshot_quietly(self, image: MetadataImage) -> None:
        try:
            self._write_snapshot(image)
        except OSError:
            logger.exception("snapshot of the metadata at offset %d failed", image.offset)

    def _write_snapshot(self, image: MetadataImage) -> None:
        data = encode_snapshot(
            snapshot_records(image),
            metadata_version=image.metadata_version,
            epoch=image.epoch,
            last_log_timestamp_ms=image.timestamp_ms,
            now_ms=self._clock.now_ms(),
            kraft_version=self.kraft_version,
            voters=self.voters if self.kraft_version > 0 else None,
        )
        snapshot = SnapshotId(image.offset + 1, image.epoch)
        self._disk.write_atomically(os.path.join(self.directory, snapshot.file_name), data)
        logger.info("wrote snapshot %s of %d bytes", snapshot.file_name, len(data))

    def _drop_old(self) -> None:
        """Apply metadata.max.retention.bytes and .ms; the newest snapshot is always kept."""
        config = self._config
        now_ms = self._clock.now_ms()
        found = self.snapshots()
        while len(found) > 1:
            oldest = os.path.join(self.directory, found[0].file_name)
            sizes = [self._disk.size(os.path.join(self.directory, s.file_name)) for s in found]
            total = sum(sizes) + self.log.size_bytes
            age_ms = now_ms - self._disk.modified_ms(oldest)
            is_too_big = 0 <= config.metadata_max_retention_bytes < total
            is_too_old = 0 <= config.metadata_max_retention_ms < age_ms
            if not is_too_big and not is_too_old:
                break
            self._disk.remove(oldest)
            del found[0]
            if found[0].end_offset <= self.log.high_watermark:
                self.log.delete_records_before(found[0].end_offset)
        self.log.delete_old_segments(now_ms)
        self.log.remove_deleted_files(now_ms)
