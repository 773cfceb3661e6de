"""Exceptions as text: the trace of a failed task, and the headers of dead letters.

The form is that of a Java stack trace, with Kafka's class names where an error has one, because
that is what the tools around Kafka Connect show and search.
"""

import traceback
from typing import Final

# A trace is stored in the status topic and shown as a whole.
_MOST_FRAMES: Final = 30


def class_name(error: BaseException) -> str:
    """Kafka's name for the class of ``error``, or its name in Python."""
    java = getattr(error, "java_class", None)
    if isinstance(java, str):
        return java
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def trace_of(error: BaseException) -> str:
    """``error`` with where it was raised, and its causes."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        parts.append(_one(current, "Caused by: " if parts else ""))
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)
    return "".join(parts)


def _one(error: BaseException, prefix: str) -> str:
    message = str(error)
    lines = [f"{prefix}{class_name(error)}{': ' if message else ''}{message}\n"]
    frames = traceback.extract_tb(error.__traceback__)
    # The innermost call first, as in Java.
    for frame in list(reversed(frames))[:_MOST_FRAMES]:
        file = frame.filename.replace("\\", "/").rpartition("/")[2]
        lines.append(f"\tat {frame.name}({file}:{frame.lineno})\n")
    return "".join(lines)
