"""How soon the dead are noticed, and that nobody else is taken for dead."""

from collections.abc import Iterator

import pytest

from moldau.controller.context import DecisionContext
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import SUPPORTED_FEATURES
from moldau.metadata.introduction import endpoint_fields, feature_fields
from moldau.protocol.messages import broker_registration as messages
from moldau.simulator.cluster import BROKER_PORT
from moldau.simulator.machine import Machine
from moldau.simulator.world import US_PER_MS
from tests.simulator.scenes import Scene, node_of, scene

# Less than any timeout of the quorum or of a session.
SOON_S = 1.0
# Long after nodes have found each other.
SETTLED_S = 2.0


@pytest.fixture(params=["combined", "separate"])
def stage(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with scene(request.param) as made:
        made.run_for(SETTLED_S)
        yield made


def other_broker(stage: Scene) -> Machine:
    """A broker that is not the active controller."""
    ids = stage.cluster.topology.brokers
    return next(each for each in stage.others(stage.active()) if each.config.node_id in ids)


def fenced(stage: Scene) -> list[str]:
    """The brokers that are fenced, as the active controller has committed it."""
    return [
        f"node-{broker.id}"
        for leader in stage.leaders()
        for broker in node_of(leader).metadata.image.brokers.values()
        if broker.fenced
    ]


def ever_fenced(stage: Scene, seconds: float) -> list[str]:
    """Whoever is fenced at some time from now on."""
    seen: dict[str, None] = {}
    for _ in range(int(seconds * 100)):
        stage.run_for(0.01)
        seen.update(dict.fromkeys(fenced(stage)))
    return list(seen)


def reset(stage: Scene, machine: Machine) -> None:
    """Break all connections of a machine, as a proxy does that is restarted."""
    for other in stage.others(machine):
        stage.network.reset_all(machine.name, other.name)


def refuse(stage: Scene, machine: Machine, from_ms: int, to_ms: int) -> None:
    """Let the listener for clients and brokers refuse connects in that time from now."""
    listeners = machine.host.listeners
    door = listeners[BROKER_PORT]
    stage.world.after(from_ms * US_PER_MS, listeners.pop, BROKER_PORT)
    stage.world.after(to_ms * US_PER_MS, listeners.setdefault, BROKER_PORT, door)


# The dead


def test_a_killed_broker_is_fenced_within_a_second(stage: Scene) -> None:
    dead = other_broker(stage)
    dead.kill()
    stage.wait_until(lambda: fenced(stage) == [dead.name], SOON_S)


def test_a_killed_broker_is_fenced_by_its_session_if_the_detection_is_switched_off() -> None:
    with scene("separate", settings={"moldau.failure.detection.enable": "false"}) as stage:
        dead = other_broker(stage)
        dead.kill()
        assert ever_fenced(stage, 5) == []
        stage.wait_until(lambda: fenced(stage) == [dead.name], 5)


def test_a_machine_without_power_is_fenced_by_its_session(stage: Scene) -> None:
    broker = other_broker(stage)
    broker.cut_power()
    assert ever_fenced(stage, 4) == []
    stage.wait_until(lambda: fenced(stage) == [broker.name], 4)


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_controller_is_replaced_and_its_broker_fenced_within_a_second(seed: int) -> None:
    with scene("combined", seed) as stage:
        stage.run_for(SETTLED_S)
        dead = stage.active()
        dead.kill()
        stage.wait_until(lambda: fenced(stage) == [dead.name], SOON_S)


def test_a_killed_controller_is_replaced_within_half_a_second(stage: Scene) -> None:
    stage.active().kill()
    stage.wait_until(lambda: stage.leaders() != [], SOON_S / 2)


def test_a_broker_that_dies_with_the_controller_is_noticed_by_the_next() -> None:
    with scene("separate") as stage:
        stage.run_for(SETTLED_S)
        broker = other_broker(stage)
        stage.active().kill()
        broker.kill()
        stage.wait_until(lambda: fenced(stage) == [broker.name], SOON_S)


@pytest.mark.parametrize("pause_ms", [5, 60, 160, 220, 400])
def test_a_broker_that_is_started_again_after_a_kill_does_not_wait(
    stage: Scene, pause_ms: int
) -> None:
    broker = other_broker(stage)
    broker.kill()
    stage.run_for(pause_ms / 1000)
    broker.start()
    stage.wait_until(lambda: broker.node is not None, 2 * SOON_S)
    stage.wait_until(lambda: fenced(stage) == [], SOON_S)


def test_a_combined_node_that_is_started_again_at_once_does_not_wait() -> None:
    with scene("combined") as stage:
        stage.run_for(SETTLED_S)
        node = stage.active()
        node.kill()
        stage.run_for(0.02)
        node.start()
        stage.wait_until(lambda: node.node is not None, 3 * SOON_S)


# The living


def test_a_broker_that_hangs_for_five_seconds_is_not_fenced(stage: Scene) -> None:
    broker = other_broker(stage)
    broker.pause()
    stage.world.after(5_000 * US_PER_MS, broker.resume)
    assert ever_fenced(stage, 7) == []


def test_brokers_whose_connections_are_all_reset_are_not_fenced(stage: Scene) -> None:
    for _ in range(20):
        for machine in stage.machines:
            reset(stage, machine)
        assert ever_fenced(stage, 0.47) == []


def test_a_broker_that_loses_its_connections_sends_a_heartbeat_at_once(stage: Scene) -> None:
    """Until then it could be taken for its own predecessor."""
    broker = other_broker(stage)
    for _ in range(10):
        reset(stage, broker)
        stage.run_for(0.37)
        detection = node_of(stage.active()).metadata.detection
        assert not detection.has_left(broker.config.node_id)


def test_a_broker_that_hangs_and_loses_its_connections_is_not_fenced(stage: Scene) -> None:
    broker = other_broker(stage)
    broker.pause()
    reset(stage, broker)
    stage.world.after(4_000 * US_PER_MS, broker.resume)
    assert ever_fenced(stage, 6) == []


@pytest.mark.parametrize("is_answer_lost", [False, True])
def test_a_broker_that_is_cut_off_one_way_for_two_seconds_is_not_fenced(
    stage: Scene, is_answer_lost: bool
) -> None:
    broker, leader = other_broker(stage), stage.active()
    way = (leader.name, broker.name) if is_answer_lost else (broker.name, leader.name)
    reset(stage, broker)
    stage.run_for(0.001)
    stage.network.cut(*way)
    stage.world.after(2_000 * US_PER_MS, stage.network.mend, *way)
    assert ever_fenced(stage, 4) == []


def test_a_listener_that_refuses_for_a_moment_fences_nobody(stage: Scene) -> None:
    """Any one probe may meet a moment in which a live broker refuses, but not two."""
    broker = other_broker(stage)
    for begin_ms in range(0, 300, 30):
        # It hangs as well, so that no connection comes back.
        broker.pause()
        reset(stage, broker)
        refuse(stage, broker, begin_ms, begin_ms + 90)
        assert ever_fenced(stage, 0.6) == []
        broker.resume()
        assert ever_fenced(stage, 2) == []


def test_a_listener_that_refuses_as_long_as_connections_may_come_back_fences_nobody(
    stage: Scene,
) -> None:
    broker = other_broker(stage)
    broker.pause()
    reset(stage, broker)
    refuse(stage, broker, 0, 140)
    assert ever_fenced(stage, 1) == []
    broker.resume()


def test_a_listener_that_refuses_fences_nobody_who_comes_back(stage: Scene) -> None:
    broker = other_broker(stage)
    refuse(stage, broker, 0, 10_000)
    for _ in range(8):
        reset(stage, broker)
        assert ever_fenced(stage, 1) == []


def test_a_listener_that_refuses_fences_nobody_who_has_another_connection(stage: Scene) -> None:
    broker, leader = other_broker(stage), stage.active()
    refuse(stage, broker, 0, 20_000)
    for number in range(20):
        connections = [
            each
            for each in broker.host.transports
            if each.peer is not None and each.peer.host == leader.name
        ]
        connections[number % len(connections)].reset()
        # It cannot connect again, nor send anything over those that are left.
        broker.pause()
        assert ever_fenced(stage, 0.5) == []
        broker.resume()
        assert ever_fenced(stage, 0.73) == []


def test_a_new_controller_gives_brokers_time_to_connect() -> None:
    with scene("separate") as stage:
        stage.run_for(SETTLED_S)
        brokers = [stage.machine(each) for each in stage.cluster.topology.brokers]
        stage.active().kill()
        for broker in brokers:
            refuse(stage, broker, 0, 5_000)
            broker.pause()
        stage.wait_until(lambda: stage.leaders() != [])
        assert ever_fenced(stage, 0.15) == []
        for broker in brokers:
            broker.resume()
        assert ever_fenced(stage, 4) == []


def test_an_active_controller_that_hangs_is_not_replaced_early(stage: Scene) -> None:
    leader = stage.active()
    leader.pause()
    reset(stage, leader)
    stage.run_for(SOON_S)
    leader.resume()
    stage.run_for(SOON_S)
    assert stage.leaders() == [leader]
    assert fenced(stage) == []


def test_a_voter_that_cannot_reach_the_leader_does_not_disturb_it() -> None:
    with scene("combined") as stage:
        stage.run_for(SETTLED_S)
        leader = stage.active()
        epoch = node_of(leader).metadata.raft.leader_epoch
        door = leader.host.listeners.pop(9093)
        stage.network.reset_all(leader.name, stage.others(leader)[0].name)
        stage.run_for(SOON_S)
        leader.host.listeners[9093] = door
        stage.run_for(5)
        assert node_of(leader).metadata.raft.leader_epoch == epoch


def test_nobody_takes_the_place_of_a_broker_that_lives(stage: Scene) -> None:
    """Not even one that seems to have its directory and its address."""
    broker, leader = other_broker(stage), stage.active()
    registered = stage.image().brokers[broker.config.node_id]
    impostor = messages.BrokerRegistrationRequest(
        broker_id=registered.id,
        cluster_id=stage.cluster.cluster_id,
        incarnation_id=bytes(15) + b"\x07",
        listeners=endpoint_fields(messages.Listener, registered.endpoints),
        features=feature_fields(messages.Feature, SUPPORTED_FEATURES),
        log_dirs=list(registered.log_dirs),
    )
    for hangs in (False, True):
        if hangs:
            broker.pause()
        stage.run_for(SOON_S)
        runtime = node_of(leader).metadata.runtime
        with pytest.raises(ApiError) as caught:
            stage.on_node(leader, runtime.handle(impostor, 4, DecisionContext()))
        assert caught.value.code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    broker.resume()
