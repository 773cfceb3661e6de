"""Which directories a start formats automatically, and which it refuses."""

import errno
import random
import shlex
from pathlib import Path

import pytest

from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatError
from moldau.cli.main import main
from moldau.config.broker import BrokerConfig
from moldau.errors import ErrorCode
from moldau.simulator.disk import PowerCut, SimulatedDisk, keep_everything
from moldau.storage.disk.checkpoint import read_meta_properties
from moldau.storage.disk.disk import Disk, RealDisk
from tests.broker.batches import batch
from tests.broker.producing import create_topic, produce, read_all, values
from tests.running import RunningBroker


def node(log_dirs: str = "/a,/b", **settings: str) -> BrokerConfig:
    properties = {"log.dirs": log_dirs}
    properties.update({name.replace("_", "."): value for name, value in settings.items()})
    return BrokerConfig.from_properties(properties)


def begin(disk: Disk, config: BrokerConfig | None = None) -> None:
    format_if_empty(config or node(), disk, random.Random(1))


def used(disk: SimulatedDisk, config: BrokerConfig | None = None) -> None:
    """Leave the directories as a broker that has run on them would."""
    begin(disk, config)
    disk.open("/a/__cluster_metadata-0/00000000000000000000.log", create=True).append([b"x"])


def test_directories_that_are_absent_or_empty_are_formatted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/b/lost+found")
    begin(disk)
    [warning] = caplog.records
    assert warning.getMessage().startswith("/b was empty, and a new cluster begins in it")
    assert read_meta_properties(disk, "/a") is not None
    assert read_meta_properties(disk, "/b") is not None


@pytest.mark.parametrize("is_there", [True, False])
def test_a_directory_that_is_empty_beside_one_in_use_is_refused(is_there: bool) -> None:
    disk = SimulatedDisk()
    used(disk)
    disk.remove_tree("/b")
    if is_there:
        disk.make_dirs("/b/lost+found")
    with pytest.raises(FormatError, match=r"No meta\.properties found in /b, while /a was in use"):
        begin(disk)
    assert disk.is_dir("/b") == is_there
    assert not disk.exists("/b/meta.properties")


def test_a_missing_metadata_directory_is_refused_with_another_remedy() -> None:
    disk = SimulatedDisk()
    used(disk)
    disk.open("/b/replication-offset-checkpoint", create=True)
    disk.remove_tree("/a")
    with pytest.raises(FormatError, match=r"found in /a.*restore the directory"):
        begin(disk)


def test_a_directory_with_other_peoples_files_is_refused() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/a")
    disk.open("/a/thesis.tex", create=True)
    with pytest.raises(FormatError, match="/a, and the directory is not empty"):
        begin(disk, node("/a"))
    assert disk.list_dir("/a") == ["thesis.tex"]


def test_nothing_is_formatted_while_a_disk_does_not_answer() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/b")
    disk.fail_next("list_dir", "/b", errno.EIO)
    with pytest.raises(FormatError, match="/b cannot be used and may hold the data"):
        begin(disk)
    assert not disk.exists("/a")


def test_a_first_start_that_was_interrupted_anywhere_goes_on() -> None:
    count = 0
    while True:
        disk = SimulatedDisk(seed=count)
        disk.cut_power_after(count)
        try:
            begin(disk)
        except PowerCut:
            disk.crash(keep_everything)
            begin(disk)
            assert read_meta_properties(disk, "/b") is not None
            count += 1
            continue
        break
    assert count > 5


def test_a_directory_is_added_with_the_command_that_the_refusal_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "my one", tmp_path / "two"
    with RunningBroker(one) as broker, broker.connect() as client:
        create_topic(client, "river")
        assert produce(client, "river", batch(b"kept")).error_code == ErrorCode.NONE
    both = RunningBroker(tmp_path, {"log.dirs": f"{one},{two}"})
    with pytest.raises(FormatError, match=r"No meta\.properties found in") as refused:
        begin(RealDisk(), both.config)
    command = shlex.split(str(refused.value).rpartition("add it with: ")[2])
    assert command[0] == "moldau"
    assert main(command[1:]) == 0
    assert f"Formatting data directory {two}" in capsys.readouterr().out
    with both, both.connect() as client:
        assert values(read_all(client, "river")) == [b"kept"]


def test_a_lone_node_has_no_port_for_its_controller_until_one_is_named(tmp_path: Path) -> None:
    alone = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    named = {"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}
    for settings in (alone, named, alone):
        with RunningBroker(tmp_path / "data", settings) as broker, broker.connect() as client:
            create_topic(client, f"t{broker.port}")
            ports = broker.node.ports
            assert ("CONTROLLER" in ports) == (settings is named)
            [endpoint] = broker.node.broker.image.controllers[1].endpoints
            assert endpoint.port == ports.get("CONTROLLER", broker.port)
