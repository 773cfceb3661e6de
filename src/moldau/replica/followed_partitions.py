"""The partitions that are fetched from one leader, and what the leader knows of them.

In a fetch session (KIP-227) both sides keep the list of partitions. A request names those that
changed since the one before, and a response those with records or news. So a fetch costs what
changed, however many partitions are idle.

There is one request at a time in the session, and it waits at the leader until there is something
to fetch. A partition that is followed, or ready again, while it waits would have to wait as well,
and so would all producers with acks=all: after the loss of a broker, for half a second. Such
partitions are fetched without a session, beside it, until the session has them (``plan_beside``).

Rules this module keeps:

* A partition is in the session only while it can take an answer; otherwise the leader is told to
  forget it.
* What the leader was told is kept until the next request: answers are judged by it.
* After a lost connection or an error of the session everything is told again, to a new session.
"""

from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from moldau.replica.follower_state import Asked, FollowerState, PartitionKey, Phase

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
# Of a fetch without a session.
FINAL_EPOCH: Final = -1
_MAX_EPOCH: Final = 0x7FFFFFFF
# A request with more takes milliseconds on either side; the rest is named by the next one.
MOST_NAMED: Final = 500

SESSION_ERRORS: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


class PlannedFetch(NamedTuple):
    """The part of a Fetch request that depends on the partitions."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    asked: dict[PartitionKey, Asked]
    """what the answers are answers to"""
    is_complete: bool
    """whether it names all there are to name: only then may the leader wait for records"""


Answer = tuple[FollowerState, Asked, PartitionData]


class FollowedPartitions:
    """The partitions of one fetcher. Time comes in as ``now_ms``, of the monotonic clock."""

    def __init__(self, partition_max_bytes: int) -> None:
        """``partition_max_bytes`` is replica.fetch.max.bytes."""
        self._partition_max_bytes = partition_max_bytes
        self._states: dict[PartitionKey, FollowerState] = {}
        self._keys: dict[TopicPartition, PartitionKey] = {}
        self._session_id = NO_SESSION
        self._session_epoch = INITIAL_EPOCH
        self._is_refused = False
        # What the session has.
        self._told: dict[PartitionKey, Asked] = {}
        # Partitions that are ready, and of which the leader knows nothing or something else.
        self._untold: dict[PartitionKey, None] = {}
        self._to_forget: dict[PartitionKey, None] = {}
        self._delayed: list[tuple[int, int, FollowerState]] = []
        self._delays = 0

    def __len__(self) -> int:
        return len(self._states)

    def find(self, topic_partition: TopicPartition) -> FollowerState | None:
        key = self._keys.get(topic_partition)
        return None if key is None else self._states[key]

    def states(self) -> list[FollowerState]:
        return list(self._states.values())

    # --- what is followed

    def follow(self, state: FollowerState) -> bool:
        """Fetch a partition; False if it is already fetched in that leader epoch."""
        former = self.find(state.topic_partition)
        if former is not None:
            if former.key == state.key and former.leader_epoch == state.leader_epoch:
                return False
            self.forget(state.topic_partition)
        self._keys[state.topic_partition] = state.key
        self._states[state.key] = state
        self.changed(state)
        return True

    def forget(self, topic_partition: TopicPartition) -> FollowerState | None:
        """Fetch a partition no more; answers for it are ignored from now on."""
        key = self._keys.pop(topic_partition, None)
        if key is None:
            return None
        self._leave_session(key)
        return self._states.pop(key)

    def is_current(self, state: FollowerState) -> bool:
        return self._states.get(state.key) is state

    # --- changes of one partition

    def changed(self, state: FollowerState) -> None:
        """The leader must be told of a partition that is ready, if it does not know it all."""
        if state.phase is not Phase.FETCHING or not self.is_current(state):
            return
        self._to_forget.pop(state.key, None)
        if self._told.get(state.key) != state.asking:
            self._untold[state.key] = None
        else:
            self._untold.pop(state.key, None)

    def hold(self, state: FollowerState, phase: Phase) -> None:
        """Do not fetch a partition until ``resume``."""
        state.phase = phase
        if self.is_current(state):
            self._leave_session(state.key)

    def delay(self, state: FollowerState, now_ms: int, most_ms: int) -> None:
        """Fetch a partition again after a pause: something went wrong."""
        self._pause(state, Phase.DELAYED, now_ms + state.pause_ms(most_ms))

    def throttle(self, state: FollowerState, now_ms: int, excess_ms: int) -> None:
        """Do not fetch a partition while throttled replicas exceed their quota (KIP-73)."""
        self._pause(state, Phase.THROTTLED, now_ms + excess_ms)

    def _pause(self, state: FollowerState, phase: Phase, until_ms: int) -> None:
        state.resumes_at_ms = until_ms
        self.hold(state, phase)
        self._delays += 1
        heappush(self._delayed, (until_ms, self._delays, state))

    def resume(self, state: FollowerState) -> None:
        if self.is_current(state):
            state.phase = Phase.FETCHING
            self.changed(state)

    def next_due_ms(self) -> int | None:
        """When the next delayed partition is to be fetched again."""
        while self._delayed and not self._is_due_later(*self._delayed[0]):
            heappop(self._delayed)
        return self._delayed[0][0] if self._delayed else None

    def _is_due_later(self, due_ms: int, _: int, state: FollowerState) -> bool:
        return (
            self.is_current(state)
            and state.phase in (Phase.DELAYED, Phase.THROTTLED)
            and state.resumes_at_ms == due_ms
        )

    def _resume_due(self, now_ms: int, excess_ms: int) -> None:
        due_ms = self.next_due_ms()
        while due_ms is not None and due_ms <= now_ms:
            _, _, state = heappop(self._delayed)
            if state.phase is Phase.THROTTLED and excess_ms > 0:
                self.throttle(state, now_ms, excess_ms)
            else:
                self.resume(state)
            due_ms = self.next_due_ms()

    def _leave_session(self, key: PartitionKey) -> None:
        self._untold.pop(key, None)
        if key in self._told:
            self._to_forget[key] = None

    # --- requests

    def plan(self, now_ms: int, excess_ms: int = 0) -> PlannedFetch | None:
        """The next request of the session; None if nothing is to be fetched.

        Throttled partitions wait for another ``excess_ms``.
        """
        self._resume_due(now_ms, excess_ms)
        told = self._told
        forgotten = list(self._to_forget)
        self._to_forget.clear()
        for key in forgotten:
            del told[key]
        if not told and not self._untold:
            self._end_session(self._session_id)
            return None
        named = self._name(told, len(self._untold) if self._is_refused else MOST_NAMED)
        for key in named:
            del self._untold[key]
        return PlannedFetch(
            self._session_id,
            self._session_epoch,
            self._topics(named),
            [] if self._session_epoch == INITIAL_EPOCH else _forgotten_topics(forgotten),
            told,
            not self._untold,
        )

    def plan_beside(self, now_ms: int, excess_ms: int = 0) -> PlannedFetch | None:
        """A fetch of what the session, which waits for its answer, does not have yet."""
        self._resume_due(now_ms, excess_ms)
        if not self._untold:
            return None
        asked: dict[PartitionKey, Asked] = {}
        named = self._name(asked, MOST_NAMED)
        return PlannedFetch(NO_SESSION, FINAL_EPOCH, self._topics(named), [], asked, True)

    def _name(self, asked: dict[PartitionKey, Asked], most: int) -> list[PartitionKey]:
        """Choose what to name, and note it in ``asked``."""
        named = list(islice(self._untold, most))
        for key in named:
            asked[key] = self._states[key].asking
        return named

    def _topics(self, named: list[PartitionKey]) -> list[FetchTopic]:
        topics: dict[bytes, FetchTopic] = {}
        for key in named:
            topic_id, index = key
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
            state = self._states[key]
            topic.partitions.append(
                FetchPartition(
                    partition=index,
                    current_leader_epoch=state.leader_epoch,
                    fetch_offset=state.fetch_offset,
                    last_fetched_epoch=state.last_fetched_epoch,
                    log_start_offset=state.log_start_offset,
                    partition_max_bytes=self._partition_max_bytes,
                    high_watermark=state.high_watermark,
                )
            )
        return list(topics.values())

    # --- answers

    def answered(self, planned: PlannedFetch, response: FetchResponse) -> list[Answer]:
        """The answers for partitions that are still fetched.

        The response has no error. One to a request of the session says whether it goes on.
        """
        if planned.session_epoch != FINAL_EPOCH:
            self._is_refused = response.session_id == NO_SESSION
            if self._is_refused:
                # The leader has no room for a session: every request names everything.
                self._end_session(NO_SESSION)
            else:
                epoch = planned.session_epoch
                self._session_id = response.session_id
                self._session_epoch = 1 if epoch == _MAX_EPOCH else epoch + 1
        answers: list[Answer] = []
        for topic in response.responses:
            for answer in topic.partitions:
                key = (topic.topic_id, answer.partition_index)
                state = self._states.get(key)
                asked = planned.asked.get(key)
                if state is not None and asked is not None:
                    answers.append((state, asked, answer))
        return answers

    def failed(self, planned: PlannedFetch, error: ErrorCode | None) -> None:
        """There is no answer, for want of a connection, or it is an error."""
        if planned.session_epoch == FINAL_EPOCH:
            return
        keeps_id = error != ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        self._end_session(self._session_id if keeps_id else NO_SESSION)

    def _end_session(self, session_id: int) -> None:
        """Begin another session; the leader closes ``session_id`` then."""
        self._session_id = session_id
        self._session_epoch = INITIAL_EPOCH
        self._to_forget.clear()
        # New objects: answers that are being taken still refer to the old one.
        told, self._told = self._told, {}
        for key in told:
            state = self._states.get(key)
            if state is not None:
                self.changed(state)


def _forgotten_topics(keys: list[PartitionKey]) -> list[ForgottenTopic]:
    topics: dict[bytes, ForgottenTopic] = {}
    for topic_id, index in keys:
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = ForgottenTopic(topic_id=topic_id)
        topic.partitions.append(index)
    return list(topics.values())
