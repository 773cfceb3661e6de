"""The errors of a pipeline, each in one line.

Spark runs our code in separate Python processes, and their exceptions are passed on as text: from
the worker to the JVM and from there, within long stack traces, to the user. Errors that a user can
fix are raised as ``PipelineError``, whose text is one line; ``one_line`` extracts that line from
the exception that Spark raises.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError, ErrorCode


class PipelineError(Exception):
    """An error that the user can fix; says what is wrong, with the value, and the remedy."""


class BrokersAway(PipelineError):  # noqa: N818  # what happened, in two words
    """Brokers do not answer, or there is no leader or coordinator: a retry may succeed later."""


# The error codes of a cluster that is partly unavailable.
_AWAY: Final = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)

# The last line of a Python traceback: the exception's class and message.
_OURS: Final = re.compile(r"\b(PipelineError|BrokersAway): (.+)$", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^((?!org\.|java\.|scala\.|py4j\.)[A-Za-z_][\w.]*(?:Error|Exception|Failed|Interrupt)): (.+)$",
    re.MULTILINE,
)
# If tracebacks are hidden, the last line of one has this prefix.
_FROM_WORKER: Final = "An exception was thrown from the Python worker: "
_PLAN: Final = "=== Streaming Query ==="
_PYTHON_TRACE: Final = "Traceback (most recent call last)"
# Why a task failed, if not because of an exception in Python.
_LOST_TASK: Final = re.compile(
    r"most recent failure: Lost task .*?\): (?:[\w.$]+(?:Error|Exception): )?(?!Traceback)(.+)$",
    re.MULTILINE,
)
# A Java exception in the text of Py4J: in its second line.
_JAVA: Final = re.compile(r"^: [\w.$]+(?:Error|Exception): (.+)$", re.MULTILINE)
# Spark's own errors start with their error class and end with the SQLSTATE.
_SPARK: Final = re.compile(
    r"^(?:[\w.]+(?:Error|Exception): )?\[([A-Z_0-9.]+)\] (.+)$", re.MULTILINE
)
_ENDED: Final = re.compile(r"^Query .*? terminated with exception: (?:assertion failed: )?")
# A message of Spark that does not say what to do.
_OTHER_SOURCES: Final = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+;?\s*$")


def one_line(error: BaseException) -> str:
    """Return the one line of ``error`` that says what is wrong."""
    if isinstance(error, PipelineError):
        return str(error)
    # This line is followed by the query plan, whose text must not be searched.
    text = str(error).partition(_PLAN)[0] or str(error)
    ours = _OURS.findall(text)
    if ours:
        return _SQL_STATE.sub("", ours[-1][1]).strip()
    raised = _RAISED.findall(text)
    if raised and _PYTHON_TRACE in text:
        kind, message = raised[-1]
        return f"{kind.rpartition('.')[2]}: {message.strip()}"
    lost = _LOST_TASK.search(text)
    if lost:
        return lost[1].strip()
    spark = _SPARK.search(text)
    if spark:
        said = _ENDED.sub("", _SQL_STATE.sub("", spark[2]).strip()).removeprefix(_FROM_WORKER)
        return f"{said}{_remedy(said)}"
    java = _JAVA.search(text)
    if java:
        return java[1].strip()
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.strip() or type(error).__name__


def _remedy(said: str) -> str:
    """The remedy for an error of Spark that does not include one."""
    if _OTHER_SOURCES.search(said) is None:
        return ""
    return (
        " The query reads more or fewer streams than when its checkpoint was written: undo that, "
        "or give it a new checkpoint"
    )


def is_outage(error: BaseException) -> bool:
    """Whether ``error`` is a BrokersAway, or Spark's exception for one."""
    if isinstance(error, PipelineError):
        return isinstance(error, BrokersAway)
    ours = _OURS.findall(str(error).partition(_PLAN)[0])
    return bool(ours) and ours[-1][0] == BrokersAway.__name__


@contextmanager
def pipeline_errors() -> Iterator[None]:
    """Raise the client's exceptions in this block as ``PipelineError``."""
    try:
        yield
    except ConnectionFailed as error:
        raise BrokersAway(str(error)) from None
    except ApiError as error:
        kind = BrokersAway if error.code in _AWAY else PipelineError
        raise kind(str(error)) from None


def shortened(error: BaseException) -> PipelineError:
    """Spark's exception ``error`` as a ``PipelineError`` of one line."""
    return (BrokersAway if is_outage(error) else PipelineError)(one_line(error))


@contextmanager
def readable_errors(*, debug: bool = False) -> Iterator[None]:
    """Raise Spark's exceptions in this block as a ``PipelineError`` of one line.

    With ``debug`` they are raised unchanged, with all stack traces.
    """
    # Imported here, so that only users of Spark pay for it.
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if debug:
            raise
        raise shortened(error) from None
