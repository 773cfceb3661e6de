"""Which listeners of a broker are probed, and whose connections are watched."""

from collections.abc import Sequence
from types import SimpleNamespace

from moldau.broker.failure_detection import FailureDetection
from moldau.config.broker import BrokerConfig
from moldau.controller.liveness import NEW_TERM_MS, PROBE_PAUSE_MS
from moldau.ids import NO_UUID
from moldau.metadata.introduction import Endpoint
from moldau.metadata.registrations import BrokerRegistration
from moldau.network.session import Session
from moldau.simulator.network import Listener, SimulatedNetwork
from moldau.simulator.world import US_PER_MS, World
from tests.simulator.machines import loop_of

INTERNAL = Endpoint("INTERNAL", "node-2", 9092, 0)
EXTERNAL = Endpoint("EXTERNAL", "node-2", 9094, 0)
# Both probes of a new term, and the time that they need.
PROBED_MS = NEW_TERM_MS + PROBE_PAUSE_MS + 100


class Stage:
    """A controller at the beginning of its term, in which broker 2 does not connect."""

    def __init__(
        self, endpoints: Sequence[Endpoint], accepting: Sequence[Endpoint], **settings: str
    ) -> None:
        self.world = World(1)
        network = SimulatedNetwork(self.world)
        for endpoint in accepting:
            host = network.host(endpoint.host)
            loop = loop_of(self.world, endpoint.host)
            host.listeners[endpoint.port] = Listener(host, loop, "", endpoint.port, None)  # type: ignore[arg-type]
        broker = BrokerRegistration(
            id=2,
            epoch=5,
            incarnation_id=NO_UUID,
            endpoints=tuple(endpoints),
            features={},
            rack=None,
            fenced=False,
            in_controlled_shutdown=False,
            log_dirs=(),
            cordoned_log_dirs=None,
        )
        self.brokers = {1: broker._replace(id=1), 2: broker}
        config = BrokerConfig.from_properties(
            {
                "node.id": "1",
                "process.roles": "controller",
                "listeners": "CONTROLLER://node-1:9093",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": "1@node-1:9093",
                "inter.broker.listener.name": "INTERNAL",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT",
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self.loop = loop_of(self.world, "node-1")
        own = network.host("node-1").network(self.loop)
        metadata = SimpleNamespace(image=SimpleNamespace(brokers=self.brokers))
        self.detection = FailureDetection(config, metadata, own, self.loop.clock)  # type: ignore[arg-type]
        self.dead: list[int] = []
        self.loop.run_turn(
            lambda: self.detection.begin_term(
                lambda: self.brokers, lambda broker: self.dead.append(broker.id)
            )
        )

    def run(self, for_ms: int = PROBED_MS) -> list[int]:
        """The brokers that are dead after that time."""
        self.world.run_for(for_ms * US_PER_MS)
        return self.dead


def test_the_listener_for_brokers_is_probed_and_no_other() -> None:
    # Listeners for clients may lead to a proxy, or to another machine.
    assert Stage([EXTERNAL, INTERNAL], accepting=[EXTERNAL]).run() == [2]
    assert Stage([EXTERNAL, INTERNAL], accepting=[INTERNAL]).run() == []


def test_if_the_listener_for_brokers_is_not_known_all_must_refuse() -> None:
    other = EXTERNAL._replace(name="OTHER", port=9095)
    assert Stage([EXTERNAL, other], accepting=[]).run() == [2]
    for accepting in (EXTERNAL, other):
        assert Stage([EXTERNAL, other], accepting=[accepting]).run() == []


def test_a_broker_without_listeners_cannot_refuse() -> None:
    assert Stage([], accepting=[]).run() == []


def test_nobody_is_probed_if_the_detection_is_switched_off() -> None:
    assert Stage([INTERNAL], [], moldau_failure_detection_enable="false").run() == []


def test_a_broker_that_registers_again_during_a_probe_is_not_dead() -> None:
    stage = Stage([INTERNAL], accepting=[])
    stage.run(NEW_TERM_MS + PROBE_PAUSE_MS)
    stage.brokers[2] = stage.brokers[2]._replace(epoch=6)
    assert stage.run() == []


def test_nobody_is_probed_after_the_term() -> None:
    stage = Stage([INTERNAL], accepting=[])
    stage.run(NEW_TERM_MS + PROBE_PAUSE_MS // 2)
    stage.loop.run_turn(stage.detection.end_term)
    assert stage.run() == []


def test_connections_of_nodes_that_are_no_brokers_are_not_remembered() -> None:
    stage = Stage([INTERNAL], accepting=[])
    for broker_id in range(3, 1_000):
        stage.detection.seen(Session("node-9", 1, "CONTROLLER"), broker_id)
    assert not stage.detection._connections
    assert stage.run() == [2]


def test_a_connection_is_watched_until_its_peer_closes_it() -> None:
    stage = Stage([INTERNAL], accepting=[])
    session = Session("node-2", 1, "CONTROLLER")
    stage.loop.run_turn(lambda: stage.detection.seen(session, 2, 5))
    assert stage.run(10_000) == []
    stage.loop.run_turn(lambda: [each() for each in session.peer_closed()])
    assert stage.run() == [2]
