"""The wall clock of a broker is set by a minute: nobody who is waiting notices."""

import asyncio

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.simulator.disk import SimulatedDisk
from tests.broker.producing import fetch_request
from tests.broker.simulated import SimulatedBroker

MINUTE_MS = 60_000
STEPS_MS = (MINUTE_MS, -MINUTE_MS)


async def started(clock: ManualClock, delay_ms: int = 0) -> SimulatedBroker:
    settings = {
        "group.initial.rebalance.delay.ms": str(delay_ms),
        "offsets.topic.num.partitions": "1",
    }
    broker = SimulatedBroker(SimulatedDisk(seed=1), clock, settings)
    await broker.node.start()
    await broker.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
    return broker


def join_request() -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", b"")],
    )


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_a_member_that_heartbeats_is_not_expelled(step_ms: int) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        broker = await started(clock)
        member = (await broker.send(join_request(), 3)).member_id
        synced = await broker.send(SyncGroupRequest("g", 1, member), 3)
        assert synced.error_code == 0
        shard = broker.node.broker.groups.shard_of("g")
        for _ in range(4):
            clock.step_wall(step_ms)
            clock.advance(4_000)
            # The timer is for the end of the first session.
            shard._on_timer()
            response = await broker.send(HeartbeatRequest("g", 1, member), 3)
            assert ErrorCode(response.error_code) is ErrorCode.NONE
        await broker.node.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_a_join_waits_for_the_others_as_long_as_it_should(step_ms: int) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        broker = await started(clock, delay_ms=3_000)
        joining = asyncio.ensure_future(broker.send(join_request(), 3))
        await asyncio.sleep(0)
        shard = broker.node.broker.groups.shard_of("g")
        clock.step_wall(step_ms)
        clock.advance(2_999)
        shard._on_timer()
        await asyncio.sleep(0)
        assert not joining.done()
        clock.advance(1)
        shard._on_timer()
        assert (await asyncio.wait_for(joining, 120)).error_code == 0
        await broker.node.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("step_ms", STEPS_MS)
def test_a_fetch_waits_and_its_session_stays(step_ms: int) -> None:
    async def scenario() -> None:
        clock = ManualClock()
        broker = await started(clock)
        await broker.create("t")
        first = await broker.send(fetch_request("t", 0, session_epoch=0), 12)
        assert first.session_id != 0
        request = fetch_request(
            "t", 0, min_bytes=1, max_wait_ms=60_000, session_id=first.session_id, session_epoch=1
        )
        waiting = asyncio.ensure_future(broker.send(request, 12))
        clock.step_wall(step_ms)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
        assert await broker.produce("t", b"news") == 0
        second = await waiting
        assert (second.error_code, second.session_id) == (0, first.session_id)
        assert b"news" in bytes(second.responses[0].partitions[0].records)
        await broker.node.stop()

    asyncio.run(scenario())
