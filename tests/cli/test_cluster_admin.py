"""``moldau partitions``, ``quorum`` and ``brokers``, against three processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from moldau.cli.main import main
from moldau.cli.reassignment_throttle import throttle, throttled_replicas
from moldau.client.admin import Admin
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from tests.cli.clusters import StartedCluster, pause
from tests.cli.conftest import Moldau, Result


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedCluster]:
    settings = ("--set", "broker.session.timeout.ms=10000")
    directory = tmp_path_factory.mktemp("cluster")
    options = ("--brokers", "3", "--listen", "127.0.0.1:0", *settings)
    with StartedCluster(directory, *options) as running:
        yield running


@pytest.fixture
def moldau(cluster: StartedCluster, capsys: pytest.CaptureFixture[str]) -> Moldau:
    def run(*arguments: str) -> Result:
        code = main([*arguments, "--bootstrap-server", cluster.bootstrap])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


def eventually(check: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 180
    while not check():
        assert time.monotonic() < deadline_s


def test_partitions_are_listed_with_their_replicas(moldau: Moldau, topic: str) -> None:
    assignment = "1:2:3,2:3:1"
    moldau("topics", "create", topic, "--replica-assignment", assignment)
    lines = moldau("partitions", "list", topic).out.splitlines()
    assert lines[0].split() == [
        *("TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR", "ELR", "OFFLINE")
    ]
    assert [line.split()[:4] for line in lines[1:]] == [
        [topic, "0", "1", "1,2,3"],
        [topic, "1", "2", "2,3,1"],
    ]
    (second,) = json.loads(moldau("partitions", "list", f"{topic}:1", "--format", "json").out)
    assert (second["partition"], second["leader"]) == (1, 2)
    assert second["replicas"] == [2, 3, 1]


def test_a_topic_or_partition_that_is_not_there_is_named(moldau: Moldau, topic: str) -> None:
    missing = moldau("partitions", "list", "nope")
    assert missing.err == "moldau: topic nope does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    moldau("topics", "create", topic, "--partitions", "1")
    missing = moldau("partitions", "list", f"{topic}:7")
    assert missing.err == f"moldau: there is no partition 7 in {topic}, which has 0 to 0\n"
    wrong = moldau("partitions", "list", f"{topic}:x")
    assert (wrong.code, wrong.err) == (
        2,
        f"moldau: {topic}:x: write TOPIC, or TOPIC:0,1 for some of its partitions\n",
    )


def test_a_reassignment_is_shown_and_executed(moldau: Moldau, topic: str, tmp_path: Path) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "1:2:3,1:2:3,1:2:3")
    plan = moldau("partitions", "reassign", topic, "--brokers", "1,2,3")
    assert plan.code == 0
    assert [line.split() for line in plan.out.splitlines()[1:]] == [
        [topic, "0", "1,2,3", "2,1,3"],
        [topic, "1", "1,2,3", "3,1,2"],
    ]
    assert plan.err == "Nothing was changed; add --execute to apply.\n"
    assert [each["replicas"] for each in listed(moldau, topic)] == [[1, 2, 3]] * 3

    # What is printed as JSON is a plan that can be executed.
    printed = moldau("partitions", "reassign", topic, "--brokers", "1,2,3", "--format", "json")
    file = tmp_path / "plan.json"
    file.write_text(printed.out)
    given = ("partitions", "reassign", "--reassignment-json-file", str(file), "--execute", "--wait")
    done = moldau(*given)
    assert (done.code, done.err) == (0, "Reassigning 2 partitions.\nCompleted.\n")
    expected = [[2, 1, 3], [3, 1, 2], [1, 2, 3]]
    assert [each["replicas"] for each in listed(moldau, topic)] == expected
    again = moldau("partitions", "reassign", topic, "--brokers", "1,2,3", "--execute")
    assert (again.code, again.err) == (0, "Every partition has these replicas already.\n")


def test_a_partition_is_moved_with_its_records(
    moldau: Moldau, topic: str, cluster: StartedCluster
) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "1,1")
    with Producer(cluster.bootstrap) as producer:
        for number in range(100):
            producer.send(topic, f"{number}".encode(), partition=number % 2)
    given = ("partitions", "reassign", topic, "--brokers", "2,3", "--execute", "--wait")
    moved = moldau(*given, "--throttle", "50000000")
    assert (moved.code, moved.err) == (0, "Reassigning 2 partitions.\nCompleted.\n")
    states = listed(moldau, topic)
    assert [each["replicas"] for each in states] == [each["isr"] for each in states] == [[2], [3]]
    described = moldau("topics", "describe", topic).out
    assert "throttled" not in described
    assert [line.split()[-1] for line in described.splitlines()[-2:]] == ["50", "50"]


def test_a_reassignment_in_progress_is_shown_and_cancelled(
    moldau: Moldau, topic: str, cluster: StartedCluster
) -> None:
    active = json.loads(moldau("quorum", "describe", "--format", "json").out)["leader"]
    stays, paused = (each for each in (1, 2, 3) if each != active)
    moldau("topics", "create", topic, "--replica-assignment", str(stays))
    pause(cluster.pids[paused - 1])
    try:
        given = ("partitions", "reassign", topic, "--replicas", str(paused), "--execute")
        started = moldau(*given)
        assert started.code == 0, started.err
        verified = moldau("partitions", "reassign", "--verify")
        assert verified.code == 1
        assert verified.out.splitlines()[1].split() == [
            *(topic, "0", str(paused), str(paused), str(stays))
        ]
        shown = moldau("partitions", "reassign", "--cancel")
        assert shown.out == f"Would cancel the reassignment of {topic}-0.\n"
        cancelled = moldau("partitions", "reassign", topic, "--cancel", "--execute")
        assert (cancelled.code, cancelled.out) == (0, "Cancelled 1 reassignment.\n")

        waiting = subprocess.Popen(
            [sys.executable, "-m", "moldau", *given, "--wait"]
            + ["--bootstrap-server", cluster.bootstrap],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == "Reassigning 1 partition.\n"
        waiting.send_signal(signal.SIGINT)
        _, told = waiting.communicate(timeout=180)
        assert waiting.returncode == 130
        assert "interrupted, but the reassignment continues" in told
        assert moldau("partitions", "reassign", topic, "--cancel", "--execute").code == 0
    finally:
        os.kill(cluster.pids[paused - 1], signal.SIGCONT)
    assert [each["replicas"] for each in listed(moldau, topic)] == [[stays]]
    assert moldau("partitions", "reassign", topic, "--verify").code == 0


def test_copies_are_throttled_until_the_reassignment_is_verified(
    moldau: Moldau, topic: str, cluster: StartedCluster
) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "1:2,2:1")
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    current = {first: [1, 2], second: [2, 1]}
    replicas = throttled_replicas(current, {first: [1, 3], second: [1, 2]})
    assert replicas == {
        topic: {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": "0:3",
        }
    }
    with Admin(cluster.bootstrap) as admin:
        throttle(admin, [1, 2], replicas, 1_000_000)
    described = moldau("topics", "describe", topic).out
    assert "  leader.replication.throttled.replicas=0:1,0:2\n" in described
    rates = moldau("configs", "describe", "--entity-type", "brokers", "--entity-name", "2").out
    assert "leader.replication.throttled.rate" in rates
    verified = moldau("partitions", "reassign", topic, "--verify")
    assert verified.err == "No reassignment is in progress; the throttles are removed.\n"
    assert "throttled" not in moldau("topics", "describe", topic).out
    rates = moldau("configs", "describe", "--entity-type", "brokers", "--entity-name", "2").out
    assert "leader.replication.throttled.rate" not in rates
    verified = moldau("partitions", "reassign", topic, "--verify")
    assert verified.err == "No reassignment is in progress.\n"


def listed(moldau: Moldau, topic: str) -> list[dict[str, list[int]]]:
    found: list[dict[str, list[int]]] = json.loads(
        moldau("partitions", "list", topic, "--format", "json").out
    )
    return found


def test_a_wrong_reassignment_says_what_is_wrong(
    moldau: Moldau, topic: str, tmp_path: Path
) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "1")
    unknown = moldau("partitions", "reassign", topic, "--brokers", "1,9")
    assert unknown.err == "moldau: --brokers 1,9: there is no broker 9; the cluster has 1, 2, 3\n"
    few = moldau("partitions", "reassign", topic, "--brokers", "1", "--replication-factor", "2")
    assert f"{topic}-0 needs 2 brokers for its replicas, but only 1 is given" in few.err
    assert moldau("partitions", "reassign", "--brokers", "1").code == 2
    assert "is named twice" in moldau("partitions", "reassign", topic, "--replicas", "1,1").err
    file = tmp_path / "plan.json"
    file.write_text('{"partitions": [{"topic": "t"}]}')
    wrong = moldau("partitions", "reassign", "--reassignment-json-file", str(file))
    assert f"""{file}: {{"topic": "t"}} needs a topic, a partition""" in wrong.err
    refused = moldau("partitions", "reassign", topic, "--replicas", "1,9", "--execute")
    assert refused.code == 1
    assert "INVALID_REPLICA_ASSIGNMENT" in refused.err
    assert "No reassignment is in progress" in moldau("partitions", "reassign", "--cancel").out


def test_leaders_are_elected(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "1,2")
    needless = moldau("partitions", "elect-leaders", topic)
    assert (needless.code, needless.out) == (
        0,
        "Elected leaders of 0 partitions; 2 already had their preferred leader.\n",
    )
    assert moldau("partitions", "elect-leaders", "--all").code == 0
    neither = moldau("partitions", "elect-leaders")
    assert neither.err == "moldau: partitions elect-leaders: give topics or --all\n"


def test_the_quorum_is_described_and_its_voters_changed(
    moldau: Moldau, cluster: StartedCluster
) -> None:
    described = json.loads(moldau("quorum", "describe", "--format", "json").out)
    statuses = [(each["status"], each["lag"] is not None) for each in described["replicas"]]
    assert statuses == [("leader", True), ("voter", True), ("voter", True)]
    text = moldau("quorum", "describe").out
    assert f"active controller {described['leader']}, epoch" in text

    other = next(x["node"] for x in described["replicas"] if x["status"] == "voter")
    dry = moldau("quorum", "remove-controller", str(other), "--dry-run")
    assert dry.out.startswith(f"Would remove controller {other} with directory ")
    removed = moldau("quorum", "remove-controller", str(other))
    assert removed.out.startswith(f"Removed controller {other} with directory "), removed.err
    again = moldau("quorum", "remove-controller", str(other))
    assert f"controller {other} is not a voter: the voters are" in again.err

    properties = str(cluster.data_dir / f"node-{other}" / "server.properties")
    added: list[Result] = []

    def is_added() -> bool:
        # As an observer it must have caught up first.
        added.append(moldau("quorum", "add-controller", properties))
        return added[-1].code == 0

    eventually(is_added)
    assert added[-1].out.startswith(f"Added controller {other} with directory ")
    twice = moldau("quorum", "add-controller", properties)
    assert (twice.code, twice.err) == (1, f"moldau: controller {other} is a voter already\n")
    described = json.loads(moldau("quorum", "describe", "--format", "json").out)
    assert [each["status"] for each in described["replicas"]] == ["leader", "voter", "voter"]


def test_brokers_are_listed_and_one_that_is_gone_unregistered(
    moldau: Moldau, cluster: StartedCluster, topic: str
) -> None:
    moldau("topics", "create", topic, "--replica-assignment", "3:1")
    rows = json.loads(moldau("brokers", "list", "--format", "json").out)
    assert [(row["id"], row["fenced"]) for row in rows] == [(1, False), (2, False), (3, False)]
    lines = moldau("brokers", "list").out.splitlines()
    assert lines[0].split()[:4] == ["BROKER", "ADDRESS", "RACK", "STATE"]
    refused = moldau("brokers", "unregister", "3")
    assert refused.code == 1
    assert "broker 3 is in service" in refused.err
    assert "the cluster has 1, 2, 3" in moldau("brokers", "unregister", "9").err

    os.kill(cluster.pids[2], signal.SIGKILL)

    def is_fenced() -> bool:
        rows = json.loads(moldau("brokers", "list", "--format", "json").out)
        return bool(rows[2]["fenced"])

    eventually(is_fenced)
    sick = moldau("cluster", "health")
    assert sick.code == 1
    assert "warning: 1 broker not in service" in sick.out
    unregistered = moldau("brokers", "unregister", "3")
    assert unregistered.out.startswith("Unregistered broker 3.\nIt is still a replica of ")
    assert [line.split()[0] for line in moldau("brokers", "list").out.splitlines()] == [
        *("BROKER", "1", "2")
    ]
