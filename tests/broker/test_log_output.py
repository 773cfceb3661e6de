"""Log lines are queued, in order, dropped with a count, and cannot be forged."""

import logging
import threading

from moldau.broker.log_output import LineFormatter, LogOutput


class Pipe:
    """Accepts text once it is opened."""

    def __init__(self) -> None:
        self.text = ""
        self.is_taken = threading.Semaphore(0)
        self._is_open = threading.Event()

    def write(self, text: str) -> None:
        self.is_taken.release()
        self._is_open.wait()
        self.text += text

    def open(self) -> None:
        self._is_open.set()


def record(message: str, *arguments: object) -> logging.LogRecord:
    return logging.LogRecord("a", logging.INFO, "path", 1, message, arguments, None)


def test_whoever_logs_never_waits_and_what_was_dropped_is_counted() -> None:
    pipe = Pipe()
    output = LogOutput(pipe.write, max_lines=3)
    output.say("first")
    pipe.is_taken.acquire()
    for number in range(10):
        output.say(f"line {number}")
    pipe.open()
    output.close()
    assert pipe.text.splitlines() == [
        "first",
        "line 0",
        "line 1",
        "line 2",
        "7 lines were dropped: the log was not read",
    ]


def test_records_are_written_in_order() -> None:
    pipe = Pipe()
    pipe.open()
    output = LogOutput(pipe.write)
    for number in range(100):
        output.handle(record("number %d", number))
    output.close()
    assert [line.rpartition(" ")[2] for line in pipe.text.splitlines()] == list(
        map(str, range(100))
    )


def test_an_output_that_was_closed_is_no_reason_to_end() -> None:
    written: list[str] = []

    def write(text: str) -> None:
        written.append(text)
        raise BrokenPipeError

    output = LogOutput(write)
    output.say("one")
    output.say("two")
    output.close()
    assert "".join(written) == "one\ntwo\n"


def test_a_message_cannot_forge_a_line() -> None:
    line = LineFormatter().format(record("topic %s", "a\n2026 INFO b: \x1b[31mforged\u2028\x85"))
    assert "\n" not in line
    assert line.endswith(r"a: topic a\n2026 INFO b: \x1b[31mforged\u2028\x85")


def test_a_long_line_is_cut() -> None:
    line = LineFormatter().format(record("topic %s", "x" * 100_000))
    assert len(line) < 9000
    assert line.endswith(" more characters)")


def test_the_lines_of_a_traceback_are_indented() -> None:
    try:
        raise ValueError("x\nforged")
    except ValueError as error:
        exc_info = (ValueError, error, error.__traceback__)
    given = logging.LogRecord("a", logging.ERROR, "path", 1, "failed", (), exc_info)
    first, *rest = LineFormatter().format(given).splitlines()
    assert first.endswith("ERROR a: failed")
    assert rest[-1] == "  forged"
    assert all(line.startswith("  ") for line in rest)
