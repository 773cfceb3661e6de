"""One fetch session (KIP-227): the partitions of a client, and which of them may have news for it.

A session may have thousands of partitions, nearly all of them idle. So a fetch does not look at
all of them, but only at those that are marked: partitions that the request names, those that have
changed since they were read, and those that the last responses had no room for. An unmarked
partition is one whose reader is at the end, has been told everything, and would get nothing.

A partition is marked by its ``Partition``, for which a ``CachedPartition`` is one of the waiters:
it is called when the log end or the high watermark moves, for new metadata, and when the log goes
away. It then tells the fetch of its session that waits, if there is one.

Rules this module keeps:

* A partition that is not marked is watched. One that is marked is watched only while a fetch of
  the session waits: a busy partition costs its producers nothing.
* Marked partitions are read in the order in which they were marked; one that returned records
  goes to the end. So a busy partition cannot starve the others of ``fetch.max.bytes``.
* A partition that failed stays marked until it works again.
* A follower's partition stays marked as long as the follower is not in the ISR: the leader looks
  at its fetches to let it in.
"""

from typing import Final, Protocol

from moldau.broker.partition import HIGH_WATERMARK, LOG_END, Partition
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
NO_SESSION: Final = 0
MAX_INT: Final = 0x7FFFFFFF
CONSUMER: Final = -1
# Counts of readable bytes may be negative, in theory.
NOT_COUNTED: Final = -(1 << 62)

# Topics have ids from version 13 on, and names before.
TopicKey = bytes | str
PartitionKey = tuple[TopicKey, int]


class WaitingFetch(Protocol):
    """A fetch of a session that waits for its partitions."""

    def check(self, cached: "CachedPartition") -> None:
        """Check again whether there is enough data: this partition has changed."""
        ...

    def finish(self) -> None:
        """Respond with the data available now."""
        ...


class CachedPartition:
    """One partition in a session: the request, the last response, and what was read."""

    __slots__ = (
        "fetch",
        "high_watermark",
        "is_held_back",
        "is_in_error",
        "key",
        "leader_epoch",
        "log_start_offset",
        "partition",
        "readable_bytes",
        "session",
        "was_leader",
    )

    def __init__(self, key: PartitionKey, fetch: FetchPartition) -> None:
        self.key = key
        self.fetch = fetch
        self.high_watermark = -1
        self.log_start_offset = -1
        # A partition that failed is sent again once it works, even if empty.
        self.is_in_error = False

    def enter(self, session: "FetchSession") -> None:
        """Be part of a session. Without one, there is none of what is set here."""
        self.session = session
        # As it was when it was read; None before that, and after an error.
        self.partition: Partition | None = None
        self.leader_epoch = -1
        self.was_leader = False
        self.readable_bytes = NOT_COUNTED
        # Whether records were held back from a throttled follower: more of them wake nobody.
        self.is_held_back = False

    def knows(self, high_watermark: int, log_start_offset: int) -> bool:
        """Whether the last response was the same, so that it need not be sent again."""
        return (
            high_watermark == self.high_watermark
            and log_start_offset == self.log_start_offset
            and not self.is_in_error
        )

    def take_answer(self, answer: PartitionData) -> bool:
        """Store ``answer``; returns whether it is news to the client."""
        is_news = (
            bool(answer.records)
            or answer.error_code != 0
            or self.is_in_error
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.preferred_read_replica != -1
            or answer.diverging_epoch is not None
        )
        self.high_watermark = answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        self.is_in_error = answer.error_code != 0
        return is_news

    # --- watching

    def read_from(self, partition: Partition) -> None:
        """Note the state of ``partition``, which is read now; ``count`` follows if it matters."""
        if self.partition is not partition:
            self.unwatch()
            self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.was_leader = partition.is_leader
        self.readable_bytes = NOT_COUNTED

    def count(self, limit: int) -> None:
        """Count what is readable now, unless that was done since the partition was read."""
        if self.readable_bytes == NOT_COUNTED and self.partition is not None:
            self.readable_bytes = self.partition.readable_bytes(limit)

    def watch(self) -> None:
        """Be told when the partition changes."""
        partition, session = self.partition, self.session
        assert partition is not None, "it was read"
        partition.add_waiter(self, session.limit)
        if session.limit == LOG_END:
            # A response has the high watermark, though nobody is woken for it (KAFKA-9952).
            partition.add_waiter(self, HIGH_WATERMARK)

    def unwatch(self) -> None:
        if self.partition is not None:
            self.partition.remove_waiter(self)
            self.partition = None

    def check(self, partition: Partition) -> None:
        """Called by the partition: it has changed."""
        session = self.session
        session.mark(self)
        if session.waiting is None:
            partition.remove_waiter(self)
        else:
            session.waiting.check(self)

    def finish(self) -> None:
        """Called by the partition: it is gone from here, or the broker is stopping."""
        session = self.session
        session.mark(self)
        if session.waiting is not None:
            session.waiting.finish()


class FetchSession:
    """The partitions of one client; the marked ones in the order in which they are read next."""

    __slots__ = (
        "epoch",
        "id",
        "is_closed",
        "limit",
        "marked",
        "partitions",
        "replica_epoch",
        "replica_id",
        "used_ms",
        "uses_topic_ids",
        "waiting",
    )

    def __init__(self, id: int, uses_topic_ids: bool, now_ms: int, replica_id: int) -> None:
        self.id = id
        self.epoch = INITIAL_EPOCH + 1
        self.uses_topic_ids = uses_topic_ids
        self.used_ms = now_ms
        self.replica_id = replica_id
        self.replica_epoch = -1
        # What the partitions are watched for, as ``Partition.readable_bytes`` has it.
        self.limit = HIGH_WATERMARK
        self.is_closed = False
        self.partitions: dict[PartitionKey, CachedPartition] = {}
        self.marked: dict[PartitionKey, CachedPartition] = {}
        self.waiting: WaitingFetch | None = None

    @property
    def is_privileged(self) -> bool:
        """A follower's session is never evicted for a consumer's."""
        return self.replica_id != CONSUMER

    def add(self, cached: CachedPartition) -> None:
        """Add a partition, which will be read by the next fetch."""
        cached.enter(self)
        self.partitions[cached.key] = cached
        self.marked[cached.key] = cached

    def update(self, request: FetchRequest) -> None:
        """Apply the changes of an incremental request."""
        for topic in request.topics:
            topic_key: TopicKey = topic.topic_id if self.uses_topic_ids else topic.topic
            for fetch in topic.partitions:
                key = (topic_key, fetch.partition)
                cached = self.partitions.get(key)
                if cached is None:
                    self.add(CachedPartition(key, fetch))
                else:
                    # It keeps its place if it was marked already.
                    self.mark(cached)
                    cached.fetch = fetch
        for forgotten in request.forgotten_topics_data:
            topic_key = forgotten.topic_id if self.uses_topic_ids else forgotten.topic
            for partition in forgotten.partitions:
                self._forget((topic_key, partition))

    def _forget(self, key: PartitionKey) -> None:
        cached = self.partitions.pop(key, None)
        if cached is not None:
            self.mark(cached)
            del self.marked[key]
            cached.unwatch()

    def read_by(self, limit: int, replica_id: int, replica_epoch: int) -> None:
        """Note who sends the next request, and up to where it reads.

        Clients do not change that within a session. If one does, nothing that was found out for
        the reader before is of use.
        """
        if limit != self.limit or replica_id != self.replica_id:
            self.limit = limit
            self.replica_id = replica_id
            for cached in self.partitions.values():
                cached.unwatch()
            self.marked = dict(self.partitions)
        self.replica_epoch = replica_epoch

    def mark(self, cached: CachedPartition) -> None:
        """Let the next fetch read the partition."""
        self.marked[cached.key] = cached

    def settle(self, cached: CachedPartition) -> None:
        """Leave the partition alone until it changes: its reader has everything."""
        if not self.is_closed and self.marked.pop(cached.key, None) is not None:
            cached.count(self.limit)
            cached.watch()

    def move_to_end(self, cached: CachedPartition) -> None:
        """Read the partition after all others that are marked now."""
        if self.marked.pop(cached.key, None) is not None:
            self.marked[cached.key] = cached

    def advance(self, now_ms: int) -> None:
        self.epoch = 1 if self.epoch == MAX_INT else self.epoch + 1
        self.used_ms = now_ms

    def close(self) -> None:
        """Watch nothing any more. A fetch that still waits responds with what is there."""
        self.is_closed = True
        for cached in self.partitions.values():
            self.mark(cached)
            cached.unwatch()
        if self.waiting is not None:
            self.waiting.finish()
