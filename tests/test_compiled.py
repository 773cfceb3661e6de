"""Which of the two runs, compiled modules or plain sources, and how it is said."""

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import moldau
from moldau.compiled import CompiledFinder, fingerprint, read_build, write_manifest

SUFFIX = EXTENSION_SUFFIXES[0]


def package(folder: Path) -> Path:
    """A package with a hot module and a command."""
    for name in ("__init__.py", "storage/segment.py", "storage/segment.pxd", "cli/start.py"):
        path = folder / "src" / "moldau" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("first = 1")
    return folder / "src" / "moldau"


def built(folder: Path, sources: str) -> Path:
    """What a build leaves behind."""
    binary = folder / "build" / "moldau" / "storage" / f"segment{SUFFIX}"
    binary.parent.mkdir(parents=True)
    binary.touch()
    write_manifest(folder / "build", sources)
    return folder / "build"


def run(code: str, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    environment["PYTHONPATH"] = str(Path(str(moldau.__file__)).parents[1])
    return subprocess.run(
        [sys.executable, *(("-c", code) if code else ()), *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def test_compiled_modules_of_these_sources_are_used(tmp_path: Path) -> None:
    sources = package(tmp_path)
    folder = built(tmp_path, fingerprint(sources))
    names, reason = read_build(str(folder), sources)
    assert (names, reason) == (["moldau.storage.segment"], "")
    found = CompiledFinder(str(folder), names).find_spec("moldau.storage.segment")
    assert found is not None
    assert found.origin == str(folder / "moldau" / "storage" / f"segment{SUFFIX}")


def test_what_was_not_compiled_is_left_to_python(tmp_path: Path) -> None:
    assert CompiledFinder(str(tmp_path), ["moldau.clock"]).find_spec("moldau.ids") is None


def test_compiled_modules_are_left_alone_after_an_edit(tmp_path: Path) -> None:
    sources = package(tmp_path)
    folder = built(tmp_path, fingerprint(sources))
    (sources / "storage" / "segment.py").write_text("second = 2, and longer")
    names, reason = read_build(str(folder), sources)
    assert names == []
    assert "edited" in reason


def test_an_edit_of_types_in_c_counts_and_one_of_a_command_does_not(tmp_path: Path) -> None:
    sources = package(tmp_path)
    before = fingerprint(sources)
    (sources / "cli" / "start.py").write_text("second = 2, and longer")
    assert fingerprint(sources) == before
    (sources / "storage" / "segment.pxd").write_text("second = 2, and longer")
    assert fingerprint(sources) != before


def test_compiled_modules_of_another_python_are_left_alone(tmp_path: Path) -> None:
    sources = package(tmp_path)
    folder = built(tmp_path, fingerprint(sources))
    manifest = folder / "MANIFEST"
    manifest.write_text(manifest.read_text().replace(SUFFIX, ".cpython-39-x86_64-linux-gnu.so"))
    names, reason = read_build(str(folder), sources)
    assert names == []
    assert "another version of Python" in reason


def test_a_build_that_did_not_finish_is_none(tmp_path: Path) -> None:
    sources = package(tmp_path)
    folder = built(tmp_path, fingerprint(sources))
    (folder / "MANIFEST").unlink()
    assert read_build(str(folder), sources) == ([], "the hot modules are not compiled yet")


def test_plain_sources_run_if_they_are_asked_for() -> None:
    code = "import moldau.protocol.reading as m, moldau.record.columns as n; print(m, n)"
    found = run(code, MOLDAU_PLAIN="1").stdout
    assert "reading.py" in found
    assert "columns.py" in found


def test_a_start_on_plain_sources_is_a_warning_that_names_the_remedy() -> None:
    code = "import logging, moldau.compiled as m; logging.basicConfig(); m.check()"
    found = run(code, MOLDAU_PLAIN="1").stderr
    assert found.startswith("WARNING:moldau.compiled:Running on plain Python")
    assert "Unset it to run the compiled modules" in found


def test_a_start_without_compiled_modules_is_refused_if_they_are_required(tmp_path: Path) -> None:
    environment = {"MOLDAU_PLAIN": "1", "MOLDAU_REQUIRE_COMPILED": "1"}
    arguments = (
        "-m",
        "moldau.cli",
        "start",
        "--data-dir",
        str(tmp_path),
        "--listen",
        "127.0.0.1:0",
    )
    ended = run("", *arguments, **environment)
    assert ended.returncode == 1
    assert "MOLDAU_REQUIRE_COMPILED is set, but MOLDAU_PLAIN is set" in ended.stderr
    assert list(tmp_path.iterdir()) == []
