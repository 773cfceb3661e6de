"""``moldau cluster start``, ``status`` and ``stop``, with real processes."""

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from moldau.cli.cluster_directory import RUNNING, ClusterDirectory
from moldau.cli.main import main
from moldau.client.admin import Admin
from moldau.config.properties import parse_properties
from moldau.storage.disk.directory_lock import DirectoryLock
from tests.cli.clusters import (
    STOP_TIMEOUT_S,
    StartedCluster,
    cluster_process,
    is_alive,
    pause,
    wait_until_gone,
)

ANY_PORT = ("--listen", "127.0.0.1:0")


def test_a_cluster_starts_says_how_to_connect_and_keeps_its_ports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with StartedCluster(tmp_path / "c", "--brokers", "3", *ANY_PORT) as cluster:
        nodes = cluster.ready["nodes"]
        assert [node["id"] for node in nodes] == [1, 2, 3]
        assert {tuple(node["roles"]) for node in nodes} == {("broker", "controller")}
        addresses = [f"127.0.0.1:{node['port']}" for node in nodes]
        assert cluster.bootstrap.split(",") == addresses
        assert all(is_alive(pid) for pid in cluster.pids)
        assert [Path(node["data_dir"]).parent.name for node in nodes] == [
            "node-1",
            "node-2",
            "node-3",
        ]
        with Admin(cluster.bootstrap) as admin:
            admin.create_topic("orders", 1, 1)
            assert [each.node_id for each in admin.describe_cluster().brokers] == [1, 2, 3]

        assert main(["cluster", "status", "--data-dir", str(cluster.data_dir)]) == 0
        status = capsys.readouterr().out.splitlines()
        assert status[1] == f"--bootstrap-server {cluster.bootstrap}"
        assert [line.split()[0] for line in status[3:]] == ["1", "2", "3"]
        assert sum("active" in line.split() for line in status) == 1

        assert main(["cluster", "stop", "--data-dir", str(cluster.data_dir)]) == 0
        assert cluster.process.wait(120) == 0
        assert not any(is_alive(pid) for pid in cluster.pids)
        assert all((Path(node["data_dir"]) / ".kafka_cleanshutdown").exists() for node in nodes)

    with StartedCluster(tmp_path / "c") as again:
        assert again.bootstrap == cluster.bootstrap
        assert again.ready["cluster_id"] == cluster.ready["cluster_id"]
        with Admin(again.bootstrap) as admin:
            assert [topic.name for topic in admin.list_topics()] == ["orders"]
        assert again.stop() == 0


def test_the_nodes_of_a_killed_parent_end_also_if_one_is_paused(tmp_path: Path) -> None:
    options = ("--brokers", "1", "--controllers", "1", "--separate", *ANY_PORT)
    with StartedCluster(tmp_path / "c", *options) as cluster:
        assert [node["roles"] for node in cluster.ready["nodes"]] == [["controller"], ["broker"]]
        pause(cluster.pids[1])
        cluster.process.kill()
        cluster.process.wait(120)
        wait_until_gone(cluster.pids)


def test_a_second_start_in_the_same_directory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with StartedCluster(tmp_path, "--brokers", "1", *ANY_PORT) as cluster:
        assert main(["cluster", "start", "--data-dir", str(tmp_path)]) == 1
        refused = capsys.readouterr().err
        assert f"is running already (process {cluster.process.pid})" in refused
        assert "moldau cluster stop" in refused
        assert cluster.stop() == 0


def test_a_cluster_that_is_still_starting_is_shown_and_can_be_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--brokers", "1", "--controllers", "1", "--separate", *ANY_PORT)
    with StartedCluster(tmp_path, *options) as cluster:
        assert cluster.stop() == 0
    broker = Path(cluster.ready["nodes"][1]["properties"])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # Without an answer from a controller the broker does not become ready.
        controller = f"127.0.0.1:{silent.getsockname()[1]}"
        lines = broker.read_text().splitlines()
        name = "controller.quorum.bootstrap.servers="
        changed = [f"{name}{controller}" if line.startswith(name) else line for line in lines]
        broker.write_text("\n".join(changed))
        with cluster_process(tmp_path) as process:
            states: list[str] = []
            while states != ["starting", "starting"]:
                assert process.poll() is None
                main(["cluster", "status", "--data-dir", str(tmp_path), "--format", "json"])
                states = [node["state"] for node in json.loads(capsys.readouterr().out)["nodes"]]
            assert main(["cluster", "status", "--data-dir", str(tmp_path)]) == 0
            assert f"is starting (process {process.pid})." in capsys.readouterr().out
            assert main(["cluster", "stop", "--data-dir", str(tmp_path)]) == 0
            assert process.wait(STOP_TIMEOUT_S) == 0


def test_the_process_id_that_a_killed_run_left_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / RUNNING).write_text(json.dumps({"pid": os.getpid(), "nodes": []}))
    directory = ClusterDirectory(tmp_path)
    directory.lock()
    try:
        assert directory.running() is None
    finally:
        directory.unlock()


def test_a_port_that_is_in_use_is_named_before_anything_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        address = f"127.0.0.1:{port}"
        given = ["cluster", "start", "--data-dir", str(tmp_path), "--listen", address]
        assert main(given) == 1
    shown = capsys.readouterr().err
    assert f"node 1 cannot listen on {address}: port {port} is in use" in shown
    assert "--listen" in shown
    assert not (tmp_path / "node-1").exists()


def test_a_wrong_setting_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["cluster", "start", "--data-dir", str(tmp_path), "--brokers", "1", *ANY_PORT]
    assert main([*given, "--set", "num.partitions=none"]) == 1
    assert "num.partitions" in capsys.readouterr().err
    assert not (tmp_path / "node-1").exists()


def test_a_node_that_does_not_start_is_named_and_none_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["cluster", "start", "--data-dir", str(tmp_path), "--brokers", "1", *ANY_PORT]
    data = tmp_path / "node-1" / "data"
    data.mkdir(parents=True)
    lock = DirectoryLock(str(data))
    try:
        assert main(given) == 1
    finally:
        lock.release()
    shown = capsys.readouterr().err
    assert f"node 1 did not start: {data} is in use" in shown
    assert f"its log is {tmp_path}/node-1/node.log" in shown


def test_settings_reach_the_file_of_every_node_and_stay(tmp_path: Path) -> None:
    options = ("--brokers", "1", "--set", "num.partitions=4", *ANY_PORT)
    with StartedCluster(tmp_path, *options) as cluster:
        with Admin(cluster.bootstrap) as admin:
            assert admin.create_topic("t").partitions == 4
        assert cluster.stop() == 0
    settings = parse_properties((tmp_path / "node-1" / "server.properties").read_text())
    assert settings["num.partitions"] == "4"
    assert settings["default.replication.factor"] == "1"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--brokers", "0"], "--brokers 0: a cluster has at least one broker"),
        (["--brokers", "1", "--controllers", "3"], "--separate makes controllers separate nodes"),
        (["--listen", "localhost:none"], "write host:port"),
        (["--listen", "localhost:65500"], "not enough ports above 65500"),
        (["--set", "x"], "expected key=value"),
    ],
)
def test_a_wrong_command_line_says_what_to_write(
    tmp_path: Path, options: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "start", "--data-dir", str(tmp_path), *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_cluster_that_is_not_there_has_no_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "status", "--data-dir", str(tmp_path)]) == 1
    assert "there is no cluster in" in capsys.readouterr().err
    assert main(["cluster", "stop", "--data-dir", str(tmp_path)]) == 0
    assert "is not running" in capsys.readouterr().out


def test_the_directory_of_a_single_node_is_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert main(["cluster", "start", "--data-dir", str(tmp_path)]) == 1
    assert "is the data directory of a single node" in capsys.readouterr().err


def test_a_stopped_cluster_shows_its_nodes_and_keeps_its_roles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with StartedCluster(tmp_path, "--brokers", "1", *ANY_PORT) as cluster:
        assert cluster.stop() == 0
    assert main(["cluster", "start", "--data-dir", str(tmp_path), "--separate"]) == 2
    assert "brokers are also controllers" in capsys.readouterr().err
    assert main(["cluster", "status", "--data-dir", str(tmp_path), "--format", "json"]) == 1
    status = json.loads(capsys.readouterr().out)
    assert status["running"] is False
    shown = [(node["id"], node["pid"], node["state"]) for node in status["nodes"]]
    assert shown == [(1, None, "stopped")]


def test_a_node_that_ends_by_itself_is_told_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--brokers", "2", "--controllers", "1", *ANY_PORT)
    with StartedCluster(tmp_path, *options) as cluster:
        os.kill(cluster.pids[1], signal.SIGKILL)
        assert cluster.process.stderr is not None
        told = cluster.process.stderr.readline()
        assert told.startswith("moldau cluster: node 2 failed (-9): ")
        assert told.endswith(f"(its log is {tmp_path}/node-2/node.log)\n")
        # What is told is written next.
        states = [""]
        while states[-1] != "failed (-9)":
            main(["cluster", "status", "--data-dir", str(tmp_path), "--format", "json"])
            nodes = json.loads(capsys.readouterr().out)["nodes"]
            states = [node["state"] for node in nodes]
        assert states[0] == "running"
        assert cluster.stop() == 1
