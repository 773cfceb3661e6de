"""What a coordinator answers is committed: replies and reads wait for its replicas."""

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from moldau.broker.commit_queue import TICK_MS
from moldau.broker.partition import Partition
from moldau.errors import ApiError, ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.metadata.delta import MetadataDelta
from moldau.network.session import Overlapping
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.records.metadata import PartitionChangeRecord
from moldau.record.records import BatchBuilder
from moldau.storage.log.producer_state import AppendOrigin
from tests.broker.grouping import QUICK, commit_request, fetch_request
from tests.broker.replicated import ALL, LOCAL_ID, TIMEOUT_S, Replicated, turns

TIMEOUT_MS = 5000
SETTINGS = {
    **QUICK,
    "offsets.topic.num.partitions": "1",
    "offsets.commit.timeout.ms": str(TIMEOUT_MS),
    # A join ends when the test lets this time pass, and not before.
    "group.initial.rebalance.delay.ms": "1",
}


class Coordinated(Replicated):
    """A broker that coordinates group ``g``; the partition of its offsets has two followers."""

    def __init__(self, **settings: str) -> None:
        named = {key.replace("_", "."): value for key, value in settings.items()}
        super().__init__({**SETTINGS, **named})

    @property
    def offsets(self) -> Partition:
        return self.partition(OFFSETS_TOPIC)

    def run_groups(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            await self.broker.node.start()
            await self.broker.create("t")
            await self.broker.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
            await self.broker.node.broker.assignments.settled()
            await self.elect()
            await scenario()
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    async def elect(self, leader: int = LOCAL_ID, isr: tuple[int, ...] = ALL) -> None:
        """Let the metadata name a leader of the partition of the offsets, in a new epoch."""
        self.announce(leader, isr)
        broker = self.broker.node.broker
        await broker.replicas.settled()
        await broker.groups.settled()
        assert (self.offsets.is_leader, len(self.offsets.registration.isr)) == (
            leader == LOCAL_ID,
            len(isr),
        )

    def announce(self, leader: int = LOCAL_ID, isr: tuple[int, ...] = ALL) -> None:
        broker = self.broker.node.broker
        image = broker.replicas._image
        assert image is not None
        delta = MetadataDelta(image)
        topic = image.topics_by_name[OFFSETS_TOPIC]
        directories = list(topic.partitions[0].directories[:1]) * len(ALL)
        change = PartitionChangeRecord(0, topic.id, list(isr), leader, list(ALL))
        change.directories = directories
        delta.replay(change)
        broker._on_metadata(delta.build(image.offset + 1, 1, 0), delta)

    def begin(self, request: Any, version: int) -> "asyncio.Future[Any]":
        """Send a request; the future is its response."""
        handled = self.broker.handle(request, version)
        if isinstance(handled, list):
            done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            done.set_result(self.broker.read_reply(handled, request.API_KEY, version))
            return done
        assert not isinstance(handled, Overlapping)

        async def reply() -> Any:
            return self.broker.read_reply(await handled, request.API_KEY, version)

        return asyncio.ensure_future(reply())

    def begin_commit(self, offset: int) -> "asyncio.Future[Any]":
        return self.begin(commit_request("g", "t", {0: offset}), 9)

    def begin_fetch(self, version: int = 9) -> "asyncio.Future[Any]":
        request = fetch_request("g", "t", [0])
        if version < 8:
            request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [0])])
        return self.begin(request, version)

    async def commit(self, offset: int) -> None:
        """Commit an offset, and let the followers have it."""
        pending = self.begin_commit(offset)
        self.catch_up()
        assert code_of(await pending) is ErrorCode.NONE

    def catch_up(self) -> None:
        self.offsets.advance(self.offsets.log.log_end_offset)


def code_of(response: Any) -> ErrorCode:
    return ErrorCode(response.topics[0].partitions[0].error_code)


def offset_of(response: Any) -> int:
    (group,) = response.groups
    assert group.error_code == 0, ErrorCode(group.error_code).name
    return int(group.topics[0].partitions[0].committed_offset)


def test_an_offset_is_acknowledged_when_it_is_committed() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        pending = coordinated.begin_commit(5)
        await turns()
        assert not pending.done()
        coordinated.catch_up()
        assert code_of(await pending) is ErrorCode.NONE

    coordinated.run_groups(scenario)


def test_very_many_offsets_are_acknowledged_when_they_are_committed() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        request = commit_request("g", "t", {0: 5})
        request.topics[0].partitions *= 1200
        pending = coordinated.begin(request, 9)
        await turns()
        assert not pending.done()
        coordinated.offsets.advance(1000)
        await turns()
        assert not pending.done()
        coordinated.catch_up()
        codes = {each.error_code for each in (await pending).topics[0].partitions}
        assert codes == {0}

    coordinated.run_groups(scenario)


@pytest.mark.parametrize("version", [1, 7, 9])
def test_nobody_reads_an_offset_that_could_still_be_lost(version: int) -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        pending = coordinated.begin_commit(6)
        reading = coordinated.begin_fetch(version)
        await turns()
        assert not reading.done()
        await coordinated.elect(leader=2)
        assert code_of(await pending) is ErrorCode.NOT_COORDINATOR
        response = await reading
        if version == 1:
            (each,) = response.topics[0].partitions
            assert (each.committed_offset, each.error_code) == (-1, ErrorCode.NOT_COORDINATOR)
        else:
            answer = response.groups[0] if version >= 8 else response
            assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])

    coordinated.run_groups(scenario)


def test_a_reader_sees_everything_that_was_acknowledged_before() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        assert offset_of(await coordinated.begin_fetch()) == 5
        pending = coordinated.begin_commit(6)
        reading = coordinated.begin_fetch()
        coordinated.catch_up()
        assert code_of(await pending) is ErrorCode.NONE
        assert offset_of(await reading) == 6

    coordinated.run_groups(scenario)


def test_what_was_not_committed_is_gone_with_the_leader() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        end_offset = coordinated.offsets.log.log_end_offset
        pending = coordinated.begin_commit(6)
        await coordinated.elect(leader=2)
        assert code_of(await pending) is ErrorCode.NOT_COORDINATOR
        with pytest.raises(ApiError, match="NOT_COORDINATOR"):
            coordinated.broker.node.broker.groups.shard_of("g")
        coordinated.offsets.log.truncate_to(end_offset)
        await coordinated.elect()
        await loaded(coordinated)
        assert offset_of(await coordinated.begin_fetch()) == 5

    coordinated.run_groups(scenario)


async def loaded(coordinated: Coordinated) -> None:
    loading = coordinated.broker.node.broker.groups._runtime._loading
    if loading is not None:
        await loading


def test_a_new_leader_does_not_show_what_it_has_loaded_before_it_is_committed() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        coordinated.begin_commit(6)
        await coordinated.elect(leader=2)
        await coordinated.elect()
        await loaded(coordinated)
        reading = coordinated.begin_fetch()
        await turns()
        assert not reading.done()
        coordinated.catch_up()
        assert offset_of(await reading) == 6

    coordinated.run_groups(scenario)


def test_a_load_stops_when_the_leader_changes() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        for offset in range(1000):
            coordinated.begin_commit(offset)
        coordinated.catch_up()
        await coordinated.elect(leader=2)
        await coordinated.elect()
        groups = coordinated.broker.node.broker.groups
        loading = groups._runtime._loading
        assert loading is not None
        with pytest.raises(ApiError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            groups.shard_of("g")
        await coordinated.elect(leader=3)
        await loading
        with pytest.raises(ApiError, match="NOT_COORDINATOR"):
            groups.shard_of("g")

    coordinated.run_groups(scenario)


def test_18137_the_end_of_a_term_does_not_cancel_the_load_of_the_next_one() -> None:
    """The load of the term that has ended is still under way when the next one begins."""
    coordinated = Coordinated()

    async def scenario() -> None:
        for offset in range(1000):
            coordinated.begin_commit(offset)
        coordinated.catch_up()
        await coordinated.elect(leader=2)
        await coordinated.elect()
        runtime = coordinated.broker.node.broker.groups._runtime
        (first,) = runtime.shards.values()
        assert runtime._loading is not None
        await coordinated.elect(leader=3)
        await coordinated.elect()
        (second,) = runtime.shards.values()
        await loaded(coordinated)
        assert (first.is_closed, second.is_closed) == (True, False)
        coordinated.catch_up()
        assert offset_of(await coordinated.begin_fetch()) == 999
        await coordinated.commit(1000)

    coordinated.run_groups(scenario)


def test_nothing_more_is_loaded_from_a_log_that_this_broker_does_not_lead() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        hosted = coordinated.broker.node.broker.groups.shard_of("g")
        await coordinated.elect(leader=2)
        with pytest.raises(ApiError, match="does not lead"):
            await hosted.load()

    coordinated.run_groups(scenario)


def test_a_new_epoch_of_the_same_leader_goes_on() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        hosted = coordinated.broker.node.broker.groups.shard_of("g")
        pending = coordinated.begin_commit(5)
        await coordinated.elect()
        assert coordinated.broker.node.broker.groups.shard_of("g") is hosted
        assert hosted.leader_epoch == coordinated.offsets.leader_epoch
        coordinated.catch_up()
        assert code_of(await pending) is ErrorCode.NONE

    coordinated.run_groups(scenario)


def test_a_leader_coordinates_when_it_knows_its_epoch() -> None:
    """Changes are applied to partitions a few at a time, so they may lag behind the image."""
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        broker = coordinated.broker.node.broker
        broker.replicas._is_hosting = True
        coordinated.announce(leader=2)
        coordinated.announce()
        with pytest.raises(ApiError, match="NOT_COORDINATOR"):
            broker.groups.shard_of("g")
        broker.replicas._host_some()
        await broker.groups.settled()
        await loaded(coordinated)
        hosted = broker.groups.shard_of("g")
        assert hosted.leader_epoch == coordinated.offsets.registration.leader_epoch

    coordinated.run_groups(scenario)


def test_a_log_that_could_not_be_loaded_is_tried_again_in_the_next_epoch() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        end_offset = coordinated.offsets.log.log_end_offset
        unreadable = BatchBuilder()
        unreadable.append(1000, b"\x00\x02\x7fnonsense", b"\x00\x00else")
        coordinated.offsets.append(unreadable.build(), -1, 1000, AppendOrigin.COORDINATOR)
        await coordinated.elect(leader=2)
        await coordinated.elect()
        await loaded(coordinated)
        with pytest.raises(ApiError, match="NOT_COORDINATOR"):
            coordinated.broker.node.broker.groups.shard_of("g")
        coordinated.offsets.log.truncate_to(end_offset)
        await coordinated.elect()
        await loaded(coordinated)
        assert offset_of(await coordinated.begin_fetch()) == 5

    coordinated.run_groups(scenario)


def test_replies_keep_the_order_of_the_log() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        waiting = [coordinated.begin_commit(offset) for offset in range(3)]
        for number, end_offset in enumerate((1, 2, 3)):
            coordinated.offsets.advance(end_offset)
            await turns()
            assert [each.done() for each in waiting] == [each <= number for each in range(3)]

    coordinated.run_groups(scenario)


def test_a_client_waits_for_the_replicas_only_so_long() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        waiting = [coordinated.begin_commit(5), coordinated.begin_commit(6)]
        reading = coordinated.begin_fetch()
        await turns()
        coordinated.clock.advance(TIMEOUT_MS + TICK_MS)
        coordinated.broker.node.broker.led.timeouts._on_time()
        for each in waiting:
            assert code_of(await each) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert (await reading).groups[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        # It is only late.
        coordinated.catch_up()
        assert offset_of(await coordinated.begin_fetch()) == 6

    coordinated.run_groups(scenario)


def test_a_commit_is_refused_while_too_few_replicas_are_in_sync() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        hosted = coordinated.broker.node.broker.groups.shard_of("g")
        log = coordinated.offsets.log
        log.config = dataclasses.replace(log.config, min_insync_replicas=2)
        await coordinated.elect(isr=(LOCAL_ID,))
        refused = await coordinated.begin_commit(6)
        assert code_of(refused) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        # Nothing was decided, so nothing has to be loaded again.
        assert coordinated.broker.node.broker.groups.shard_of("g") is hosted
        assert offset_of(await coordinated.begin_fetch()) == 5

    coordinated.run_groups(scenario)


def test_offsets_expire_when_enough_replicas_are_in_sync() -> None:
    """Until then they stay, and so does the shard: nobody has to wait until it is loaded again."""
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        groups = coordinated.broker.node.broker.groups
        hosted = groups.shard_of("g")
        log = coordinated.offsets.log
        log.config = dataclasses.replace(log.config, min_insync_replicas=2)
        await coordinated.elect(isr=(LOCAL_ID,))
        coordinated.clock.advance(8 * 24 * 60 * 60 * 1000)
        groups.expire_offsets()
        assert groups.shard_of("g") is hosted
        assert offset_of(await coordinated.begin_fetch()) == 5
        await coordinated.elect()
        groups.expire_offsets()
        coordinated.catch_up()
        assert groups.shard_of("g") is hosted
        assert offset_of(await coordinated.begin_fetch()) == -1

    coordinated.run_groups(scenario)


# --- every other answer of the coordinator


def join_request(member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"subscription")],
    )


async def begin_join(coordinated: Coordinated) -> "asyncio.Future[Any]":
    """Join as the only member of the group, which then waits for others."""
    asking = coordinated.begin(join_request(), 9)
    coordinated.catch_up()
    first = await asking
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joining = coordinated.begin(join_request(first.member_id), 9)
    await turns()
    return joining


def end_join(coordinated: Coordinated) -> None:
    """Let the time pass in which others may join."""
    coordinated.clock.advance(1)
    coordinated.broker.node.broker.groups.shard_of("g")._on_timer()


async def join(coordinated: Coordinated) -> Any:
    joining = await begin_join(coordinated)
    end_join(coordinated)
    coordinated.catch_up()
    return await joining


def test_a_reply_waits_for_the_records_of_others_too() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        joining = await begin_join(coordinated)
        committing = coordinated.begin(commit_request("other", "t", {0: 5}), 9)
        end_join(coordinated)
        await turns()
        assert not joining.done()
        coordinated.catch_up()
        assert (await joining).error_code == 0
        assert code_of(await committing) is ErrorCode.NONE

    coordinated.run_groups(scenario)


def sync_request(joined: Any) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(joined.member_id, b"all")],
    )


def test_an_assignment_is_handed_out_when_it_is_committed() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        joined = await join(coordinated)
        syncing = coordinated.begin(sync_request(joined), 5)
        heartbeat = HeartbeatRequest("g", joined.generation_id, joined.member_id)
        beating = coordinated.begin(heartbeat, 4)
        await turns()
        assert not syncing.done()
        assert not beating.done(), "it would tell of a generation that could still be lost"
        coordinated.catch_up()
        assert (await syncing).assignment == b"all"
        assert (await beating).error_code == 0

    coordinated.run_groups(scenario)


def test_an_assignment_that_is_lost_is_refused() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        joined = await join(coordinated)
        syncing = coordinated.begin(sync_request(joined), 5)
        await turns()
        await coordinated.elect(leader=2)
        assert (await syncing).error_code == ErrorCode.NOT_COORDINATOR

    coordinated.run_groups(scenario)


def test_an_assignment_that_is_late_is_refused_but_not_lost() -> None:
    coordinated = Coordinated()

    async def scenario() -> None:
        joined = await join(coordinated)
        hosted = coordinated.broker.node.broker.groups.shard_of("g")
        syncing = coordinated.begin(sync_request(joined), 5)
        await turns()
        coordinated.clock.advance(TIMEOUT_MS + TICK_MS)
        coordinated.broker.node.broker.led.timeouts._on_time()
        assert (await syncing).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert coordinated.broker.node.broker.groups.shard_of("g") is hosted
        again = coordinated.begin(sync_request(joined), 5)
        coordinated.catch_up()
        assert (await again).assignment == b"all"

    coordinated.run_groups(scenario)


READS = {
    "list": (ListGroupsRequest(), 4),
    "describe": (DescribeGroupsRequest(groups=["g"]), 5),
    "describe consumers": (ConsumerGroupDescribeRequest(group_ids=["g"]), 1),
}


@pytest.mark.parametrize("name", READS)
def test_a_description_waits_for_what_it_describes(name: str) -> None:
    request, version = READS[name]
    coordinated = Coordinated()

    async def scenario() -> None:
        coordinated.begin_commit(5)
        reading = coordinated.begin(request, version)
        refused = coordinated.begin(request, version)
        await turns()
        assert not reading.done()
        coordinated.catch_up()
        assert (await reading).groups
        coordinated.begin_commit(6)
        refused = coordinated.begin(request, version)
        await coordinated.elect(leader=2)
        response = await refused
        entry = response if name == "list" else response.groups[0]
        assert entry.error_code == ErrorCode.NOT_COORDINATOR

    coordinated.run_groups(scenario)


def offset_delete() -> OffsetDeleteRequest:
    topic = OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])
    return OffsetDeleteRequest("g", [topic])


def consumer_heartbeat() -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="new",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


WRITES: dict[str, tuple[Callable[[], Any], int]] = {
    "delete groups": (lambda: DeleteGroupsRequest(groups_names=["g"]), 2),
    "delete offsets": (offset_delete, 0),
    "consumer heartbeat": (consumer_heartbeat, 1),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("is_lost", [False, True])
def test_a_change_is_acknowledged_when_it_is_committed(name: str, is_lost: bool) -> None:
    make, version = WRITES[name]
    coordinated = Coordinated()

    async def scenario() -> None:
        await coordinated.commit(5)
        pending = coordinated.begin(make(), version)
        await turns()
        assert not pending.done()
        if is_lost:
            await coordinated.elect(leader=2)
        else:
            coordinated.catch_up()
        response = await pending
        code = response.results[0].error_code if name == "delete groups" else response.error_code
        assert code == (ErrorCode.NOT_COORDINATOR if is_lost else ErrorCode.NONE)

    coordinated.run_groups(scenario)
