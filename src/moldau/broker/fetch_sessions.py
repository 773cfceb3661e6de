"""Fetch sessions (KIP-227): a consumer sends its partitions once, then only changes.

Without a session, a consumer of a thousand idle partitions would send and receive a thousand
entries per fetch. In a session both sides keep the list: a request has the partitions whose
position changed, a response those with records or changed state.

Rules this module keeps:

* The epoch of a session increases by one with each request; a request with another epoch is
  refused, and the client starts again with a full fetch.
* A partition that returned records moves to the end of the list, so that one busy
  partition cannot starve the others of ``fetch.max.bytes``.
* There are at most ``max.incremental.fetch.session.cache.slots`` sessions. A new one replaces
  the least recently used one, if that has been idle for two minutes; otherwise the client gets
  no session, which costs bytes but not correctness.
"""

import random
from collections.abc import Iterable
from typing import Final

from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
NO_SESSION: Final = 0
EVICTION_MS: Final = 120_000

# Topics have ids from version 13 on, and names before.
TopicKey = bytes | str
PartitionKey = tuple[TopicKey, int]


class CachedPartition:
    """The state of one partition in a session: the request, and the last response."""

    __slots__ = ("fetch", "high_watermark", "is_in_error", "key", "log_start_offset")

    def __init__(self, key: PartitionKey, fetch: FetchPartition) -> None:
        self.key = key
        self.fetch = fetch
        self.high_watermark = -1
        self.log_start_offset = -1
        # A partition that failed is sent again once it works, even if empty.
        self.is_in_error = False

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


class FetchSession:
    """The partitions of one client, in the order in which they will be read next."""

    __slots__ = ("epoch", "id", "is_privileged", "partitions", "used_ms", "uses_topic_ids")

    def __init__(self, id: int, uses_topic_ids: bool, now_ms: int, is_privileged: bool) -> None:
        self.id = id
        self.epoch = INITIAL_EPOCH + 1
        self.uses_topic_ids = uses_topic_ids
        self.used_ms = now_ms
        # A follower's session is never evicted for a consumer's.
        self.is_privileged = is_privileged
        self.partitions: dict[PartitionKey, CachedPartition] = {}

    def update(self, request: FetchRequest) -> None:
        for topic in request.topics:
            topic_key: TopicKey = topic.topic_id if self.uses_topic_ids else topic.topic
            for fetch in topic.partitions:
                key = (topic_key, fetch.partition)
                cached = self.partitions.get(key)
                if cached is None:
                    self.partitions[key] = CachedPartition(key, fetch)
                else:
                    cached.fetch = fetch
        for forgotten in request.forgotten_topics_data:
            topic_key = forgotten.topic_id if self.uses_topic_ids else forgotten.topic
            for partition in forgotten.partitions:
                self.partitions.pop((topic_key, partition), None)

    def move_to_end(self, cached: CachedPartition) -> None:
        self.partitions[cached.key] = self.partitions.pop(cached.key)

    def advance(self, now_ms: int) -> None:
        self.epoch = 1 if self.epoch == 0x7FFFFFFF else self.epoch + 1
        self.used_ms = now_ms


class FetchSessionCache:
    """The broker's sessions, bounded in number."""

    def __init__(self, max_sessions: int, rng: random.Random) -> None:
        self._max_sessions = max_sessions
        self._rng = rng
        # In the order of use: the first is the one to evict.
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def create(
        self,
        partitions: Iterable[CachedPartition],
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
    ) -> FetchSession | None:
        """A new session over ``partitions``; None if there is no room for one."""
        remembered = {cached.key: cached for cached in partitions}
        if not self._make_room(privileged, now_ms):
            return None
        session = FetchSession(self._new_id(), uses_topic_ids, now_ms, privileged)
        session.partitions = remembered
        self._sessions[session.id] = session
        return session

    def remove(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)

    def resume(self, request: FetchRequest, version: int, now_ms: int) -> FetchSession | ErrorCode:
        """The updated session of an incremental fetch, or the error code."""
        session = self._sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != (version >= 13):
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(request)
        self.remove(session.id)
        if session.partitions:
            self._sessions[session.id] = session
            session.advance(now_ms)
        return session

    def _make_room(self, privileged: bool, now_ms: int) -> bool:
        if len(self._sessions) < self._max_sessions:
            return True
        for session in self._sessions.values():
            is_stale = now_ms - session.used_ms > EVICTION_MS
            if is_stale or (privileged and not session.is_privileged):
                self.remove(session.id)
                return True
        return False

    def _new_id(self) -> int:
        while True:
            session_id = self._rng.randint(1, 0x7FFFFFFF)
            if session_id not in self._sessions:
                return session_id
