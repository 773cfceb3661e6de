"""Transactions of several clients on a replicated topic, while the nodes of its cluster fail.

librdkafka speaks the first protocol of transactions, Java and our client the second (KIP-890). Two
copiers read what all have committed, and write it again with their offsets, in transactions of
their own.
``CLUSTER_KIND=apache`` runs the test against Apache Kafka, which shows that it is right;
``TORMENT_SECONDS=600`` makes it longer, ``TORMENT_SEED=7`` chooses other faults.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from tools.clusters import MOLDAU, Cluster, Member

from tests.cluster.namespaces import Namespaces, reason_against
from tests.cluster.transaction_torment import SETTINGS, TransactionTorment
from tests.compat.clients.programs import UnavailableError
from tests.compat.clients.transactors import Transactor, start_transactor

KIND = os.environ.get("CLUSTER_KIND", MOLDAU)
SECONDS = float(os.environ.get("TORMENT_SECONDS", "10"))
# The first faults of this seed are a leader that is killed, one that is cut off, one that pauses.
SEED = int(os.environ.get("TORMENT_SEED", "41"))
# So many writers at once that every fault meets transactions that are just being ended.
WRITERS = {"confluent-kafka": 4, "java": 1, "moldau": 2}


@pytest.fixture
def nodes(tmp_path: Path) -> Cluster:
    """A cluster that has not been started."""
    members = [Member(node_id, kind=KIND) for node_id in (1, 2, 3)]
    return Cluster(tmp_path / "cluster", members, SETTINGS)


@pytest.fixture
def namespaces(nodes: Cluster) -> Iterator[Namespaces | None]:
    """With them nodes are also cut off, where this machine can do that."""
    if reason_against() is not None:
        yield None
        return
    with Namespaces(nodes) as made:
        yield made


@pytest.fixture
def cluster(nodes: Cluster, namespaces: Namespaces | None) -> Iterator[Cluster]:
    with nodes:
        yield nodes


@pytest.fixture
def transactors(cluster: Cluster, program_dir: Path, tmp_path: Path) -> Iterator[list[Transactor]]:
    with ExitStack() as stack:
        try:
            started = [
                start_transactor(name, cluster.bootstrap, program_dir, tmp_path) for name in WRITERS
            ]
        except UnavailableError as reason:
            pytest.skip(str(reason))
        for each in started:
            stack.enter_context(closing(each))
        yield [each for each in started for _ in range(WRITERS[each.name])]


@pytest.mark.timeout(900 + 3 * SECONDS)
def test_what_is_committed_is_what_was_written_whichever_nodes_fail(
    cluster: Cluster,
    namespaces: Namespaces | None,
    transactors: list[Transactor],
    tmp_path: Path,
) -> None:
    torment = TransactionTorment(cluster, tmp_path, transactors)
    torment.run(SECONDS, namespaces, SEED)
    print(torment.summary(), *torment.told(), sep="\n")
