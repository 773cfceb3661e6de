"""A lost connection to the leader, and what a connect to it tells."""

import logging

import pytest

from moldau.broker.leader_watch import PAUSES_MS, LeaderWatch
from moldau.config.broker import BrokerConfig
from moldau.raft.messages import CurrentLeader, LeaderGone, Message
from moldau.raft.voters import VoterEndpoint
from moldau.simulator.network import Listener, SimulatedNetwork
from moldau.simulator.world import US_PER_MS, World
from tests.simulator.machines import loop_of

LEADER = CurrentLeader(2, 7, (VoterEndpoint("CONTROLLER", "node-2", 9093),))
GONE = LeaderGone(2, 7)
# All probes, and the time that they need.
PROBED_MS = sum(PAUSES_MS) + 100


class Voter:
    """A voter that follows node 2, which listens or does not."""

    def __init__(self, *, is_listening: bool = False, is_enabled: bool = True) -> None:
        self.world = World(1)
        network = SimulatedNetwork(self.world)
        self.host = network.host("node-2")
        self.listener = Listener(self.host, loop_of(self.world, "node-2"), "", 9093, None)  # type: ignore[arg-type]
        if is_listening:
            self.host.listeners[9093] = self.listener
        self.loop = loop_of(self.world, "node-1")
        self.leader = LEADER
        self.reported: list[Message] = []
        config = BrokerConfig.from_properties(
            {"moldau.failure.detection.enable": str(is_enabled).lower()}
        )
        self.watch = LeaderWatch(
            config,
            network.host("node-1").network(self.loop),
            lambda: self.leader,
            self.reported.append,
        )

    def lose(self, host: str = "node-2") -> None:
        self.loop.run_turn(lambda: self.watch.on_lost(host, 9093))

    def run(self, for_ms: int = PROBED_MS) -> list[Message]:
        """What is reported by then."""
        self.world.run_for(for_ms * US_PER_MS)
        return self.reported


def test_a_leader_that_refuses_is_gone() -> None:
    voter = Voter()
    voter.lose()
    # Requests to it fail again and again.
    voter.lose()
    assert voter.run() == [GONE]


def test_a_leader_that_accepts_is_not_gone() -> None:
    voter = Voter(is_listening=True)
    voter.lose()
    assert voter.run() == []


def test_a_leader_whose_listener_closes_after_its_connections_is_gone() -> None:
    voter = Voter(is_listening=True)
    voter.lose()
    assert voter.run(PAUSES_MS[0] + 10) == []
    voter.host.process_died()
    assert voter.run() == [GONE]


def test_a_leader_is_watched_again_when_it_is_lost_again() -> None:
    voter = Voter(is_listening=True)
    voter.lose()
    voter.run()
    voter.host.process_died()
    voter.lose()
    assert voter.run() == [GONE]


def test_another_node_may_refuse() -> None:
    voter = Voter()
    voter.lose("node-3")
    assert voter.run() == []


def test_a_leader_that_was_replaced_meanwhile_is_not_reported() -> None:
    voter = Voter()
    voter.lose()
    voter.leader = LEADER._replace(id=3, epoch=8)
    assert voter.run() == []


def test_nobody_watches_if_the_detection_is_switched_off_or_the_node_stops() -> None:
    voter = Voter(is_enabled=False)
    voter.lose()
    assert voter.run() == []
    voter = Voter()
    voter.lose()
    voter.watch.close()
    # The node closes its own connections then.
    voter.lose()
    assert voter.run() == []


def test_a_leader_that_is_gone_is_logged_once_in_an_epoch(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    voter = Voter()
    for epoch in (7, 7, 8):
        voter.leader = LEADER._replace(epoch=epoch)
        voter.lose()
        voter.run()
    assert voter.reported == [GONE, GONE, LeaderGone(2, 8)]
    assert [record.message for record in caplog.records if "is gone" in record.message] == [
        "node 2, which leads epoch 7, is gone",
        "node 2, which leads epoch 8, is gone",
    ]
