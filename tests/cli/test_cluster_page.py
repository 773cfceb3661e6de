"""The commands of docs/cluster.md, run in order against a cluster of three."""

import shlex
from pathlib import Path

import pytest

from moldau.cli.main import main
from tests.cli.clusters import StartedCluster
from tests.cli.pages import DOCS, page_commands

START = "moldau cluster start --brokers 3"


def test_the_commands_of_the_page_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = (each.text for each in page_commands((DOCS / "cluster.md").read_text()))
    assert first == START
    assert len(others) >= 12
    options = shlex.split(START)[3:]
    with StartedCluster(tmp_path, *options, "--listen", "127.0.0.1:0") as cluster:
        for command in others:
            arguments = shlex.split(command)[1:]
            if arguments == ["cluster", "status"]:
                where = ["--data-dir", str(tmp_path)]
            else:
                where = ["--bootstrap-server", cluster.bootstrap]
            code = main([*arguments, *where])
            shown = capsys.readouterr()
            assert code == 0, f"{command}\n{shown.out}{shown.err}"
        assert cluster.stop() == 0
