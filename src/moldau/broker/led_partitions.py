"""What all partitions have in common that this broker leads and others follow.

It knows which ones they are, so that their ISRs can be checked without visiting all others.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from moldau.broker.commit_queue import CommitTimeouts
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.isr_changes import IsrChanges
from moldau.broker.metadata_cache import MetadataCache
from moldau.clock import Clock
from moldau.replica.leader_state import Brokers

if TYPE_CHECKING:
    from moldau.broker.leadership import Leadership


class LedPartitions:
    """The partitions led here that have followers, and what they need."""

    def __init__(
        self,
        node_id: int,
        clock: Clock,
        configs: DynamicConfig,
        metadata: MetadataCache,
        broker_epoch: Callable[[], int],
        isr_changes: IsrChanges,
    ) -> None:
        """``broker_epoch`` returns the epoch of this broker's registration."""
        self.node_id = node_id
        self.timeouts = CommitTimeouts(clock)
        self.broker_epoch = broker_epoch
        self.isr_changes = isr_changes
        self._clock = clock
        self._configs = configs
        self._metadata = metadata
        # In the order in which they came, so that a simulation repeats itself.
        self._leaderships: dict[Leadership, None] = {}

    @property
    def brokers(self) -> Brokers:
        return self._metadata.image.brokers

    @property
    def max_lag_ms(self) -> int:
        return self._configs.broker.replica_lag_time_max_ms

    def now_ms(self) -> int:
        return self._clock.monotonic_ms()

    def add(self, leadership: "Leadership") -> None:
        self._leaderships[leadership] = None

    def remove(self, leadership: "Leadership") -> None:
        self._leaderships.pop(leadership, None)

    def check_isrs(self) -> Iterator[None]:
        """Let every leader ask for the removal of followers that lag; one per step."""
        for leadership in list(self._leaderships):
            # Leaders change between the steps. What was known in an earlier leader epoch must move
            # no high watermark, nor take the place of what its successor asks for.
            if leadership in self._leaderships:
                leadership.check_isr(self.now_ms())
            yield
