"""The main loop of the process started by ``cleaning_process``: receives orders, sends results.

A separate thread receives the orders and ends the process when the pipe is closed: then the broker
has died, and its successor may soon clean the same log.
"""

import contextlib
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from queue import SimpleQueue
from typing import IO, Any, Final

from moldau.record.header import CorruptBatch
from moldau.storage.cleaner.cleaning_process import REPORT_EVERY_BYTES, Done, Failed, Report
from moldau.storage.cleaner.cleaning_work import (
    CleanOrder,
    FillOrder,
    LocalWork,
    PassWork,
    RulesOrder,
)
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.batch_scan import CorruptSegment

# The process has a lower scheduling priority than those that serve clients.
NICENESS: Final = 10


class Reports:
    """Reports transferred bytes to the broker, and waits for its permission to continue."""

    def __init__(self, receive: Callable[[], object], answers: IO[bytes]) -> None:
        self._receive = receive
        self._answers = answers
        self._unreported = 0

    def transferred(self, size_bytes: int) -> None:
        self._unreported += size_bytes
        if self._unreported >= REPORT_EVERY_BYTES:
            send(Report(self._unreported), self._answers)
            self._unreported = 0
            self._receive()


def serve(receive: Callable[[], object], answers: IO[bytes], work: PassWork) -> None:
    """Execute orders one after the other; ends when the pipe for results is closed."""
    reports = Reports(receive, answers)
    while True:
        order = receive()
        try:
            answer: Done | Failed = Done(carry_out(order, work, reports))
        except (CorruptSegment, CorruptBatch, ValueError, OSError) as error:
            answer = as_failed(error)
        except Exception:
            answer = Failed(RuntimeError, (traceback.format_exc(),))
        send(answer, answers)


def carry_out(order: object, work: PassWork, reports: Reports) -> Any:
    if isinstance(order, FillOrder):
        return work.fill(order, reports)
    if isinstance(order, CleanOrder):
        return work.clean(order, reports)
    assert isinstance(order, RulesOrder), order
    return work.take_rules(order)


def as_failed(error: Exception) -> Failed:
    """The failure in a form that can be pickled: not every exception can."""
    if isinstance(error, CorruptSegment):
        return Failed(CorruptSegment, (error.path, error.position, error.reason))
    if isinstance(error, OSError):
        return Failed(OSError, (error.errno, error.strerror, error.filename))
    kind = CorruptBatch if isinstance(error, CorruptBatch) else ValueError
    return Failed(kind, (str(error),))


def send(message: object, pipe: IO[bytes]) -> None:
    pickle.dump(message, pipe)
    pipe.flush()


def receive_all(orders: IO[bytes], inbox: "SimpleQueue[object]") -> None:
    """Put incoming orders into the queue; end the process when the pipe is closed."""
    with contextlib.suppress(EOFError):
        while True:
            inbox.put(pickle.load(orders))
    os._exit(0)


def main() -> None:
    # Ctrl-C in a terminal reaches this process too, but the broker decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Output of print must not end up among the results.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    inbox: SimpleQueue[object] = SimpleQueue()
    threading.Thread(target=receive_all, args=(sys.stdin.buffer, inbox), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):
        serve(inbox.get, answers, LocalWork(RealDisk()))
    # Skip flushing buffers into a broken pipe.
    os._exit(0)


if __name__ == "__main__":
    main()
