"""A Spark session that is ready to use: Java found, workers on this Python, format registered.

These are the settings that users otherwise have to find out for themselves. Each can be
overridden, and every ``spark.*`` setting is passed through. If a session already exists, the
format is registered and the given settings are applied to it; a setting that cannot be changed
any more is an error.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moldau.clock import SystemClock
from moldau.spark import class_archive, warm_up
from moldau.spark.cache import cache_dir
from moldau.spark.class_archive import ClassArchive
from moldau.spark.errors import PipelineError, readable_errors
from moldau.spark.java import find_java, is_java_home, java_home, look_at, own_home, wheel_home
from moldau.spark.uncaught import show_one_line
from moldau.spark.worker_python import spark_home, worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

FILTER_PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
SHUFFLES: Final = "spark.sql.shuffle.partitions"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
HIDE_TRACES: Final = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"
# Compile quickly rather than well, and collect garbage without extra threads: more than halves the
# start of a short job, but slows down long jobs that run mostly in the JVM.
QUICK_START: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CONF: Final = Path(__file__).with_name("conf")
_LOG_SETTINGS: Final = _CONF / "log4j2.properties"
# See conf/log4j2.properties.
_FULL_LOG: Final = ("-Dmoldau.traces=full", "-Dmoldau.tasks=error")
# What Spark's PythonStreamingSourceRunner puts into the environment of a source.
_SET_BY_QUERIES: Final = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)
_STOPPED: Final = "Cannot call methods on a stopped SparkContext"
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
    log_traces: bool = False,
) -> "SparkSession":
    """Return the Spark session of this process, with ``format("moldau")``.

    ``master`` is where it runs, by default on all cores of this machine. ``config`` has Spark
    settings, which override those made here. ``is_short`` is for jobs that end soon: they start
    in half the time, but the JVM never reaches full speed. With ``debug`` errors keep the
    tracebacks of the Python workers. ``log_traces`` keeps full stack traces in Spark's log, for a
    log that goes to a file.

    Raises:
        PipelineError: PySpark or Java is missing, or the running session cannot be changed to the
            given settings.
    """
    require_packages()
    from pyspark.sql import SparkSession

    given = dict(config or {})
    running = running_session()
    if running is not None:
        if debug:
            given.setdefault(HIDE_TRACES, "false")
        change_settings(running, {**given, **({"spark.master": master} if master else {})})
        register(running)
        return running
    where = master or given.get("spark.master") or "local[*]"
    prepare_environment(where)
    archive = find_archive(where, given)
    java_options = _java_options(given, archive)
    if debug or log_traces:
        java_options += _FULL_LOG
    chosen = settings(where, given, is_short=is_short, debug=debug, java_options=java_options)
    builder = SparkSession.builder.appName(name).master(where)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    with warm_up.beside_start(), _start_errors(where, debug=debug):
        spark = builder.getOrCreate()
        register(spark)
    if not debug:
        show_one_line()
    if archive is not None and class_archive.may_create(os.environ):
        class_archive.make_at_exit_if_due(archive, SystemClock().wall_ms() / 1000)
    return spark


@contextmanager
def _start_errors(master: str, *, debug: bool) -> Iterator[None]:
    """Report why the start failed. If the master does not answer, Spark says only "stopped"."""
    try:
        with readable_errors(debug=debug):
            yield
    except PipelineError as error:
        reason = "it does not answer" if _STOPPED in str(error) else str(error)
        raise PipelineError(f"no session of Spark with master={master}: {reason}") from None


def running_session() -> "SparkSession | None":
    """Return the session of this process and make it active in this thread; None if none runs."""
    # If PySpark was never imported there is no session, and it may not even be installed.
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    known = SparkSession._instantiatedSession
    if active is not None or known is None or known.sparkContext._jsc is None:
        return active
    # Spark has one active session per thread, and looks up formats in it.
    jvm: Any = known._jvm
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(known._jsparkSession)
    return known


def change_settings(spark: "SparkSession", wanted: Mapping[str, str]) -> None:
    """Change settings of a running session.

    Raises:
        PipelineError: one of them cannot be changed in a running session, and differs.
    """
    from pyspark.errors import AnalysisException

    for name, value in wanted.items():
        before = spark.conf.get(name, None)
        if before == value:
            continue
        try:
            # Spark also accepts any other core setting, and ignores it.
            is_taken = name.startswith("spark.sql.") or spark.conf.isModifiable(name)
            if is_taken:
                spark.conf.set(name, value)
        except AnalysisException:
            is_taken = False
        if not is_taken:
            there = "not set" if before is None else before
            raise PipelineError(
                f"a session of Spark runs already, with {name} {there}: {name}={value} can only be "
                "given to a new one; call stop() of the session that runs first"
            )


def register(spark: "SparkSession") -> None:
    """Register ``format("moldau")`` in any session."""
    from moldau.spark.ledger_source import LedgerDataSource
    from moldau.spark.source import MoldauDataSource

    # Without it Spark refuses a source that supports filter pushdown.
    spark.conf.set(FILTER_PUSHDOWN, "true")
    register_source(spark, MoldauDataSource)
    register_source(spark, LedgerDataSource)


def register_source(spark: "SparkSession", source: "type[DataSource]") -> None:
    """Register a source, so that several of its streaming queries may start at the same time.

    Each of them puts the same few variables into the environment that Spark keeps for the source,
    a ``java.util.HashMap``, without a lock. Two that add a variable at once leave it with a wrong
    size; from then on every task fails with an OptionalDataException, until the JVM ends. If the
    variables are there from the beginning, only their values are replaced.
    """
    environment = spark.sparkContext.environment
    added = [name for name in _SET_BY_QUERIES if name not in environment]
    environment.update(dict.fromkeys(added, ""))
    try:
        spark.dataSource.register(source)
    finally:
        for name in added:
            del environment[name]


def require_packages() -> None:
    """Raise PipelineError if the packages of the extra ``moldau[spark]`` are not installed."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise PipelineError("PySpark and PyArrow are not installed: pip install 'moldau[spark]'")


def require_spark() -> None:
    """Check that a session could be started, without starting one.

    Raises:
        PipelineError: PySpark or Java is missing.
    """
    require_packages()
    find_java(os.environ, wheel_home())


def settings(
    master: str,
    given: Mapping[str, str],
    *,
    is_short: bool = True,
    debug: bool = False,
    java_options: Sequence[str] = (),
) -> dict[str, str]:
    """The settings of a session: ours, overridden by those ``given`` by the user."""
    chosen = {
        FILTER_PUSHDOWN: "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # The last line of an error in Python is the one that matters.
        HIDE_TRACES: str(not debug).lower(),
    }
    if master.startswith("local"):
        chosen |= {
            # 200 partitions after each shuffle are for clusters.
            SHUFFLES: str(_cores(master)),
            # Nothing else connects to this driver, whatever the host name resolves to.
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Renames instead of checksums and copies: 20 instead of 50 ms per checkpoint write,
            # on file systems where a rename is atomic.
            "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
        }
    if debug:
        chosen["spark.log.level"] = "WARN"
    chosen |= given
    # The user's options come last: of two that conflict, Java uses the last one.
    options = [QUICK_START if is_short else "", class_archive.quoted(java_options)]
    options.append(given.get(JAVA_OPTIONS, ""))
    if any(options):
        chosen[JAVA_OPTIONS] = " ".join(filter(None, options))
    return chosen


def find_archive(master: str, given: Mapping[str, str]) -> ClassArchive | None:
    """The class archive for a session with ``master``; None if it cannot use one.

    ``prepare_environment`` must have been called.
    """
    home = spark_home(os.environ)
    java = look_at(own_home(Path(os.environ["JAVA_HOME"])))
    if home is None or java is None:
        return None
    if not class_archive.can_archive(os.environ, master):
        return None
    if not class_archive.fits(given, given.get(JAVA_OPTIONS, "")):
        return None
    return class_archive.archive_of(java, home, os.environ)


def _java_options(given: Mapping[str, str], archive: ClassArchive | None) -> list[str]:
    options = []
    if archive is not None:
        options = archive.use_options() or class_archive.first_options(given)
    if class_archive.has_empty_conf_dir(os.environ):
        options += class_archive.log_options(_LOG_SETTINGS, given.get(JAVA_OPTIONS, ""))
    return options + temporary_files(os.environ)


def temporary_files(environment: Mapping[str, str]) -> list[str]:
    """The JVM option for the directory of temporary files: the JVM ignores ``TMPDIR``."""
    folder = environment.get("TMPDIR")
    return [f"-Djava.io.tmpdir={folder}"] if folder else []


def prepare_environment(master: str) -> None:
    """Set the environment variables of Spark's launcher and workers that are not set yet.

    Raises:
        PipelineError: Java was not found.
    """
    if not is_java_home(os.environ.get("JAVA_HOME")):
        java = find_java(os.environ, wheel_home())
        try:
            home = java_home(java, cache_dir(os.environ))
        except OSError:
            # The user has no home directory, or it is not writable.
            home = java_home(java, Path(tempfile.mkdtemp(prefix="moldau-")))
        os.environ["JAVA_HOME"] = str(home)
    # The launcher is a JVM that only builds the command line of the actual one.
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_START)
    # By default: no settings but these, and little logging on the terminal.
    os.environ.setdefault("SPARK_CONF_DIR", str(_conf_dir(master)))
    is_local = master.startswith("local")
    # Otherwise workers use the first python3 on the path, and so do the processes that plan a
    # query, which run on this machine even with a cluster.
    python = _worker_python() if is_local else sys.executable
    os.environ.setdefault("PYSPARK_PYTHON", python)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", python)
    if is_local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _conf_dir(master: str) -> Path:
    """The configuration directory on Spark's class path: empty if a class archive is used."""
    if not class_archive.can_archive(os.environ, master):
        return _CONF
    empty = class_archive.empty_conf_dir(os.environ)
    try:
        empty.mkdir(parents=True, exist_ok=True)
    except OSError:
        return _CONF
    return empty


def _worker_python() -> str:
    home = spark_home(os.environ)
    if home is None:
        return sys.executable
    try:
        return str(worker_python(sys.executable, home, cache_dir(os.environ)))
    except OSError:
        # It cannot be stored anywhere: the workers start more slowly.
        return sys.executable


def _cores(master: str) -> int:
    """The number of parallel tasks of ``local``, ``local[4]``, ``local[*]`` or ``local[4,2]``."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0].strip()
    if not inside:
        return 1
    if inside.isdigit():
        return int(inside)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
