"""Where a long loop of compiled code lets other threads run, and where its elements are counted.

A large message is decoded and encoded by a thread, while the event loop goes on. Interpreted
code hands the GIL over whenever another thread has waited for it long enough; compiled code
never does, until it calls a function that is interpreted. So this module is not compiled, and
the loops over the elements of arrays call it every so often (``LONG_RUN``).

The same calls bound the memory of a decoded message. An element of a few bytes becomes objects of
a few hundred, so a limit on the bytes alone would allow gigabytes. A number takes little, but the
response may have an element for it.
"""

import threading
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

# The elements between two calls: LONG_RUN + 1.
RUN_ELEMENTS: Final = 1024
NUMBERS_PER_ELEMENT: Final = 4

P = ParamSpec("P")
R = TypeVar("R")

# ``runs_left`` and ``number_runs_left``, in a thread that decodes with a limit.
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
    """The same in an array of numbers, which have a limit of their own."""
    left: int | None = getattr(_decoding, "number_runs_left", None)
    if left is not None:
        if left == 0:
            raise TooManyElementsError("it has too many numbers: ask for fewer at a time")
        _decoding.number_runs_left = left - 1


def with_elements_max(
    elements: int, decode: Callable[P, R], *args: P.args, **kwargs: P.kwargs
) -> R:
    """Call ``decode``; arrays longer than ``LONG_RUN`` may have so many elements, all together.

    Those of numbers may have four times as many. Shorter arrays are not counted: there, the other
    fields of a message bound their number.
    """
    _decoding.runs_left = elements // RUN_ELEMENTS
    # A run of numbers is LONG_RUN long, and the last one may be shorter.
    _decoding.number_runs_left = NUMBERS_PER_ELEMENT * elements // (RUN_ELEMENTS - 1) + 1
    try:
        return decode(*args, **kwargs)
    finally:
        _decoding.runs_left = None
        _decoding.number_runs_left = None
