from pathlib import Path

import pytest
from tools.run_tests import AT_MOST, main

ROOT = Path(__file__).resolve().parents[2]
# Passes when no other run can begin beside it, or go on.
LONELY_TEST = """
import fcntl
from pathlib import Path

import pytest
from tools.run_tests import RUNNING

def test_it() -> None:
    with RUNNING.open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
"""

# Fails as often as its file has lines, or always.
FAILING_TEST = """
from pathlib import Path

def test_it() -> None:
    left = Path(__file__).with_suffix(".left")
    if left.exists():
        lines = left.read_text().splitlines()
        left.write_text("\\n".join(lines[1:]))
        assert not lines
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def add_test(project: Path, path: str, failures: int) -> None:
    test = project / path
    test.parent.mkdir(parents=True, exist_ok=True)
    test.write_text(FAILING_TEST)
    test.with_suffix(".left").write_text("\n".join(["again"] * failures))


def test_what_fails_once_passes_alone_and_is_listed(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    add_test(project, "tests/compat/test_a.py", failures=1)
    add_test(project, "tests/record/test_b.py", failures=0)
    assert main(["tests"]) == 0
    assert "passed only when run alone: tests/compat/test_a.py::test_it" in capfd.readouterr().out


def test_what_fails_again_is_a_failure(project: Path) -> None:
    add_test(project, "tests/compat/test_a.py", failures=2)
    assert main(["tests"]) == 1


def test_what_passes_runs_once(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    add_test(project, "tests/compat/test_a.py", failures=0)
    assert main(["tests"]) == 0
    assert "alone" not in capfd.readouterr().out


def test_a_deterministic_test_gets_no_second_chance(project: Path) -> None:
    add_test(project, "tests/compat/test_a.py", failures=1)
    add_test(project, "tests/raft/test_b.py", failures=1)
    assert main(["tests"]) == 1


def test_many_failures_get_no_second_chance(project: Path) -> None:
    for index in range(AT_MOST + 1):
        add_test(project, f"tests/compat/test_{index}.py", failures=1)
    assert main(["tests", "--import-mode=importlib"]) == 1


def test_what_failed_runs_again_when_no_other_run_goes_on(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    test = project / "tests" / "compat" / "test_a.py"
    test.parent.mkdir(parents=True)
    test.write_text(LONELY_TEST)
    assert main(["tests"]) == 0
    assert "passed only when run alone" in capfd.readouterr().out
