"""Fetch: records as stored on disk, for as many partitions as fit (KIP-74, 227, 320, 516, 951).

Here a request becomes a list of partitions, its own or those of its session; ``fetching`` does
the rest. A fetch of very many partitions makes its passes in several turns of the event loop.
"""

from collections.abc import Awaitable, Collection
from typing import TYPE_CHECKING

from moldau.broker.current_leaders import CurrentLeaders
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.fetch_parts import FetchParts
from moldau.broker.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    CachedPartition,
    FetchSession,
    PartitionKey,
    TopicKey,
)
from moldau.broker.fetch_sessions import FIRST_VERSION_WITH_TOPIC_IDS, FetchSessionCache
from moldau.broker.fetching import MANY_PARTITIONS, Fetching
from moldau.broker.read_replicas import ReadReplicas
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.replication_quota import leader_quota
from moldau.clock import Clock
from moldau.errors import ErrorCode
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, FetchTopic

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext


class Fetch:
    """Reads the partitions hosted by this broker."""

    def __init__(
        self,
        replicas: ReplicaManager,
        sessions: FetchSessionCache,
        configs: DynamicConfig,
        clock: Clock,
        turns: Turns,
        leaders: CurrentLeaders,
    ) -> None:
        config = configs.broker
        nearer = ReadReplicas(config.replica_selector_class, config.broker_rack, leaders)
        quota = leader_quota(configs, clock)
        self._parts = FetchParts(replicas, sessions, configs, clock, turns, leaders, nearer, quota)
        self._sessions = sessions
        self._clock = clock
        self._turns = turns

    def handle(
        self, request: FetchRequest, context: "RequestContext"
    ) -> FetchResponse | Awaitable[FetchResponse]:
        version = context.api_version
        now_ms = self._clock.monotonic_ms()
        session: FetchSession | None = None
        partitions: Collection[CachedPartition] = ()
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            # A full fetch closes the session whose id it has.
            self._sessions.remove(request.session_id)
            if len(request.topics) > MANY_PARTITIONS or _count(request) > MANY_PARTITIONS:
                return self._read_many(request, context, None, now_ms)
            partitions = _named_partitions(request, version)
        else:
            resumed = self._sessions.resume(request, version, now_ms)
            if isinstance(resumed, ErrorCode):
                return FetchResponse(error_code=resumed, session_id=NO_SESSION)
            session = resumed
            if len(session.marked) > MANY_PARTITIONS:
                return self._read_many(request, context, session, now_ms)

        fetch = Fetching(self._parts, request, context, partitions, session, now_ms)
        answers = fetch.read()
        if fetch.must_wait():
            return fetch.answer_later()
        return fetch.answer(answers)

    async def _read_many(
        self,
        request: FetchRequest,
        context: "RequestContext",
        session: FetchSession | None,
        now_ms: int,
    ) -> FetchResponse:
        """Like ``handle`` for a few, but other requests are served in between."""
        turns = self._turns
        partitions: Collection[CachedPartition] = ()
        if session is None:
            partitions = await turns.complete(_naming(request, context.api_version))
        fetch = Fetching(self._parts, request, context, partitions, session, now_ms)
        answers = await turns.complete(fetch.reading())
        if fetch.must_wait():
            return await fetch.answer_later()
        context.is_large = len(answers) > MANY_PARTITIONS
        return await turns.complete(fetch.answering(answers))


def _count(request: FetchRequest) -> int:
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    return count


def _named_partitions(request: FetchRequest, version: int) -> Collection[CachedPartition]:
    """Each partition of the request once; if it occurs twice, the last one counts."""
    named: dict[PartitionKey, CachedPartition] = {}
    for topic in request.topics:
        _add_named(named, topic, version)
    return named.values()


def _naming(request: FetchRequest, version: int) -> Steps[Collection[CachedPartition]]:
    named: dict[PartitionKey, CachedPartition] = {}
    for topic in request.topics:
        _add_named(named, topic, version)
        yield
    return named.values()


def _add_named(named: dict[PartitionKey, CachedPartition], topic: FetchTopic, version: int) -> None:
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    topic_key: TopicKey = topic.topic_id if by_id else topic.topic
    for partition in topic.partitions:
        key = (topic_key, partition.partition)
        named[key] = CachedPartition(key, partition)
