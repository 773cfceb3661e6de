"""Named simulations of who is in sync, and who knows it. Numbers are Apache Kafka's issues."""

from moldau.config.broker import BrokerConfig
from moldau.protocol.messages.alter_partition import AlterPartitionRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from moldau.protocol.messages.fetch import FetchRequest
from moldau.simulator.disk import keep_nothing
from moldau.simulator.holding import Hold
from moldau.simulator.machine import Machine
from tests.simulator.in_sync import PATIENT, InSync, id_of, in_sync, node_of

PREFERRED = 0


def test_7128_a_follower_that_lacks_what_was_committed_does_not_join_a_new_leader() -> None:
    """The leader has the record, but has not heard that its predecessor committed it."""
    with in_sync(seed=61) as stage:
        former, new, lagging = stage.leader, stage.first, stage.second
        stage.cut(former, lagging)
        writer = stage.write()
        former_log = stage.on(former).log
        stage.until(lambda: former_log.high_watermark > stage.end_on(lagging))
        stage.network.cut(former.name, new.name)
        stage.until(lambda: writer.is_done)
        former.kill()
        stage.until(lambda: stage.on(new).is_leader)
        stage.until(lambda: stage.state(new).followers[id_of(lagging)].log_end_offset >= 0)
        # It asks for the record, and does not get it.
        stage.network.cut(new.name, lagging.name)
        replica = stage.on(new)
        assert replica.log.high_watermark == stage.end_on(lagging) < replica.epoch_start_offset
        stage.cluster.run_for(1)
        new.kill()
        stage.cluster.run_for(3)
        stage.mend(former, lagging)
        stage.network.mend(former.name, new.name)
        stage.network.mend(new.name, lagging.name)
        stage.end()


def test_13091_the_answer_that_one_has_left_the_isr_acknowledges_what_it_lacks() -> None:
    """It waits neither for the next batch, nor for the next check of those who lag."""
    with in_sync(seed=62, replica_lag_time_max_ms="20000", **PATIENT) as stage:
        lagging = stage.first
        stage.cut(stage.leader, lagging)
        writer = stage.write()
        stage.until(lambda: stage.state().pending is not None, seconds=60)
        # The metadata would acknowledge it as well.
        stage.hold(stage.leader, stage.controller, FetchRequest)
        stage.until(lambda: id_of(lagging) not in stage.state().isr)
        assert stage.known_by(stage.leader).partition_epoch < stage.state().partition_epoch
        stage.until(lambda: writer.is_done, seconds=2)
        stage.mend(stage.leader, lagging)
        stage.end()


def test_13091_metadata_in_which_one_has_left_the_isr_acknowledges_what_it_lacks() -> None:
    """The answer of the controller comes later, or never."""
    with in_sync(seed=70, replica_lag_time_max_ms="20000") as stage:
        lagging = stage.first
        stage.cut(stage.leader, lagging)
        writer = stage.write()
        stage.hold(stage.leader, stage.controller, AlterPartitionRequest, answers=True)
        stage.until(lambda: id_of(lagging) not in stage.state().isr, seconds=60)
        stage.until(lambda: writer.is_done, seconds=2)
        stage.mend(stage.leader, lagging)
        stage.end()


def test_13916_a_follower_that_is_fenced_is_not_asked_for() -> None:
    """The controller does not hear of it, but it fetches, and has everything."""
    with in_sync(seed=63) as stage:
        leader, fenced = stage.leader, stage.first
        stage.cut(fenced, *stage.voters())
        stage.until(lambda: stage.broker_known_by(leader, fenced).fenced)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        assert stage.stays(lambda: id_of(fenced) in stage.state().maximal_isr, 5)
        assert stage.end_on(fenced) == stage.end_on(leader)
        stage.mend(fenced, *stage.voters())
        stage.end()


def test_13916_the_controller_does_not_add_a_follower_that_it_has_fenced() -> None:
    """The leader asks for it, because it has not heard that."""
    with in_sync(seed=64, **PATIENT) as stage:
        leader, fenced = stage.leader, stage.first
        fetches = stage.hold(fenced, leader, FetchRequest)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        assert id_of(fenced) not in stage.state().isr
        metadata = stage.hold(leader, stage.controller, FetchRequest)
        stage.cut(fenced, *stage.voters())
        stage.until(lambda: stage.broker_known_by(stage.controller, fenced).fenced)
        assert not stage.broker_known_by(leader, fenced).fenced
        stage.release(fetches)
        stage.until(lambda: id_of(fenced) in stage.state().maximal_isr)
        assert stage.stays(lambda: stage.is_in_isr(fenced), 3)
        stage.release(metadata)
        stage.mend(fenced, *stage.voters())
        stage.end()


def test_13916_a_follower_that_is_stopping_is_not_asked_for() -> None:
    """It fetches, and has everything, until its controlled shutdown is complete."""
    with in_sync(seed=71, **PATIENT) as stage:
        leader, stopping = stage.leader, stage.first
        replica = stage.on(stopping)
        # A shutdown is not complete before every broker knows of it.
        stage.hold(stage.second, stage.controller, FetchRequest)
        stopping.stop()
        stage.until(lambda: stage.broker_known_by(leader, stopping).in_controlled_shutdown)
        assert not stage.is_in_isr(stopping)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        assert stage.stays(lambda: id_of(stopping) in stage.state().maximal_isr, 5)
        assert not stage.broker_known_by(leader, stopping).fenced
        assert replica.log.log_end_offset == stage.end_on(leader)
        stage.end()


def test_13916_the_controller_does_not_add_a_follower_that_is_stopping() -> None:
    """The leader asks for it, because it has not heard of the shutdown."""
    with in_sync(seed=72, **PATIENT) as stage:
        leader, stopping = stage.leader, stage.first
        fetches = stage.hold(stopping, leader, FetchRequest)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        assert not stage.is_in_isr(stopping)
        stage.hold(leader, stage.controller, FetchRequest)
        stopping.stop()
        known = stage.broker_known_by
        stage.until(lambda: known(stage.controller, stopping).in_controlled_shutdown)
        assert not known(leader, stopping).in_controlled_shutdown
        stage.release(fetches)
        stage.until(lambda: id_of(stopping) in stage.state().maximal_isr)
        assert stage.stays(lambda: stage.is_in_isr(stopping), 3)
        assert not known(stage.controller, stopping).fenced
        stage.end()


def lose_the_leader_that_forgot_one(stage: InSync, forgotten: Machine) -> None:
    """The leader writes, and is lost. The controller counts ``forgotten``, which has no record.

    If the leader counts it too, the record is not acknowledged, and the next leader gets it.
    """
    leader = stage.leader
    stage.cut(leader, forgotten)
    stage.hold(leader, stage.controller, AlterPartitionRequest)
    writer = stage.write()
    # A follower that was caught up a moment ago is waited for, in sync or not.
    stage.cluster.run_for(3)
    assert stage.end_on(leader) > stage.end_on(forgotten)
    assert stage.is_in_isr(forgotten)
    leader.kill()
    stage.until(lambda: stage.known_by(stage.controller).leader == id_of(forgotten))
    stage.mend(leader, forgotten)
    stage.until(lambda: writer.is_done)
    stage.end()


def test_12686_metadata_does_not_undo_what_the_leader_has_asked_for_since() -> None:
    """The answer had the same; meanwhile the leader asks for a follower to be added."""
    with in_sync(seed=65, replica_lag_time_max_ms="1000", **PATIENT) as stage:
        leader, late, controller = stage.leader, stage.first, stage.controller
        fetches = stage.hold(late, leader, FetchRequest)
        metadata = stage.hold(leader, controller, FetchRequest)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        answered = stage.state().partition_epoch
        assert id_of(late) not in stage.state().isr
        assert stage.known_by(leader).partition_epoch < answered
        asking = stage.hold(leader, controller, AlterPartitionRequest)
        stage.release(fetches)
        stage.until(lambda: asking.count > 0)
        stage.release(metadata)
        stage.until(lambda: stage.known_by(leader).partition_epoch == answered)
        metadata = stage.hold(leader, controller, FetchRequest)
        stage.until(lambda: metadata.count > 0)
        stage.release(asking)
        stage.until(lambda: stage.is_in_isr(late))
        lose_the_leader_that_forgot_one(stage, late)


def test_12686_metadata_that_is_older_than_an_answer_changes_nothing() -> None:
    """It says that a follower has left the ISR; the answer, that it is back."""
    with in_sync(seed=66, replica_lag_time_max_ms="1000", **PATIENT) as stage:
        leader, late, controller = stage.leader, stage.first, stage.controller
        fetches = stage.hold(late, leader, FetchRequest)
        writer = stage.write()
        stage.until(lambda: stage.state().pending is not None)
        # It gets the record of the change, but does not hear that it is committed.
        metadata = stage.hold(leader, controller, FetchRequest, answers=True)
        stage.until(lambda: writer.is_done)
        without = stage.state().partition_epoch
        assert id_of(late) not in stage.state().isr
        assert stage.known_by(leader).partition_epoch < without
        stage.release(fetches)
        stage.until(lambda: id_of(late) in stage.state().isr)
        stage.hold(leader, controller, FetchRequest)
        stage.release(metadata)
        stage.until(lambda: stage.known_by(leader).partition_epoch == without)
        assert stage.is_in_isr(late)
        lose_the_leader_that_forgot_one(stage, late)


def fetch_and_lose_the_records(stage: InSync, follower: Machine) -> Hold:
    """Let a follower outside the ISR fetch everything, and lose it with its power.

    Its last fetch, which says that it has everything, is still under way when it has restarted.
    """
    leader = stage.leader
    fetches = stage.hold(follower, leader, FetchRequest)
    writer = stage.write()
    stage.until(lambda: writer.is_done)
    assert id_of(follower) not in stage.state().isr
    stage.release(fetches)
    stage.until(lambda: stage.end_on(follower) == stage.end_on(leader))
    fetches = stage.hold(follower, leader, FetchRequest)
    stage.until(lambda: fetches.count == 1)
    assert id_of(follower) not in stage.state().maximal_isr
    follower.cut_power(keep=keep_nothing)
    stage.cut(leader, follower)
    follower.return_power()
    follower.start()
    return fetches


def test_15221_a_fetch_that_a_restarted_follower_sent_before_says_nothing() -> None:
    """The leader has heard that it has restarted."""
    with in_sync(seed=67, replica_lag_time_max_ms="1000") as stage:
        leader, restarted = stage.leader, stage.first
        end_offset = stage.end_on(leader)
        fetches = fetch_and_lose_the_records(stage, restarted)
        stage.until(lambda: restarted.node is not None)
        assert stage.end_on(restarted) < stage.end_on(leader)
        epoch = node_of(restarted).metadata.lifecycle.broker_epoch
        assert stage.broker_known_by(leader, restarted).epoch == epoch
        stage.network.mend(restarted.name, leader.name)
        stage.release(fetches)
        known = stage.state().followers[id_of(restarted)]
        assert stage.stays(lambda: known.log_end_offset > end_offset, 1)
        stage.network.mend(leader.name, restarted.name)
        stage.end()


def test_15221_the_controller_does_not_add_a_follower_that_has_restarted_since() -> None:
    """The leader has not heard that it has, and gets the fetch that it sent before."""
    with in_sync(seed=68, replica_lag_time_max_ms="1000", **PATIENT) as stage:
        leader, restarted, other = stage.leader, stage.first, stage.second
        fetches = fetch_and_lose_the_records(stage, restarted)
        stage.hold(leader, stage.controller, FetchRequest)
        stage.until(lambda: restarted.node is not None)
        assert stage.end_on(restarted) < stage.end_on(leader)
        epoch = node_of(restarted).metadata.lifecycle.broker_epoch
        assert stage.broker_known_by(leader, restarted).epoch < epoch
        stage.network.mend(restarted.name, leader.name)
        stage.release(fetches)
        stage.until(lambda: id_of(restarted) in stage.state().maximal_isr)
        stage.cluster.run_for(1)
        # If it were in sync, it would be elected when the others are gone.
        other.kill()
        stage.until(lambda: not stage.is_in_isr(other))
        leader.kill()
        stage.cluster.run_for(3)
        stage.network.mend(leader.name, restarted.name)
        stage.end()


def let_the_controller_be_slow(stage: InSync) -> Machine:
    """The active controller, which needs long to notice that it is cut off from the others."""
    slow = stage.controller
    slow.config = BrokerConfig.from_properties(
        {**slow.config.originals, "controller.quorum.fetch.timeout.ms": "5000"}
    )
    active = slow
    for _ in range(10):
        active.kill()
        stage.until(lambda: len(stage.controllers) == 1)
        active.start()
        stage.until(stage.cluster.are_nodes_ready)
        active = stage.controller
        if active is slow:
            return slow
    raise AssertionError("others are always elected")


def test_14154_a_change_that_a_stale_controller_refuses_is_asked_for_again() -> None:
    """The leader was elected by the next controller, and the stale one does not know it."""
    # An answer waits until everything before it is committed: nothing is decided in vain.
    settings = {"replica_lag_time_max_ms": "1000", "metadata_max_idle_interval_ms": "0"}
    with in_sync(seed=69, **settings) as stage:
        cluster, leader, former, late = stage.cluster, stage.leader, stage.first, stage.second
        stale = let_the_controller_be_slow(stage)
        others = [each for each in cluster.cluster.machines if each is not stale]
        leader.kill()
        stage.until(lambda: stage.on(former).is_leader)
        leader.start()
        stage.until(cluster.is_fully_replicated)
        stage.hold(late, former, FetchRequest)
        writer = stage.write()
        stage.until(lambda: writer.is_done)
        assert not stage.is_in_isr(late)
        # A channel follows the quorum; this one has to be late.
        channel = node_of(leader).metadata.isr_channel
        find, known = channel._find_controller, channel._find_controller()
        channel._find_controller = lambda: known
        stage.cut(stale, *others)
        stage.until(lambda: find() not in (None, known))
        stage.mend(stale, leader)
        elect = ElectLeadersRequest(PREFERRED, None, timeout_ms=1_000)
        cluster.ask(elect, ElectLeadersResponse, of=leader)
        asking = stage.hold(leader, stale, AlterPartitionRequest)
        stage.until(lambda: asking.count > 0)
        stage.release(asking)
        cluster.run_for(0.1)
        assert stale in stage.controllers
        assert stage.known_by(stale).leader == id_of(former)
        channel._find_controller = find
        stage.mend(stale, *(each for each in others if each is not leader))
        stage.until(lambda: len(stage.controllers) == 1 and stage.is_in_isr(late))
        stage.end()
