"""Thousands of partitions on one broker: their memory, and the cost of requests for them."""

import asyncio
import tracemalloc
from pathlib import Path

from moldau.broker.metadata_answers import EncodedAnswer, MetadataAnswers
from moldau.broker.replica_manager import HOSTED_PER_TURN
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.simulated import SimulatedBroker
from tests.running import RunningBroker

MANY = 200
MOST_BYTES_EACH = 8_000
VERSION = 12


async def started() -> SimulatedBroker:
    broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
    await broker.node.start()
    return broker


def creation(name: str, partitions: int) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    return CreateTopicsRequest(topics=[topic])


def test_an_idle_partition_weighs_little(tmp_path: Path) -> None:
    """The target is 20 KB of resident memory, of which Python's count is only a part."""
    with RunningBroker(tmp_path) as broker, broker.connect() as client:
        client.send(creation("first", 10), 7)
        tracemalloc.start()
        try:
            client.send(creation("many", MANY), 7)
            used, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(broker.node.logs.logs) == MANY + 10
        assert used / MANY < MOST_BYTES_EACH


# -- deleting


def test_others_get_their_turn_while_a_large_topic_is_deleted() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.create("small")
        await broker.send(creation("large", MANY), 7)
        doomed = DeleteTopicsRequest([DeleteTopicState(name="large")], timeout_ms=60_000)
        deleting = asyncio.ensure_future(broker.send(doomed, 6))
        logs = broker.node.logs.logs
        while len(logs) == MANY + 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert len(logs) >= MANY + 1 - HOSTED_PER_TURN, "a slice of them"
        assert await broker.produce("small", b"x") == 0, "in the middle of it"
        gone = await broker.produce("large", b"x", partition=MANY - 1)
        assert gone == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await deleting
        assert len(logs) == 1, "the answer comes when all is done"

    asyncio.run(scenario())


def test_a_new_topic_may_have_the_name_of_one_that_is_being_deleted() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.send(creation("large", MANY), 7)
        assert await broker.produce("large", b"old", partition=0) == 0
        doomed = DeleteTopicsRequest([DeleteTopicState(name="large")], timeout_ms=60_000)
        deleting = asyncio.ensure_future(broker.send(doomed, 6))
        logs = broker.node.logs.logs
        while len(logs) == MANY:  # noqa: ASYNC110
            await asyncio.sleep(0)
        response = await broker.send(creation("large", MANY), 7)
        assert response.topics[0].error_code == 0
        await deleting
        assert len(logs) == MANY
        assert all(log.topic_id == response.topics[0].topic_id for log in logs.values())
        assert {log.log_end_offset for log in logs.values()} == {0}

    asyncio.run(scenario())


# -- Metadata


def question(*names: str) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return MetadataRequest(topics=topics or None, allow_auto_topic_creation=False)


def test_a_large_answer_is_given_again_as_long_as_it_is_true() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.send(creation("large", MANY), 7)
        answers = broker.node.broker.metadata_answers
        for request in (question(), question("large")):
            first = broker.handle(request, VERSION)
            kept = len(answers)
            assert kept > 0
            assert broker.handle(request, VERSION) == first
            assert len(answers) == kept
        assert b"".join(broker.handle(question(), 9)) != b"".join(first), "another version"

        await broker.create("new")
        response = await broker.send(question(), VERSION)
        assert [topic.name for topic in response.topics] == ["large", "new"]
        doomed = DeleteTopicsRequest([DeleteTopicState(name="large")], timeout_ms=60_000)
        await broker.send(doomed, 6)
        response = await broker.send(question("large"), VERSION)
        assert response.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(scenario())


def test_different_questions_get_different_answers() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.send(creation("large", MANY), 7)
        plain = await broker.send(question("large"), 10)
        request = question("large")
        request.include_topic_authorized_operations = True
        told = await broker.send(request, 10)
        assert told.topics[0].topic_authorized_operations > 0
        assert plain.topics[0].topic_authorized_operations < 0

    asyncio.run(scenario())


def test_small_answers_are_not_kept() -> None:
    async def scenario() -> None:
        broker = await started()
        await broker.create("small")
        await broker.send(question(), VERSION)
        assert len(broker.node.broker.metadata_answers) == 0

    asyncio.run(scenario())


def test_kept_answers_are_bounded() -> None:
    async def scenario() -> None:
        image = (await started()).node.broker.image
        partitions = [MetadataResponsePartition(partition_index=each) for each in range(MANY)]
        response = MetadataResponse(topics=[MetadataResponseTopic(name="t", partitions=partitions)])
        answers = MetadataAnswers(max_total_bytes=3 * len(response.encode(VERSION)))
        for key in range(5):
            assert answers.find(image, key) is None
            assert isinstance(answers.keep(key, response, VERSION), EncodedAnswer)
        assert len(answers) == 3

    asyncio.run(scenario())
