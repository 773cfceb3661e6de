"""Fetch: records as they lie on disk, for as many partitions as fit (KIP-74, 227, 320, 516, 951).

One pass reads every partition of the request, in turn, until ``max_bytes`` is used up.
If too little was there and the client is willing to wait, the request sleeps on its
partitions and makes the same pass once more when woken. The first batch found is
returned whole even if it is larger than every limit, or the consumer could never get
past it.
"""

from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Final

from moldau.broker.delayed_fetch import DelayedFetch
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
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

if TYPE_CHECKING:
    from moldau.broker.broker import Broker
    from moldau.broker.dispatch import RequestContext

READ_COMMITTED: Final = 1
FIRST_VERSION_WITH_TOPIC_IDS: Final = 13
FIRST_VERSION_WITH_STORAGE_ERROR: Final = 6
NO_RECORDS: Final = b""

Answer = tuple[CachedPartition, PartitionData]


def handle(
    broker: "Broker", request: FetchRequest, context: "RequestContext"
) -> FetchResponse | Awaitable[FetchResponse]:
    version = context.api_version
    now_ms = broker.clock.now_ms()
    session: FetchSession | None = None
    partitions: Iterable[CachedPartition]
    if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
        # A full fetch ends whatever session it names.
        broker.fetch_sessions.remove(request.session_id)
        partitions = _named_partitions(request, version)
    else:
        resumed = broker.fetch_sessions.resume(request, version, now_ms)
        if isinstance(resumed, ErrorCode):
            return FetchResponse(error_code=resumed, session_id=NO_SESSION)
        session = resumed
        partitions = list(session.partitions.values())

    fetch = _Fetch(broker, request, version, partitions, session)
    answers = fetch.read()
    if fetch.must_wait():
        return fetch.answer_later()
    return fetch.answer(answers)


def _named_partitions(request: FetchRequest, version: int) -> Iterable[CachedPartition]:
    """Each partition once: of one that is named twice, what was said last counts."""
    by_id = version >= FIRST_VERSION_WITH_TOPIC_IDS
    named: dict[PartitionKey, CachedPartition] = {}
    for topic in request.topics:
        topic_key: TopicKey = topic.topic_id if by_id else topic.topic
        for partition in topic.partitions:
            key = (topic_key, partition.partition)
            named[key] = CachedPartition(key, partition)
    return named.values()


class _Fetch:
    """One request under way."""

    __slots__ = (
        "_broker",
        "_found_bytes",
        "_has_news",
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
        partitions: Iterable[CachedPartition],
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
        # An error, or a diverging epoch, is worth an answer at once.
        self._has_news = False
        self._read_from: list[Partition] = []

    def read(self) -> list[Answer]:
        self._found_bytes = 0
        self._has_news = False
        self._read_from = []
        budget = self._max_bytes
        answers = []
        for cached in self._partitions:
            try:
                found = self._read_one(cached, budget)
                if found is None:
                    continue
                data = found
            except ApiError as error:
                self._has_news = True
                data = self._error(cached.fetch.partition, error)
            size = len(data.records) if data.records is not None else 0
            self._found_bytes += size
            budget = max(0, budget - size)
            answers.append((cached, data))
        return answers

    def must_wait(self) -> bool:
        return (
            self._found_bytes < self._min_bytes
            and not self._has_news
            and self._request.max_wait_ms > 0
            and bool(self._read_from)
        )

    def answer_later(self) -> Awaitable[FetchResponse]:
        delayed = DelayedFetch(self._read_from, self._min_bytes - self._found_bytes)
        return self._wait_and_answer(delayed)

    async def _wait_and_answer(self, delayed: DelayedFetch) -> FetchResponse:
        await delayed.wait(self._request.max_wait_ms)
        return self.answer(self.read())

    def answer(self, answers: list[Answer]) -> FetchResponse:
        request = self._request
        session = self._session
        session_id = NO_SESSION
        if session is not None:
            news = [each for each in answers if each[0].take_answer(each[1])]
            if session.partitions:
                session_id = session.id
                for cached, data in news:
                    if data.records and cached.key in session.partitions:
                        session.move_to_end(cached)
            return FetchResponse(session_id=session_id, responses=self._by_topic(news))

        if request.session_epoch == INITIAL_EPOCH:
            for cached, data in answers:
                cached.take_answer(data)
            created = self._broker.fetch_sessions.create(
                [cached for cached, _ in answers],
                uses_topic_ids=self._version >= FIRST_VERSION_WITH_TOPIC_IDS,
                privileged=self._replica_id >= 0,
                now_ms=self._broker.clock.now_ms(),
            )
            if created is not None:
                session_id = created.id
        return FetchResponse(session_id=session_id, responses=self._by_topic(answers))

    def _read_one(self, cached: CachedPartition, budget: int) -> PartitionData | None:
        """What there is to say of one partition; None in a session that has heard it all."""
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
            # The reader is at the end: of thousands of partitions, most are like this.
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
            # Part of a batch is of no use to anybody who can get a whole one (KIP-74).
            records=NO_RECORDS if read.first_entry_incomplete else read.records,
        )

    def _diverging(self, partition: Partition, fetch: FetchPartition) -> PartitionData | None:
        """Where the reader's history and ours part ways, if they do (KIP-595)."""
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
            # Clients of that time do not know the code; this one makes them ask again.
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        response = PartitionData(
            partition_index=index,
            error_code=code,
            high_watermark=-1,
            records=NO_RECORDS,
        )
        if code not in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
            # Kafka knows nothing of an unknown partition, and no transactions of a known one.
            response.aborted_transactions = None
        return response

    def _by_topic(self, answers: list[Answer]) -> list[FetchableTopicResponse]:
        """Neighbours of one topic share an entry, as the request had them."""
        topics: list[FetchableTopicResponse] = []
        last_key: bytes | str | None = None
        for cached, data in answers:
            key = cached.key[0]
            if key != last_key:
                if isinstance(key, str):
                    topics.append(FetchableTopicResponse(topic=key))
                else:
                    topics.append(FetchableTopicResponse(topic_id=key))
                last_key = key
            topics[-1].partitions.append(data)
        return topics
