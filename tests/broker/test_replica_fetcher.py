"""A follower and a leader that answers as the test says."""

import asyncio
import errno
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor

import pytest

from moldau.broker.leader_requests import LeaderRequests, fetch_version, list_offsets_version
from moldau.broker.partition import Partition
from moldau.broker.replica_fetcher import ReplicaFetcher
from moldau.broker.replication_quota import FOLLOWER_RATE, follower_quota
from moldau.clock import SystemClock
from moldau.errors import ErrorCode
from moldau.metadata.image import BROKER_RESOURCE, ConfigResource, MetadataImage
from moldau.network.socket_network import SocketNetwork
from moldau.network.turns import Turns
from moldau.protocol.messages.fetch import PartitionData
from moldau.protocol.messages.list_offsets import ListOffsetsRequest
from moldau.protocol.primitives import FileRegion
from moldau.record.header import iter_headers
from moldau.replica.follower_state import NOT_AWAITED, Phase, Step
from moldau.replica.record_slices import SLICE_BYTES
from moldau.replica.remote_replica import NEVER_MS
from tests.broker.by_hand import ByHand
from tests.broker.replicated import LOCAL_ID, Replicated, lead
from tests.broker.scripted_leader import SESSION, ScriptedLeader
from tests.storage.log_making import START_MS, batch, new_log

LEADER = 2
BROKER_EPOCH = 40


def records(*epochs: int, base_offset: int = 0, value: bytes = b"") -> bytes:
    """A batch of one record for each leader epoch, as they are in the log of a leader."""
    log = new_log()
    if base_offset:
        log.truncate_fully_and_start_at(base_offset)
    for number, epoch in enumerate(epochs):
        log.append_as_leader(batch(value or b"%d" % number), epoch, START_MS)
    data = log.read(base_offset, 1 << 20, max_offset=log.log_end_offset).records
    return data.read() if isinstance(data, FileRegion) else bytes(data)


class Following:
    """The partition ``t-0`` of a broker, which follows a scripted leader."""

    def __init__(self, partition: Partition, broker: Replicated) -> None:
        self.partition = partition
        self.broker = broker
        self.truncations = 0
        self.leader = ScriptedLeader(partition.topic_id)
        parts = broker.broker.node.broker
        requests = LeaderRequests(
            LOCAL_ID, lambda: BROKER_EPOCH, parts.configs, parts.metadata.publisher
        )
        self.fetcher = ReplicaFetcher(
            "fetcher",
            lambda: self.leader.address,
            requests,
            parts.config,
            SocketNetwork(),
            SystemClock(),
            random.Random(1),
            Turns(),
            follower_quota(parts.configs, SystemClock()),
            self._count_truncation,
            parts.lost_leaders.contact(LEADER),
        )

    def _count_truncation(self) -> None:
        self.truncations += 1

    @property
    def ends(self) -> tuple[int, int, int]:
        """Log start, high watermark, log end."""
        log = self.partition.log
        return log.log_start_offset, log.high_watermark, log.log_end_offset


def following(
    scenario: Callable[[Following], Awaitable[None]],
    *epochs: int,
    executor: Executor | None = None,
    **configs: str,
) -> None:
    """Run a scenario with a follower in leader epoch 5, that has a record of each epoch."""
    broker = Replicated({"replica.fetch.backoff.ms": "50"}, executor)

    async def run(partition: Partition) -> None:
        lead(partition, leader=LEADER, epochs=5 - partition.leader_epoch)
        if epochs:
            partition.append_as_follower(records(*epochs), 5)
        made = Following(partition, broker)
        await made.leader.start()
        made.fetcher.follow(partition)
        await scenario(made)
        made.fetcher.close()
        await made.fetcher.closed()
        await made.leader.stop()

    broker.run(run, **configs)


def test_versions_follow_from_metadata_version() -> None:
    # As Kafka's MetadataVersion has them.
    assert [fetch_version(level) for level in (7, 8, 9, 10, 18, 19, 20, 21, 26, 27, 30)] == [
        *(13, 13, 14, 15, 15, 16, 16, 17, 17, 18, 18)
    ]
    assert [list_offsets_version(level) for level in (7, 8, 9, 20, 21, 24, 25, 28, 29, 30)] == [
        *(7, 7, 8, 8, 9, 9, 10, 10, 11, 11)
    ]


def test_records_are_appended_and_the_next_fetch_acknowledges_them() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        assert first.version == 18
        assert first.request.replica_state.replica_id == LOCAL_ID
        assert first.request.replica_state.replica_epoch == BROKER_EPOCH
        assert (first.request.session_id, first.request.session_epoch) == (0, 0)
        asked = first.partition
        assert (asked.fetch_offset, asked.current_leader_epoch, asked.last_fetched_epoch) == (
            *(0, 5, -1),
        )
        data = records(3, 4)
        first.answer(data, high_watermark=1)

        second = await it.leader.next()
        assert (second.request.session_id, second.request.session_epoch) == (SESSION, 1)
        assert (second.partition.fetch_offset, second.partition.last_fetched_epoch) == (2, 4)
        assert it.ends == (0, 1, 2)
        stored = it.partition.log.read(0, 1000, max_offset=2).records
        assert stored == data
        second.answer_nothing()

        third = await it.leader.next()
        assert third.partitions == []

    following(scenario)


def test_with_consumers_here_the_leader_is_asked_for_the_next_high_watermark() -> None:
    """KIP-392: they would wait for the next records, or for half a second."""

    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        assert first.partition.high_watermark == NOT_AWAITED
        it.partition.read_by_consumer(SystemClock().monotonic_ms())
        first.answer(records(5))
        second = await it.leader.next()
        assert (second.partition.fetch_offset, second.partition.high_watermark) == (1, 0)
        second.answer(high_watermark=1)
        third = await it.leader.next()
        assert third.partition.high_watermark == 1
        assert it.ends == (0, 1, 1)
        # The consumers are gone.
        it.partition.read_by_consumer(NEVER_MS)
        third.answer(records(5, base_offset=1))
        assert (await it.leader.next()).partition.high_watermark == NOT_AWAITED

    following(scenario)


def test_a_diverging_log_is_truncated_and_the_high_watermark_waits_for_it() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        assert (first.partition.fetch_offset, first.partition.last_fetched_epoch) == (4, 4)
        first.answer(high_watermark=4, log_start_offset=3, diverging=(3, 2))
        second = await it.leader.next()
        # Epoch 3 ends at 2 in both logs, and nothing else of that answer counts.
        assert (second.partition.fetch_offset, second.partition.last_fetched_epoch) == (2, 3)
        assert it.ends == (0, 0, 2)
        assert it.truncations == 1
        second.answer(records(5, base_offset=2), high_watermark=3)
        await it.leader.next()
        assert it.ends == (0, 3, 3)

    following(scenario, 3, 3, 4, 4)


def test_a_missed_epoch_is_asked_for_again() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        assert (first.partition.fetch_offset, first.partition.last_fetched_epoch) == (4, 4)
        # The leader has nothing of epoch 4, and its epoch 2 is not ours.
        first.answer(diverging=(2, 3))
        second = await it.leader.next()
        assert (second.partition.fetch_offset, second.partition.last_fetched_epoch) == (2, 1)
        second.answer(diverging=(1, 1))
        third = await it.leader.next()
        assert (third.partition.fetch_offset, third.partition.last_fetched_epoch) == (1, 1)

    following(scenario, 1, 1, 3, 4)


def test_a_log_that_diverges_before_its_start_is_emptied() -> None:
    async def scenario(it: Following) -> None:
        log = it.partition.log
        log.truncate_fully_and_start_at(100)
        it.partition.append_as_follower(records(4, base_offset=100), 5)
        it.fetcher.forget(it.partition.topic_partition)
        it.fetcher.follow(it.partition)
        asked = await it.leader.next()
        while asked.partition.fetch_offset != 101:
            asked.answer_nothing()
            asked = await it.leader.next()
        # The leader was elected uncleanly, and has only the first records (KAFKA-12996).
        asked.answer(high_watermark=40, diverging=(3, 40))
        again = await it.leader.next()
        while again.partition.fetch_offset == 101:
            again.answer_nothing()
            again = await it.leader.next()
        assert (again.partition.fetch_offset, again.partition.last_fetched_epoch) == (40, -1)
        assert it.ends == (40, 40, 40)

    following(scenario)


def test_a_log_without_epochs_goes_on_at_its_high_watermark() -> None:
    async def scenario(it: Following) -> None:
        partition = it.partition
        it.fetcher.forget(partition.topic_partition)
        partition.append_as_follower(records(-1, -1, -1), 5)
        partition.log.update_high_watermark(2)
        it.fetcher.follow(partition)
        asked = await it.leader.next()
        while asked.partition.fetch_offset != 2:
            asked.answer_nothing()
            asked = await it.leader.next()
        assert asked.partition.last_fetched_epoch == -1
        assert it.ends == (0, 2, 2)

    following(scenario)


def test_batches_of_a_later_epoch_than_the_one_asked_in_are_left_out() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        first.answer(records(4, 6), high_watermark=2)
        second = await it.leader.next()
        assert (second.partition.fetch_offset, second.partition.last_fetched_epoch) == (1, 4)
        assert it.ends == (0, 1, 1)

    following(scenario)


def test_nothing_after_a_batch_of_a_later_epoch_is_appended() -> None:
    async def scenario(it: Following) -> None:
        # The first two are in one slice, and the last one is of an earlier epoch again.
        sizes = ((4, 100), (6, 100), (5, 200_000))
        data = b"".join(
            records(epoch, base_offset=offset, value=b"x" * size)
            for offset, (epoch, size) in enumerate(sizes)
        )
        (await it.leader.next()).answer(data, high_watermark=3)
        assert (await it.leader.next()).partition.fetch_offset == 1
        assert it.ends == (0, 1, 1)

    following(scenario)


def test_the_rest_of_an_answer_is_dropped_if_there_is_an_election_in_between() -> None:
    async def scenario(it: Following) -> None:
        data = b"".join(
            records(5, base_offset=offset, value=b"x" * 100_000) for offset in range(400)
        )
        (await it.leader.next()).answer(data, high_watermark=400)
        while it.partition.log.log_end_offset == 0:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0)
        lead(it.partition, leader=LEADER, epochs=1)
        it.fetcher.follow(it.partition)
        appended = it.partition.log.log_end_offset
        assert appended < 400
        asked = await it.leader.next()
        assert asked.partition.current_leader_epoch == 6
        assert it.ends == (0, 0, appended)

    following(scenario)


def test_an_answer_from_before_an_election_is_dropped() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        lead(it.partition, leader=LEADER, epochs=1)
        it.fetcher.follow(it.partition)
        # While the request of the session waits, the new epoch is asked for beside it.
        beside = await it.leader.next()
        assert (beside.request.session_id, beside.request.session_epoch) == (0, -1)
        assert beside.partition.current_leader_epoch == 6
        first.answer(records(5), high_watermark=1)
        second = await it.leader.next()
        assert second.partition.current_leader_epoch == 6
        assert it.ends == (0, 0, 0)
        beside.answer(records(5), high_watermark=1)
        await it.leader.next()
        assert it.ends == (0, 1, 1)

    following(scenario)


def test_an_answer_for_a_partition_that_is_led_here_now_is_dropped() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        lead(it.partition, leader=LOCAL_ID, epochs=1)
        # Even if nobody has told the fetcher.
        first.answer(records(5), high_watermark=1)
        await it.leader.next()
        assert it.ends == (0, 0, 0)

    following(scenario)


def test_a_log_that_ends_before_the_leaders_begins_starts_anew() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        first.answer(code=ErrorCode.OFFSET_OUT_OF_RANGE)
        asked = []
        for _ in range(2):
            request = await it.leader.next()
            if not isinstance(request.request, ListOffsetsRequest):
                request = await it.leader.next()
            assert request.version == 11
            assert request.request.replica_id == LOCAL_ID
            (partition,) = request.request.topics[0].partitions
            assert partition.current_leader_epoch == 5
            asked.append(partition.timestamp)
            request.answer_offset(200 if partition.timestamp == -1 else 100)
        assert asked == [-1, -2]
        again = await it.leader.next()
        assert (again.partition.fetch_offset, again.partition.last_fetched_epoch) == (100, -1)
        # The high watermark is within the new log (KAFKA-9491).
        assert it.ends == (100, 100, 100)
        # It is not shorter: nothing is written in the place of other batches.
        assert it.truncations == 0
        again.answer(records(5, base_offset=100), high_watermark=101, log_start_offset=100)
        await it.leader.next()
        assert it.ends == (100, 101, 101)

    following(scenario, 3, 3)


def test_a_fenced_epoch_is_not_asked_for_again_until_the_metadata_has_another() -> None:
    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        first.answer(code=ErrorCode.FENCED_LEADER_EPOCH)
        lead(it.partition, leader=LEADER, epochs=1)
        await asyncio.sleep(0)
        it.fetcher.follow(it.partition)
        second = await it.leader.next()
        assert second.partition.current_leader_epoch == 6

    following(scenario)


def test_a_leader_that_does_not_know_it_yet_is_asked_again_after_a_pause() -> None:
    async def scenario(it: Following) -> None:
        for _ in range(3):
            asked = await it.leader.next()
            assert asked.partition.fetch_offset == 0
            asked.answer(code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        (await it.leader.next()).answer(records(5))
        assert (await it.leader.next()).partition.fetch_offset == 1

    following(scenario)


def test_damaged_records_are_fetched_again() -> None:
    async def scenario(it: Following) -> None:
        data = records(5)
        (await it.leader.next()).answer(data[:-1] + b"?", high_watermark=1)
        again = await it.leader.next()
        assert again.partition.fetch_offset == 0
        assert it.ends == (0, 0, 0)
        again.answer(data, high_watermark=1)
        await it.leader.next()
        assert it.ends == (0, 1, 1)

    following(scenario)


def test_a_lost_connection_begins_another_session() -> None:
    async def scenario(it: Following) -> None:
        (await it.leader.next()).answer(records(5))
        (await it.leader.next()).hang_up()
        again = await it.leader.next()
        assert (again.request.session_id, again.request.session_epoch) == (SESSION, 0)
        assert (again.partition.fetch_offset, again.partition.last_fetched_epoch) == (1, 5)
        assert it.leader.connections == 2

    following(scenario)


def test_a_session_that_the_leader_has_dropped_is_replaced() -> None:
    async def scenario(it: Following) -> None:
        (await it.leader.next()).answer(records(5))
        asked = await it.leader.next()
        asked.answer_nothing(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        again = await it.leader.next()
        assert (again.request.session_id, again.request.session_epoch) == (0, 0)
        assert again.partition.fetch_offset == 1
        assert it.leader.connections == 1

    following(scenario)


def test_the_log_start_of_the_leader_is_followed_and_reported() -> None:
    async def scenario(it: Following) -> None:
        (await it.leader.next()).answer(records(5, 5, 5), high_watermark=2, log_start_offset=1)
        again = await it.leader.next()
        assert again.partition.log_start_offset == 1
        assert it.ends == (1, 2, 3)
        # Retention here moves it too; the leader learns it when the next request is due.
        it.partition.log.move_log_start_offset(2)
        it.fetcher.note_log_start(it.partition)
        again.answer_nothing()
        assert (await it.leader.next()).partition.log_start_offset == 2

    following(scenario)


def test_an_incomplete_batch_at_the_end_is_left_out() -> None:
    async def scenario(it: Following) -> None:
        data = records(5, 5)
        (size, _) = [header.size_bytes for _, header in iter_headers(data)]
        (await it.leader.next()).answer(data[: size + 30], high_watermark=2)
        assert (await it.leader.next()).partition.fetch_offset == 1
        assert it.ends == (0, 1, 1)

    following(scenario)


def test_what_must_be_on_the_device_is_acknowledged_when_it_is() -> None:
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        executor.is_slow = True
        (await it.leader.next()).answer(records(5), high_watermark=1)
        while not executor.waiting:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0)
        assert it.ends == (0, 1, 1)
        state = it.fetcher._followed.find(it.partition.topic_partition)
        assert state is not None
        assert state.phase is Phase.FLUSHING
        executor.run_next()
        executor.is_slow = False
        again = await it.leader.next()
        assert again.partition.fetch_offset == 1
        assert it.partition.log.recovery_point == 1

    following(scenario, executor=executor, flush_messages="1")


@pytest.mark.parametrize("was_leader", [False, True])
def test_a_new_leader_does_not_learn_what_is_not_on_the_device_yet(was_leader: bool) -> None:
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        partition = it.partition
        if was_leader:
            it.fetcher.forget(partition.topic_partition)
            lead(partition, epochs=1)
        executor.is_slow = True
        if was_leader:
            assert partition.append(batch(b"a"), 1, START_MS).must_flush
        else:
            first.answer(records(5), high_watermark=0)
        while not executor.waiting:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0)
        lead(partition, leader=LEADER, epochs=1)
        it.fetcher.follow(partition)
        state = it.fetcher._followed.find(partition.topic_partition)
        assert state is not None
        assert state.phase is Phase.FLUSHING
        executor.is_slow = False
        executor.run_next()
        while (again := await it.leader.next()).partitions == []:
            again.answer_nothing()
        assert again.partition.fetch_offset == 1
        assert partition.log.recovery_point == 1

    following(scenario, executor=executor, flush_messages="1")


def test_what_came_before_damaged_records_is_not_acknowledged_before_it_is_flushed() -> None:
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        data = records(5, 5, 5, 5)
        first = await it.leader.next()
        executor.is_slow = True
        first.answer(data[:-1] + b"?", high_watermark=0)
        again = await it.leader.next()
        assert again.partition.fetch_offset == 3
        assert it.partition.log.recovery_point == 3
        executor.is_slow = False

    following(scenario, executor=executor, flush_messages="1")


def test_a_slice_is_not_acknowledged_before_it_is_flushed_even_if_the_next_is_damaged() -> None:
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        large = records(5, 5, value=b"x" * SLICE_BYTES)
        first = await it.leader.next()
        state = it.fetcher._followed.find(it.partition.topic_partition)
        assert state is not None
        executor.is_slow = True
        answer = PartitionData(partition_index=0, high_watermark=0, records=large[:-1] + b"?")
        taking = it.fetcher._take(state, Step.APPEND, answer)
        next(taking)
        assert it.ends == (0, 0, 1)
        # Between two slices, either lane might ask for what follows.
        assert state.phase is Phase.FLUSHING
        assert list(taking) == []
        assert state.phase is Phase.FLUSHING
        while not executor.waiting:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0)
        executor.is_slow = False
        executor.run_next()
        first.answer_nothing()
        while (again := await it.leader.next()).partitions == []:
            again.answer_nothing()
        assert again.partition.fetch_offset == 1
        assert it.partition.log.recovery_point == 1

    following(scenario, executor=executor, flush_messages="1", max_message_bytes="1000000")


def test_a_flush_that_could_not_begin_is_tried_again() -> None:
    """A full disk has room later: until then nothing is acknowledged, and then everything is."""
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        first = await it.leader.next()
        it.broker.disk.fail_next("append", "*leader-epoch-checkpoint*", errno.ENOSPC)
        it.broker.disk.fail_next("append", "*leader-epoch-checkpoint*", errno.ENOSPC)
        first.answer(records(5), high_watermark=1)
        again = await it.leader.next()
        assert again.partition.fetch_offset == 1
        assert it.partition.log.recovery_point == 1

    following(scenario, executor=executor, flush_messages="1")


def test_a_truncation_ends_the_wait_for_a_flush_of_what_it_removes() -> None:
    executor = ByHand(is_slow=False)

    async def scenario(it: Following) -> None:
        executor.is_slow = True
        partition = it.partition
        info = partition.append_as_follower(records(5), 5)
        assert info is not None
        assert info.must_flush
        flushed = partition.flushed()
        partition.truncate_to(0, 5)
        lead(partition, leader=LOCAL_ID, epochs=1)
        assert partition.local_end_offset == 0
        executor.is_slow = False
        while executor.waiting:
            executor.run_next()
        await asyncio.wait_for(flushed, 120)

    following(scenario, executor=executor, flush_messages="1")


def test_a_throttled_replica_that_lags_waits_and_one_that_has_caught_up_does_not() -> None:
    async def scenario(it: Following) -> None:
        configs = it.broker.broker.node.broker.configs
        resource = ConfigResource(BROKER_RESOURCE, "")
        configs.follow(MetadataImage(configs={resource: {FOLLOWER_RATE: "1"}}))
        (await it.leader.next()).answer(records(5), high_watermark=1)
        again = await it.leader.next()
        assert again.partition.fetch_offset == 1
        again.answer(records(5, base_offset=1), high_watermark=9)
        while it.partition.log.log_end_offset < 2:  # noqa: ASYNC110  # nothing tells when
            await asyncio.sleep(0)
        state = it.fetcher._followed.find(it.partition.topic_partition)
        assert state is not None
        assert state.phase is Phase.THROTTLED

    following(scenario, follower_replication_throttled_replicas=f"0:{LOCAL_ID}")
