"""What went wrong in a pipeline, as the one line that matters.

Spark runs our code in Python processes of its own, and what they raise travels as text: from
the worker to the JVM and from there, inside a page of traces, to the user. What a user can do
something about is raised as ``PipelineError``, whose text is one line; ``one_line`` finds that
line again in whatever Spark made of it.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError, ErrorCode


class PipelineError(Exception):
    """Something that the user can mend; says what is wrong, with the value, and the remedy."""


class BrokersAway(PipelineError):  # noqa: N818  # what happened, in two words
    """Brokers do not answer, or have no leader or coordinator: waiting for them helps."""


# A cluster of which a part is missing says so.
_AWAY: Final = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)

# How Python ends a trace: the name of the class, a colon, and what it says.
_OURS: Final = re.compile(r"\b(PipelineError|BrokersAway): (.+)$", re.MULTILINE)
_RAISED: Final = re.compile(
    r"^((?!org\.|java\.|scala\.|py4j\.)[A-Za-z_][\w.]*(?:Error|Exception|Failed|Interrupt)): (.+)$",
    re.MULTILINE,
)
# Where traces are hidden, this is all that is left around the last line of one.
_FROM_WORKER: Final = "An exception was thrown from the Python worker: "
_PLAN: Final = "=== Streaming Query ==="
_PYTHON_TRACE: Final = "Traceback (most recent call last)"
# Why Spark gave up on a task, if that was not Python's doing.
_LOST_TASK: Final = re.compile(
    r"most recent failure: Lost task .*?\): (?:[\w.$]+(?:Error|Exception): )?(?!Traceback)(.+)$",
    re.MULTILINE,
)
# What Java raised, as the bridge from Python to it tells: behind a line that says nothing.
_JAVA: Final = re.compile(r"^: [\w.$]+(?:Error|Exception): (.+)$", re.MULTILINE)
# Spark's own errors begin with their class and end with the state that SQL gives them.
_SPARK: Final = re.compile(
    r"^(?:[\w.]+(?:Error|Exception): )?\[([A-Z_0-9.]+)\] (.+)$", re.MULTILINE
)
_ENDED: Final = re.compile(r"^Query .*? terminated with exception: (?:assertion failed: )?")
# What Spark says without a remedy.
_OTHER_SOURCES: Final = re.compile(r"There are \[\d+\] sources in the checkpoint offsets")
_SQL_STATE: Final = re.compile(r"\s*SQLSTATE: \w+;?\s*$")


def one_line(error: BaseException) -> str:
    """The one line of ``error`` that says what is wrong."""
    if isinstance(error, PipelineError):
        return str(error)
    # Behind this line comes the plan of the query, whose texts are not what happened.
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
    """What to do about an error of Spark that does not say it."""
    if _OTHER_SOURCES.search(said) is None:
        return ""
    return (
        " The query reads more or fewer streams than when its checkpoint was written: undo that, "
        "or give it a new checkpoint"
    )


def is_outage(error: BaseException) -> bool:
    """Whether ``error``, or what Spark made of it, says that brokers are away."""
    if isinstance(error, PipelineError):
        return isinstance(error, BrokersAway)
    ours = _OURS.findall(str(error).partition(_PLAN)[0])
    return bool(ours) and ours[-1][0] == BrokersAway.__name__


@contextmanager
def pipeline_errors() -> Iterator[None]:
    """Within this block, what the client raises comes out as a ``PipelineError``."""
    try:
        yield
    except ConnectionFailed as error:
        raise BrokersAway(str(error)) from None
    except ApiError as error:
        kind = BrokersAway if error.code in _AWAY else PipelineError
        raise kind(str(error)) from None


def shortened(error: BaseException) -> PipelineError:
    """What Spark raised, as the one line that matters."""
    return (BrokersAway if is_outage(error) else PipelineError)(one_line(error))


@contextmanager
def readable_errors(*, debug: bool = False) -> Iterator[None]:
    """Within this block, what Spark raises comes out as a ``PipelineError`` of one line.

    With ``debug`` it comes out as Spark raised it, with every trace.
    """
    # Only who uses Spark pays for importing it.
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        if debug:
            raise
        raise shortened(error) from None
