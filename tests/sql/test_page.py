"""The commands and statements of docs/sql.md, run in order, print what the page shows."""

import io
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from moldau.sql.client import RemoteSession
from moldau.sql.errors import SqlError, show_error
from moldau.sql.output import Printer
from moldau.sql.results import Form
from moldau.sql.settings import SqlSettings
from tests.cli.pages import DOCS
from tests.running import RunningBroker

PAGE = (DOCS / "sql.md").read_text()
_BLOCK = re.compile(r"^```(sh|sql|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LIMIT_S = 240


@pytest.fixture(scope="module")
def page_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with RunningBroker(tmp_path_factory.mktemp("page") / "data") as running:
        yield running.bootstrap


def test_the_page_shows_what_is_printed(
    page_broker: str, environment: Mapping[str, str], files: Path
) -> None:
    blocks = _BLOCK.findall(PAGE)
    assert len(blocks) >= 20
    session = RemoteSession(SqlSettings(page_broker, directory=str(files)), environment)
    printed = ""
    for kind, text in blocks:
        if kind == "sh":
            printed = _shell(text, page_broker, environment)
        elif kind == "sql":
            printed = _statement(text.strip(), session)
        else:
            assert printed == text, f"before: {text}"
    session.close()


def _shell(text: str, bootstrap: str, environment: Mapping[str, str]) -> str:
    """Run commands; returns the output of the last one."""
    here = f'{sys.executable} -m moldau "$@" --bootstrap-server {bootstrap}'
    lines = text.strip().splitlines()
    output = ""
    for line in lines:
        found = subprocess.run(
            ["sh", "-c", f"moldau() {{ {here}; }}\n{line}"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert found.returncode == 0, f"{line}: {found.stderr}"
        output = found.stdout
    return output


def _statement(text: str, session: RemoteSession) -> str:
    shown = io.StringIO()
    printer = Printer(Form.TABLE, shown, shown)
    printer.begin()
    try:
        session.run(text, Form.TABLE, printer)
    except SqlError as error:
        printer.note(show_error(error, text))
    printer.end()
    return shown.getvalue()
