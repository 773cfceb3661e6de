"""Fetch sessions (KIP-227): a consumer sends its partitions once, then only changes.

Without a session, a consumer of a thousand idle partitions would send and receive a thousand
entries per fetch. In a session both sides keep the list: a request has the partitions whose
position changed, a response those with records or changed state. What a session knows about its
partitions is in ``fetch_session``.

Rules this module keeps:

* The epoch of a session increases by one with each request; a request with another epoch is
  refused, and the client starts again with a full fetch.
* There are at most ``max.incremental.fetch.session.cache.slots`` sessions. A new one replaces
  the least recently used one, if that has been idle for two minutes; otherwise the client gets
  no session, which costs bytes but not correctness.
"""

import random
from collections.abc import Iterable
from typing import Final

from moldau.broker.fetch_session import CONSUMER, MAX_INT, CachedPartition, FetchSession
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchRequest

EVICTION_MS: Final = 120_000
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13


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
        replica_id: int,
        now_ms: int,
    ) -> FetchSession | None:
        """A new session over ``partitions``; None if there is no room for one."""
        if not self._make_room(replica_id != CONSUMER, now_ms):
            return None
        session = FetchSession(self._new_id(), uses_topic_ids, now_ms, replica_id)
        for cached in partitions:
            session.add(cached)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def resume(self, request: FetchRequest, version: int, now_ms: int) -> FetchSession | ErrorCode:
        """The updated session of an incremental fetch, or the error code."""
        sessions = self._sessions
        session = sessions.get(request.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != (version >= FIRST_VERSION_WITH_TOPIC_IDS):
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.update(request)
        if session.partitions:
            session.advance(now_ms)
            del sessions[session.id]
            sessions[session.id] = session
        else:
            self.remove(session.id)
        return session

    def _make_room(self, is_privileged: bool, now_ms: int) -> bool:
        if len(self._sessions) < self._max_sessions:
            return True
        for session in self._sessions.values():
            is_stale = now_ms - session.used_ms > EVICTION_MS
            if is_stale or (is_privileged and not session.is_privileged):
                self.remove(session.id)
                return True
        return False

    def _new_id(self) -> int:
        while True:
            session_id = self._rng.randint(1, MAX_INT)
            if session_id not in self._sessions:
                return session_id
