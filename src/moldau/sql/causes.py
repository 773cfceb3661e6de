"""The exception of Spark that says what is wrong, out of a chain of Java's exceptions.

What fails in a task or in a thread of the JVM arrives wrapped: "Job aborted", "Exception thrown in
awaitResult". One of its causes has the error condition that can be explained.
"""

from collections.abc import Iterator
from typing import Any, Final

_LONGEST: Final = 10


def explainable(error: Exception) -> Exception:
    """The cause that has an error condition, as PySpark's exception; or else the error itself."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.captured import convert_exception

    if isinstance(error, PySparkException) and _condition(error):
        return error
    if isinstance(error, Py4JJavaError):
        start = error.java_exception
    else:
        start = getattr(error, "_origin", None)
    for each in _chain(start):
        found = convert_exception(each)
        if _condition(found):
            return found
        # PySpark has no exception for every class of Spark's.
        if _condition(each):
            return JavaError(each)
    return error


class JavaError(Exception):
    """An exception of Spark in Java, with the questions that PySpark's exceptions answer."""

    def __init__(self, exception: Any) -> None:
        super().__init__(str(exception.getMessage()))
        self._exception = exception

    def getCondition(self) -> str:  # noqa: N802
        return str(self._exception.getCondition())

    def getMessageParameters(self) -> dict[str, str]:  # noqa: N802
        return dict(self._exception.getMessageParameters())

    def getQueryContext(self) -> list[Any]:  # noqa: N802
        return list(self._exception.getQueryContext())


def _condition(error: Any) -> str | None:
    # Some exceptions of PySpark have no Java counterpart to ask.
    try:
        condition: str | None = error.getCondition()
    except Exception:
        return None
    return condition


def _chain(exception: Any) -> Iterator[Any]:
    """A Java exception and its causes."""
    for _ in range(_LONGEST):
        if exception is None:
            return
        yield exception
        exception = exception.getCause()
