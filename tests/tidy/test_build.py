"""How the package is built: the versions it names, and what happens where nothing compiles."""

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = tomllib.loads((ROOT / "uv.lock").read_text())

# As setup.py runs where mypyc is not installed.
WITHOUT_MYPYC = """
import runpy, sys
sys.modules["mypyc"] = None
sys.argv = ["setup.py", "--quiet", "build_ext", "--build-lib", sys.argv[1]]
runpy.run_path("setup.py")
"""


def build_without_mypyc(folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_MYPYC, str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def pinned(requirements: list[str], name: str) -> str:
    (version,) = (each.split("==")[1] for each in requirements if each.startswith(f"{name}=="))
    return version


def test_librt_is_the_same_when_modules_are_compiled_and_when_they_run() -> None:
    built_with = pinned(PROJECT["dependency-groups"]["compile"], "librt")
    assert pinned(PROJECT["project"]["dependencies"], "librt") == built_with
    (locked,) = (each["version"] for each in LOCK["package"] if each["name"] == "librt")
    assert locked == built_with


def test_types_are_checked_by_the_version_that_compiles() -> None:
    groups = PROJECT["dependency-groups"]
    assert pinned(groups["dev"], "mypy") == pinned(groups["compile"], "mypy")


def test_only_a_wheel_waits_for_compilers_to_be_downloaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    backend = runpy.run_path(str(ROOT / "tools" / "build_backend.py"))
    assert backend["compilers"]() == PROJECT["dependency-groups"]["compile"]
    assert PROJECT["build-system"]["requires"] == ["setuptools>=77"]


def test_a_build_that_cannot_compile_says_so_loudly(tmp_path: Path) -> None:
    ended = build_without_mypyc(tmp_path)
    assert ended.returncode == 0
    assert "THIS BUILD HAS NO COMPILED MODULES" in ended.stderr
    assert list(tmp_path.rglob("*.so")) == []


def test_a_build_that_cannot_compile_fails_if_compiled_modules_are_required(
    tmp_path: Path,
) -> None:
    ended = build_without_mypyc(tmp_path, MOLDAU_REQUIRE_COMPILED="1")
    assert ended.returncode == 1
    assert "MOLDAU_REQUIRE_COMPILED is set, but mypyc or Cython is missing" in ended.stderr
