"""A process of its own for the long steps of a pass (``cleaning_work``).

A thread that cleans shares the interpreter's lock with the thread that serves clients. However
little of its time it holds the lock, a request meets it a few times, and each meeting costs two
wake-ups: a tenth of a millisecond, twice what the request itself takes. A process shares nothing
but the machine, and the scheduler can tell it apart. It takes 0.1 s to start and some 25 MB of
memory, so it is for large logs, one process for one pass.

Orders and answers are pickled and travel through pipes. While an order is carried out, the process
reports every now and then how much it has transferred and waits to be told to go on: so the
throttle of all cleaners holds for it, and a cleaning can be given up.

Rules this module keeps:

* A process that is given up is dead before its files are removed.
* It ends by itself when the broker does: its pipes are closed then.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any, Final, NamedTuple

from moldau.storage.cleaning import Transfers
from moldau.storage.cleaning_work import Cleaned, CleanOrder, FillOrder, RulesOrder

# What is transferred between two reports: some milliseconds of work.
REPORT_EVERY_BYTES: Final = 4 << 20
CHILD_MODULE: Final = "moldau.storage.cleaning_child"


class Report(NamedTuple):
    """So much was transferred since the last one; the process waits for ``GoOn``."""

    size_bytes: int


class GoOn(NamedTuple):
    """The answer to a report."""


class Done(NamedTuple):
    """An order was carried out."""

    result: Any


class Failed(NamedTuple):
    """It was not: raise ``kind(*arguments)``."""

    kind: type[Exception]
    arguments: tuple[Any, ...]


class CleaningProcessLost(Exception):  # noqa: N818  # what happened, not whose error it is
    """The process did not start, or ended in the middle of its work."""


class ProcessWork:
    """Has the work done by a process, which is started when it is first needed."""

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
            # Leaving the block closes the pipes and waits for the end.
            with process:
                pass

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
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
            # It comes from a process that this one has started.
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
            # -P: what lies in the directory that the broker was started in is none of its modules.
            command = [sys.executable, "-P", "-m", CHILD_MODULE]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except OSError as error:
                # Not an error of the disk, which would cost the directory.
                raise EOFError(f"{command[0]} does not start: {error}") from error
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        return process.stdin, process.stdout


def _send(message: object, pipe: IO[bytes]) -> None:
    pickle.dump(message, pipe)
    pipe.flush()
