"""What transactional clients did and saw, for a checker that looks at all of it in the end.

A transaction is what one producer sent between two ends. Its records may be seen by readers of
committed records from the moment on at which its commit was *sent*: whether the answer came does
not matter to them. So there are three outcomes: committed, if a commit was acknowledged; aborted,
if none was ever sent; unknown in between.

A plain write is a transaction of one record, whose commit is the request itself.
"""

from enum import Enum
from typing import Final, NamedTuple

from moldau.ids import TopicPartition

UNKNOWN_OFFSET: Final = -1


class Outcome(Enum):
    """What became of a transaction, as far as its producer knows."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Sent(NamedTuple):
    """A record that was acknowledged; its offset is unknown if a leader only says it has it."""

    topic_partition: TopicPartition
    value: bytes
    offset: int


class Transaction:
    """The records of one producer between two ends."""

    __slots__ = (
        "attempted",
        "commit_us",
        "is_committed",
        "is_over",
        "is_refused",
        "producer",
        "sent",
    )

    def __init__(self, producer: str) -> None:
        self.producer = producer
        # All that may arrive, in the order in which it was sent first.
        self.attempted: dict[tuple[TopicPartition, bytes], None] = {}
        self.sent: list[Sent] = []
        # When the commit was sent first.
        self.commit_us: int | None = None
        self.is_committed = False
        self.is_refused = False
        self.is_over = False

    def will_send(self, topic_partition: TopicPartition, value: bytes) -> None:
        self.attempted[topic_partition, value] = None

    def was_sent(self, topic_partition: TopicPartition, value: bytes, offset: int) -> None:
        self.sent.append(Sent(topic_partition, value, offset))

    def will_commit(self, at_us: int) -> None:
        if self.commit_us is None:
            self.commit_us = at_us

    def has_committed(self) -> None:
        self.is_committed = self.is_over = True

    def was_refused(self) -> None:
        """The only commit that was sent has an answer, which says that it does not count."""
        self.is_refused = self.is_over = True

    def has_ended(self) -> None:
        """The producer gave up; if it has sent a commit, nobody knows what came of it."""
        self.is_over = True

    @property
    def outcome(self) -> Outcome:
        if self.is_committed:
            return Outcome.COMMITTED
        if self.commit_us is None or self.is_refused:
            return Outcome.ABORTED
        return Outcome.UNKNOWN


class Poll(NamedTuple):
    """One answer to a reader of committed records: it went from ``position`` to ``next_position``.

    Records that were filtered, and markers, are between the offsets of the others.
    """

    reader: str
    at_us: int
    topic_partition: TopicPartition
    position: int
    records: tuple[tuple[int, bytes], ...]
    next_position: int


class TransactionHistory:
    """The facts of one simulation."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.polls: list[Poll] = []

    def begin(self, producer: str) -> Transaction:
        transaction = Transaction(producer)
        self.transactions.append(transaction)
        return transaction

    def polled(self, poll: Poll) -> None:
        self.polls.append(poll)

    def count(self, outcome: Outcome) -> int:
        """How many transactions with records had this outcome."""
        return sum(1 for each in self.transactions if each.sent and each.outcome is outcome)
