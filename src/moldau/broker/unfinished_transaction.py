"""A transaction that is decided, and whose markers are being written."""

import asyncio
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from moldau.broker.hosted_shard import HostedShard
from moldau.broker.marker_writing import Marker
from moldau.ids import TopicPartition
from moldau.network.backoff import Backoff
from moldau.transaction_coordinator.prepared import PreparedTransaction, each_partition

if TYPE_CHECKING:
    from moldau.transaction_coordinator.shard import TransactionShard

    HostedTransactions = HostedShard[TransactionShard]

FIRST_PAUSE_MS: Final = 20
MOST_PAUSE_MS: Final = 1000
# As much work as one marker.
COLLECTED_PER_STEP: Final = 200


class UnfinishedTransaction:
    """What remains to be written, and the pause before the next attempt.

    It belongs to one shard: when this broker stops leading or loads the shard again, it ends.
    """

    __slots__ = ("_is_ended", "_pauses", "hosted", "prepared", "remaining", "retrying", "timer")

    def __init__(self, hosted: "HostedTransactions", prepared: PreparedTransaction) -> None:
        self.hosted = hosted
        self.prepared = prepared
        # In order, because a simulation must replay. ``collect`` fills it.
        self.remaining: dict[TopicPartition, None] = {}
        # The part of ``remaining`` that is sent again after the pause.
        self.retrying: dict[TopicPartition, None] = {}
        self.timer: asyncio.TimerHandle | None = None
        self._pauses: Backoff | None = None
        self._is_ended = False

    def collect(self) -> Iterator[None]:
        """Collect the partitions, before any marker is written; in steps if there are many."""
        for count, topic_partition in enumerate(each_partition(self.prepared.partitions), 1):
            self.remaining[topic_partition] = None
            if count % COLLECTED_PER_STEP == 0:
                yield

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be written by it."""
        return self._is_ended or self.hosted.is_closed

    def end(self) -> None:
        self._is_ended = True

    @property
    def marker(self) -> Marker:
        """The marker, in the current epoch of the coordinator."""
        prepared = self.prepared
        return Marker(
            prepared.producer_id,
            prepared.producer_epoch,
            prepared.is_commit,
            self.hosted.leader_epoch,
            prepared.transaction_version,
        )

    @property
    def has_paused(self) -> bool:
        """Whether something has failed before."""
        return self._pauses is not None

    def next_pause_ms(self, rng: random.Random) -> float:
        """The pause before the next attempt: longer after each failure."""
        if self._pauses is None:
            self._pauses = Backoff(FIRST_PAUSE_MS, MOST_PAUSE_MS, rng)
        return self._pauses.next_ms()

    def __str__(self) -> str:
        prepared = self.prepared
        end = "commit" if prepared.is_commit else "abort"
        return (
            f"{end} of {prepared.transactional_id!r} (producer id {prepared.producer_id}, "
            f"epoch {prepared.producer_epoch})"
        )
