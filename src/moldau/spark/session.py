"""A Spark session that is ready to use: Java found, workers on this Python, the format known.

What is set here is what took people an evening to find out. Each setting can be given otherwise,
and every ``spark.*`` setting passes through; a session that exists already is left as it is and
only learns the format.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from moldau.spark.errors import PipelineError
from moldau.spark.java import cache_dir, find_java, is_java_home, java_home, wheel_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILTER_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
# Compile quickly rather than well, and collect garbage without threads of its own: more than
# halves the start of a short job, and slows down what runs for long and mostly in the JVM.
QUICK_START: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CHECKPOINTS: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def session(
    name: str = "moldau",
    *,
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    is_short: bool = True,
    debug: bool = False,
) -> "SparkSession":
    """The Spark session of this process, with ``format("moldau")``.

    ``master`` is where it runs, by default on all cores of this machine. ``config`` are settings
    of Spark, which go before those made here. ``is_short`` says that a job ends soon: it starts
    in half the time, but the JVM never reaches full speed. With ``debug`` errors keep the traces
    of Python's workers.

    Raises:
        PipelineError: PySpark or Java are not there.
    """
    require_packages()
    from pyspark.sql import SparkSession

    given = dict(config or {})
    running = SparkSession.getActiveSession()
    if running is not None:
        register(running)
        return running
    where = master or given.get("spark.master") or "local[*]"
    prepare_environment(where)
    builder = SparkSession.builder.appName(name).master(where)
    for key, value in settings(where, given, is_short=is_short, debug=debug).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def register(spark: "SparkSession") -> None:
    """Make ``format("moldau")`` known to a session, however it was made."""
    from moldau.spark.source import MoldauDataSource

    # Without it Spark refuses a source that is able to take filters.
    spark.conf.set(FILTER_PUSHDOWN, "true")
    spark.dataSource.register(MoldauDataSource)


def require_packages() -> None:
    """Raises PipelineError if what the extra ``moldau[spark]`` brings is not there."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise PipelineError("PySpark and PyArrow are not installed: pip install 'moldau[spark]'")


def require_spark() -> None:
    """Whether a session could be started, without starting one.

    Raises:
        PipelineError: PySpark or Java are not there.
    """
    require_packages()
    find_java(os.environ, wheel_home())


def settings(
    master: str, given: Mapping[str, str], *, is_short: bool = True, debug: bool = False
) -> dict[str, str]:
    """The settings of a session: ours where the user has not ``given`` another."""
    chosen = {
        FILTER_PUSHDOWN: "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The last line of an error in Python is the one that matters.
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": str(not debug).lower(),
    }
    if master.startswith("local"):
        chosen |= {
            # 200 partitions after each shuffle are for clusters.
            "spark.sql.shuffle.partitions": str(_cores(master)),
            # Nobody else talks to this driver, whatever the name of the machine resolves to.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Renames instead of checksums and copies: 20 instead of 50 ms for each write of a
            # checkpoint, on a file system where a rename is atomic.
            "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
        }
    if debug:
        chosen["spark.log.level"] = "WARN"
    chosen |= given
    if is_short:
        chosen[JAVA_OPTIONS] = f"{QUICK_START} {given.get(JAVA_OPTIONS, '')}".strip()
    return chosen


def prepare_environment(master: str) -> None:
    """Set the variables that Spark's launcher and its workers look at, where they are not set.

    Raises:
        PipelineError: there is no Java.
    """
    if not is_java_home(os.environ.get("JAVA_HOME")):
        java = find_java(os.environ, wheel_home())
        try:
            home = java_home(java, cache_dir(os.environ))
        except OSError:
            # The user has no home, or not one to write to.
            home = java_home(java, Path(tempfile.mkdtemp(prefix="moldau-")))
        os.environ["JAVA_HOME"] = str(home)
    # The first Java only works out how to call the second.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_START)
    # Where nobody says otherwise: no settings but these, and no chatter on the terminal.
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).with_name("conf")))
    if master.startswith("local"):
        # Or the workers take whichever python3 is on the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _cores(master: str) -> int:
    """How many tasks run at once: ``local``, ``local[4]``, ``local[*]`` or ``local[4,2]``."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0].strip()
    if not inside:
        return 1
    if inside.isdigit():
        return int(inside)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
