"""The classes of Spark as the JVM keeps them in memory, in a file: half the start of a session.

A session loads thousands of classes, and reading them from jars and checking them is most of its
start. Java can write what it has loaded to a file and map that file the next time
(application class data sharing). The file is made once for each Java, Spark and class path, by a
process of its own (``moldau.spark.archive_making``), and kept in the user's cache directory.

Rules this module keeps:

* A session never depends on an archive. The JVM checks that it fits, to the time of change of
  each jar, and does without it, silently, if it does not. It does not check that the file has
  its full length, so that is done here.
* What the archive depends on is in its name, so one that no longer fits is not found, and
  another is made.
* An archive has its name only when it is whole.
* Nobody waits for it: it is made after the first session that had none, at the lowest priority,
  and at most one is tried in a day.

A class path with a directory that is not empty cannot be archived. So ``SPARK_CONF_DIR``, which
Spark puts in front of it, is an empty one here, and the JVM is told where the settings of the log
are. ``MOLDAU_CLASS_ARCHIVE=off`` does without all of it.
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
# Part of an archive's name: another one when what is archived, or how, is another.
_EDITION: Final = 1
# Whoever sets one of these has a class path of their own.
_CLASS_PATH_VARIABLES: Final = (
    "HADOOP_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CLASSPATH",
    "SPARK_DIST_CLASSPATH",
    "SPARK_PREPEND_CLASSES",
    "YARN_CONF_DIR",
)
_CLASS_PATH_SETTINGS: Final = ("spark.driver.extraClassPath", "spark.driver.defaultJavaOptions")
# Whoever gives one of these has an archive of their own.
_ARCHIVE_OPTIONS: Final = ("-Xshare", "SharedArchive", "ArchiveClasses", "-XX:AOT")
# Whoever gives one of these brings classes of their own.
_JAR_SETTINGS: Final = ("spark.jars", "spark.jars.packages")
# The check of each class's code is a fifth of the start. What is in Spark's jars was compiled from
# Scala and Java and came with pip; making the archive checks it, once.
_UNCHECKED: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
_LOG_CONFIGURATION: Final = "log4j2.configurationFile"
_FIRST_THAT_SAYS_AOT: Final = 24
_MAKER: Final = "moldau.spark.archive_making"
_TRY_AGAIN_S: Final = 24 * 3600
_UNUSED_S: Final = 30 * 24 * 3600


class ClassArchive(NamedTuple):
    """Where the classes of one Java, Spark and class path are, or will be."""

    path: Path
    java: Java

    @property
    def base(self) -> Path | None:
        """The archive of Java's own classes to begin with; None if Java came with one."""
        if (self.java.home / "lib" / "server" / "classes.jsa").exists():
            return None
        return self.path.with_name(f"{self.path.stem}-base{self.path.suffix}")

    @property
    def claim(self) -> Path:
        """Who makes this file makes the archive, and notes its size there when it is done."""
        return self.path.with_suffix(".claim")

    def is_whole(self) -> bool:
        """Whether it is there in its full size: a JVM crashes on one that was cut off."""
        if self.base is not None and not self.base.exists():
            return False
        try:
            return self.claim.read_text() == str(self.path.stat().st_size)
        except OSError:
            return False

    def is_due(self, now_s: float) -> bool:
        """Whether it is to be made: it is not there, and nobody has tried of late."""
        if self.is_whole():
            return False
        try:
            return self.claim.stat().st_mtime < now_s - _TRY_AGAIN_S
        except OSError:
            return True

    def use_options(self) -> list[str]:
        """What the JVM is told so that it uses the archive; nothing, if it is not there."""
        if not self.is_whole():
            return []
        for each in filter(None, (self.path, self.claim, self.base)):
            with suppress(OSError):
                # Says that it is still in use.
                os.utime(each)
        # One that does not fit is no news for the user.
        silence = ["-Xlog:cds*=off"]
        if self.java.version >= _FIRST_THAT_SAYS_AOT:
            silence.append("-Xlog:aot*=off")
        return [*silence, f"-XX:SharedArchiveFile={self.path}"]

    def make_options(self, draft: Path) -> list[str]:
        """What the JVM is told so that it writes, when it ends, what it has loaded to ``draft``."""
        base = [] if self.base is None else [f"-XX:SharedArchiveFile={self.base}"]
        # Java has something to say about each class that it leaves out.
        return [*base, "-Xlog:disable", f"-XX:ArchiveClassesAtExit={draft}"]


def archive_of(java: Java, spark_home: Path, environment: Mapping[str, str]) -> ClassArchive:
    """The archive for a Java and the jars of a Spark, as they are now."""
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
    """The directory that stands for Spark's settings on the class path; it stays empty."""
    return cache_dir(environment) / "no-conf"


def has_empty_conf_dir(environment: Mapping[str, str]) -> bool:
    """Whether the log's settings are not where Spark looks for them."""
    return environment.get("SPARK_CONF_DIR") == str(empty_conf_dir(environment))


def can_archive(environment: Mapping[str, str], master: str) -> bool:
    """Whether a session there has a class path that is ours to choose."""
    if environment.get(SWITCH, "").lower() in ("off", "0", "false", "no"):
        return False
    if os.name != "posix" or not master.startswith("local"):
        return False
    if environment.get("SPARK_CONF_DIR") and not has_empty_conf_dir(environment):
        return False
    return not any(environment.get(name) for name in _CLASS_PATH_VARIABLES)


def fits(given: Mapping[str, str], java_options: str) -> bool:
    """Whether a session with these settings could use an archive."""
    if any(given.get(name) for name in _CLASS_PATH_SETTINGS):
        return False
    return not any(each in java_options for each in _ARCHIVE_OPTIONS)


def first_options(given: Mapping[str, str]) -> list[str]:
    """What the JVM is told where there is no archive yet: not to check the classes it loads."""
    return [] if any(given.get(name) for name in _JAR_SETTINGS) else list(_UNCHECKED)


def log_options(configuration: Path, java_options: str) -> list[str]:
    """Where the settings of the log are, now that they are not on the class path."""
    if _LOG_CONFIGURATION in java_options:
        return []
    return [f"-D{_LOG_CONFIGURATION}={configuration.as_uri()}"]


def quoted(options: Sequence[str]) -> str:
    """Options as one text, from which Spark's launcher takes them apart again."""
    return " ".join(f'"{each}"' if " " in each else each for each in options)


def make_at_exit() -> None:
    """When this process ends, let another one make the archive."""
    atexit.unregister(_start_making)
    atexit.register(_start_making)


def announcement(environment: Mapping[str, str]) -> str:
    """What the user is told about the process that is left behind."""
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
        # The terminal is gone: leave nothing running that its user was not told about.
        return
    try:
        subprocess.Popen(
            # -P: the user's own files are no modules of it.
            [sys.executable, "-P", "-m", _MAKER],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # What ends this process, a Ctrl-C for instance, must not end that one.
            start_new_session=True,
        )
    except OSError:
        # Too many processes, no memory: another time.
        return


def remove_unused(folder: Path, now_s: float) -> None:
    """Make room: archives that no session has used for a month go."""
    for each in folder.glob("*"):
        # Or somebody else was quicker.
        with suppress(OSError):
            if each.stat().st_mtime < now_s - _UNUSED_S:
                each.unlink()
