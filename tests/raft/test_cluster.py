"""Whole clusters under seeded faults. See ``cluster`` for what is checked."""

import contextlib
from collections.abc import Callable

import pytest

from moldau.errors import ApiError
from moldau.raft.messages import (
    AddVoterRequest,
    LeaderGone,
    RemoveVoterRequest,
    ReplicaKey,
    Request,
)
from tests.raft.cluster import Cluster, ModelNode, Waiting, directory, endpoint

SEEDS = 20
GROUPS = 4
ROUNDS = 100


def make_trouble(
    cluster: Cluster, rounds: int, change: Callable[[Cluster], None] | None = None
) -> None:
    """A swarm: each seed has its own kinds of faults, then one of them every now and then."""
    rng = cluster.rng
    cluster.drop = rng.choice((0.0, 0.02, 0.2))
    cluster.double = rng.choice((0.0, 0.2))
    cluster.delay_ms = rng.choice((2, 20, 100))
    cluster.flush_ms = rng.choice((0, 10, 200))
    cluster.crash = rng.choice((0.0, 0.0, 0.003, 0.02))
    may_crash, may_cut, may_snapshot, may_err = (rng.random() < 0.6 for _ in range(4))
    for _ in range(rounds):
        nodes = list(cluster.nodes.values())
        for node in nodes:
            if node.raft is not None and node.raft.is_leader and rng.random() < 0.7:
                cluster.append(node)
        if may_crash and rng.random() < 0.12:
            node = victim(cluster)
            if node.raft is not None:
                cluster.stop(node)
                # Often at once: then it meets those who remember what it said.
                cluster.restart_later(node, rng.randrange(1, rng.choice((20, 1000))))
        if may_cut and rng.random() < 0.12:
            cut_something(cluster)
        if may_snapshot and rng.random() < 0.1:
            node = rng.choice(nodes)
            if node.raft is not None:
                cluster.snapshot(node)
        if may_err and rng.random() < 0.1:
            # Somebody believes that its leader has gone, rightly or not.
            node = rng.choice(nodes)
            if node.raft is not None:
                cluster.step(node, LeaderGone(node.raft.leader_id, node.raft.leader_epoch))
        if change is not None:
            change(cluster)
        cluster.run(rng.randrange(200))


def change_voters(cluster: Cluster) -> None:
    """Somebody asks the leader to add or to remove a voter, every now and then."""
    rng = cluster.rng
    leader = cluster.leader()
    if leader is None or leader.raft is None or rng.random() > 0.3:
        return
    node_id = rng.choice(list(cluster.nodes))
    replica = ReplicaKey(node_id, directory(node_id))
    request: Request = RemoveVoterRequest(replica)
    if node_id not in leader.raft.voters.voters:
        request = AddVoterRequest(replica, (endpoint(node_id),), rng.random() < 0.5)
    cluster.deliver(leader.id, request, Waiting(-1, 0, 0))


def raise_kraft_version(cluster: Cluster) -> None:
    leader = cluster.leader()
    if leader is None or leader.raft is None or cluster.rng.random() > 0.1:
        return
    raft = leader.raft
    with contextlib.suppress(ApiError):
        effects = raft.upgrade_kraft_version(raft.leader_epoch, 1, cluster.now_ms)
        cluster.perform(leader, effects)


def raise_kraft_version_and_change_voters(cluster: Cluster) -> None:
    raise_kraft_version(cluster)
    change_voters(cluster)


def victim(cluster: Cluster) -> ModelNode:
    """Often the leader: there it hurts."""
    leader = cluster.leader()
    if leader is not None and cluster.rng.random() < 0.5:
        return leader
    return cluster.rng.choice(list(cluster.nodes.values()))


def cut_something(cluster: Cluster) -> None:
    rng = cluster.rng
    ids = list(cluster.nodes)
    one = victim(cluster).id
    kind = rng.randrange(4)
    if kind == 0:
        cluster.cuts = {}
    elif kind == 1:
        other = rng.choice(ids)
        cluster.cuts[one, other] = None
    elif kind == 2:
        for other in ids:
            cluster.cuts[one, other] = cluster.cuts[other, one] = None
    else:
        for other in ids:
            cluster.cuts[other, one] = None


def calm_down(cluster: Cluster) -> None:
    """Without faults the cluster agrees within a bound, and everything is committed everywhere."""
    cluster.drop = cluster.double = cluster.crash = 0.0
    cluster.delay_ms, cluster.flush_ms = 5, 5
    cluster.cuts = {}
    for node in cluster.nodes.values():
        if node.raft is None:
            cluster.start(node)

    def agrees() -> bool:
        leader = cluster.leader()
        rafts = [node.raft for node in cluster.nodes.values()]
        if leader is None or leader.raft is None:
            return False
        return all(
            raft is not None
            and raft.leader_id == leader.id
            and raft.leader_epoch == leader.raft.leader_epoch
            and raft.high_watermark == leader.log.end_offset
            for raft in rafts
        )

    assert cluster.run_until(agrees, within_ms=20_000), state_of(cluster)
    leader = cluster.leader()
    assert leader is not None
    cluster.append(leader)
    assert cluster.run_until(agrees, within_ms=3_000), state_of(cluster)


def state_of(cluster: Cluster) -> str:
    return "\n".join(
        f"{node.id}: {node.raft.state[:3]} {type(node.raft.role).__name__} "
        f"last epoch {node.log.last_epoch} end {node.log.end_offset} committed {node.committed} "
        f"due {node.raft.deadline_ms} voters {node.raft.voters.ids}"
        for node in cluster.nodes.values()
        if node.raft is not None
    )


@pytest.mark.parametrize("group", range(GROUPS))
def test_static_voters_agree_whatever_happens(group: int) -> None:
    for seed in range(group * SEEDS, (group + 1) * SEEDS):
        cluster = Cluster(seed, voters=3 if seed % 3 else 5, observers=seed % 2)
        try:
            make_trouble(cluster, ROUNDS)
            calm_down(cluster)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def changed_the_voters(cluster: Cluster) -> bool:
    return sum(entry.voters is not None for entry in cluster.committed) > 1


@pytest.mark.parametrize("group", range(GROUPS))
def test_dynamic_voters_agree_while_they_come_and_go(group: int) -> None:
    changed = 0
    for seed in range(group * SEEDS, (group + 1) * SEEDS):
        cluster = Cluster(
            seed, voters=1 + seed % 4, observers=2, is_dynamic=True, auto_join=seed % 5 == 0
        )
        try:
            make_trouble(cluster, ROUNDS, change_voters)
            calm_down(cluster)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        changed += changed_the_voters(cluster)
    assert changed > SEEDS // 3


@pytest.mark.parametrize("group", range(GROUPS))
def test_static_voters_become_dynamic_whatever_happens(group: int) -> None:
    raised = 0
    for seed in range(group * SEEDS, (group + 1) * SEEDS):
        cluster = Cluster(seed, voters=3, observers=1)
        try:
            make_trouble(cluster, ROUNDS, raise_kraft_version_and_change_voters)
            calm_down(cluster)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        raised += any(entry.kraft_version is not None for entry in cluster.committed)
    assert raised > 0


def test_a_seed_replays_exactly() -> None:
    ends = []
    for _ in range(2):
        cluster = Cluster(7)
        make_trouble(cluster, ROUNDS)
        calm_down(cluster)
        ends.append((cluster.now_ms, cluster.committed, cluster.leaders))
    assert ends[0] == ends[1]
