"""``moldau start --processes``: several brokers that were configured as one."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.cli.errors import UsageError
from moldau.cli.main import main
from moldau.cli.process_settings import process_settings
from moldau.cli.start_processes import process_count
from moldau.client.admin import Admin
from moldau.config.broker import BrokerConfig
from tests.cli.clusters import is_alive

NODE = {
    "process.roles": "broker,controller",
    "node.id": "2",
    "listeners": "PLAINTEXT://:9092,INSIDE://:9093,CONTROLLER://:9094",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://m2:9092,INSIDE://m2:9093,CONTROLLER://m2:9094",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INSIDE",
    "controller.quorum.bootstrap.servers": "m1:9094,m2:9094",
    "log.dirs": "/a,/b",
}


def test_the_others_are_brokers_with_ids_ports_and_directories_of_their_own() -> None:
    settings = process_settings(BrokerConfig.from_properties(NODE), 3, "m2", {})
    first, second, third = [BrokerConfig.from_properties({**NODE, **each}) for each in settings]
    assert [each.node_id for each in (first, second, third)] == [2, 1002, 2002]
    assert {each.broker_rack for each in (first, second, third)} == {"m2"}
    assert first.process_roles == ("broker", "controller")
    assert second.process_roles == third.process_roles == ("broker",)
    assert third.log_dirs == ("/a-3", "/b-3")
    assert list(map(str, second.listeners)) == ["PLAINTEXT://:9095", "INSIDE://:9096"]
    assert list(map(str, third.advertised)) == ["PLAINTEXT://m2:9098", "INSIDE://m2:9099"]
    servers = {each.originals["controller.quorum.bootstrap.servers"] for each in (first, third)}
    assert servers == {"m1:9094,m2:9094"}


def test_a_rack_that_was_configured_stays() -> None:
    config = BrokerConfig.from_properties({**NODE, "broker.rack": "r1"})
    assert process_settings(config, 2, "m2", {})[1]["broker.rack"] == "r1"


def test_auto_is_one_per_core_and_anything_else_a_number() -> None:
    assert process_count("auto") >= 1
    assert process_count("3") == 3
    for wrong in ("0", "-1", "many"):
        with pytest.raises(UsageError, match=f"--processes {wrong}: write 1 or greater"):
            process_count(wrong)


def test_a_controller_is_one_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=CONTROLLER://127.0.0.1:0\ncontroller.quorum.bootstrap.servers=127.0.0.1:1\n"
        f"log.dirs={tmp_path / 'data'}\n"
    )
    assert main(["start", str(file), "--processes", "2"]) == 1
    assert "--processes is for brokers" in capsys.readouterr().err


def started(data: Path, *options: str) -> "tuple[subprocess.Popen[str], str]":
    """A process and the address that it says it is ready on."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "start", "--data-dir", str(data)]
        + ["--listen", "127.0.0.1:0", "--log-level", "error", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        ready = re.match(r"Moldau is ready on (\S+)", line)
        if ready is not None:
            return process, ready[1]
    raise AssertionError("it ended before it was ready")


def test_a_node_goes_on_as_several_and_keeps_its_topics(tmp_path: Path) -> None:
    data = tmp_path / "data"
    alone, address = started(data)
    try:
        with Admin(address) as admin:
            admin.create_topic("before", 1)
        alone.send_signal(signal.SIGTERM)
        assert alone.wait(120) == 0
    finally:
        alone.kill()
        alone.communicate()

    several, addresses = started(data, "--processes", "2")
    try:
        with Admin(addresses) as admin:
            brokers = admin.nodes.brokers()
            assert [each.node_id for each in brokers] == [1, 1001]
            assert len({each.rack for each in brokers} - {None}) == 1
            assert [each.name for each in admin.list_topics()] == ["before"]
            # With only two brokers, internal topics cannot have three replicas.
            assert admin.create_topic("after", 2).replication_factor == 1
            admin.groups.list_groups()
        several.send_signal(signal.SIGTERM)
        assert several.wait(120) == 0
    finally:
        several.kill()
        several.communicate()
    for directory in (data, tmp_path / "data-2"):
        assert (directory / ".kafka_cleanshutdown").exists()


def test_all_stop_when_one_of_them_fails(tmp_path: Path) -> None:
    several, _ = started(tmp_path / "data", "--processes", "2")
    try:
        pid = several.pid
        children = list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
        assert len(children) == 2
        os.kill(children[1], signal.SIGKILL)
        assert several.wait(120) == 1
        assert not any(map(is_alive, children))
        assert several.stderr is not None
        assert "Moldau stops: node 1001 has failed" in several.stderr.read()
    finally:
        several.kill()
        several.communicate()
