"""What all logs of a broker share: disk, clock, randomness, and the executor for fsyncs."""

import random

from moldau.clock import Clock
from moldau.config.topic import LogConfig
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.late_writes import Executor, LateWrites
from moldau.storage.disk.log_failure import FailureHandler, NoRoom
from moldau.storage.log.segment import Segment


class LogContext:
    """The external dependencies of a log."""

    __slots__ = (
        "clock",
        "disk",
        "executor",
        "has_cut_logs",
        "late_writes",
        "no_room",
        "on_failure",
        "producer_expiration_ms",
        "rng",
    )

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        rng: random.Random,
        executor: Executor | None = None,
        on_failure: FailureHandler | None = None,
        producer_expiration_ms: int = 86_400_000,
    ) -> None:
        """Without an executor, fsyncs run in the calling thread."""
        self.disk = disk
        self.clock = clock
        self.rng = rng
        self.executor = executor
        self.late_writes = LateWrites(executor)
        self.on_failure = on_failure
        self.no_room = NoRoom(clock)
        self.producer_expiration_ms = producer_expiration_ms
        # Whether recovery has removed anything.
        self.has_cut_logs = False

    def new_segment(self, directory: str, base_offset: int, config: LogConfig) -> Segment:
        """Create an empty segment with a random part of ``segment.jitter.ms``."""
        jitter_ms = min(config.segment_jitter_ms, config.segment_ms)
        return Segment(
            self.disk,
            directory,
            base_offset,
            config,
            self.clock.wall_ms(),
            create=True,
            roll_jitter_ms=self.rng.randrange(jitter_ms) if jitter_ms > 0 else 0,
        )
