"""What DeleteRecords must not do, as an observer of all clients and replicas sees it."""

from collections.abc import Iterator

import pytest

from moldau.ids import TopicPartition
from moldau.simulator.cluster import TOPOLOGIES, Cluster
from moldau.simulator.deletions import EVERYTHING, Deletions
from moldau.simulator.network import SimulatedNetwork
from moldau.simulator.world import US_PER_S, World

RIVER = TopicPartition("river", 0)


class Observed:
    """One node without partitions, so that whatever was deleted was deleted everywhere."""

    def __init__(self) -> None:
        self.world = World(1)
        self.cluster = Cluster(self.world, SimulatedNetwork(self.world), TOPOLOGIES["single"])
        self.deletions = Deletions(self.world, self.cluster)
        (self.machine,) = self.cluster.machines

    def start(self) -> None:
        self.machine.start()
        assert self.world.run_for(10 * US_PER_S, lambda: self.machine.node is not None)

    def delete(self, offset: int, low_watermark: int) -> None:
        before = self.deletions.will_delete(RIVER, offset)
        self.deletions.has_deleted(RIVER, low_watermark, before)

    def serve(self, offset: int) -> None:
        self.deletions.was_served(RIVER, offset, self.deletions.deleted(RIVER))


@pytest.fixture
def observed() -> Iterator[Observed]:
    made = Observed()
    made.start()
    yield made
    made.world.is_over = True
    made.cluster.bury()


def test_a_log_starts_where_it_was_asked_to_at_most(observed: Observed) -> None:
    observed.delete(7, 7)
    observed.deletions.log_starts_at(RIVER, 7)
    assert observed.world.surprises == []
    observed.deletions.log_starts_at(RIVER, 8)
    assert observed.world.surprises == ["deletions: river-0 starts at 8, but 7 was asked for"]


def test_what_a_request_without_an_answer_has_asked_for_counts(observed: Observed) -> None:
    observed.deletions.will_delete(RIVER, 9)
    observed.deletions.log_starts_at(RIVER, 9)
    observed.deletions.will_delete(RIVER, EVERYTHING)
    observed.deletions.log_starts_at(RIVER, 1_000)
    assert observed.world.surprises == []


def test_everything_is_as_much_as_the_answer_says(observed: Observed) -> None:
    observed.delete(EVERYTHING, 5)
    observed.deletions.log_starts_at(RIVER, 6)
    assert observed.world.surprises == ["deletions: river-0 starts at 6, but 5 was asked for"]


def test_what_everybody_has_deleted_is_not_served_before_a_restart(observed: Observed) -> None:
    observed.delete(7, 7)
    observed.serve(7)
    assert observed.world.surprises == []
    observed.machine.kill()
    observed.start()
    observed.serve(6)
    assert observed.world.surprises == []
    observed.delete(7, 7)
    observed.serve(6)
    assert observed.world.surprises == [
        "deletions: river-0 is served from 6 on, but was deleted before 7"
    ]


def test_what_one_that_is_down_may_have_is_served_again(observed: Observed) -> None:
    observed.machine.kill()
    observed.delete(7, 7)
    observed.serve(6)
    assert observed.world.surprises == []
