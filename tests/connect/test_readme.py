"""The table of bad input names tests that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
_NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_each_test_in_the_table_exists() -> None:
    named = _NAMED.findall((Path(__file__).parent / "README.md").read_text())
    assert len(named) > 60
    for file, test in named:
        assert f"def {test}(" in (TESTS / file).read_text(), f"{file}::{test}"
