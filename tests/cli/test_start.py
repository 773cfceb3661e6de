"""``moldau start``: what file and options make together, and one real run."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.main import main
from moldau.cli.start import default_data_dir, read_config
from tests.running import WireClient


def test_without_arguments_it_is_a_node_of_its_own_with_data_in_the_users_directory() -> None:
    config = read_config(None, None, None, [], {"HOME": "/home/jan"})
    assert config.log_dirs == ("/home/jan/.local/share/moldau",)
    assert list(map(str, config.listeners)) == ["PLAINTEXT://localhost:9092"]
    assert str(default_data_dir({"XDG_DATA_HOME": "/data", "HOME": "/h"})) == "/data/moldau"


def test_options_are_stronger_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.dirs=/from/file\nnum.partitions=3\nmessage.max.bytes=1000\n")
    config = read_config(
        str(file), "data", "127.0.0.1:0", ["num.partitions=5", "broker.rack = r1"], {}
    )
    assert config.log_dirs == (os.path.abspath("data"),)
    assert config.num_partitions == 5
    assert config.message_max_bytes == 1000
    assert config.broker_rack == "r1"
    assert list(map(str, config.listeners)) == ["PLAINTEXT://127.0.0.1:0"]


def test_the_options_shown_in_the_readme_work() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    (shown,) = re.findall(
        r"moldau start --set (\S+) --data-dir (\S+) --listen (\S+?)`", readme.replace("\n", " ")
    )
    setting, data_dir, listen = shown
    config = read_config(None, data_dir, listen, [setting], {})
    assert (config.num_partitions, config.listeners[0].port) == (6, 9092)


def test_the_controller_that_a_file_names_gets_the_port_after_the_clients(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\nlog.dirs=/data\n"
        "controller.quorum.bootstrap.servers=localhost:9093\n"
    )
    assert list(map(str, read_config(str(file), None, None, [], {}).controller_listeners)) == [
        "CONTROLLER://:9093"
    ]
    config = read_config(str(file), None, "localhost:5", [], {})
    assert list(map(str, config.listeners)) == [
        "PLAINTEXT://localhost:5",
        "CONTROLLER://localhost:6",
    ]


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("localhost:19092", "PLAINTEXT://localhost:19092"),
        ("19092", "PLAINTEXT://:19092"),
        (":19092", "PLAINTEXT://:19092"),
        ("example.org", "PLAINTEXT://example.org:9092"),
        ("[::1]:5", "PLAINTEXT://[::1]:5"),
    ],
)
def test_listen_takes_what_people_write(listen: str, expected: str) -> None:
    config = read_config(None, "data", listen, [], {})
    assert list(map(str, config.listeners)) == [expected]


def test_what_is_wrong_is_named_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("log.segment.bytes=1\n")
    with pytest.raises(CommandError, match=r"server\.properties: .*log\.segment\.bytes.*1048576"):
        read_config(str(file), None, None, [], {})
    with pytest.raises(UsageError, match="expected key=value"):
        read_config(None, "d", None, ["x"], {})
    with pytest.raises(UsageError, match="write host:port"):
        read_config(None, "d", "host:port", [], {})


def test_a_setting_that_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("process.roles=broker,controller\nnode.id=1\n")
    with pytest.raises(CommandError) as error:
        read_config(str(file), None, None, [], {})
    problem = "controller.listener.names is missing, and it has no default"
    assert str(error.value) == f"{file}: {problem}"


def test_a_file_that_is_not_utf_8_is_read_as_java_does(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes("# für Zürich\nnum.partitions=3\n".encode("iso-8859-1"))
    assert read_config(str(file), None, None, [], {}).num_partitions == 3


def test_a_file_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "nowhere.properties"]) == 1
    assert "nowhere.properties: No such file" in capsys.readouterr().err


def started(data: Path, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "moldau.cli", "start"]
        + ["--data-dir", str(data), "--listen", "127.0.0.1:0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_broker_starts_formats_serves_and_stops_on_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    data = tmp_path / "data"
    broker = started(data, "--log-level", "warning")
    try:
        assert broker.stderr is not None
        # A warning comes before it where the modules are not compiled.
        lines = iter(broker.stderr)
        ready = next(filter(None, (re.search(r"ready on (127\.0\.0\.1:\d+)", x) for x in lines)))
        assert main(["topics", "create", "t", "--bootstrap-server", ready[1]]) == 0
        broker.send_signal(number)
        assert broker.wait(120) == 0
    finally:
        broker.kill()
        broker.communicate()
    assert (data / "meta.properties").exists()
    assert (data / "t-0" / "00000000000000000000.log").exists()
    assert (data / ".kafka_cleanshutdown").exists()


def test_a_log_that_nobody_reads_does_not_stop_the_broker(tmp_path: Path) -> None:
    broker = started(tmp_path / "data", "--log-level", "info")
    try:
        assert broker.stderr is not None
        lines = iter(broker.stderr.readline, "")
        ready = next(filter(None, (re.search(r"ready on 127\.0\.0\.1:(\d+)", x) for x in lines)))
        # Some hundred bytes of log for each of them.
        for _ in range(1000):
            with WireClient(int(ready[1])) as client:
                client.send_frame(b"\x7f\xff nonsense")
                assert client.is_closed_by_peer()
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(120) == 0
    finally:
        broker.kill()
        broker.communicate()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_log_that_was_closed_does_not_stop_the_broker(tmp_path: Path) -> None:
    broker = started(tmp_path / "data")
    try:
        assert broker.stderr is not None
        broker.stderr.close()
        begun = tmp_path / "data" / "meta.properties"
        while not begun.exists():
            assert broker.poll() is None
        broker.send_signal(signal.SIGTERM)
        assert broker.wait(120) == 0
    finally:
        broker.kill()
        broker.wait()
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_a_node_that_waits_for_the_others_of_its_cluster_can_be_stopped(tmp_path: Path) -> None:
    settings = tmp_path / "server.properties"
    settings.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
        "controller.quorum.voters=1@127.0.0.1:1,2@127.0.0.1:2,3@127.0.0.1:3\n"
        f"log.dirs={tmp_path / 'data'}\n"
    )
    assert main(["storage", "format", "-c", str(settings), "-t", "OLTmUuRNR_K3DZ4mDicTZQ"]) == 0
    waiting = subprocess.Popen(
        [sys.executable, "-m", "moldau", "start", str(settings)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert waiting.stdout is not None
    for line in waiting.stdout:
        if "Cannot connect" in line:
            break
    waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(120) == 0
