"""A fetch session reads only the partitions that may have news for its client."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moldau.broker.fetch_session import FetchSession
from moldau.broker.partition import Partition
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.replicated import ALL, Replicated, lead, turns
from tests.broker.simulated import SimulatedBroker

VERSION = 12
COUNT = 6
WHOLE_BATCH = len(batch(b"x" * 1000, timestamp=1000))


class Reader:
    """A client with one session, by topic name."""

    def __init__(self, broker: SimulatedBroker, topic: str = "t", **fields: Any) -> None:
        self.broker = broker
        self.topic = topic
        self.fields = fields
        self.leader_epoch = -1
        self.id = 0
        self.epoch = 0

    def request(
        self,
        offsets: dict[int, int] | None = None,
        forgotten: tuple[int, ...] = (),
        **fields: Any,
    ) -> FetchRequest:
        named = [
            FetchPartition(
                partition=index,
                current_leader_epoch=self.leader_epoch,
                fetch_offset=offset,
                partition_max_bytes=1 << 20,
            )
            for index, offset in (offsets or {}).items()
        ]
        fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **self.fields, **fields}
        request = FetchRequest(session_id=self.id, session_epoch=self.epoch, **fields)
        if named:
            request.topics = [FetchTopic(topic=self.topic, partitions=named)]
        if forgotten:
            request.forgotten_topics_data = [
                ForgottenTopic(topic=self.topic, partitions=list(forgotten))
            ]
        self.epoch += 1
        return request

    async def fetch(self, offsets: dict[int, int] | None = None, **fields: Any) -> dict[int, Any]:
        """The partitions of the response, by index."""
        response = await self.broker.send(self.request(offsets, **fields), VERSION)
        assert response.error_code == 0
        self.id = response.session_id
        return {
            data.partition_index: data for topic in response.responses for data in topic.partitions
        }

    def waiting(self, **fields: Any) -> "asyncio.Task[dict[int, Any]]":
        return asyncio.ensure_future(self.fetch(max_wait_ms=60_000, **fields))

    @property
    def session(self) -> FetchSession:
        session = self.broker.node.broker.fetch_sessions.find(self.id)
        assert session is not None
        return session

    @property
    def marked(self) -> list[int]:
        """The partitions that the next fetch reads, in that order."""
        return [index for _, index in self.session.marked]

    async def at_rest(self) -> None:
        """Begin a session at the end of all partitions, and let everything be said."""
        await self.fetch(dict.fromkeys(range(COUNT), 0))
        await self.fetch()
        assert self.marked == []


def run(scenario: Callable[[SimulatedBroker], Coroutine[Any, Any, None]]) -> None:
    async def within() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock())
        await broker.node.start()
        await create(broker)
        await scenario(broker)
        await broker.node.stop()

    asyncio.run(asyncio.wait_for(within(), 60))


async def create(broker: SimulatedBroker) -> None:
    topic = CreatableTopic(name="t", num_partitions=COUNT, replication_factor=1)
    await broker.send(CreateTopicsRequest(topics=[topic]), 7)


async def delete(broker: SimulatedBroker) -> None:
    doomed = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=30_000)
    response = await broker.send(doomed, 6)
    assert response.responses[0].error_code == 0


def partition(broker: SimulatedBroker, index: int) -> Partition:
    return broker.node.broker.replicas.partition("t", index)


def waiters(broker: SimulatedBroker) -> int:
    return sum(
        len(each._waiters) + len(each._end_waiters) for each in broker.node.broker.replicas.hosted()
    )


def test_only_partitions_that_changed_are_read() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        assert await reader.fetch() == {}
        await broker.produce("t", b"a", partition=3)
        assert reader.marked == [3]
        found = await reader.fetch()
        assert [(index, bool(data.records)) for index, data in found.items()] == [(3, True)]

    run(scenario)


def test_records_are_sent_again_until_the_client_has_moved_on() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        await broker.produce("t", b"a", partition=3)
        assert list(await reader.fetch()) == [3]
        assert list(await reader.fetch()) == [3]
        assert await reader.fetch({3: 1}) == {}
        assert reader.marked == []

    run(scenario)


def test_a_waiting_fetch_is_woken_by_one_append_and_reads_one_partition() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        waiting = reader.waiting()
        await turns()
        assert not waiting.done()
        await broker.produce("t", b"a", partition=2)
        assert list(await waiting) == [2]
        assert reader.session.waiting is None

    run(scenario)


def test_bytes_of_several_partitions_add_up_while_a_session_waits() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker, min_bytes=3 * WHOLE_BATCH)
        await reader.at_rest()
        await broker.produce("t", b"x" * 1000, partition=0)
        waiting = reader.waiting()
        await turns()
        await broker.produce("t", b"x" * 1000, partition=1)
        await turns()
        assert not waiting.done(), "two of three"
        await broker.produce("t", b"x" * 1000, partition=0)
        assert sorted(await waiting) == [0, 1]

    run(scenario)


def test_an_append_between_reading_and_waiting_is_not_missed_in_a_session() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        # The fetch has read, but is not awaited yet.
        handled = broker.handle(reader.request(max_wait_ms=60_000), VERSION)
        await broker.produce("t", b"a", partition=1)
        response = broker.read_reply(await asyncio.wait_for(handled, 30), 1, VERSION)
        assert response.responses[0].partitions[0].partition_index == 1

    run(scenario)


def test_partitions_without_room_in_the_response_come_next_and_busy_ones_last() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker, max_bytes=WHOLE_BATCH)
        await reader.at_rest()
        for index in (4, 0, 2):
            for _ in range(2):
                await broker.produce("t", b"x" * 1000, partition=index)
        found = []
        for _ in range(6):
            answers = {i: d for i, d in (await reader.fetch()).items() if d.records}
            assert len(answers) == 1
            found.extend(answers)
        assert found == [4, 0, 2, 4, 0, 2]

    run(scenario)


def test_a_named_partition_keeps_its_place() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker, max_bytes=WHOLE_BATCH)
        await reader.at_rest()
        for index in (0, 1):
            for _ in range(2):
                await broker.produce("t", b"x" * 1000, partition=index)
        await reader.fetch()
        assert reader.marked == [1, 0]
        # Another than 0 is next, although the client has named 0 first.
        found = await reader.fetch({0: 1})
        assert [index for index, data in found.items() if data.records] == [1]

    run(scenario)


def test_a_forgotten_partition_is_not_watched() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        watching = waiters(broker)
        await reader.fetch(forgotten=(1, 2))
        assert waiters(broker) == watching - 2
        await broker.produce("t", b"a", partition=1)
        assert await reader.fetch() == {}
        assert list(await reader.fetch({1: 0})) == [1]

    run(scenario)


def test_a_closed_session_watches_nothing() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        before = waiters(broker)
        reader = Reader(broker)
        await reader.at_rest()
        assert waiters(broker) == before + COUNT
        waiting = reader.waiting()
        await turns()
        broker.node.broker.fetch_sessions.remove(reader.id)
        assert await asyncio.wait_for(waiting, 30) == {}
        assert waiters(broker) == before

    run(scenario)


def test_several_sessions_have_marks_of_their_own() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        first, second = Reader(broker), Reader(broker)
        await first.at_rest()
        await second.at_rest()
        await broker.produce("t", b"a", partition=1)
        assert list(await first.fetch()) == [1]
        assert await first.fetch({1: 1}) == {}
        assert list(await second.fetch()) == [1]
        await broker.produce("t", b"a", partition=1)
        assert first.marked == second.marked == [1]

    run(scenario)


def test_a_deleted_topic_is_an_error_until_it_is_there_again() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        waiting = reader.waiting()
        await turns()
        await delete(broker)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert {data.error_code for data in (await waiting).values()} == {unknown}
        found = await reader.fetch()
        assert {index: data.error_code for index, data in found.items()} == dict.fromkeys(
            range(COUNT), unknown
        )
        await create(broker)
        found = await reader.fetch()
        assert {index: data.error_code for index, data in found.items()} == dict.fromkeys(
            range(COUNT), 0
        )
        assert await reader.fetch() == {}
        assert reader.marked == []
        await broker.produce("t", b"a", partition=5)
        assert list(await reader.fetch()) == [5], "the new topic is watched"

    run(scenario)


def test_a_topic_that_was_replaced_between_two_fetches_is_watched() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        await delete(broker)
        await create(broker)
        assert await reader.fetch() == {}
        assert reader.marked == []
        await broker.produce("t", b"a", partition=5)
        assert list(await reader.fetch()) == [5]

    run(scenario)


def test_a_new_log_start_offset_is_told_but_wakes_nobody() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        for _ in range(2):
            await broker.produce("t", b"a", partition=4)
        reader = Reader(broker)
        await reader.fetch(dict.fromkeys(range(COUNT), 0))
        await reader.fetch({4: 2})
        assert reader.marked == []
        waiting = reader.waiting()
        await turns()
        wanted = DeleteRecordsPartition(partition_index=4, offset=1)
        topic = DeleteRecordsTopic(name="t", partitions=[wanted])
        await broker.send(DeleteRecordsRequest(topics=[topic], timeout_ms=1000), 2)
        await turns()
        assert not waiting.done()
        await broker.produce("t", b"a", partition=0)
        found = await waiting
        assert sorted(found) == [0, 4]
        assert (found[4].log_start_offset, found[4].records) == (1, b"")

    run(scenario)


def test_a_failed_log_is_an_error() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        waiting = reader.waiting()
        await turns()
        partition(broker, 2).log.close_files()
        broker.node.broker.replicas.close_offline()
        found = await asyncio.wait_for(waiting, 30)
        assert {index: data.error_code for index, data in found.items()} == {
            2: ErrorCode.KAFKA_STORAGE_ERROR
        }

    run(scenario)


def test_another_leader_epoch_is_noticed() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        reader.leader_epoch = 0
        await reader.at_rest()
        waiting = reader.waiting()
        await turns()
        lead(partition(broker, 1), leader=2, epochs=1)
        found = await asyncio.wait_for(waiting, 30)
        assert {index: data.error_code for index, data in found.items()} == {
            1: ErrorCode.FENCED_LEADER_EPOCH
        }

    run(scenario)


def test_another_isolation_level_reads_everything_again() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        request = reader.request(isolation_level=1, max_wait_ms=60_000)
        waiting = asyncio.ensure_future(broker.send(request, VERSION))
        await turns()
        await broker.produce("t", b"a", partition=1)
        response = await asyncio.wait_for(waiting, 30)
        assert [each.partition_index for each in response.responses[0].partitions] == [1]

    run(scenario)


def test_a_second_fetch_of_a_session_ends_the_wait_of_the_first() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        reader = Reader(broker)
        await reader.at_rest()
        first = reader.waiting()
        await turns()
        second = reader.waiting()
        assert await asyncio.wait_for(first, 30) == {}
        await broker.produce("t", b"a", partition=1)
        assert list(await asyncio.wait_for(second, 30)) == [1]

    run(scenario)


def test_very_many_marked_partitions_are_read_in_turns() -> None:
    async def scenario(broker: SimulatedBroker) -> None:
        count = 700
        topic = CreatableTopic(name="many", num_partitions=count, replication_factor=1)
        await broker.send(CreateTopicsRequest(topics=[topic]), 7)
        reader = Reader(broker, topic="many")
        assert len(await reader.fetch(dict.fromkeys(range(count), 0))) == count
        waiting = reader.waiting()
        while reader.session.waiting is None:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert reader.marked == []
        replicas = broker.node.broker.replicas
        for index in range(count):
            # As if the disk had failed for all of them.
            replicas.partition("many", index).log.close_files()
        replicas.close_offline()
        found = await asyncio.wait_for(waiting, 30)
        assert {data.error_code for data in found.values()} == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert len(found) == count

    run(scenario)


# --- followers


def test_the_high_watermark_wakes_no_follower_but_the_next_response_has_it() -> None:
    replicated = Replicated()

    async def scenario(led: Partition) -> None:
        await replicated.produce(b"a")
        follower = Reader(replicated.broker, replica_id=2)
        await follower.fetch({0: 0})
        await follower.fetch({0: 1})
        waiting = follower.waiting()
        await turns()
        high_watermark = led.log.high_watermark
        led.advance(1)
        await turns()
        assert not waiting.done()
        await replicated.produce(b"b")
        found = await asyncio.wait_for(waiting, 30)
        assert (found[0].high_watermark, bool(found[0].records)) == (1, True)
        assert high_watermark == 0, "it has moved while the follower waited"

    replicated.run(scenario)


@pytest.mark.parametrize("known", [0, 1])
def test_a_follower_that_says_what_it_knows_is_woken_by_the_high_watermark(known: int) -> None:
    """As in KIP-1166: consumers wait at the follower, so it cannot wait for more records."""
    replicated = Replicated()

    async def scenario(led: Partition) -> None:
        await replicated.produce(b"a")
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=2),
            session_epoch=0,
            min_bytes=1,
            topics=[
                FetchTopic(
                    topic_id=led.topic_id,
                    partitions=[FetchPartition(fetch_offset=1, high_watermark=known)],
                )
            ],
        )
        broker = replicated.broker
        request.session_id = (await broker.send(request, 18)).session_id
        request.session_epoch = 1
        request.max_wait_ms = 60_000
        waiting = asyncio.ensure_future(broker.send(request, 18))
        await turns()
        led.advance(1)
        await turns()
        assert waiting.done() == (known == 0)
        led.append(batch(b"b", timestamp=1000), 1, 1000)
        response = await asyncio.wait_for(waiting, 30)
        assert response.responses[0].partitions[0].high_watermark == 1

    replicated.run(scenario)


def test_a_follower_outside_the_isr_is_looked_at_with_every_fetch() -> None:
    replicated = Replicated()

    async def scenario(led: Partition) -> None:
        lead(led, isr=(1, 3))
        follower = Reader(replicated.broker, replica_id=2)
        await follower.fetch({0: 0})
        await follower.fetch()
        assert follower.marked == [0]
        lead(led, isr=ALL)
        await follower.fetch()
        assert follower.marked == []
        lead(led, isr=(1, 3))
        assert follower.marked == [0]

    replicated.run(scenario)
