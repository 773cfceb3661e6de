"""Statements and what they print, compared with files.

A file has a statement after ``sql> `` and then its output. ``MOLDAU_UPDATE_GOLDEN=1`` writes what
is printed now; read the difference before you commit it.
"""

import os
import re
from pathlib import Path

import pytest

from moldau.sql.results import Form
from tests.sql.conftest import Sql

GOLDEN = Path(__file__).parent / "golden"
_PROMPT = re.compile(r"^(sql|csv|json)> (.*)$", re.MULTILINE)
_FORMS = {"sql": Form.TABLE, "csv": Form.CSV, "json": Form.JSON}


@pytest.mark.parametrize("name", ["json", "avro", "text", "files", "writing", "wrong"])
def test_the_output_is_as_it_was(name: str, sql: Sql, files: Path) -> None:
    path = GOLDEN / f"{name}.txt"
    expected = path.read_text()
    prompts = _PROMPT.findall(expected)
    shown = ""
    for form, statement in prompts:
        # A long statement is in one line of the file, with \n in it.
        output = sql(statement.replace("\\n", "\n"), _FORMS[form])
        shown += f"{form}> {statement}\n{output.replace(str(files), 'DIRECTORY')}\n"
    if os.environ.get("MOLDAU_UPDATE_GOLDEN"):
        path.write_text(shown)
    assert shown == expected


def test_every_wrong_statement_has_a_place_and_a_remedy() -> None:
    """At least 25; each is one line with a remedy, the statement, and carets."""
    blocks = _PROMPT.split((GOLDEN / "wrong.txt").read_text())[1:]
    outputs = blocks[2::3]
    assert len(outputs) >= 25
    for statement, output in zip(blocks[1::3], outputs, strict=True):
        lines = output.strip("\n").splitlines()
        assert len(lines) == 3, f"{statement}: {output}"
        assert ": " in lines[0], f"no remedy for {statement}"
        assert set(lines[2].strip()) == {"^"}, statement
        assert "Traceback" not in output
        assert "SQLSTATE" not in output
