"""An archive of Spark's classes (application class data sharing): halves the start of a session.

A session loads thousands of classes, and reading them from jars and verifying them is most of its
start. Java can dump the loaded classes to a file and map that file the next time. The archive is
created once for each Java, Spark and class path, by a separate process
(``moldau.spark.archive_making``), and kept in the user's cache directory.

Rules this module keeps:

* A session never depends on an archive. The JVM checks that it matches, down to the modification
  time of each jar, and silently ignores it if not. It does not check that the file is complete, so
  that is done here.
* The name of an archive has a hash of everything that it depends on, so an outdated one is not
  found, and a new one is created.
* An archive gets its name only when it is complete.
* Nothing waits for it: it is created after the first session without one, at the lowest priority,
  with at most one attempt a day.

A class path with a non-empty directory cannot be archived. So ``SPARK_CONF_DIR``, which Spark puts
in front of it, is an empty directory here, and the path of the log configuration is passed to the
JVM. ``MOLDAU_CLASS_ARCHIVE=off`` disables all of this; with ``MOLDAU_CLASS_ARCHIVE=existing`` an
archive is used if there is one, but none is created.
"""

import atexit
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from moldau.spark.cache import cache_dir
from moldau.spark.java import Java

SWITCH: Final = "MOLDAU_CLASS_ARCHIVE"
# Part of an archive's name; to be changed if the content or the way it is created changes.
_EDITION: Final = 1
# With one of these the class path is the user's.
_CLASS_PATH_VARIABLES: Final = (
    "HADOOP_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CLASSPATH",
    "SPARK_DIST_CLASSPATH",
    "SPARK_PREPEND_CLASSES",
    "YARN_CONF_DIR",
)
_CLASS_PATH_SETTINGS: Final = ("spark.driver.extraClassPath", "spark.driver.defaultJavaOptions")
# With one of these options the user has an archive already.
_ARCHIVE_OPTIONS: Final = ("-Xshare", "SharedArchive", "ArchiveClasses", "-XX:AOT")
# With one of these the session loads classes of the user.
_JAR_SETTINGS: Final = ("spark.jars", "spark.jars.packages")
# Bytecode verification is a fifth of the start. The classes in Spark's jars were compiled from
# Scala and Java and installed by pip; creating the archive verifies them once.
_UNCHECKED: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
_LOG_CONFIGURATION: Final = "log4j2.configurationFile"
_FIRST_THAT_SAYS_AOT: Final = 24
_MAKER: Final = "moldau.spark.archive_making"
_TRY_AGAIN_S: Final = 24 * 3600
_UNUSED_S: Final = 30 * 24 * 3600


class ClassArchive(NamedTuple):
    """The archive of one Java, Spark and class path, which may not exist yet."""

    path: Path
    java: Java

    @property
    def base(self) -> Path | None:
        """The base archive of the JDK's own classes; None if the JDK includes one."""
        if (self.java.home / "lib" / "server" / "classes.jsa").exists():
            return None
        return self.path.with_name(f"{self.path.stem}-base{self.path.suffix}")

    @property
    def claim(self) -> Path:
        """The process that creates this file creates the archive, and writes its size there."""
        return self.path.with_suffix(".claim")

    def is_whole(self) -> bool:
        """Whether the archive exists in its full size: a JVM crashes on a truncated one."""
        if self.base is not None and not self.base.exists():
            return False
        try:
            return self.claim.read_text() == str(self.path.stat().st_size)
        except OSError:
            return False

    def is_due(self, now_s: float) -> bool:
        """Whether to create the archive: it does not exist, and there was no recent attempt."""
        if self.is_whole():
            return False
        try:
            return self.claim.stat().st_mtime < now_s - _TRY_AGAIN_S
        except OSError:
            return True

    def use_options(self) -> list[str]:
        """The JVM options to use the archive; none if it does not exist."""
        if not self.is_whole():
            return []
        for each in filter(None, (self.path, self.claim, self.base)):
            with suppress(OSError):
                # Marks it as still in use.
                os.utime(each)
        # No warnings if the archive does not match.
        silence = ["-Xlog:cds*=off"]
        if self.java.version >= _FIRST_THAT_SAYS_AOT:
            silence.append("-Xlog:aot*=off")
        return [*silence, f"-XX:SharedArchiveFile={self.path}"]

    def make_options(self, draft: Path) -> list[str]:
        """The JVM options to dump the loaded classes to ``draft`` at exit."""
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        # Java logs each class that it leaves out.
        return [*base, "-Xlog:disable", f"-XX:ArchiveClassesAtExit={draft}"]


def archive_of(java: Java, spark_home: Path, environment: Mapping[str, str]) -> ClassArchive:
    """The archive for a Java and the current jars of a Spark."""
    facts = [str(_EDITION), str(java.home), str(empty_conf_dir(environment))]
    release = java.home / "release"
    facts.append(release.read_text() if release.exists() else str(java.version))
    for jar in sorted((spark_home / "jars").glob("*.jar")):
        found = jar.stat()
        facts.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    return ClassArchive(_folder(environment) / f"{digest}.jsa", java)


def _folder(environment: Mapping[str, str]) -> Path:
    return cache_dir(environment) / "classes"


def empty_conf_dir(environment: Mapping[str, str]) -> Path:
    """The empty directory that replaces Spark's configuration directory on the class path."""
    return cache_dir(environment) / "no-conf"


def has_empty_conf_dir(environment: Mapping[str, str]) -> bool:
    """Whether Spark's configuration directory is the empty one, without a log configuration."""
    return environment.get("SPARK_CONF_DIR") == str(empty_conf_dir(environment))


def can_archive(environment: Mapping[str, str], master: str) -> bool:
    """Whether the class path of a session with ``master`` is ours to choose."""
    if environment.get(SWITCH, "").lower() in ("off", "0", "false", "no"):
        return False
    if os.name != "posix" or not master.startswith("local"):
        return False
    if environment.get("SPARK_CONF_DIR") and not has_empty_conf_dir(environment):
        return False
    return not any(environment.get(name) for name in _CLASS_PATH_VARIABLES)


def may_create(environment: Mapping[str, str]) -> bool:
    """Whether a session may start a process that creates an archive."""
    return environment.get(SWITCH, "").lower() != "existing"


def fits(given: Mapping[str, str], java_options: str) -> bool:
    """Whether a session with these settings could use an archive."""
    if any(given.get(name) for name in _CLASS_PATH_SETTINGS):
        return False
    return not any(each in java_options for each in _ARCHIVE_OPTIONS)


def first_options(given: Mapping[str, str]) -> list[str]:
    """The JVM options if there is no archive yet: load classes without verification."""
    return [] if any(given.get(name) for name in _JAR_SETTINGS) else list(_UNCHECKED)


def log_options(configuration: Path, java_options: str) -> list[str]:
    """The JVM option for the log configuration, which is not on the class path."""
    if _LOG_CONFIGURATION in java_options:
        return []
    return [f"-D{_LOG_CONFIGURATION}={configuration.as_uri()}"]


def quoted(options: Sequence[str]) -> str:
    """The options as one string, quoted for Spark's launcher."""
    return " ".join(f'"{each}"' if " " in each else each for each in options)


def make_at_exit_if_due(archive: ClassArchive, now_s: float) -> None:
    """Start a process that creates the archive, if that is due, when this one ends."""
    if not archive.is_due(now_s):
        return
    atexit.unregister(_start_making)
    atexit.register(_start_making)


def announcement(environment: Mapping[str, str]) -> str:
    """The message for the user about the background process."""
    folder = _folder(environment)
    return (
        "moldau: archiving Spark's classes in the background, once, so that later sessions start "
        "in half the time: takes a minute or two at the lowest priority and 180 MB in "
        f"{folder} ({SWITCH}=off turns it off)"
    )


def _start_making() -> None:
    try:
        print(announcement(os.environ), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # The terminal is gone: start no process that the user does not know about.
        return
    try:
        subprocess.Popen(
            # -P: do not import modules from the user's working directory.
            [sys.executable, "-P", "-m", _MAKER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Signals to this process, such as Ctrl-C, must not reach that one.
            start_new_session=True,
        )
    except OSError:
        # Too many processes, or out of memory: a later session tries again.
        return


def remove_unused(folder: Path, now_s: float) -> None:
    """Delete the archives that no session has used for a month."""
    for each in folder.glob("*"):
        # Another process may have deleted it.
        with suppress(OSError):
            if each.stat().st_mtime < now_s - _UNUSED_S:
                each.unlink()
