"""Fetch, as a client sees it."""

import socket
import struct
import threading
import time

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.record.header import iter_headers
from tests.broker.batches import batch
from tests.broker.producing import (
    FETCH_VERSION,
    create_topic,
    fetch,
    fetch_request,
    produce,
    produce_request,
    read_all,
    values,
)
from tests.running import RunningBroker, WireClient

FULL = 0


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_by_name_returns_records(client: WireClient, version: int) -> None:
    create_topic(client, "t")
    produce(client, "t", batch(b"a"))
    response = client.send(fetch_request("t", 0), version)
    data = response.responses[0].partitions[0]
    assert (data.error_code, data.high_watermark, len(bytes(data.records))) == (
        0,
        1,
        len(batch(b"a")),
    )


@pytest.mark.parametrize("version", range(13, 19))
def test_every_version_by_id_returns_records(client: WireClient, version: int) -> None:
    create_topic(client, "t")
    produce(client, "t", batch(b"a"))
    metadata = client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 12)
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topic = FetchTopic(topic_id=metadata.topics[0].topic_id, partitions=[wanted])
    response = client.send(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]), version)
    assert response.responses[0].partitions[0].records
    topic.topic_id = bytes(range(16))
    response = client.send(FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic]), version)
    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_no_part_of_a_batch_is_sent_beside_a_whole_one(client: WireClient) -> None:
    for topic in ("t", "u"):
        create_topic(client, topic)
        produce(client, topic, batch(b"x" * 100))
    request = fetch_request("t", 0)
    little = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=10)
    request.topics.append(FetchTopic(topic="u", partitions=[little]))
    first, second = client.send(request, FETCH_VERSION).responses
    assert len(bytes(first.partitions[0].records)) == len(batch(b"x" * 100))
    assert (second.partitions[0].error_code, bytes(second.partitions[0].records)) == (0, b"")


def test_a_follower_that_is_none_is_refused(client: WireClient) -> None:
    create_topic(client, "t")
    refused = fetch(client, "t", 0, replica_id=2)
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_session_may_begin_without_partitions(client: WireClient) -> None:
    create_topic(client, "t")
    begun = client.send(FetchRequest(max_wait_ms=0, session_epoch=FULL), FETCH_VERSION)
    assert begun.session_id != 0
    request = fetch_request("t", 0, session_id=begun.session_id, session_epoch=1)
    joined = client.send(request, FETCH_VERSION)
    assert (joined.error_code, joined.session_id) == (0, begun.session_id)
    assert [each.topic for each in joined.responses] == ["t"]


def test_offsets_out_of_range_are_refused(client: WireClient) -> None:
    create_topic(client, "t")
    produce(client, "t", batch(b"a"))
    assert fetch(client, "t", 1).error_code == 0
    assert fetch(client, "t", 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(client, "t", -1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch(client, "t", 0, partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_first_batch_comes_whole_even_over_every_limit(client: WireClient) -> None:
    create_topic(client, "t")
    large = batch(b"x" * 5000)
    produce(client, "t", large)
    data = fetch(client, "t", 0, max_bytes=10, partition_max_bytes=10)
    assert len(bytes(data.records)) == len(large)


def test_max_bytes_is_shared_by_the_partitions(client: WireClient) -> None:
    create_topic(client, "t", partitions=3)
    size = len(batch(b"x" * 1000))
    for partition in range(3):
        produce(client, "t", batch(b"x" * 1000), partition)
    partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20)
        for index in range(3)
    ]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=2 * size,
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )
    answers = client.send(request, 12).responses[0].partitions
    assert [len(bytes(each.records)) for each in answers] == [size, size, 0]


def test_a_large_log_is_read_in_pieces_that_end_in_whole_batches(client: WireClient) -> None:
    create_topic(client, "t")
    sent = [b"%06d" % i + b"x" * 30_000 for i in range(40)]
    for value in sent:
        produce(client, "t", batch(value))
    assert values(read_all(client, "t")) == sent
    data = fetch(client, "t", 3, partition_max_bytes=200_000)
    found = [header.base_offset for _, header in iter_headers(bytes(data.records))]
    assert found == [3, 4, 5, 6, 7, 8]


def test_a_fetch_waits_for_data(broker: RunningBroker, client: WireClient) -> None:
    create_topic(client, "t")
    client.post(fetch_request("t", 0, min_bytes=1, max_wait_ms=20_000), 12)
    with broker.connect() as producer:
        produce(producer, "t", batch(b"news"))
    data = client.receive(1, 12).responses[0].partitions[0]
    assert (data.high_watermark, bool(data.records)) == (1, True)


def test_a_fetch_waits_until_min_bytes_are_there(broker: RunningBroker, client: WireClient) -> None:
    create_topic(client, "t")
    size = len(batch(b"x" * 500))
    client.post(fetch_request("t", 0, min_bytes=3 * size, max_wait_ms=20_000), 12)
    with broker.connect() as producer:
        for _ in range(3):
            produce(producer, "t", batch(b"x" * 500))
    data = client.receive(1, 12).responses[0].partitions[0]
    assert len(bytes(data.records)) == 3 * size


def test_a_fetch_gives_up_when_its_time_is_over(client: WireClient) -> None:
    create_topic(client, "t")
    began = time.monotonic()
    data = fetch(client, "t", 0, min_bytes=1, max_wait_ms=50)
    assert not data.records
    assert time.monotonic() - began >= 0.045


def test_answers_keep_the_order_of_the_requests(client: WireClient) -> None:
    create_topic(client, "t")
    client.post(fetch_request("t", 0, min_bytes=1, max_wait_ms=100), 12)
    client.post(produce_request("t", batch(b"later")), 12)
    waited = client.receive(1, 12)
    assert not waited.responses[0].partitions[0].records, "the produce came after it"
    assert client.receive(0, 12).responses[0].partition_responses[0].base_offset == 0


def test_leader_epochs_fence(client: WireClient) -> None:
    create_topic(client, "t")
    produce(client, "t", batch(b"a"))

    def with_epoch(epoch: int) -> int:
        wanted = FetchPartition(
            partition=0, fetch_offset=0, partition_max_bytes=1000, current_leader_epoch=epoch
        )
        topics = [FetchTopic(topic="t", partitions=[wanted])]
        response = client.send(FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics), 12)
        return int(response.responses[0].partitions[0].error_code)

    assert with_epoch(0) == 0
    assert with_epoch(7) == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_deleting_the_topic_answers_a_waiting_fetch(
    broker: RunningBroker, client: WireClient
) -> None:
    from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

    create_topic(client, "t")
    client.post(fetch_request("t", 0, min_bytes=1, max_wait_ms=20_000), 12)
    with broker.connect() as other:
        doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=30_000)
        other.send(doomed, 6)
    data = client.receive(1, 12).responses[0].partitions[0]
    assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_stopping_broker_answers_a_waiting_fetch(
    broker: RunningBroker, client: WireClient
) -> None:
    create_topic(client, "t")
    partition = broker.node.broker.replicas.partition("t", 0)
    client.post(fetch_request("t", 0, min_bytes=1, max_wait_ms=60_000), 12)
    _until(lambda: len(partition._waiters) == 1)
    broker.stop()
    assert not client.receive(1, 12).responses[0].partitions[0].records


@pytest.mark.parametrize(("is_reset", "max_wait_ms"), [(True, 60_000), (False, 100)])
def test_a_client_that_goes_away_leaves_nothing_behind(
    broker: RunningBroker, client: WireClient, is_reset: bool, max_wait_ms: int
) -> None:
    """Immediately if the connection is reset; else after its wait, as the client may still read."""
    create_topic(client, "t")
    partition = broker.node.broker.replicas.partition("t", 0)
    before = len(broker.node.server.connections)
    with broker.connect() as leaver:
        leaver.post(fetch_request("t", 0, min_bytes=1, max_wait_ms=max_wait_ms), 12)
        _until(lambda: len(broker.node.server.connections) == before + 1)
        if is_reset:
            _until(lambda: len(partition._waiters) == 1)
            reset = struct.pack("ii", 1, 0)
            leaver.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    _until(lambda: len(partition._waiters) == 0)
    _until(lambda: len(broker.node.server.connections) == before)


@pytest.mark.parametrize("limit", [-1, -(1 << 31)])
def test_a_negative_limit_is_refused_where_there_are_records(
    client: WireClient, limit: int
) -> None:
    create_topic(client, "t", partitions=2)
    produce(client, "t", batch(b"a"))
    for data in (
        fetch(client, "t", 0, max_bytes=limit, min_bytes=1, max_wait_ms=60_000),
        fetch(client, "t", 0, partition_max_bytes=limit, min_bytes=1, max_wait_ms=60_000),
    ):
        assert data.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert not data.records
    assert fetch(client, "t", 1, partition_max_bytes=limit).error_code == 0
    assert fetch(client, "t", 0, partition=1, max_bytes=limit).error_code == 0


def _until(condition: object) -> None:
    waiting = threading.Event()
    for _ in range(20_000):
        if condition():  # type: ignore[operator]
            return
        waiting.wait(0.005)
    raise AssertionError("it never became true")


class TestSessions:
    """KIP-227, over the wire."""

    def test_an_incremental_fetch_tells_only_news(self, client: WireClient) -> None:
        create_topic(client, "t", partitions=2)
        produce(client, "t", batch(b"a"), 1)
        partitions = [
            FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1000)
            for index in range(2)
        ]
        full = client.send(
            FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                session_epoch=FULL,
                topics=[FetchTopic(topic="t", partitions=partitions)],
            ),
            12,
        )
        assert full.session_id > 0
        assert len(full.responses[0].partitions) == 2

        def again(epoch: int, **fields: object) -> object:
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                session_id=full.session_id,
                session_epoch=epoch,
                **fields,  # type: ignore[arg-type]
            )
            return client.send(request, 12)

        moved = FetchPartition(partition=1, fetch_offset=1, partition_max_bytes=1000)
        topics = [FetchTopic(topic="t", partitions=[moved])]
        assert again(1, topics=topics).responses == []  # type: ignore[attr-defined]
        produce(client, "t", batch(b"b"), 0)
        news = again(2)
        assert [p.partition_index for p in news.responses[0].partitions] == [0]  # type: ignore[attr-defined]
        wrong = again(2)
        assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH  # type: ignore[attr-defined]
        forget = [ForgottenTopic(topic="t", partitions=[0, 1])]
        ended = again(3, forgotten_topics_data=forget)
        assert ended.session_id == 0  # type: ignore[attr-defined]
        gone = again(4)
        assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND  # type: ignore[attr-defined]

    def test_a_final_epoch_wants_no_session(self, client: WireClient) -> None:
        create_topic(client, "t")
        response = client.send(fetch_request("t", 0, session_epoch=-1), 12)
        assert response.session_id == 0
