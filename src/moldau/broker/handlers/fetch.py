"""Fetch: records as stored on disk, for as many partitions as fit (KIP-74, 227, 320, 516, 951).

One pass reads the partitions of the request, one after the other, until ``max_bytes`` is used up.
If it found less than ``min_bytes`` and the client allows a wait, the request waits for its
partitions and makes the same pass once more when it is woken. The first batch found is returned
complete even if it exceeds the limits; otherwise the consumer could never get past it.

A fetch of very many partitions makes its passes in several turns of the event loop.
"""

from collections.abc import Awaitable, Collection
from typing import TYPE_CHECKING, Final

from moldau.broker.delayed_fetch import DelayedFetch, Mark, mark
from moldau.broker.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    CachedPartition,
    FetchSession,
    PartitionKey,
    TopicKey,
)
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.network.turns import Steps
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

READ_COMMITTED: Final = 1
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
FIRST_VERSION_WITH_STORAGE_ERROR: Final = 6
NO_RECORDS: Final = b""
# Reading more takes milliseconds.
MANY_PARTITIONS: Final = 500
READ_PER_STEP: Final = 10
ANSWERED_PER_STEP: Final = 100

Answer = tuple[CachedPartition, PartitionData]


def handle(
    broker: "Broker", request: FetchRequest, context: "RequestContext"
) -> FetchResponse | Awaitable[FetchResponse]:
    version = context.api_version
    now_ms = broker.clock.now_ms()
    session: FetchSession | None = None
    partitions: Collection[CachedPartition]
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        # A full fetch closes the session whose id it has.
        broker.fetch_sessions.remove(request.session_id)
        if len(request.topics) > MANY_PARTITIONS or _count(request) > MANY_PARTITIONS:
            return _read_many(broker, request, context, None)
        partitions = _named_partitions(request, version)
    else:
        resumed = broker.fetch_sessions.resume(request, version, now_ms)
        if isinstance(resumed, ErrorCode):
            return FetchResponse(error_code=resumed, session_id=NO_SESSION)
        session = resumed
        if len(session.partitions) > MANY_PARTITIONS:
            return _read_many(broker, request, context, session)
        partitions = list(session.partitions.values())

    fetch = _Fetch(broker, request, version, partitions, session)
    answers = fetch.read()
    if fetch.must_wait():
        return fetch.answer_later()
    return fetch.answer(answers)


def _count(request: FetchRequest) -> int:
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    return count


async def _read_many(
    broker: "Broker",
    request: FetchRequest,
    context: "RequestContext",
    session: FetchSession | None,
) -> FetchResponse:
    """Like ``handle`` for a few, but other requests are served in between."""
    turns = broker.turns
    partitions: Collection[CachedPartition]
    if session is None:
        partitions = await turns.complete(_naming(request, context.api_version))
    else:
        partitions = list(session.partitions.values())
    fetch = _Fetch(broker, request, context.api_version, partitions, session)
    answers = await turns.complete(fetch.reading())
    if fetch.must_wait():
        await fetch.delayed().wait(request.max_wait_ms)
        answers = await turns.complete(fetch.reading())
    context.is_large = len(answers) > MANY_PARTITIONS
    return await turns.complete(fetch.answering(answers))


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


class _Fetch:
    """One request in progress."""

    __slots__ = (
        "_broker",
        "_budget",
        "_found_bytes",
        "_has_news",
        "_marks",
        "_max_bytes",
        "_min_bytes",
        "_partitions",
        "_read_from",
        "_replica_id",
        "_request",
        "_session",
        "_version",
    )

    def __init__(
        self,
        broker: "Broker",
        request: FetchRequest,
        version: int,
        partitions: Collection[CachedPartition],
        session: FetchSession | None,
    ) -> None:
        self._broker = broker
        self._request = request
        self._version = version
        self._partitions = partitions
        self._session = session
        self._replica_id = request.replica_id
        if request.replica_state is not None:
            self._replica_id = request.replica_state.replica_id
        self._max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._found_bytes = 0
        self._budget = self._max_bytes
        # An error or a diverging epoch is returned without waiting.
        self._has_news = False
        self._read_from: list[Partition] = []
        # The state of those partitions when they were read, if that took several turns.
        self._marks: dict[Partition, Mark] = {}

    def read(self) -> list[Answer]:
        self._begin()
        answers: list[Answer] = []
        for cached in self._partitions:
            self._read_into(answers, cached)
        return answers

    def reading(self) -> Steps[list[Answer]]:
        """Like ``read``, with a few partitions per step."""
        self._begin()
        answers: list[Answer] = []
        for number, cached in enumerate(self._partitions):
            count = len(self._read_from)
            self._read_into(answers, cached)
            if len(self._read_from) > count:
                partition = self._read_from[-1]
                self._marks[partition] = mark(partition)
            if number % READ_PER_STEP == 0:
                yield
        return answers

    def _begin(self) -> None:
        self._found_bytes = 0
        self._budget = self._max_bytes
        self._has_news = False
        self._read_from = []
        self._marks = {}

    def _read_into(self, answers: list[Answer], cached: CachedPartition) -> None:
        try:
            found = self._read_one(cached, self._budget)
            if found is None:
                return
            data = found
        except ApiError as error:
            self._has_news = True
            data = self._error(cached.fetch.partition, error)
        size = len(data.records) if data.records is not None else 0
        self._found_bytes += size
        self._budget = max(0, self._budget - size)
        answers.append((cached, data))

    def must_wait(self) -> bool:
        return (
            self._found_bytes < self._min_bytes
            and not self._has_news
            and self._request.max_wait_ms > 0
            and bool(self._read_from)
        )

    def answer_later(self) -> Awaitable[FetchResponse]:
        return self._wait_and_answer(self.delayed())

    def delayed(self) -> DelayedFetch:
        needed_bytes = self._min_bytes - self._found_bytes
        return DelayedFetch(self._read_from, needed_bytes, self._marks or None)

    async def _wait_and_answer(self, delayed: DelayedFetch) -> FetchResponse:
        await delayed.wait(self._request.max_wait_ms)
        return self.answer(self.read())

    def answer(self, answers: list[Answer]) -> FetchResponse:
        topics: list[FetchableTopicResponse] = []
        self._take_answers(answers, topics)
        return FetchResponse(session_id=self._session_id(answers), responses=topics)

    def answering(self, answers: list[Answer]) -> Steps[FetchResponse]:
        """Like ``answer``, with a few partitions per step."""
        topics: list[FetchableTopicResponse] = []
        for begin in range(0, len(answers), ANSWERED_PER_STEP):
            self._take_answers(answers[begin : begin + ANSWERED_PER_STEP], topics)
            yield
        return FetchResponse(session_id=self._session_id(answers), responses=topics)

    def _take_answers(self, answers: list[Answer], topics: list[FetchableTopicResponse]) -> None:
        """Store the answers in the session; add those that the client needs to ``topics``."""
        session = self._session
        if session is not None:
            answers = [each for each in answers if each[0].take_answer(each[1])]
            if session.partitions:
                for cached, data in answers:
                    if data.records and cached.key in session.partitions:
                        session.move_to_end(cached)
        elif self._request.session_epoch == INITIAL_EPOCH:
            for cached, data in answers:
                cached.take_answer(data)
        self._add_by_topic(topics, answers)

    def _session_id(self, answers: list[Answer]) -> int:
        """The id of the continued or new session, or ``NO_SESSION``."""
        session = self._session
        if session is not None:
            return session.id if session.partitions else NO_SESSION
        if self._request.session_epoch != INITIAL_EPOCH:
            return NO_SESSION
        created = self._broker.fetch_sessions.create(
            [cached for cached, _ in answers],
            uses_topic_ids=self._version >= FIRST_VERSION_WITH_TOPIC_IDS,
            privileged=self._replica_id >= 0,
            now_ms=self._broker.clock.now_ms(),
        )
        return NO_SESSION if created is None else created.id

    def _read_one(self, cached: CachedPartition, budget: int) -> PartitionData | None:
        """The response for one partition; None if the session has nothing new for the client."""
        broker = self._broker
        fetch = cached.fetch
        topic_key = cached.key[0]
        topic = topic_key if isinstance(topic_key, str) else broker.replicas.topic_name(topic_key)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        partition = broker.replicas.partition(topic, fetch.partition)
        partition.check_leader(fetch.current_leader_epoch)
        if self._replica_id >= 0:
            message = f"broker {self._replica_id} is no follower of {partition.topic_partition}"
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)
        log = partition.log
        if (
            self._session is not None
            and fetch.fetch_offset == log.high_watermark
            and fetch.last_fetched_epoch < 0
            and cached.knows(log.high_watermark, log.log_start_offset)
        ):
            # The consumer is at the end, as in most of thousands of partitions.
            self._read_from.append(partition)
            return None
        if fetch.last_fetched_epoch >= 0:
            diverging = self._diverging(partition, fetch)
            if diverging is not None:
                self._has_news = True
                return diverging

        is_committed = self._request.isolation_level == READ_COMMITTED
        last_stable_offset = log.last_stable_offset
        high_watermark = log.high_watermark
        limit = last_stable_offset if is_committed else high_watermark
        read = log.read(
            fetch.fetch_offset,
            min(fetch.partition_max_bytes, budget),
            max_offset=limit,
            min_one_message=self._found_bytes == 0,
            include_aborted=is_committed,
        )
        aborted = None
        if read.aborted_transactions is not None:
            aborted = [
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
                for each in read.aborted_transactions
            ]
        self._read_from.append(partition)
        return PartitionData(
            partition_index=fetch.partition,
            high_watermark=high_watermark,
            last_stable_offset=last_stable_offset,
            log_start_offset=log.log_start_offset,
            aborted_transactions=aborted,
            # An incomplete batch is useless: the client gets complete ones (KIP-74).
            records=NO_RECORDS if read.first_entry_incomplete else read.records,
        )

    def _diverging(self, partition: Partition, fetch: FetchPartition) -> PartitionData | None:
        """The response with the diverging epoch of the reader's log, if it diverges (KIP-595)."""
        log = partition.log
        epoch, end_offset = partition.end_offset_for_epoch(fetch.last_fetched_epoch)
        if epoch < 0 or end_offset < 0:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"epoch {fetch.last_fetched_epoch} is not known to {partition.topic_partition}",
            )
        if epoch >= fetch.last_fetched_epoch and end_offset >= fetch.fetch_offset:
            return None
        return PartitionData(
            partition_index=fetch.partition,
            high_watermark=log.high_watermark,
            last_stable_offset=log.last_stable_offset,
            log_start_offset=log.log_start_offset,
            diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset),
            aborted_transactions=None,
            records=NO_RECORDS,
        )

    def _error(self, index: int, error: ApiError) -> PartitionData:
        code = error.code
        if (
            code == ErrorCode.KAFKA_STORAGE_ERROR
            and self._version < FIRST_VERSION_WITH_STORAGE_ERROR
        ):
            # Older clients do not know the code; on this one they retry.
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        response = PartitionData(
            partition_index=index,
            error_code=code,
            high_watermark=-1,
            records=NO_RECORDS,
        )
        if code not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
            # As in Kafka: null for a known partition, and an empty list for an unknown one.
            response.aborted_transactions = None
        return response

    def _add_by_topic(self, topics: list[FetchableTopicResponse], answers: list[Answer]) -> None:
        """Add the answers; consecutive partitions of one topic share an entry."""
        last_key: bytes | str | None = None
        if topics:
            last = topics[-1]
            last_key = (
                last.topic_id if self._version >= FIRST_VERSION_WITH_TOPIC_IDS else last.topic
            )
        for cached, data in answers:
            key = cached.key[0]
            if key != last_key:
                if isinstance(key, str):
                    topics.append(FetchableTopicResponse(topic=key))
                else:
                    topics.append(FetchableTopicResponse(topic_id=key))
                last_key = key
            topics[-1].partitions.append(data)
