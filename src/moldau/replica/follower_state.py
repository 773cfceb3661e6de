"""What a follower does with the answers of its leader, for one partition.

A follower asks for the offset after its last record and says in which leader epoch that record was
written. Either its log is a prefix of the leader's, and records come; or the two diverge, and the
leader says where the epoch in question ends in its log (KIP-595). So no request is needed to find
out where to truncate, and every fetch proves that the logs agree up to its offset.

Rules this module keeps:

* The log is truncated by leader epoch, never by an offset alone (KIP-101, KIP-279). If the leader
  does not have our last epoch, our end of the epoch that it names is where we ask again.
* An answer counts only if the partition is still followed in the leader epoch, and still ends at
  the offset, with which the leader was asked (KAFKA-13207, KAFKA-18991).
* An answer that says where the logs diverge is not progress: its high watermark is not taken
  (KAFKA-13141, KAFKA-14704).
* An answer without records keeps the last fetched epoch (KAFKA-15510).
"""

from enum import Enum
from typing import Final, NamedTuple, Protocol

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import EpochEndOffset, PartitionData

NO_EPOCH: Final = -1
# The high watermark of a request that does not wait for another one (KIP-1166).
NOT_AWAITED: Final = (1 << 63) - 1
# The pause after the first error. A partition whose new leader does not know yet that it leads is
# back in time for its producers; one with a lasting problem costs little, see ``pause_ms``.
FIRST_PAUSE_MS: Final = 20

PartitionKey = tuple[bytes, int]


class Phase(Enum):
    """What a followed partition is doing."""

    FETCHING = "fetching"
    DELAYED = "delayed"
    """after an error, until ``resumes_at_ms``"""
    THROTTLED = "throttled"
    """at least until ``resumes_at_ms``"""
    ASKING = "asking"
    """for the offsets of its leader, because its own is out of range"""
    FLUSHING = "flushing"
    """what it has appended, before it may acknowledge that"""
    STOPPED = "stopped"
    """until the metadata names another leader epoch"""


class Asked(NamedTuple):
    """What the leader was told about one partition."""

    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    high_watermark: int = NOT_AWAITED


class Step(Enum):
    """What to do with the answer for one partition."""

    IGNORE = "ignore"
    APPEND = "append"
    TRUNCATE = "truncate"
    ASK_OFFSETS = "ask offsets"
    DELAY = "delay"
    STOP = "stop"


class LogView(Protocol):
    """What these decisions need to know of a log."""

    @property
    def log_end_offset(self) -> int: ...

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int]: ...


class FollowerState:
    """One followed partition. ``fetch_offset`` is the end of its log."""

    __slots__ = (
        "failures",
        "fetch_offset",
        "high_watermark",
        "key",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start_offset",
        "phase",
        "resumes_at_ms",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        leader_epoch: int,
        fetch_offset: int,
        last_fetched_epoch: int,
        log_start_offset: int,
    ) -> None:
        self.topic_partition = topic_partition
        self.key: PartitionKey = (topic_id, topic_partition.partition)
        self.leader_epoch = leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        # The one known here, if consumers wait for the next one.
        self.high_watermark = NOT_AWAITED
        self.phase = Phase.FETCHING
        self.resumes_at_ms = 0
        self.failures = 0

    @property
    def asking(self) -> Asked:
        """What to tell the leader now."""
        return Asked(
            self.leader_epoch,
            self.fetch_offset,
            self.last_fetched_epoch,
            self.log_start_offset,
            self.high_watermark,
        )

    def judge(self, asked: Asked, answer: PartitionData) -> Step:
        """What to do with the answer to what was ``asked``."""
        if (
            self.phase is not Phase.FETCHING
            or asked.leader_epoch != self.leader_epoch
            or asked.fetch_offset != self.fetch_offset
        ):
            return Step.IGNORE
        code = answer.error_code
        if code == ErrorCode.NONE:
            return Step.TRUNCATE if is_diverging(answer) else Step.APPEND
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return Step.ASK_OFFSETS
        if code == ErrorCode.FENCED_LEADER_EPOCH:
            # The leader is ahead of our metadata, which will name the new epoch.
            return Step.STOP
        return Step.DELAY

    def moved_to(self, fetch_offset: int, last_fetched_epoch: int, log_start_offset: int) -> None:
        """The log ends, and begins, here now."""
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset

    def pause_ms(self, most_ms: int) -> int:
        """How long to wait after another error: twice as long as the last time, up to a limit."""
        self.failures += 1
        return min(FIRST_PAUSE_MS << min(self.failures - 1, 20), most_ms)


def is_diverging(answer: PartitionData) -> bool:
    return answer.diverging_epoch is not None and answer.diverging_epoch.epoch >= 0


def truncation_offset(log: LogView, diverging: EpochEndOffset) -> int:
    """Where to truncate ``log``, if the leader's largest epoch up to our last one ends there."""
    log_end_offset = log.log_end_offset
    epoch, end_offset = log.end_offset_for_epoch(diverging.epoch)
    if epoch == NO_EPOCH:
        # Our log has no epochs up to that one.
        return min(diverging.end_offset, log_end_offset)
    # Without anything of the leader's epoch, this is where ours of the one before ends. That may
    # still be too far: the next fetch finds it out (KIP-279).
    return min(end_offset, diverging.end_offset, log_end_offset)


class Reset(NamedTuple):
    """How to go on after OFFSET_OUT_OF_RANGE."""

    offset: int
    is_full: bool
    """whether all records are removed, or only those from ``offset`` on"""


def reset_for(log_end_offset: int, leader_start_offset: int, leader_end_offset: int) -> Reset:
    """Where to go on, if the leader's log begins and ends at the given offsets.

    The end of the leader's log is below ours only after an unclean election; whether the rest
    agrees is found out by epoch with the next fetch.
    """
    if leader_end_offset < log_end_offset:
        return Reset(leader_end_offset, is_full=False)
    if leader_start_offset > log_end_offset:
        return Reset(leader_start_offset, is_full=True)
    return Reset(log_end_offset, is_full=False)
