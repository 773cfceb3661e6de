"""The Spark session of a worker: brought up in the background, and again if its JVM dies.

Tasks are threads that wait for a Python process, so there are more of them than cores: a connector
that blocks for ever holds its tasks, and must not keep others from theirs. How much one connector
uses at a time is limited to the cores (``parallel_tasks``).
"""

import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from moldau.connect.engine.failures import is_broken_talk
from moldau.spark.session import JAVA_OPTIONS, register_source, running_session, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

MASTER: Final = "moldau.master"
SPARK_PREFIX: Final = "moldau.spark."
_SLOTS: Final = 64
# By default Java starts with a 64th of the machine's memory, and soon touches a third of that: the
# young generation. A heap that starts small grows with what is in it, and is 100 MB smaller.
_SMALL_HEAP: Final = "-Xms64m"
_RETRY_S: Final = 5.0
_DEATH_S: Final = 2.0


class SessionHolder:
    """Owns the session of this process. Thread-safe."""

    def __init__(self, worker: Mapping[str, str]) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._spark: SparkSession | None = None
        # Rises with each JVM: a query knows by it that its JVM is gone.
        self.incarnation = 0
        self._is_closed = False
        self._is_starting = False

    @property
    def is_ready(self) -> bool:
        return self._spark is not None

    def start(self) -> None:
        """Bring the session up on another thread, unless it is up or coming."""
        with self._lock:
            if self._is_closed or self._is_starting or self._spark is not None:
                return
            self._is_starting = True
        threading.Thread(target=self._bring_up, name="connect-spark", daemon=True).start()

    def wait(self, stopping: threading.Event, step_s: float = 0.5) -> "SparkSession | None":
        """The session, as soon as it is up; None if ``stopping`` is set first."""
        with self._changed:
            while not stopping.is_set() and not self._is_closed:
                if self._spark is not None:
                    return self._spark
                self._changed.wait(step_s)
        return None

    def check(self) -> bool:
        """Whether the JVM lives. If not, a new one is brought up."""
        with self._lock:
            spark = self._spark
            if spark is None or _is_alive(spark):
                return spark is not None
            _log.error("the JVM of Spark has died: all connectors are started again in a new one")
            self._spark = None
            forget_session()
        self.start()
        return False

    def is_dead_after(self, error: BaseException) -> bool:
        """Whether the JVM is dead, when ``error`` was raised; a new one is then brought up."""
        # What is left of a killed process is seen a moment after its connections broke.
        deadline_s = time.monotonic() + (_DEATH_S if is_broken_talk(error) else 0.0)
        while self.check():
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(0.1)
        return True

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            spark, self._spark = self._spark, None
            self._changed.notify_all()
        if spark is None:
            return
        if _is_alive(spark):
            spark.stop()

    def _bring_up(self) -> None:
        failures = 0
        while not self._is_closed:
            try:
                spark = new_session(self._worker)
            except Exception as error:
                failures += 1
                _log.error("Spark did not start, it is tried again: %s", error)
                forget_session()
                threading.Event().wait(min(60.0, _RETRY_S * failures))
                continue
            with self._changed:
                self._is_starting = False
                if self._is_closed:
                    break
                self._spark = spark
                self.incarnation += 1
                self._changed.notify_all()
            return
        with self._changed:
            self._is_starting = False


def new_session(worker: Mapping[str, str]) -> "SparkSession":
    """A session with the settings for connectors; ``moldau.spark.X`` sets Spark's ``spark.X``."""
    from moldau.connect.engine.source_reader import ConnectSource
    from moldau.connect.engine.topic_ranges import TopicRanges

    # It logs the traceback of every batch that fails: the engine reports those itself.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    master = worker.get(MASTER, f"local[{_SLOTS}]")
    chosen = session_settings(worker, is_new=running_session() is None)
    spark = session("moldau-connect", master=master, config=chosen)
    register_source(spark, ConnectSource)
    register_source(spark, TopicRanges)
    return spark


def session_settings(worker: Mapping[str, str], *, is_new: bool) -> dict[str, str]:
    """Spark's settings for a worker: ours, overridden by those of the worker's properties.

    A session that runs already (``is_new`` is False) keeps its Java, with its heap.
    """
    given = {
        f"spark.{name.removeprefix(SPARK_PREFIX)}": value
        for name, value in worker.items()
        if name.startswith(SPARK_PREFIX)
    }
    # The user's options come last: of two that conflict, Java uses the last one.
    if is_new:
        given[JAVA_OPTIONS] = f"{_SMALL_HEAP} {given.get(JAVA_OPTIONS, '')}".rstrip()
    return {**SETTINGS, **given}


SETTINGS: Final = {
    # Records do not pass through the JVM: it needs little memory, and starting soon counts for
    # more than its speed in the long run.
    "spark.driver.memory": "768m",
    # A pool for each connector, so that one with much to do does not hold up the others.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    # A batch that was cut short is not tried again by Spark but from the stored progress.
    "spark.sql.streaming.stopActiveRunOnRestart": "true",
    # Few progress reports and little history: nobody reads them.
    "spark.sql.streaming.numRecentProgressUpdates": "5",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # A Python process whose task is cancelled is killed after this time.
    "spark.python.task.killTimeout": "1s",
}


def parallel_tasks(spark: "SparkSession") -> int:
    """How many tasks a connector runs at a time: as many as there are cores."""
    if is_local(spark):
        return os.cpu_count() or 1
    return spark.sparkContext.defaultParallelism


def is_local(spark: "SparkSession") -> bool:
    """Whether tasks run on the machine of the driver."""
    return (spark.sparkContext.master or "").startswith("local")


def _is_alive(spark: "SparkSession") -> bool:
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is not None:
        return False
    return spark.sparkContext._jsc is not None


def forget_session() -> None:
    """Make PySpark forget a session whose JVM is dead, so that a new one can be made."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway: Any = SparkContext._gateway
    context: Any = SparkContext
    if gateway is not None:
        try:
            gateway.shutdown()
        except Exception as error:
            _log.debug("gateway not shut down: %s", error)
    context._gateway = None
    context._jvm = None
    context._active_spark_context = None
    SparkSession._instantiatedSession = None
    os.environ.pop("PYSPARK_GATEWAY_PORT", None)
