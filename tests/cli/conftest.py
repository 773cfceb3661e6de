"""The command line run in this process, against a broker in this process."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from moldau.cli.main import main
from tests.running import RunningBroker


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Moldau = Callable[..., Result]


@pytest.fixture(scope="package")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # Nobody waits for members of a group that might still come.
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with RunningBroker(tmp_path_factory.mktemp("broker") / "data", settings) as running:
        yield running.bootstrap


@pytest.fixture
def moldau(bootstrap: str, capsys: pytest.CaptureFixture[str]) -> Moldau:
    """Runs a command against the broker, unless its arguments say where."""

    def run(*arguments: str, is_local: bool = False) -> Result:
        where = [] if is_local else ["--bootstrap-server", bootstrap]
        code = main([*arguments, *where])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


_numbers = itertools.count()


@pytest.fixture
def topic() -> str:
    return f"cli-topic-{next(_numbers)}"
