"""Changes of metadata by Java, librdkafka and ``moldau``, while controllers are killed and wiped.

The same without Java, and longer, is in tests/cluster.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.admins import LibrdkafkaAdmin, MoldauCommand
from tests.cluster.changing import Changer
from tests.cluster.quorum_torment import (
    LIMIT_S,
    ROUNDS,
    check_acknowledged_changes,
    tormented_cluster,
)
from tests.compat.clients.driver import JavaClient
from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.java_tools import SHORT_LIVED_JVM


@pytest.fixture
def java_command(program_dir: Path) -> Iterator[list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_HEAP_OPTS", "-Xmx256m")
        patch.setenv("KAFKA_JVM_PERFORMANCE_OPTS", SHORT_LIVED_JVM)
        try:
            yield build_java(program_dir)
        except UnavailableError as reason:
            pytest.skip(str(reason))


@pytest.mark.timeout(LIMIT_S)
def test_changes_by_three_clients_survive_the_controllers(
    tmp_path: Path, java_command: list[str]
) -> None:
    with tormented_cluster(tmp_path / "cluster", is_dynamic=True) as cluster:
        addresses = [broker.bootstrap for broker in cluster.brokers]
        java = JavaClient([*java_command, ",".join(addresses)], tmp_path / "java.log")
        changers = [
            Changer("java", [java], 1),
            Changer("librdkafka", [LibrdkafkaAdmin(address) for address in addresses], 2),
            Changer("moldau", [MoldauCommand(address) for address in addresses], 3),
        ]
        try:
            # Every kind of fault at least once.
            check_acknowledged_changes(cluster, changers, rounds=max(ROUNDS - 2, 4))
        finally:
            java.close()
