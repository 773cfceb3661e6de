"""What Python processes of Spark write has no values of config providers."""

import io
import logging
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout

import pytest

from moldau.connect import providers
from moldau.connect.engine.failures import for_spark
from moldau.connect.engine.hidden_output import HidingStream, hide_in_output

REFERENCE = "${file:db.properties:password}"


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test hides, other tests show."""
    monkeypatch.setattr(providers, "_logged", {})


def test_all_that_is_written_is_without_secrets() -> None:
    written = io.StringIO()
    refusal = logging.makeLogRecord({"msg": "refused: blue-moose", "levelno": logging.ERROR})
    with redirect_stdout(written), redirect_stderr(written):
        hide_in_output({"blue-moose": REFERENCE})
        print("login with blue-moose")
        sys.stderr.writelines(["tried blue-moose\n"])
        assert logging.lastResort is not None
        logging.lastResort.handle(refusal)
        try:
            raise OSError("no route to blue-moose")
        except OSError:
            traceback.print_exc()
    text = written.getvalue()
    assert "blue-moose" not in text
    for line in ("login with", "tried", "refused:", "OSError: no route to"):
        assert f"{line} {REFERENCE}\n" in text


def test_streams_are_replaced_once_and_after_spark_has_put_its_own_back() -> None:
    written = io.StringIO()
    with redirect_stdout(written), redirect_stderr(written):
        hide_in_output({})
        assert sys.stderr is written
        hide_in_output({"blue-moose": REFERENCE})
        first = sys.stderr
        assert isinstance(first, HidingStream)
        hide_in_output({"red-fox": "${env:FOX}"})
        assert sys.stderr is first
        with redirect_stderr(written):
            hide_in_output({"blue-moose": REFERENCE})
            sys.stderr.write("blue-moose, red-fox")
    assert written.getvalue() == f"{REFERENCE}, ${{env:FOX}}"


def written_in(*parts: str) -> str:
    written = io.StringIO()
    stream = HidingStream(written)
    for part in parts:
        assert stream.write(part) == len(part)
        stream.flush()
    return written.getvalue()


def test_a_secret_that_is_written_in_parts_is_hidden() -> None:
    providers.keep_hidden({"blue-moose": REFERENCE})
    for cut in range(len("blue-moose") + 1):
        parts = "blue-moose"[:cut], "blue-moose"[cut:]
        assert written_in("as ", *parts, "\n") == f"as {REFERENCE}\n"
        assert written_in(*parts, *parts, ".") == f"{REFERENCE}{REFERENCE}."
    assert written_in(*"a blue-moose!") == f"a {REFERENCE}!"
    # What only begins like one is shown as soon as that is clear.
    assert written_in("a blue") == "a "
    assert written_in("a blue", "-", "bird") == "a blue-bird"
    assert written_in("blueblue", "-moose\n") == f"blue{REFERENCE}\n"


def test_secrets_that_overlap_or_have_several_lines_are_hidden_in_parts_too() -> None:
    providers.keep_hidden(
        {"ab": "${1}", "bc": "${2}", "ab-cd": "${3}", "-- key\nx\n-- end": "${4}"}
    )
    assert written_in("ab", "x") == "${1}x"
    assert written_in("ab", "-", "cd\n") == "${3}\n"
    assert written_in("a", "b", "-ce\n") == "${1}-ce\n"
    assert written_in("b", "c\n") == "${2}\n"
    assert written_in("-- key\n", "x\n", "-- end", "\n") == "${4}\n"


def test_what_spark_is_told_of_a_failed_batch_has_no_secrets() -> None:
    providers.keep_hidden({"blue-moose": REFERENCE})
    told = for_spark(OSError("no route to blue-moose"), is_stopping=False)
    assert str(told) == f"no route to {REFERENCE}"
