"""Named simulations of brokers and their sessions. Numbers are those of Apache Kafka's issues."""

import asyncio
from collections.abc import Callable

import pytest

from moldau.controller.producer_ids import PRODUCER_ID_BLOCK_SIZE
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.registrations import BrokerRegistration
from moldau.protocol.messages.broker_heartbeat import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from moldau.protocol.records.metadata import ConfigRecord, NoOpRecord, TopicRecord
from moldau.simulator.clients.cluster import Address
from moldau.simulator.cluster import BROKER_SESSION_MS, CONTROLLER_PORT, Topology
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_S
from tests.simulator.scenes import Scene, is_active, node_of, scene

ONE_CONTROLLER = Topology((1,), (2, 3))
SESSION_S = BROKER_SESSION_MS / 1000
MAX_RECORDS_PER_BATCH = 10_000
ALTER_PARTITION = 56
TOPIC = 2


def registration(cluster: Scene, node_id: int) -> BrokerRegistration:
    """As the active controller has decided it, committed or not."""
    (leader,) = cluster.leaders()
    return node_of(leader).metadata.runtime.controller.image.brokers[node_id]


def is_fenced(cluster: Scene, node_id: int) -> bool:
    return bool(cluster.leaders()) and registration(cluster, node_id).fenced


def stays(cluster: Scene, is_broken: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition never comes true, at any moment."""
    return not cluster.world.run_for(int(seconds * US_PER_S), is_broken)


def test_18138_a_broker_that_dies_during_a_failover_is_fenced() -> None:
    with scene("combined") as cluster:
        leader = cluster.active()
        dead = cluster.others(leader)[0]
        dead.kill()
        leader.kill()
        cluster.run_for(1)
        leader.start()
        cluster.active()
        cluster.wait_until(lambda: is_fenced(cluster, dead.config.node_id), seconds=20)


def test_15019_a_controller_that_hung_does_not_fence_those_who_sent_heartbeats() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        controller = cluster.machine(1)
        assert controller.process is not None
        # The answers to heartbeats wait for its disk. When it hangs, they are given up, and the
        # next ones arrive when it is awake, over new connections.
        controller.process.executor.slowness = 300
        for nth in range(8):
            controller.pause()
            cluster.run_for(SESSION_S + 1 + nth * 0.1)
            controller.resume()
            assert stays(cluster, lambda: any(is_fenced(cluster, each) for each in (2, 3)), 6)


def test_15019_a_controller_with_a_long_decision_does_not_fence_anybody() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        runtime = node_of(cluster.machine(1)).metadata.runtime

        async def decide_for_long() -> None:
            async with runtime._deciding:
                await asyncio.sleep(SESSION_S + 2)

        cluster.on_node(cluster.machine(1), decide_for_long())
        assert stays(cluster, lambda: any(is_fenced(cluster, each) for each in (2, 3)), 4)


def test_19294_nobody_waits_for_a_controller_that_is_gone() -> None:
    with scene("separate") as cluster:
        for _ in range(3):
            leader = cluster.active()
            # Without its power it closes no connection: heartbeats to it have no answer.
            leader.cut_power()
            assert stays(cluster, lambda: any(is_fenced(cluster, each) for each in (4, 5)), 20)
            leader.return_power()
            leader.start()
            cluster.wait_until(cluster.are_ready)


def test_16952_a_broker_that_registers_twice_keeps_its_epoch() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        controller, broker = cluster.machine(1), cluster.machine(2)
        for _ in range(5):
            before = registration(cluster, 2).incarnation_id
            broker.kill()
            cluster.wait_until(lambda: is_fenced(cluster, 2), seconds=20)
            broker.start()
            cluster.wait_until(
                lambda before=before: registration(cluster, 2).incarnation_id != before
            )
            # The answer is lost, and the broker asks again.
            epoch = registration(cluster, 2).epoch
            cluster.network.reset_all(controller.name, broker.name)
            cluster.wait_until(lambda: broker.node is not None)
            assert registration(cluster, 2).epoch == epoch


def test_15950_a_broker_sends_one_heartbeat_at_a_time() -> None:
    with scene(ONE_CONTROLLER, settings={"broker.heartbeat.interval.ms": "10"}) as cluster:
        controller, broker = cluster.machine(1), cluster.machine(2)
        # A heartbeat is due long before the one before it is answered.
        cluster.slow_down(controller, broker, 200)

        def heartbeats_under_way() -> int:
            outbound = node_of(broker).metadata.channel._outbound
            link = outbound._link if outbound is not None else None
            pending = link._in_flight if link is not None else ()
            return sum(each.key == BrokerHeartbeatRequest.API_KEY for each in pending)

        cluster.wait_until(lambda: heartbeats_under_way() == 1)
        assert stays(cluster, lambda: heartbeats_under_way() > 1, 10)


def test_13959_a_broker_is_unfenced_while_the_log_grows() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        controller, broker = cluster.machine(1), cluster.machine(2)
        runtime = node_of(controller).metadata.runtime

        async def write_on() -> None:
            for _ in range(2_500):
                await runtime.append([NoOpRecord()])
                await asyncio.sleep(0.005)

        cluster.begin_on_node(controller, write_on())
        # It is always behind the end of the log, when its heartbeat arrives.
        cluster.slow_down(controller, broker, 100)
        broker.kill()
        cluster.run_for(SESSION_S + 2)
        broker.start()
        cluster.wait_until(lambda: broker.node is not None, seconds=5)


def test_15441_a_broker_is_unfenced_after_half_a_transaction() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        controller, broker = cluster.machine(1), cluster.machine(2)
        broker.kill()
        cluster.wait_until(lambda: is_fenced(cluster, 2), seconds=20)
        # Three batches are needed, and there is room for one or two.
        records = [
            ConfigRecord(resource_type=TOPIC, resource_name="t", name=f"name-{each}", value="x")
            for each in range(2 * MAX_RECORDS_PER_BATCH + 1_000)
        ]
        controller.disk.capacity = controller.disk.used_bytes() + 45 * MAX_RECORDS_PER_BATCH
        runtime = node_of(controller).metadata.runtime
        with pytest.raises(ApiError) as refused:
            cluster.on_node(controller, runtime.append(records))
        assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert runtime.controller.state.transaction_offset >= 0
        controller.disk.capacity = None
        broker.start()
        cluster.wait_until(lambda: broker.node is not None, seconds=20)
        # Nothing of the half is left.
        assert not cluster.image().config(TOPIC, "t")


def test_a_heartbeat_of_an_earlier_life_does_not_keep_a_broker_alive() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        broker = cluster.machine(2)
        old_epoch = registration(cluster, 2).epoch
        broker.kill()
        cluster.run_for(SESSION_S + 2)
        broker.start()
        cluster.wait_until(lambda: broker.node is not None)
        assert registration(cluster, 2).epoch > old_epoch
        broker.kill()
        client = cluster.client("zombie")
        # A heartbeat that was under way for long, and its repetitions.
        request = BrokerHeartbeatRequest(2, old_epoch, current_metadata_offset=1 << 40)
        address = Address("node-1", CONTROLLER_PORT)
        for _ in range(20):
            answer = cluster.ask(client.send(address, request, BrokerHeartbeatResponse), client)
            assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH
            cluster.run_for(1)
        assert is_fenced(cluster, 2)


def test_14616_a_topic_that_was_recreated_while_its_broker_was_down_is_empty() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        broker, other = cluster.machine(2), Address("node-3", 9092)
        assert cluster.create_topic("twice", replicas=[2]) == 0
        for nth in range(5):
            assert cluster.produce("twice", b"old") == nth
        broker.kill()
        # Before its session expires, it can still be chosen.
        assert cluster.delete_topic("twice", through=other) == 0
        assert cluster.create_topic("twice", replicas=[2], through=other) == 0
        broker.start()
        cluster.wait_until(lambda: broker.node is not None, seconds=20)
        assert cluster.produce("twice", b"new") == 0


def test_what_is_not_committed_is_forgotten_by_a_controller_that_resigns() -> None:
    with scene("combined") as cluster:
        leader = cluster.active()
        cluster.cut(leader, cluster.others(leader))
        record = TopicRecord(name="uncommitted", topic_id=bytes(15) + b"\x07")
        runtime = node_of(leader).metadata.runtime
        with pytest.raises(ApiError) as refused:
            cluster.on_node(leader, runtime.append([record]))
        assert refused.value.code == ErrorCode.NOT_CONTROLLER
        cluster.wait_until(lambda: any(is_active(each) for each in cluster.others(leader)))
        cluster.mend(leader, cluster.others(leader))
        cluster.run_for(10)

        def topics(machine: Machine) -> list[str]:
            return list(node_of(machine).metadata.image.topics_by_name)

        assert [topics(each) for each in cluster.machines] == [[], [], []]


def test_20031_brokers_that_ask_two_controllers_get_different_producer_ids() -> None:
    """The first one does not know yet that it leads no longer; nothing it decides is committed."""
    with scene("combined") as made:
        former = made.active()
        others = made.others(former)
        made.cut(former, others)
        early = made.begin_on_node(former, node_of(former).broker.producer_ids.next())
        made.wait_until(lambda: any(is_active(each) for each in others))
        taken = [made.on_node(each, node_of(each).broker.producer_ids.next()) for each in others]
        made.mend(former, others)
        made.wait_until(early.done, seconds=60)
        if early.exception() is None:
            taken.append(early.result())
        made.wait_until(lambda: made.leaders() != [] and not is_active(former))
        taken.append(made.on_node(former, node_of(former).broker.producer_ids.next(), seconds=60))
        blocks = [each // PRODUCER_ID_BLOCK_SIZE for each in taken[:2]]
        assert len(set(taken)) == len(taken), taken
        assert len(set(blocks)) == len(blocks), taken


def test_a_broker_starts_even_if_its_recovered_partitions_cannot_be_reported() -> None:
    with scene(ONE_CONTROLLER) as cluster:
        broker = cluster.machine(2)
        assert cluster.create_topic("t", partitions=4) == 0
        broker.cut_power()
        cluster.wait_until(lambda: is_fenced(cluster, 2), seconds=20)
        broker.return_power()
        held = cluster.network.hold("node-2", "node-1", ALTER_PARTITION, only_answers=False)
        broker.start()
        # It was the last leader, and may have lost records: it is elected as one that recovers.
        cluster.wait_until(lambda: held.count > 0, seconds=20)
        process = broker.process
        cluster.run_for(2 * SESSION_S)
        cluster.network.release(held)
        cluster.wait_until(lambda: broker.node is not None)
        assert broker.process is process
