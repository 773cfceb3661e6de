"""What went wrong in Apache Kafka once, with the number of its issue, in a whole cluster."""

import pytest

from moldau.raft.log_view import LogEnd
from moldau.raft.messages import (
    AddVoterRequest,
    RemoveVoterRequest,
    RemoveVoterResponse,
    ReplicaKey,
    VoteRequest,
    VoteResponse,
)
from moldau.raft.quorum_state import QuorumState
from moldau.raft.roles import Follower, Resigned, Unattached
from tests.raft.cluster import (
    MAX_ENTRIES_PER_FETCH,
    Cluster,
    ModelNode,
    Waiting,
    directory,
    endpoint,
)
from tests.raft.model_log import ModelLog
from tests.raft.test_cluster import calm_down

FETCH_TIMEOUT_MS = 400
LATER_EPOCH = 50


def elected(cluster: Cluster) -> ModelNode:
    """Wait until there is a leader that has committed something, and everybody follows it."""
    calm_down(cluster)
    leader = cluster.leader()
    assert leader is not None
    return leader


def cut_off(cluster: Cluster, node: ModelNode) -> None:
    for other in cluster.nodes:
        cluster.cuts[node.id, other] = cluster.cuts[other, node.id] = None


def is_led_by_another(cluster: Cluster, node: ModelNode) -> bool:
    leader = cluster.leader()
    return leader is not None and leader is not node


def is_led_within(cluster: Cluster, within_ms: int) -> bool:
    return cluster.run_until(lambda: cluster.leader() is not None, within_ms)


def test_10527_a_restarted_leader_does_not_lead_its_epoch_again() -> None:
    cluster = Cluster(1, voters=3, observers=0)
    for _ in range(5):
        leader = elected(cluster)
        assert leader.raft is not None
        epoch = leader.raft.leader_epoch
        # It crashes with records that others may have seen, and is back at once.
        cluster.append(leader)
        cluster.run(3)
        cluster.stop(leader)
        cluster.start(leader)
        assert isinstance(leader.raft.role, Resigned)
        cluster.run(3_000)
        after = elected(cluster)
        assert after.raft is not None
        assert after.raft.leader_epoch > epoch
    # The invariants of the cluster hold: no epoch had two first records.


def test_a_voter_that_crashed_after_its_vote_does_not_give_it_again() -> None:
    cluster = Cluster(9, voters=3, observers=0)
    subject = cluster.nodes[1]
    for candidate in (2, 3, 2):
        request = VoteRequest(
            ReplicaKey(candidate, directory(candidate)), 5, LogEnd(0, 0), ReplicaKey(1)
        )
        cluster.deliver(1, request, Waiting(-1, 0, 0))
        cluster.stop(subject)
        cluster.start(subject)
    votes = [answer.is_granted for answer in cluster.answers if isinstance(answer, VoteResponse)]
    assert votes == [True, False, True]


def test_12619_a_new_leader_commits_nothing_before_a_record_of_its_epoch() -> None:
    cluster = Cluster(2, voters=5, observers=0)
    first = elected(cluster)
    second, *rest = (node for node in cluster.nodes.values() if node is not first)
    # Records that reach one other voter only, more than one fetch returns; the leader is gone.
    for node in rest:
        cut_off(cluster, node)
    for _ in range(2 * MAX_ENTRIES_PER_FETCH):
        cluster.append(first)
    cluster.run(100)
    committed = second.committed
    cluster.stop(first)
    cluster.cuts = {}
    # If the new leader counted copies of the old records, the high watermark would be among them.
    seen: list[int] = []
    for _ in range(3_000):
        cluster.run(1)
        if second.raft is not None and second.raft.is_leader:
            seen.append(second.committed)
            assert second.committed == committed or (
                second.committed > second.raft.epoch_start_offset
            )
    assert seen[0] == committed
    assert seen[-1] > committed + 2 * MAX_ENTRIES_PER_FETCH


def test_12460_what_is_committed_is_not_truncated_for_a_majority_that_lost_its_disks() -> None:
    cluster = Cluster(10, voters=3, observers=0)
    leader = elected(cluster)
    survivor, other = (node for node in cluster.nodes.values() if node is not leader)
    for _ in range(5):
        cluster.append(leader)
    cluster.run(1_000)
    committed = survivor.committed
    cut_off(cluster, survivor)
    for node in (leader, other):
        cluster.stop(node)
        node.log, node.state, node.committed = ModelLog(), QuorumState(LATER_EPOCH), 0
    # They know nothing, and agree on another history. That is beyond what a quorum can survive,
    # but the node that still has the old one must not join in.
    cluster.committed.clear()
    cluster.leaders.clear()
    for node in (leader, other):
        cluster.start(node)
    assert cluster.run_until(lambda: len(cluster.committed) > 0, within_ms=5_000)
    cluster.cuts = {}
    with pytest.raises(AssertionError, match="is committed"):
        cluster.run(10_000)
    assert survivor.log.end_offset >= committed


def test_a_voter_with_a_shorter_log_is_not_elected() -> None:
    for seed in range(8):
        cluster = Cluster(seed, voters=3, observers=0)
        leader = elected(cluster)
        behind, other = (node for node in cluster.nodes.values() if node is not leader)
        cut_off(cluster, behind)
        for _ in range(5):
            cluster.append(leader)
        cluster.run(100)
        cluster.stop(leader)
        # After a restart it no longer knows that the leader was alive a moment ago.
        cluster.stop(other)
        cluster.start(other)
        cluster.cuts = {}
        # A leader without a committed record breaks an invariant of the cluster.
        assert is_led_within(cluster, 10_000)


def test_a_voter_counts_only_with_what_is_on_its_disk() -> None:
    for seed in range(8):
        cluster = Cluster(seed, voters=3, observers=0)
        leader = elected(cluster)
        slow, absent = (node for node in cluster.nodes.values() if node is not leader)
        cluster.stop(absent)
        cluster.flush_ms = 300
        for _ in range(20):
            if leader.raft is not None and leader.raft.is_leader:
                cluster.append(leader)
            cluster.run(10)
        # Both lose what is not on disk, and the one with the older log decides who is elected.
        cluster.stop(leader)
        cluster.stop(slow)
        cluster.start(slow)
        cluster.start(absent)
        # A leader without a committed record breaks an invariant of the cluster.
        assert is_led_within(cluster, 10_000)


def test_15489_a_leader_that_is_cut_off_resigns_and_the_others_go_on() -> None:
    cluster = Cluster(3, voters=3, observers=0)
    old = elected(cluster)
    cut_off(cluster, old)
    cluster.run(FETCH_TIMEOUT_MS * 3 // 2 + 10)
    assert old.raft is not None
    assert not old.raft.is_leader
    assert cluster.run_until(lambda: is_led_by_another(cluster, old), within_ms=3_000)


def test_15489_a_leader_that_hears_nobody_but_can_send_resigns_too() -> None:
    cluster = Cluster(4, voters=5, observers=0)
    old = elected(cluster)
    for other in cluster.nodes:
        cluster.cuts[other, old.id] = None
    cluster.run(FETCH_TIMEOUT_MS * 3 // 2 + 10)
    assert old.raft is not None
    assert not old.raft.is_leader


def test_18345_a_node_that_was_cut_off_does_not_disturb_the_leader() -> None:
    cluster = Cluster(5, voters=3, observers=0)
    leader = elected(cluster)
    assert leader.raft is not None
    epoch = leader.raft.leader_epoch
    rejoiner = next(node for node in cluster.nodes.values() if node is not leader)
    cut_off(cluster, rejoiner)
    cluster.run(20_000)
    # It asked for pre-votes all the time, and its epoch is still the same.
    assert rejoiner.raft is not None
    assert rejoiner.raft.leader_epoch == epoch
    cluster.cuts = {}
    cluster.run(5_000)
    assert leader.raft.is_leader
    assert leader.raft.leader_epoch == epoch
    assert isinstance(rejoiner.raft.role, Follower)


def test_18345_voters_that_are_alike_do_not_split_their_votes_for_ever() -> None:
    for seed in range(20):
        cluster = Cluster(seed, voters=3, observers=0)
        # Every message takes equally long: only the timeouts tell the voters apart.
        cluster.delay_ms = 1
        cluster.flush_ms = 0
        assert is_led_within(cluster, 3_000), seed


def test_18345_voters_that_start_together_elect_a_leader_soon() -> None:
    for seed in range(50):
        cluster = Cluster(seed, voters=5, observers=0)
        cluster.delay_ms = 100
        cluster.run(5_000)
        assert cluster.leader() is not None, seed
        assert max(cluster.leaders) <= 4, seed


def test_17608_a_leader_removes_itself_and_becomes_an_observer() -> None:
    cluster = Cluster(6, voters=3, observers=0, is_dynamic=True)
    old = elected(cluster)
    request = RemoveVoterRequest(ReplicaKey(old.id, directory(old.id)))
    cluster.deliver(old.id, request, Waiting(-1, 0, 0))
    assert cluster.run_until(lambda: is_led_by_another(cluster, old), within_ms=5_000)
    assert [type(answer) for answer in cluster.answers] == [RemoveVoterResponse]
    assert cluster.answers[0][0] == 0
    calm_down(cluster)
    assert old.raft is not None
    assert not old.raft.is_voter
    assert isinstance(old.raft.role, Follower)
    # Without the two that remain nothing is committed: it does not count itself (KAFKA-16530).
    leader = cluster.leader()
    assert leader is not None
    for node in cluster.nodes.values():
        if node not in (leader, old):
            cluster.stop(node)
    committed = len(cluster.committed)
    cluster.append(leader)
    cluster.run(FETCH_TIMEOUT_MS)
    assert len(cluster.committed) == committed


def test_16530_a_leader_that_removes_itself_does_not_count_its_own_log() -> None:
    cluster = Cluster(7, voters=3, observers=0, is_dynamic=True)
    old = elected(cluster)
    one, other = (node for node in cluster.nodes.values() if node is not old)
    cut_off(cluster, other)
    removal = old.log.end_offset
    request = RemoveVoterRequest(ReplicaKey(old.id, directory(old.id)))
    cluster.deliver(old.id, request, Waiting(-1, 0, 0))
    assert cluster.run_until(lambda: one.log.end_offset > removal, within_ms=100)
    cluster.run(FETCH_TIMEOUT_MS // 2)
    # One of the two that stay has it: with the leader that would be two, but it does not count.
    assert len(cluster.committed) <= removal


def test_16531_a_removed_leader_needs_a_majority_of_those_who_stay() -> None:
    cluster = Cluster(7, voters=3, observers=0, is_dynamic=True)
    old = elected(cluster)
    one, other = (node for node in cluster.nodes.values() if node is not old)
    cut_off(cluster, other)
    request = RemoveVoterRequest(ReplicaKey(old.id, directory(old.id)))
    cluster.deliver(old.id, request, Waiting(-1, 0, 0))
    # One of two follows, which is no majority: the removal is not committed, and it resigns.
    cluster.run(FETCH_TIMEOUT_MS * 2)
    assert old.raft is not None
    assert one.raft is not None
    assert not old.raft.is_leader
    assert one.raft.history.voters_offset not in (None, -1)


def test_new_voters_count_before_their_record_is_committed() -> None:
    cluster = Cluster(11, voters=3, observers=1, is_dynamic=True)
    leader = elected(cluster)
    one, other, fourth = (node for node in cluster.nodes.values() if node is not leader)
    assert fourth.id == 4
    cut_off(cluster, other)
    request = AddVoterRequest(ReplicaKey(4, directory(4)), (endpoint(4),), False)
    cluster.deliver(leader.id, request, Waiting(-1, 0, 0))
    change = leader.log.end_offset
    while leader.log.end_offset == change:
        cluster.run(1)
    cut_off(cluster, fourth)
    assert cluster.run_until(lambda: one.log.end_offset > change, within_ms=100)
    cluster.run(FETCH_TIMEOUT_MS // 2)
    # Two of the three voters of before have it, but it takes three of four.
    assert len(cluster.committed) <= change


def test_17030_a_node_that_nobody_knows_finds_the_leader() -> None:
    cluster = Cluster(8, voters=3, observers=1, is_dynamic=True)
    stranger = cluster.nodes[4]
    assert stranger.raft is not None
    assert isinstance(stranger.raft.role, Unattached)
    leader = elected(cluster)
    assert isinstance(stranger.raft.role, Follower)
    assert stranger.raft.leader_id == leader.id
    # Also after the leader has changed, while it cannot reach the old one.
    cluster.stop(leader)
    assert cluster.run_until(lambda: is_led_by_another(cluster, leader), within_ms=5_000)
    new = cluster.leader()
    assert new is not None
    assert cluster.run_until(
        lambda: stranger.raft is not None and stranger.raft.leader_id == new.id,
        within_ms=3_000,
    )
