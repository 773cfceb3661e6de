"""One fetch request in progress: passes over its partitions, a wait between two, and the answer.

One pass reads the partitions of the request, one after the other, until ``max_bytes`` is used up;
in a session those that are marked (``fetch_session``). If it found less than ``min_bytes`` and the
client allows a wait, the request waits for its partitions and makes another pass when it is woken.
The first batch found is returned complete even if it exceeds the limits; otherwise the consumer
could never get past it.

The fetch of a follower is also an acknowledgement: it has everything before the offsets for which
it asks. That counts once, in the first pass, and only where there is no error and no divergence.
"""

from collections.abc import Awaitable, Collection
from typing import TYPE_CHECKING, Final

from moldau.broker.current_leaders import UNKNOWN
from moldau.broker.delayed_fetch import DelayedFetch, DelayedSessionFetch, Mark, mark
from moldau.broker.fetch_parts import FetchParts
from moldau.broker.fetch_reading import (
    NO_RECORDS,
    check_follower_has,
    diverging,
    elsewhere,
    read_records,
    refusal,
)
from moldau.broker.fetch_session import INITIAL_EPOCH, NO_SESSION, CachedPartition, FetchSession
from moldau.broker.fetch_sessions import FIRST_VERSION_WITH_TOPIC_IDS
from moldau.broker.partition import HIGH_WATERMARK, LAST_STABLE_OFFSET, LOG_END, Partition
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Steps
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

READ_COMMITTED: Final = 1
FIRST_VERSION_WITH_RACKS: Final = 11
FIRST_VERSION_WITH_LEADERS: Final = 16
LEADER_ERRORS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
# Reading more takes milliseconds.
MANY_PARTITIONS: Final = 500
READ_PER_STEP: Final = 10
ANSWERED_PER_STEP: Final = 100

Answer = tuple[CachedPartition, PartitionData]


class Fetching:
    """One request in progress."""

    __slots__ = (
        "_budget",
        "_context",
        "_counts",
        "_found_bytes",
        "_has_news",
        "_limit",
        "_marks",
        "_max_bytes",
        "_min_bytes",
        "_named",
        "_needs_leader",
        "_nodes",
        "_now_ms",
        "_parts",
        "_read_from",
        "_replica_epoch",
        "_replica_id",
        "_request",
        "_session",
        "_version",
    )

    def __init__(
        self,
        parts: FetchParts,
        request: FetchRequest,
        context: "RequestContext",
        named: Collection[CachedPartition],
        session: FetchSession | None,
        now_ms: int,
    ) -> None:
        """``named`` are the partitions of a request without a session."""
        self._parts = parts
        self._request = request
        self._context = context
        self._version = context.api_version
        self._named = named
        self._session = session
        self._now_ms = now_ms
        self._replica_id = request.replica_id
        self._replica_epoch = -1
        if request.replica_state is not None:
            self._replica_id = request.replica_state.replica_id
            self._replica_epoch = request.replica_state.replica_epoch
        if self._replica_id >= 0:
            self._limit = LOG_END
        elif request.isolation_level == READ_COMMITTED:
            self._limit = LAST_STABLE_OFFSET
        else:
            self._limit = HIGH_WATERMARK
        if session is not None:
            session.read_by(self._limit, self._replica_id, self._replica_epoch)
        self._max_bytes = min(request.max_bytes, parts.configs.broker.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        # Whether a follower's fetch is still to be counted.
        self._counts = True
        # Consumers that know of KIP-392 may read from followers.
        self._needs_leader = self._replica_id >= 0 or self._version < FIRST_VERSION_WITH_RACKS
        self._nodes: dict[int, NodeEndpoint] | None = None
        self._found_bytes = 0
        self._budget = self._max_bytes
        # An error, a diverging epoch or an awaited high watermark is returned without waiting.
        self._has_news = False
        # Without a session: what was read.
        self._read_from: list[Partition] = []
        # The state of those partitions when they were read, if that took several turns.
        self._marks: dict[Partition, Mark] = {}

    # --- reading

    def read(self) -> list[Answer]:
        answers: list[Answer] = []
        for cached in self._begin():
            self._read_into(answers, cached)
        return answers

    def reading(self) -> Steps[list[Answer]]:
        """Like ``read``, with a few partitions per step."""
        answers: list[Answer] = []
        for number, cached in enumerate(self._begin()):
            count = len(self._read_from)
            self._read_into(answers, cached)
            # What has become readable since is counted, so the count must be of this turn.
            if self._session is not None:
                cached.count(self._limit)
            elif len(self._read_from) > count:
                partition = self._read_from[-1]
                self._marks[partition] = mark(partition, self._limit)
            if number % READ_PER_STEP == 0:
                yield
        return answers

    def _begin(self) -> Collection[CachedPartition]:
        """Begin a pass; returns the partitions to read."""
        self._found_bytes = 0
        self._budget = self._max_bytes
        self._has_news = False
        self._read_from = []
        self._marks = {}
        session = self._session
        return self._named if session is None else list(session.marked.values())

    def _read_into(self, answers: list[Answer], cached: CachedPartition) -> None:
        try:
            found = self._read_one(cached)
            if found is None:
                return
            data = found
        except ApiError as error:
            self._has_news = True
            if self._session is not None:
                cached.unwatch()
            data = refusal(cached.fetch.partition, error, self._version)
            if self._version >= FIRST_VERSION_WITH_LEADERS and error.code in LEADER_ERRORS:
                self._name_leader(cached, data)
        size = len(data.records) if data.records is not None else 0
        self._found_bytes += size
        self._budget = max(0, self._budget - size)
        answers.append((cached, data))

    def _read_one(self, cached: CachedPartition) -> PartitionData | None:
        """The response for one partition; None if the session has nothing new for the client."""
        replicas = self._parts.replicas
        fetch = cached.fetch
        topic_key = cached.key[0]
        topic = topic_key if isinstance(topic_key, str) else replicas.topic_name(topic_key)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = replicas.partition(topic, fetch.partition)
        if self._needs_leader:
            partition.check_leader(fetch.current_leader_epoch)
        else:
            if fetch.current_leader_epoch != partition.leader_epoch:
                partition.check_epoch(fetch.current_leader_epoch)
            if not partition.is_leader:
                check_follower_has(partition, fetch.fetch_offset)
                partition.read_by_consumer(self._now_ms)
            elif self._request.rack_id and self._parts.read_replicas.is_rack_aware:
                sent_away = self._preferred_replica(fetch, partition)
                if sent_away is not None:
                    return sent_away
        is_follower = self._limit == LOG_END
        if is_follower:
            epoch = fetch.current_leader_epoch
            partition.check_follower(self._replica_id, self._replica_epoch, epoch)
        if fetch.last_fetched_epoch >= 0:
            diverged = diverging(partition, fetch)
            if diverged is not None:
                self._has_news = True
                return diverged
        session = self._session
        if session is None:
            self._read_from.append(partition)
        else:
            cached.read_from(partition)
        if is_follower:
            return self._read_for_follower(cached, partition)
        if (
            session is not None
            and fetch.fetch_offset >= partition.readable_offset(self._limit)
            and self._is_up_to_date(cached, partition)
        ):
            session.settle(cached)
            return None
        max_bytes = min(fetch.partition_max_bytes, self._budget)
        return read_records(partition, fetch, self._limit, max_bytes, self._found_bytes == 0)

    def _preferred_replica(
        self, fetch: FetchPartition, partition: Partition
    ) -> PartitionData | None:
        """The response that sends the consumer to a follower near to it, if there is one."""
        preferred = self._parts.read_replicas.preferred(
            partition,
            fetch.fetch_offset,
            self._request.rack_id,
            self._context.session.listener,
            self._now_ms,
        )
        if preferred is None:
            return None
        self._has_news = True
        return elsewhere(partition, fetch, preferred)

    def _read_for_follower(
        self, cached: CachedPartition, partition: Partition
    ) -> PartitionData | None:
        """Like ``_read_one``; once it is clear that there is no error, the fetch counts."""
        log = partition.log
        fetch = cached.fetch
        end_offset = log.log_end_offset
        data: PartitionData | None = None
        if self._session is None or fetch.fetch_offset != end_offset:
            data = self._read_records(cached, partition)
            index = partition.topic_partition.partition
            is_in_sync = self._replica_id in partition.registration.isr
            cached.is_held_back = bool(data.records) and not self._parts.quota.may_send(
                index, log.config, len(data.records or b""), is_in_sync
            )
            if cached.is_held_back:
                data.records = NO_RECORDS
        if self._counts:
            partition.follower_fetched(
                self._replica_id,
                self._replica_epoch,
                fetch.fetch_offset,
                fetch.log_start_offset,
                end_offset,
                self._now_ms,
            )
        if log.high_watermark > fetch.high_watermark:
            # Only followers that need it at once say which one they know (KIP-1166).
            self._has_news = True
        if data is not None:
            # This very fetch may have moved it.
            data.high_watermark = log.high_watermark
            return data
        if self._is_up_to_date(cached, partition):
            assert self._session is not None, "without one, it was read"
            self._session.settle(cached)
            return None
        return self._read_records(cached, partition)

    def _read_records(self, cached: CachedPartition, partition: Partition) -> PartitionData:
        fetch = cached.fetch
        max_bytes = min(fetch.partition_max_bytes, self._budget)
        return read_records(partition, fetch, self._limit, max_bytes, self._found_bytes == 0)

    def _is_up_to_date(self, cached: CachedPartition, partition: Partition) -> bool:
        """Whether a reader at the end knows all that a response would say."""
        log = partition.log
        if cached.fetch.fetch_offset > log.log_end_offset:
            return False
        if not cached.knows(log.high_watermark, log.log_start_offset):
            return False
        return self._limit != LOG_END or self._replica_id in partition.registration.isr

    def _name_leader(self, cached: CachedPartition, data: PartitionData) -> None:
        """Add who leads the partition, and to the response where that broker is (KIP-951)."""
        topic_key = cached.key[0]
        parts = self._parts
        topic = topic_key if isinstance(topic_key, str) else parts.replicas.topic_name(topic_key)
        if topic is None:
            return
        leader_id, leader_epoch = parts.leaders.find(topic, data.partition_index)
        if leader_epoch == UNKNOWN:
            return
        data.current_leader = LeaderIdAndEpoch(leader_id, leader_epoch)
        if self._replica_id >= 0:
            # Followers know from the metadata where brokers are.
            return
        node = parts.leaders.node(leader_id, self._context.session.listener)
        if node is not None:
            if self._nodes is None:
                self._nodes = {}
            self._nodes[node.id] = NodeEndpoint(node.id, node.host, node.port, node.rack)

    # --- waiting

    def must_wait(self) -> bool:
        return (
            self._found_bytes < self._min_bytes
            and not self._has_news
            and self._request.max_wait_ms > 0
            and bool(self._read_from if self._session is None else self._session.partitions)
        )

    def answer_later(self) -> Awaitable[FetchResponse]:
        """Wait, and make another pass. To be called in the same turn as the end of the first."""
        self._counts = False
        needed_bytes = self._min_bytes - self._found_bytes
        if self._session is not None:
            return self._wait_and_answer(DelayedSessionFetch(self._session, needed_bytes))
        delayed = DelayedFetch(self._read_from, needed_bytes, self._limit, self._marks or None)
        return self._wait_and_answer(delayed)

    async def _wait_and_answer(self, delayed: DelayedFetch | DelayedSessionFetch) -> FetchResponse:
        await delayed.wait(self._request.max_wait_ms)
        session = self._session
        count = len(self._named) if session is None else len(session.marked)
        if count <= MANY_PARTITIONS:
            return self.answer(self.read())
        turns = self._parts.turns
        answers = await turns.complete(self.reading())
        self._context.is_large = len(answers) > MANY_PARTITIONS
        return await turns.complete(self.answering(answers))

    # --- answering

    def answer(self, answers: list[Answer]) -> FetchResponse:
        topics: list[FetchableTopicResponse] = []
        self._take_answers(answers, topics)
        if self._nodes is None:
            return FetchResponse(session_id=self._session_id(answers), responses=topics)
        return self._response(answers, topics)

    def answering(self, answers: list[Answer]) -> Steps[FetchResponse]:
        """Like ``answer``, with a few partitions per step."""
        topics: list[FetchableTopicResponse] = []
        for begin in range(0, len(answers), ANSWERED_PER_STEP):
            self._take_answers(answers[begin : begin + ANSWERED_PER_STEP], topics)
            yield
        return self._response(answers, topics)

    def _response(
        self, answers: list[Answer], topics: list[FetchableTopicResponse]
    ) -> FetchResponse:
        response = FetchResponse(session_id=self._session_id(answers), responses=topics)
        if self._nodes is not None:
            response.node_endpoints = list(self._nodes.values())
        return response

    def _take_answers(self, answers: list[Answer], topics: list[FetchableTopicResponse]) -> None:
        """Store the answers in the session; add those that the client needs to ``topics``."""
        session = self._session
        if session is not None:
            answers = [each for each in answers if each[0].take_answer(each[1])]
            for cached, data in answers:
                if data.records:
                    session.move_to_end(cached)
        elif self._request.session_epoch == INITIAL_EPOCH:
            for cached, data in answers:
                cached.take_answer(data)
        _add_by_topic(topics, answers)

    def _session_id(self, answers: list[Answer]) -> int:
        """The id of the continued or new session, or ``NO_SESSION``."""
        session = self._session
        if session is not None:
            return session.id if session.partitions else NO_SESSION
        if self._request.session_epoch != INITIAL_EPOCH:
            return NO_SESSION
        created = self._parts.sessions.create(
            [cached for cached, _ in answers],
            uses_topic_ids=self._version >= FIRST_VERSION_WITH_TOPIC_IDS,
            replica_id=self._replica_id,
            now_ms=self._parts.clock.monotonic_ms(),
        )
        return NO_SESSION if created is None else created.id


def _add_by_topic(topics: list[FetchableTopicResponse], answers: list[Answer]) -> None:
    """Add the answers; consecutive partitions of one topic share an entry."""
    last_key: bytes | str | None = None
    if topics:
        # One of the two is empty.
        last_key = topics[-1].topic or topics[-1].topic_id
    for cached, data in answers:
        key = cached.key[0]
        if key != last_key:
            if isinstance(key, str):
                topics.append(FetchableTopicResponse(topic=key))
            else:
                topics.append(FetchableTopicResponse(topic_id=key))
            last_key = key
        topics[-1].partitions.append(data)
