"""Where a long loop of compiled code lets other threads run, and where its elements are counted.

A large message is decoded and encoded by a thread, while the event loop goes on. Interpreted
code hands the GIL over whenever another thread has waited for it long enough; compiled code
never does, until it calls a function that is interpreted. So this module is not compiled, and
the loops over the elements of arrays call it every so often (``LONG_RUN``).

The same calls bound the memory of a decoded message. An element of a few bytes becomes objects of
a few hundred, so a limit on the bytes alone would allow gigabytes.
"""

import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

# The elements between two calls: LONG_RUN + 1.
RUN_ELEMENTS: Final = 1024

P = ParamSpec("P")
R = TypeVar("R")

# ``runs_left``, in a thread that decodes with a limit.
_decoding = threading.local()


class TooManyElementsError(ValueError):
    """A message has more elements than ``with_elements_max`` allows."""


def give_way() -> None:
    """Let another thread run if one is waiting; the interpreter does it on entering here.

    Raises:
        TooManyElementsError: this thread has decoded as many elements as it may.
    """
    left: int | None = getattr(_decoding, "runs_left", None)
    if left is not None:
        if left == 0:
            raise TooManyElementsError("it has too many elements: ask for fewer at a time")
        _decoding.runs_left = left - 1


def give_way_among_numbers() -> None:
    """The same in an array of numbers, which take little memory and are not counted."""


def with_elements_max(
    elements: int, decode: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Call ``decode``; arrays longer than ``LONG_RUN`` may have so many elements, all together.

    Shorter arrays are not counted: there, the other fields of a message bound their number.
    """
    _decoding.runs_left = elements // RUN_ELEMENTS
    try:
        return decode(*args, **kwargs)
    finally:
        _decoding.runs_left = None
