"""Whose fault it is when a query ends: the connector's, or that of what it runs on.

A connector that fails stays FAILED until somebody restarts it, as in Kafka. What dies by
infrastructure (a broker that is away, a process of Spark's) is started again.
"""

import re
from typing import Final

from moldau.client.connection import ConnectionFailed
from moldau.connect.engine.traces import trace_of
from moldau.connect.providers import hidden
from moldau.errors import ApiError
from moldau.spark.errors import BrokersAway, PipelineError, is_outage, one_line


class TaskFailed(Exception):  # noqa: N818  # what happened, in two words
    """The connector failed in a task: ``trace`` is from there."""

    def __init__(self, trace: str) -> None:
        super().__init__(trace.partition("\n")[0])
        self.trace = trace


class Stopping(Exception):  # noqa: N818  # no error: the end of a batch that does not count
    """The connector is to stop, so the batch is given up."""


# Spark ends a query quietly if the text of an error in Python has this.
_INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling the batch: "
    "java.lang.InterruptedException"
)


def for_spark(error: BaseException, *, is_stopping: bool) -> Exception:
    """What to raise from a batch instead of ``error``: one line, without secrets.

    Spark searches the whole text with a regular expression whose stack overflows on a long one.
    """
    return PipelineError(_INTERRUPTED if is_stopping else hidden(one_line(error))[:1000])


def is_broken_talk(error: BaseException) -> bool:
    """Whether the talk with the JVM broke off, there or in what led to ``error``.

    PySpark does not expect it everywhere: what it raises then may be an error of its own.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError

    cause: BaseException | None = error
    while cause is not None:
        # Py4JJavaError is an answer; Py4JError itself says that there was none.
        if isinstance(cause, Py4JNetworkError | OSError | EOFError) or type(cause) is Py4JError:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


# What to do about progress that a topic does not have any more.
LOST_REMEDY: Final = (
    "No record is skipped unless you say so: stop the connector, then delete its offsets to read "
    "what there is, or set others (moldau connect offsets, or DELETE and PATCH of its offsets)"
)
# The remedy of format("moldau") is an option that connectors do not have.
_OPTION_REMEDY: Final = re.compile(r"[.;] [Ww]ith failOnDataLoss=false .*")

# A race in the start: a topic was created between two requests. The next start includes it.
_RACES = ("must name every partition that is read",)


def own_failure(error: BaseException) -> str | None:
    """The trace for FAILED; None if ``error`` is not the connector's but the infrastructure's."""
    trace = _own_trace(error)
    return None if trace is None else _OPTION_REMEDY.sub(f". {LOST_REMEDY}", trace)


def _own_trace(error: BaseException) -> str | None:
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    if isinstance(error, TaskFailed):
        return error.trace
    if isinstance(error, Stopping | BrokersAway | ConnectionFailed):
        return None
    if isinstance(error, ApiError) and error.code.retriable:
        return None
    if isinstance(error, PySparkException | Py4JError):
        # What a connector asks of Spark is as wrong the next time.
        is_wrong = isinstance(error, AnalysisException)
        return trace_of(error) if is_wrong else _in_query(error)
    return trace_of(error)


def _in_query(error: BaseException) -> str | None:
    """An error that reached us through Spark: ours (what a topic has lost), or Spark's."""
    if is_outage(error) or any(each in str(error) for each in _RACES):
        return None
    if f"{PipelineError.__name__}: " in str(error):
        return f"org.apache.kafka.connect.errors.ConnectException: {one_line(error)}\n"
    return None
