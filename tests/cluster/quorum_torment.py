"""Changes metadata while controllers fail, and looks for every acknowledged change afterwards."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from tools.clusters import MOLDAU, Cluster, ClusterNode, Member, eventually, separate_members

from moldau.metadata.image import TOPIC_RESOURCE
from tests.cluster.changing import SETTING, Changer, TopicStory, contradictions, differences
from tests.cluster.controller_faults import AUTO_JOIN, torment
from tests.cluster.metadata_logs import created_twice, different_batches, image_of
from tests.compat.quorum_talk import describe_quorum

KIND: Final = os.environ.get("CLUSTER_KIND", MOLDAU)
ROUNDS: Final = int(os.environ.get("CLUSTER_ROUNDS", "6"))
# More rounds take longer than a test may take otherwise, and on a busy machine much longer.
LIMIT_S: Final = 900 + 20 * ROUNDS
START_LIMIT_S: Final = 240.0
SEED: Final = int(os.environ.get("CLUSTER_SEED", "1"))
_QUICK_ELECTIONS: Final = {
    "controller.quorum.election.timeout.ms": "400",
    "controller.quorum.fetch.timeout.ms": "800",
}
SETTINGS: Final = {
    # Six Java processes that start at once would miss every one of them.
    **(_QUICK_ELECTIONS if KIND == MOLDAU else {}),
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
    "initial.broker.registration.timeout.ms": "240000",
}


def tormented_cluster(directory: Path, *, is_dynamic: bool) -> Cluster:
    """Three controllers and three brokers; the last controller joins the quorum by itself."""
    members = separate_members(3, 3, KIND)
    if is_dynamic:
        members[2] = Member(3, "controller", KIND, {AUTO_JOIN: "true"})
    cluster = Cluster(directory, members, SETTINGS, is_dynamic=is_dynamic)
    for node in cluster.nodes.values():
        node.start_limit_s = START_LIMIT_S
    return cluster


def check_acknowledged_changes(
    cluster: Cluster, changers: Sequence[Changer], rounds: int = ROUNDS
) -> None:
    """Every acknowledged change is there, on every node, once."""
    for changer in changers:
        changer.start()
    try:
        done = torment(cluster, rounds, SEED)
        # A busy machine may take as long to start a client as the faults have taken.
        for changer in changers:
            wanted = f"{changer.name}: {rounds} changes are acknowledged"
            eventually(wanted, partial(_has_done, changer, rounds), limit_s=300.0)
    finally:
        for changer in changers:
            changer.stop()
    problems = [problem for changer in changers for problem in changer.problems]
    assert not problems, f"after {done}: {problems[:10]}\n{cluster.log_tails()}"
    for changer in changers:
        print(
            f"{changer.name}: {changer.acknowledged} done, {changer.unknown} unknown after {done}"
        )
    stories = [story for changer in changers for story in changer.stories]
    for broker in cluster.brokers:
        _check_broker(broker, stories)
    _wait_for_every_log(cluster)
    cluster.stop()
    nodes = list(cluster.nodes.values())
    assert not different_batches(nodes)
    for node in nodes:
        assert not created_twice(node)
        assert not _contradictions_on_disk(node, stories)


def _has_done(changer: Changer, count: int) -> bool:
    """Whether so many changes were acknowledged; one that has a problem is judged by that."""
    return changer.acknowledged >= count or bool(changer.problems)


def _check_broker(broker: ClusterNode, stories: Sequence[TopicStory]) -> None:
    found: list[str] = ["no answer yet"]

    def agrees() -> bool:
        found[:] = differences(broker.bootstrap, stories)
        return not found

    try:
        eventually(f"{broker.kind} shows what was acknowledged", agrees)
    except AssertionError as error:
        pytest.fail(f"{error}: {found[:10]}")


def _wait_for_every_log(cluster: Cluster) -> None:
    """Return when every node has what is in the leader's log."""

    def have_everything() -> bool:
        quorum = describe_quorum(cluster.brokers[0].port)
        ends = {
            each.replica_id: each.log_end_offset
            for each in [*quorum.observers, *quorum.current_voters]
        }
        least = min(ends.get(node_id, -1) for node_id in cluster.nodes)
        return least >= quorum.high_watermark

    eventually("every node has the whole log", have_everything)


def _contradictions_on_disk(node: ClusterNode, stories: Sequence[TopicStory]) -> list[str]:
    image = image_of(node)
    partitions = {name: len(topic.partitions) for name, topic in image.topics_by_name.items()}
    values = {name: image.config(TOPIC_RESOURCE, name).get(SETTING) for name in partitions}
    return [f"{node.kind}: {each}" for each in contradictions(stories, partitions, values)]
