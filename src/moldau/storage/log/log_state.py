"""What the parts of one log share: its identity, its settings and its offsets.

A log is defined by four offsets and their order:

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset

Each is moved by one part: the log end offset by ``LogAppender``, the log start offset by
``LogRetention``, the high watermark by the caller through ``update_high_watermark``. Only
``LogTruncation`` moves all of them, and back.
"""

from typing import Protocol

from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.storage.disk.log_failure import storage_error
from moldau.storage.log.leader_epochs import LeaderEpochCache
from moldau.storage.log.log_context import LogContext
from moldau.storage.log.producer_state import ProducerStateManager
from moldau.storage.log.segment import Segment
from moldau.storage.log.segment_list import SegmentList


class Abortable(Protocol):
    """Work in another thread that can be aborted."""

    def abort(self) -> None: ...


class LogStartListener(Protocol):
    """Whoever serves the log."""

    def log_start_moved(self) -> None:
        """Called when old records are gone, by retention or by request."""
        ...


class LogState:
    """The state of one open log."""

    __slots__ = (
        "cleaner_checkpoint",
        "cleaning",
        "config",
        "context",
        "directory",
        "high_watermark",
        "is_closed",
        "leader_epochs",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "segments",
        "start_listener",
        "topic_partition",
    )

    def __init__(
        self,
        context: LogContext,
        topic_partition: TopicPartition,
        directory: str,
        config: LogConfig,
        segments: SegmentList,
        leader_epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        log_start_offset: int,
        log_end_offset: int,
    ) -> None:
        self.context = context
        self.topic_partition = topic_partition
        self.directory = directory
        self.config = config
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        # As in Kafka: the high watermark is restored from the checkpoint or learnt from the leader.
        self.high_watermark = log_start_offset
        self.is_closed = False
        # The end of the clean part of a compacted log; -1 if it was never cleaned.
        self.cleaner_checkpoint = -1
        # Set while the log is being cleaned, to abort the cleaning.
        self.cleaning: Abortable | None = None
        self.start_listener: LogStartListener | None = None

    @property
    def last_stable_offset(self) -> int:
        """The start of the first open transaction, or else the high watermark."""
        first = self.producers.first_unstable_offset
        if 0 <= first < self.high_watermark:
            return max(first, self.log_start_offset)
        return self.high_watermark

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark, clamped to the log; returns the new value."""
        offset = max(min(offset, self.log_end_offset), self.log_start_offset)
        self.high_watermark = offset
        self.producers.on_high_watermark(offset)
        return offset

    def stop_cleaning(self) -> None:
        """Abort cleaning: the records read by the cleaner are about to change."""
        if self.cleaning is not None:
            self.cleaning.abort()

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment in the directory, not yet in the list; raises OSError."""
        return self.context.new_segment(self.directory, base_offset, self.config)

    def storage_error(self, error: OSError, doing: str, *, in_fsync: bool = False) -> ApiError:
        """Return the error for the client; takes the log directory offline if the disk failed."""
        return storage_error(
            error,
            f"{doing} {self.topic_partition}",
            self.directory.rpartition("/")[0],
            self.context.on_failure,
            self.context.no_room,
            in_fsync=in_fsync,
        )

    def closed_error(self) -> ApiError:
        return ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{self.topic_partition} is not online: its log directory failed or it was closed",
        )
