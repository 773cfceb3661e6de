"""An executor that runs its work when the test wants it."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from moldau.storage.disk.late_writes import LateWrites


class ByHand(Executor):
    """Queues work until ``run_next``, or runs it immediately unless ``is_slow``.

    Late writes always run immediately: nothing waits for them.
    """

    def __init__(self, *, is_slow: bool = True) -> None:
        self.is_slow = is_slow
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        work = partial(fn, *args, **kwargs)
        if self.is_slow and not isinstance(getattr(fn, "__self__", None), LateWrites):
            self.waiting.append((future, work))
        else:
            _do(future, work)
        return future

    def run_next(self) -> None:
        _do(*self.waiting.pop(0))


def _do(future: "Future[Any]", work: Callable[[], Any]) -> None:
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
