"""Kills, pauses, restarts and wipes controllers, one at a time: a majority is always there."""

import random
import shutil
import time
from collections.abc import Iterator
from typing import Final

from tools.brokers import read_properties
from tools.clusters import Cluster, ClusterNode, eventually

from moldau.errors import ErrorCode
from moldau.ids import uuid_from_str, uuid_to_str
from moldau.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from moldau.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from tests.compat.quorum_talk import describe_quorum
from tests.running import WireClient

AUTO_JOIN: Final = "controller.quorum.auto.join.enable"
KINDS: Final = ("kill", "wipe", "pause", "restart")


def torment(cluster: Cluster, rounds: int, seed: int) -> list[str]:
    """Take ``rounds`` faults, each kind as often as the others; returns what was done."""
    rng = random.Random(seed)
    done = []
    for kind in _kinds(rng, rounds):
        node = rng.choice(cluster.controllers)
        done.append(f"{kind} {node.node_id}")
        if kind == "pause":
            node.pause()
            time.sleep(rng.uniform(0.5, 3.0))
            node.resume()
        elif kind == "restart":
            node.stop()
            node.start()
        elif kind == "kill":
            node.kill()
            time.sleep(rng.uniform(0.1, 1.5))
            node.start()
        elif cluster.is_dynamic:
            _replace_voter(cluster, node)
        else:
            _wipe_static_voter(cluster, node)
        time.sleep(rng.uniform(0.3, 1.0))
    return done


def _kinds(rng: random.Random, rounds: int) -> Iterator[str]:
    left: list[str] = []
    for _ in range(rounds):
        left = left or rng.sample(KINDS, len(KINDS))
        yield left.pop()


def _wipe_static_voter(cluster: Cluster, node: ClusterNode) -> None:
    """As Apache Kafka's documentation wants it: a static voter that has lost its disk may vote
    for anybody, so the others must have all that was committed before it comes back.
    """
    node.kill()
    shutil.rmtree(node.directory)
    others = {each.node_id for each in cluster.controllers} - {node.node_id}
    committed: list[int] = []

    def have_everything() -> bool:
        quorum = describe_quorum(cluster.brokers[0].port)
        ends = {each.replica_id: each.log_end_offset for each in quorum.current_voters}
        # A leader has all that was committed before its epoch.
        committed.append(ends[quorum.leader_id])
        return quorum.leader_id in others and all(ends[each] >= committed[0] for each in others)

    eventually(f"nodes {sorted(others)} have all that was committed", have_everything)
    cluster.prepare(node)
    node.start()


def _replace_voter(cluster: Cluster, node: ClusterNode) -> None:
    """Let a controller that has lost its disk join with a new directory (KIP-853): by itself if
    it is set to, otherwise as an operator would.
    """
    old_id = directory_id(node)
    node.kill()
    shutil.rmtree(node.directory)
    joins_itself = node.member.settings.get(AUTO_JOIN) == "true"
    if not joins_itself:
        remove = RemoveRaftVoterRequest(cluster.cluster_id, node.node_id, old_id)
        _change_voters(cluster, remove, ErrorCode.VOTER_NOT_FOUND)
    cluster.prepare(node, is_first=False)
    node.start()
    new_id = directory_id(node)
    if not joins_itself:
        add_voter(cluster, node)
    eventually(
        f"node {node.node_id} is a voter with directory {uuid_to_str(new_id)}",
        lambda: new_id in _directories_of_voters(cluster),
    )


def add_voter(cluster: Cluster, node: ClusterNode) -> None:
    """Add a controller that runs to the voters."""
    listener = Listener("CONTROLLER", "127.0.0.1", node.controller_port)
    add = AddRaftVoterRequest(
        cluster.cluster_id, 30_000, node.node_id, directory_id(node), [listener]
    )
    _change_voters(cluster, add, ErrorCode.DUPLICATE_VOTER)


def _directories_of_voters(cluster: Cluster) -> list[bytes]:
    quorum = describe_quorum(cluster.brokers[0].port)
    return [voter.replica_directory_id for voter in quorum.current_voters]


def _change_voters(
    cluster: Cluster,
    request: AddRaftVoterRequest | RemoveRaftVoterRequest,
    done_before: ErrorCode,
) -> None:
    """Ask brokers until the change is done; an answer that was lost may have been a good one."""

    def is_done() -> bool:
        for broker in cluster.brokers:
            with WireClient(broker.port) as client:
                code = client.send(request, 0).error_code
            if code in (ErrorCode.NONE, done_before):
                return True
        raise AssertionError(f"the last broker answered {ErrorCode(code).name}")

    eventually(f"{request} is acknowledged", is_done)


def directory_id(node: ClusterNode) -> bytes:
    return uuid_from_str(read_properties(node.directory / "meta.properties")["directory.id"])
