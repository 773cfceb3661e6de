"""Calls of a connector's code on behalf of a request, which must be answered although they block.

A connector may ask a database while it validates a configuration or changes offsets. It is given up
when Kafka's time for a request is over; its thread is left behind.
"""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Final, TypeVar

from moldau.connect.rest_errors import InternalError

T = TypeVar("T")

REQUEST_TIMEOUT_S: Final = 90.0


def in_time(call: Callable[[], T], what: str, timeout_s: float = REQUEST_TIMEOUT_S) -> T:
    """What ``call`` returns or raises.

    Raises:
        InternalError: it does not return in time; the message says ``what`` has been going on.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, name="connect-request", daemon=True).start()
    try:
        return done.result(timeout_s)
    except TimeoutError:
        # The connector may itself raise a TimeoutError: that is its answer.
        if done.done():
            raise
        raise InternalError(
            f"Request timed out: {what} for {timeout_s:g} s. Is what it connects to out of reach?"
        ) from None
