"""Builds of the hot modules replace each other in one step."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from tools.compile_modules import can_be_imported, switch_to


def test_the_link_goes_from_one_whole_build_to_the_next(tmp_path: Path) -> None:
    link = tmp_path / "compiled"
    builds = [tmp_path / "builds" / name for name in ("first", "second", "third")]
    for build in builds:
        build.mkdir(parents=True)
    switch_to(builds[0], link)
    assert link.resolve() == builds[0]
    for build in builds[1:]:
        build.mkdir(parents=True, exist_ok=True)
        switch_to(build, link)
        assert link.resolve() == build


def test_the_last_build_stays_for_who_has_just_found_it(tmp_path: Path) -> None:
    link = tmp_path / "compiled"
    for name in ("first", "second", "third"):
        build = tmp_path / "builds" / name
        build.mkdir(parents=True)
        switch_to(build, link)
    assert sorted(path.name for path in (tmp_path / "builds").iterdir()) == ["second", "third"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["builds", "compiled"]


def test_a_build_that_cannot_be_imported_has_failed(tmp_path: Path) -> None:
    binary = tmp_path / "moldau" / f"clock{EXTENSION_SUFFIXES[0]}"
    binary.parent.mkdir()
    binary.write_bytes(b"not a library")
    assert can_be_imported(tmp_path, [])
    assert not can_be_imported(tmp_path, ["moldau.clock"])
