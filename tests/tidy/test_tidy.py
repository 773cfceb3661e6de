"""The house style that a machine can check (CONTRIBUTING.md)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = ("src/moldau/protocol/messages/", "src/moldau/protocol/records/")
MODULES = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if not str(path.relative_to(ROOT)).startswith(GENERATED)
)
SOURCES = [path for path in MODULES if path.is_relative_to(ROOT / "src")]
MAX_MODULE_LINES = 700
MAX_FUNCTION_LINES = 60
# Everything else gets a clock passed in, and sets its timers through one door.
READS_THE_WALL_CLOCK = ("src/moldau/clock.py", "src/moldau/cli/")
WALL_CLOCKS = (
    ("time", "time"),
    ("time", "time_ns"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("date", "today"),
)
SETS_TIMERS = ("src/moldau/timers.py", "src/moldau/network/", "src/moldau/simulator/")
VAGUE_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|misc)(_|\.py$)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_there_are_modules_to_check() -> None:
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_stays_readable_in_one_sitting(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= MAX_MODULE_LINES, f"{name(path)} has {lines} lines: look for the seam"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text())
    is_empty = not tree.body
    assert is_empty or ast.get_docstring(tree), f"{name(path)} has no module docstring"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= MAX_FUNCTION_LINES, f"{name(path)}: {node.name} has {lines} lines"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_module_is_named_for_what_it_holds(path: Path) -> None:
    assert not VAGUE_NAMES.search(path.name), f"{name(path)}: say what is in it"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_time_comes_from_a_clock_and_timers_from_the_event_loop(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Attribute):
            continue
        where = f"{name(path)}:{node.lineno}"
        if isinstance(node.value, ast.Name) and (node.value.id, node.attr) in WALL_CLOCKS:
            assert name(path).startswith(READS_THE_WALL_CLOCK), f"{where}: pass a Clock in"
        if node.attr in ("call_later", "call_at"):
            assert name(path).startswith(SETS_TIMERS), f"{where}: use moldau.timers"
