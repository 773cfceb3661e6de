"""Run a whole pipeline: a broker, clicks, Spark, and counts in windows.

moldau demo
moldau demo --seconds 60 --clicks-per-second 5000

Starts a broker in a temporary directory on a free port and simulates visitors
who click on the pages of a web shop. The app in examples/clickstream.py counts
their clicks in windows of ten seconds, and the terminal shows the counts as
they grow. Ctrl-C, --seconds or closing the terminal ends it and removes the
broker's data.

While it runs, any Kafka client can connect to the address shown on the screen:

moldau consume page-views --from-beginning --bootstrap-server HOST:PORT \\
    --key-format windowed:text --value-format long
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

from moldau.cli.option_types import positive_int, positive_seconds

if TYPE_CHECKING:
    from moldau.streams.app import App
    from moldau.streams.progress import QueryProgress

_PARTITIONS: Final = 2
_TERMINAL_INTERVAL_S: Final = 1.0
_LOG_INTERVAL_S: Final = 5.0
_REMOVAL_TRIES: Final = 50
_REMOVAL_PAUSE_S: Final = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        metavar="N",
        type=positive_seconds,
        help="stop N seconds after the first window appears",
    )
    parser.add_argument(
        "--clicks-per-second",
        metavar="N",
        type=positive_int,
        default=1000,
        help="how fast the visitors click (default: 1000)",
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (default: local[*])")


def run(options: argparse.Namespace) -> int:
    # Before anything is started: without Spark there is nothing to show.
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.cli.demo_broker import DemoBroker
    from moldau.cli.demo_clicks import Visitors
    from moldau.client.admin import Admin
    from moldau.examples.clickstream import app

    with (
        _ended_by_signals(),
        _temporary_folder() as folder,
        DemoBroker(folder / "broker") as broker,
    ):
        _say(f"broker on {broker.bootstrap}, data in {folder}")
        with Admin(broker.bootstrap) as admin:
            admin.create_topic("clicks", _PARTITIONS)
        visitors = Visitors(broker.bootstrap, "clicks", options.clicks_per_second)
        visitors.start()
        _say(f"visitors click {options.clicks_per_second:,} times a second")
        try:
            _run_app(app, broker.bootstrap, folder / "checkpoints", options)
        finally:
            visitors.stop()
    if visitors.failure is not None:
        raise visitors.failure
    _say("stopped; the broker and all its data are removed")
    return 0


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Within this block SIGTERM and a closed terminal (SIGHUP) end the command as Ctrl-C does.

    The app stops gracefully on SIGTERM by itself while it runs; this is for the time before. When
    a terminal closes, its JVM gets SIGHUP too, so there is nothing left to stop gracefully.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        # A terminal may send it more than once; the clean-up must not be interrupted.
        signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGHUP, signal.SIGTERM):
        # A command started by nohup ignores SIGHUP, and goes on doing so.
        if signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="moldau-demo-"))
    try:
        yield folder
    finally:
        # A JVM that is about to end may still write a file there.
        for _ in range(_REMOVAL_TRIES):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(_REMOVAL_PAUSE_S)


def _run_app(app: "App", bootstrap: str, checkpoint_dir: Path, options: argparse.Namespace) -> None:
    from moldau.spark.session import JAVA_OPTIONS, QUICK_START

    app.bootstrap = bootstrap
    app.checkpoint_dir = str(checkpoint_dir)
    _say("Spark is starting; the first window appears in a few seconds ...")
    screen = Screen(app, sys.stdout, options.seconds)
    app.run(
        master=options.master,
        # A demonstration is over before a better compiler would pay off.
        config={JAVA_OPTIONS: QUICK_START},
        report="none",
        interval_s=_TERMINAL_INTERVAL_S if sys.stdout.isatty() else _LOG_INTERVAL_S,
        on_progress=screen.show,
        debug=options.debug,
    )


class Screen:
    """Shows the windows in the topic that the app writes, and stops the app after ``seconds``."""

    def __init__(self, app: "App", out: TextIO, seconds: float | None) -> None:
        from moldau.streams.progress_view import LiveLines

        self._app = app
        self._out = out
        self._live = LiveLines(out)
        self._seconds = seconds
        # When the first window was seen.
        self._first_s: float | None = None

    def show(self, progress: "Sequence[QueryProgress]", elapsed_s: float) -> None:
        from moldau.cli.demo_view import Window, screen_lines

        clicks = {
            Window(start_ms, page): count
            for (page, start_ms), count in self._app.table("page-views").items()
        }
        height = shutil.get_terminal_size().lines if self._out.isatty() else None
        lines = screen_lines(clicks, progress, elapsed_s, self._app.bootstrap, height=height)
        self._live.show(lines)
        if clicks and self._first_s is None:
            self._first_s = elapsed_s
        if self._first_s is None or self._seconds is None:
            return
        if elapsed_s - self._first_s >= self._seconds:
            self._app.stop()


def _say(text: str) -> None:
    print(f"moldau demo: {text}", file=sys.stderr, flush=True)
