"""The commands that operate a cluster, with nodes of Apache Kafka."""

import json
from pathlib import Path

import pytest
from tools.clusters import APACHE, Cluster, Member, eventually

from moldau.cli.main import main
from moldau.client import Admin
from tests.compat.clients.programs import UnavailableError, require_apache_kafka


def test_the_commands_operate_a_cluster_of_apache_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        require_apache_kafka()
    except UnavailableError as reason:
        pytest.skip(str(reason))
    members = [Member(1, kind=APACHE), Member(2, "broker", kind=APACHE)]
    with Cluster(tmp_path, members) as cluster:
        first, second = cluster.brokers

        def moldau(*arguments: str) -> str:
            code = main([*arguments, "--bootstrap-server", first.bootstrap])
            shown = capsys.readouterr()
            return f"{code}: {shown.out}{shown.err}"

        moldau("topics", "create", "t", "--replica-assignment", "1,1,2")
        spread = ("--brokers", "1,2", "--replication-factor", "2", "--throttle", "10000000")
        moved = moldau("partitions", "reassign", "t", *spread, "--execute", "--wait")
        assert moved.endswith("Reassigning 3 partitions.\nCompleted.\n")
        assert "throttled" not in moldau("topics", "describe", "t")
        listed = json.loads(moldau("partitions", "list", "t", "--format", "json")[3:])
        assert [each["replicas"] for each in listed] == [[1, 2], [1, 2], [2, 1]]
        assert "3 already had their preferred leader" in moldau("partitions", "elect-leaders", "t")
        assert "active controller 1, epoch" in moldau("quorum", "describe")
        assert moldau("cluster", "health").startswith("0: Healthy: 2 brokers, 1 controller, ")

        second.kill()

        def is_fenced() -> bool:
            with Admin(first.bootstrap) as admin:
                return admin.nodes.brokers()[1].is_fenced

        eventually("broker 2 is fenced", is_fenced)
        sick = moldau("cluster", "health")
        assert sick.startswith("1: warning: 3 partitions with replicas that are not in sync\n")
        assert "warning: 1 broker not in service" in sick
        assert moldau("brokers", "unregister", "2").startswith("0: Unregistered broker 2.\n")
