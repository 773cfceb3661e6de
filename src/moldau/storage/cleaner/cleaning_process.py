"""A separate process for the long steps of a pass (``cleaning_work``).

A thread that cleans competes for the interpreter lock with the thread that serves clients. However
briefly it holds the lock, a request has to wait for it a few times, and each time costs two
wake-ups: a tenth of a millisecond, twice the time of the request itself. A separate process shares
only the machine, and has its own scheduling priority. It takes 0.1 s to start and about 25 MB of
memory, so it is used for large logs, one process per pass.

Orders and results are pickled and sent through pipes. During an order, the process regularly
reports the bytes transferred and waits for permission to continue: so the throttle applies to it as
to all cleaners, and a cleaning can be aborted.

Rules this module keeps:

* An aborted process has ended before its files are removed.
* It ends when the broker does, because its pipes are then closed.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Final, NamedTuple

from moldau.storage.cleaner.cleaning import Transfers
from moldau.storage.cleaner.cleaning_work import Cleaned, CleanOrder, FillOrder, RulesOrder

# Bytes transferred between two reports: a few milliseconds of work.
REPORT_EVERY_BYTES: Final = 4 << 20
CHILD_MODULE: Final = "moldau.storage.cleaner.cleaning_child"


class Report(NamedTuple):
    """Bytes transferred since the last report; the process waits for ``GoOn``."""

    size_bytes: int


class GoOn(NamedTuple):
    """The answer to a report."""


class Done(NamedTuple):
    """An order was completed."""

    result: Any


class Failed(NamedTuple):
    """An order failed: raise ``kind(*arguments)``."""

    kind: type[Exception]
    arguments: tuple[Any, ...]


class CleaningProcessLost(Exception):  # noqa: N818  # what happened, not whose error it is
    """The process did not start, or ended during its work."""


class ProcessWork:
    """Delegates the work to a process, which is started when it is first needed."""

    def __init__(self, on_lost: Callable[[], object]) -> None:
        """``on_lost`` is called, by any thread, before CleaningProcessLost is raised."""
        self._on_lost = on_lost
        self._process: subprocess.Popen[bytes] | None = None

    def fill(self, order: FillOrder, cleaning: Transfers) -> int:
        end_offset: int = self._ask(order, cleaning)
        return end_offset

    def take_rules(self, order: RulesOrder) -> None:
        self._ask(order, None)

    def clean(self, order: CleanOrder, cleaning: Transfers) -> Cleaned:
        cleaned: Cleaned = self._ask(order, cleaning)
        return cleaned

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Leaving the block closes the pipes and waits for the process. An order that it did not
            # take any more is still in the buffer of its pipe.
            with suppress(BrokenPipeError), process:
                pass

    @property
    def pid(self) -> int | None:
        """The id of the process, if it is running."""
        return self._process.pid if self._process is not None else None

    def _ask(self, order: object, cleaning: Transfers | None) -> Any:
        try:
            return self._answer_to(order, cleaning)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            status = self._process.poll() if self._process is not None else None
            self.close()
            self._on_lost()
            raise CleaningProcessLost(f"exit status {status}, {error!r}") from error
        except BaseException:
            self.close()
            raise

    def _answer_to(self, order: object, cleaning: Transfers | None) -> Any:
        orders, answers = self._pipes()
        _send(order, orders)
        while True:
            # Safe to unpickle: it comes from a process that this one has started.
            answer = pickle.load(answers)
            if isinstance(answer, Done):
                return answer.result
            if isinstance(answer, Failed):
                raise answer.kind(*answer.arguments)
            assert isinstance(answer, Report), answer
            assert cleaning is not None, "only long orders report"
            cleaning.transferred(answer.size_bytes)
            _send(GoOn(), orders)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            # -P: files in the broker's working directory must not be imported as modules.
            command = [sys.executable, "-P", "-m", CHILD_MODULE]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except OSError as error:
                # Not an OSError, which would take the log directory offline.
                raise EOFError(f"{command[0]} does not start: {error}") from error
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout


def _send(message: object, pipe: IO[bytes]) -> None:
    pickle.dump(message, pipe)
    pipe.flush()
