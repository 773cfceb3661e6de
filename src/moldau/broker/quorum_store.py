"""The files of ``__cluster_metadata-0``: the log, its snapshots, and ``quorum-state``."""

import logging
import os
import random
from collections.abc import Iterator, Sequence
from typing import Final

from moldau.broker.format import (
    all_directories,
    make_durable_dirs,
    metadata_log_dir,
    read_directories,
)
from moldau.broker.metadata_snapshot import BOOTSTRAP_CHECKPOINT, ControlState, decode_snapshot
from moldau.broker.quorum_settings import controller_listener_name
from moldau.broker.quorum_snapshots import QuorumSnapshots
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import METADATA_TOPIC, METADATA_TOPIC_ID, TopicPartition
from moldau.metadata.delta import MetadataError
from moldau.metadata.features import LATEST_METADATA_VERSION, METADATA_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records.client_data import KRaftVersionRecord, VotersRecord
from moldau.protocol.records.metadata import FeatureLevelRecord
from moldau.raft.log_view import BOOTSTRAP_SNAPSHOT, SnapshotId
from moldau.raft.messages import KraftVersionChange, VotersChange
from moldau.raft.quorum_state import QuorumState, decode_quorum_state, encode_quorum_state
from moldau.raft.voter_history import VoterHistory
from moldau.raft.voters import VoterSet, parse_static_voters
from moldau.record.control import ControlType, decode_control_key
from moldau.record.header import BatchHeader, CorruptBatch, iter_headers
from moldau.record.records import Record, decode_records
from moldau.storage.disk.checkpoint import read_partition_metadata, write_partition_metadata
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor
from moldau.storage.disk.log_failure import FailureHandler
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.recovery import open_log

logger = logging.getLogger(__name__)

QuorumChange = VotersChange | KraftVersionChange

QUORUM_STATE: Final = "quorum-state"
_READ_BYTES: Final = 8 * 1024 * 1024
_FOREVER: Final = -1


class QuorumStore:
    """The files of the quorum. ``open`` sets ``log`` and ``history``."""

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
        self._context = LogContext(disk, clock, rng, executor, on_failure)
        self._log_dir = metadata_log_dir(config)
        self.directory = os.path.join(self._log_dir, f"{METADATA_TOPIC}-0")
        self.snapshots = QuorumSnapshots(config, self.directory, disk, clock, executor)
        self.bytes_since_snapshot = 0
        self.log: PartitionLog
        # The voters, as far as the log and the snapshots name them.
        self.history: VoterHistory

    # Opening

    def open(self) -> None:
        """Open the log and find the newest snapshot, without replaying either.

        Raises:
            CorruptSnapshot, MetadataError: with the reason and the remedy.
        """
        make_durable_dirs(self._disk, self.directory)
        self.snapshots.open()
        self.log = open_log(
            self._context,
            self.directory,
            TopicPartition(METADATA_TOPIC, 0),
            self._log_config(),
            clean_shutdown=False,
        )
        if read_partition_metadata(self._disk, self.directory) is None:
            write_partition_metadata(self._disk, self.directory, METADATA_TOPIC_ID)
        snapshot = self.newest_snapshot
        if self._is_newer_than_log(snapshot):
            self.log.truncate_fully_and_start_at(snapshot.end_offset)
        self._check_no_gap(snapshot)
        self.snapshots.drop_before(self.log.log_start_offset)
        # Recovery may have found more than what was flushed before: from here on it counts.
        self.log.flush()
        self._find_voters()

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

    @property
    def newest_snapshot(self) -> SnapshotId:
        return self.snapshots.latest or BOOTSTRAP_SNAPSHOT

    def _is_newer_than_log(self, snapshot: SnapshotId) -> bool:
        """Whether a snapshot came from a leader, and a crash came before it replaced the log.

        Length alone does not tell: records of earlier epochs that were never committed may lie
        behind the end of the snapshot, and would pass for records of its epoch.
        """
        log = self.log
        is_older = log.leader_epochs.latest_epoch < snapshot.epoch
        return log.log_end_offset < snapshot.end_offset or (snapshot.end_offset > 0 and is_older)

    def _check_no_gap(self, snapshot: SnapshotId) -> None:
        start = self.log.log_start_offset
        if start > snapshot.end_offset:
            raise MetadataError(
                f"{self.directory} has no records between offset {snapshot.end_offset}, where "
                f"the newest snapshot ends, and {start}, where the log begins: restore the "
                "snapshots that are missing"
            )

    def _find_voters(self) -> None:
        self.history = VoterHistory(self._static_voters())
        snapshot = self.snapshots.latest
        if snapshot is not None:
            control = self.snapshots.control(snapshot)
            # What a directory is formatted with is not in the log yet: offset -1.
            offset = snapshot.end_offset - 1
            self.history.reset(offset, control.kraft_version, control.voters)
        start = max(self.newest_snapshot.end_offset, self.log.log_start_offset)
        for header, data in self.batches(start, self.log.log_end_offset):
            self.bytes_since_snapshot += header.size_bytes
            for change in self._changes(header, data):
                self.history.add(change)

    def _static_voters(self) -> VoterSet:
        config = self._config
        if not config.controller_quorum_voters:
            return VoterSet()
        voters = parse_static_voters(",".join(config.controller_quorum_voters))
        name = controller_listener_name(config)
        return VoterSet.of(
            *(
                voter._replace(endpoints=tuple(end._replace(name=name) for end in voter.endpoints))
                for voter in voters.voters.values()
            )
        )

    # Reading

    def batches(self, offset: int, end_offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """The batches of the log from ``offset`` to ``end_offset``, read as they are needed.

        Raises:
            MetadataError: a batch cannot be read.
        """
        while offset < end_offset:
            data = self.read(offset, end_offset, _READ_BYTES)
            if not data:
                raise self.unreadable(offset, "nothing is there")
            try:
                for position, header in iter_headers(data):
                    if header.last_offset >= offset:
                        yield header, data[position : position + header.size_bytes]
                        offset = header.last_offset + 1
            except CorruptBatch as error:
                raise self.unreadable(offset, str(error)) from error

    def read(self, offset: int, end_offset: int, max_bytes: int) -> bytes:
        """Whole batches from ``offset`` on, at least one."""
        fetched = self.log.read(offset, max_bytes, max_offset=end_offset, min_one_message=True)
        return fetched.records if isinstance(fetched.records, bytes) else fetched.records.read()

    def unreadable(self, offset: int, problem: str) -> MetadataError:
        """The error for a record that cannot be replayed."""
        return MetadataError(
            f"the metadata at offset {offset} of {self.directory} cannot "
            f"be read ({problem}). Restore the directory from a copy; what a newer "
            "version wrote, only that version can read"
        )

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

    def close(self) -> None:
        """Close the files. What a full disk does not take is computed again at the next start."""
        self.snapshots.abandon_part()
        try:
            self.log.close()
        except ApiError as error:
            logger.warning("the metadata log was not closed cleanly: %s", error)
            self.log.close_files()

    # Appending

    def append(self, batches: bytes | memoryview) -> tuple[int, tuple[QuorumChange, ...]]:
        """Append batches that have their offsets and epochs.

        Returns the first offset, and what the batches change in the quorum itself.

        Raises:
            ApiError: the batches are damaged or do not continue the log, or KAFKA_STORAGE_ERROR.
        """
        info = self.log.append_as_follower(batches)
        if info is None:
            raise ApiError(ErrorCode.CORRUPT_MESSAGE, "there is no whole batch to append")
        self.bytes_since_snapshot += len(batches)
        return info.first_offset, self.changes_in(batches)

    def changes_in(self, batches: bytes | memoryview) -> tuple[QuorumChange, ...]:
        """What batches change in the quorum itself, as far as they are in the log."""
        changes: list[QuorumChange] = []
        for position, header in iter_headers(batches):
            if header.is_control and header.last_offset < self.log.log_end_offset:
                end = position + header.size_bytes
                changes += self._changes(header, bytes(batches[position:end]))
        return tuple(changes)

    def _changes(self, header: BatchHeader, data: bytes) -> list[QuorumChange]:
        if not header.is_control:
            return []
        try:
            return quorum_changes(decode_records(data))
        except (CorruptBatch, MalformedMessage) as error:
            raise self.unreadable(header.base_offset, str(error)) from error

    # quorum-state

    def read_state(self) -> QuorumState:
        path = os.path.join(self.directory, QUORUM_STATE)
        if not self._disk.exists(path):
            return QuorumState()
        try:
            return decode_quorum_state(self._disk.read_bytes(path))
        except ValueError as error:
            raise MetadataError(f"{path}: {error}") from error

    def write_state(self, state: QuorumState, kraft_version: int, voters: Sequence[int]) -> None:
        """Write the state; it is on the device when this returns."""
        data = encode_quorum_state(state, kraft_version, voters)
        self._disk.write_atomically(os.path.join(self.directory, QUORUM_STATE), data)

    # Snapshots

    def write_snapshot(self, image: MetadataImage, *, in_background: bool = True) -> None:
        """Write a snapshot of ``image``, which is committed, and then delete old ones."""
        history = self.history
        self.snapshots.write(
            image,
            history.kraft_version_at(image.offset),
            history.voters_at(image.offset),
            self._drop_old,
            in_background=in_background,
        )

    def _drop_old(self) -> None:
        # The node may have stopped while a snapshot was being written.
        if self.log.is_closed:
            return
        self.snapshots.drop_old(self.log)
        self.history.forget_before(self.log.log_start_offset)

    def install_snapshot(self, snapshot: SnapshotId) -> ControlState:
        """A fetched snapshot is complete: it replaces the log; returns its control records.

        Raises:
            CorruptSnapshot: it was damaged on its way, or at the leader. Nothing has changed.
        """
        control = self.snapshots.install(snapshot)
        self.log.truncate_fully_and_start_at(snapshot.end_offset)
        self.snapshots.drop_before(snapshot.end_offset)
        self.bytes_since_snapshot = 0
        return control


def quorum_changes(batch: Sequence[Record]) -> list[QuorumChange]:
    """What the records of a control batch change in the quorum."""
    changes: list[QuorumChange] = []
    for record in batch:
        kind = decode_control_key(record.key)
        value = record.value or b""
        if kind == ControlType.KRAFT_VERSION:
            version = KRaftVersionRecord.decode(value, 0, 0)[0].kraft_version
            changes.append(KraftVersionChange(record.offset, version))
        elif kind == ControlType.KRAFT_VOTERS:
            voters = VoterSet.from_record(VotersRecord.decode(value, 0, 0)[0])
            changes.append(VotersChange(record.offset, voters))
    return changes
