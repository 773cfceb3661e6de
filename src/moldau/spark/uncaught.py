"""Prints uncaught errors of Spark: the place in the user's program, and one line.

By default Python prints them with the calls inside PySpark and the stack traces of the JVM. A user
looks for the line in their own program, and for the line that says what is wrong.
"""

import sys
import traceback
from types import FrameType, TracebackType
from typing import Final

from moldau.spark.errors import shortened

_INSIDE: Final = ("pyspark", "py4j")


def show_one_line() -> None:
    """From now on, print uncaught errors of Spark without Spark's internals."""
    before = sys.excepthook
    if getattr(before, "is_moldaus", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = uncaught_text(error, trace)
        if text is None:
            before(kind, error, trace)
        else:
            sys.stderr.write(text)

    hook.is_moldaus = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def uncaught_text(error: BaseException, trace: TracebackType | None) -> str | None:
    """The text to print for an error; None if it is not one of Spark's."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException | Py4JError):
        return None
    frames = [each for each in traceback.walk_tb(trace) if not _is_inside(each[0])]
    lines = traceback.StackSummary.extract(iter(frames)).format()
    short = shortened(error)
    return "".join(
        [
            "Traceback (most recent call last):\n",
            *lines,
            f"{type(short).__module__}.{type(short).__name__}: {short}\n",
            "(moldau.spark.session(debug=True) shows the traces of Spark)\n",
        ]
    )


def _is_inside(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _INSIDE
