"""Fetch sessions (KIP-227), without a broker."""

import random

from moldau.broker.fetch_session import CONSUMER, CachedPartition, FetchSession
from moldau.broker.fetch_sessions import EVICTION_MS, FetchSessionCache
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)

NAMES_VERSION = 12


def cached(topic: str, partition: int) -> CachedPartition:
    return CachedPartition((topic, partition), FetchPartition(partition=partition))


def cache(slots: int = 10) -> FetchSessionCache:
    return FetchSessionCache(slots, random.Random(0))


def session_of(
    sessions: FetchSessionCache, *partitions: CachedPartition, now_ms: int = 0
) -> FetchSession:
    session = sessions.create(partitions, uses_topic_ids=False, replica_id=CONSUMER, now_ms=now_ms)
    assert session is not None
    return session


def incremental(session: FetchSession, **fields: object) -> FetchRequest:
    return FetchRequest(session_id=session.id, session_epoch=session.epoch, **fields)  # type: ignore[arg-type]


def test_a_session_goes_on_with_the_next_epoch() -> None:
    sessions = cache()
    session = session_of(sessions, cached("t", 0))
    assert session.epoch == 1
    assert sessions.resume(incremental(session), NAMES_VERSION, 0) is session
    assert session.epoch == 2


def test_an_epoch_out_of_step_is_refused() -> None:
    sessions = cache()
    session = session_of(sessions, cached("t", 0))
    late = FetchRequest(session_id=session.id, session_epoch=7)
    assert sessions.resume(late, NAMES_VERSION, 0) is ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_an_unknown_session_is_refused() -> None:
    request = FetchRequest(session_id=99, session_epoch=1)
    assert cache().resume(request, NAMES_VERSION, 0) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_by_name_cannot_go_on_by_id() -> None:
    sessions = cache()
    session = session_of(sessions, cached("t", 0))
    refused = sessions.resume(incremental(session), 13, 0)
    assert refused is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_partitions_are_added_moved_and_forgotten() -> None:
    sessions = cache()
    session = session_of(sessions, cached("t", 0), cached("t", 1))
    more = FetchTopic(topic="u", partitions=[FetchPartition(partition=5, fetch_offset=3)])
    forget = ForgottenTopic(topic="t", partitions=[0])
    sessions.resume(
        incremental(session, topics=[more], forgotten_topics_data=[forget]), NAMES_VERSION, 0
    )
    assert list(session.partitions) == [("t", 1), ("u", 5)]
    assert list(session.marked) == [("t", 1), ("u", 5)]
    session.move_to_end(session.partitions["t", 1])
    assert list(session.marked) == [("u", 5), ("t", 1)]


def test_a_session_without_partitions_ends() -> None:
    sessions = cache()
    session = session_of(sessions, cached("t", 0))
    forget = ForgottenTopic(topic="t", partitions=[0])
    sessions.resume(incremental(session, forgotten_topics_data=[forget]), NAMES_VERSION, 0)
    assert len(sessions) == 0


def test_a_full_cache_gives_no_session_until_one_is_stale() -> None:
    sessions = cache(slots=1)
    session_of(sessions, cached("t", 0))
    assert sessions.create([cached("t", 1)], False, CONSUMER, now_ms=EVICTION_MS) is None
    assert sessions.create([cached("t", 1)], False, CONSUMER, now_ms=EVICTION_MS + 1) is not None
    assert len(sessions) == 1


def test_only_news_is_told() -> None:
    partition = cached("t", 0)
    answer = PartitionData(high_watermark=5, log_start_offset=0, records=b"")
    assert partition.take_answer(answer)
    assert not partition.take_answer(answer)
    assert partition.take_answer(PartitionData(high_watermark=6, log_start_offset=0, records=b""))
    failed = PartitionData(error_code=6, high_watermark=6, log_start_offset=0, records=b"")
    recovered = PartitionData(high_watermark=6, log_start_offset=0, records=b"")
    assert partition.take_answer(failed)
    assert partition.take_answer(recovered), "that it works again is news"
    assert not partition.take_answer(recovered)
