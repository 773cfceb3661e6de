"""A pipeline from nothing in one command: a broker, clicks, Spark, and windows on the terminal.

moldau demo
moldau demo --seconds 60 --clicks-per-second 5000

A broker starts in a temporary directory on a free port, made-up visitors click on the pages of a
web shop, and the app of examples/clickstream.py counts their clicks in windows of ten seconds.
Ctrl-C, or --seconds, ends it and leaves nothing behind. While it runs every Kafka client can look:

moldau consume page-views --from-beginning --bootstrap-server HOST:PORT
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from moldau.streams.app import App
    from moldau.streams.progress import QueryProgress

_PARTITIONS: Final = 2
_TERMINAL_INTERVAL_S: Final = 1.0
_LOG_INTERVAL_S: Final = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds", metavar="N", type=float, help="stop by itself, so long after the first window"
    )
    parser.add_argument(
        "--clicks-per-second", metavar="N", type=int, default=1000, help="(default: 1000)"
    )
    parser.add_argument("--master", metavar="URL", help="where Spark runs (default: local[*])")


def run(options: argparse.Namespace) -> int:
    # Before anything is started: without Spark there is nothing to show.
    from moldau.spark.session import require_spark

    require_spark()
    from moldau.cli.demo_broker import DemoBroker
    from moldau.cli.demo_clicks import Visitors
    from moldau.client.admin import Admin
    from moldau.examples.clickstream import app

    folder = Path(tempfile.mkdtemp(prefix="moldau-demo-"))
    try:
        with DemoBroker(folder / "broker") as broker:
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
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if visitors.failure is not None:
        raise visitors.failure
    _say("stopped, and everything removed")
    return 0


def _run_app(app: "App", bootstrap: str, checkpoint_dir: Path, options: argparse.Namespace) -> None:
    from moldau.spark.session import JAVA_OPTIONS, QUICK_START

    app.bootstrap = bootstrap
    app.checkpoint_dir = str(checkpoint_dir)
    _say("Spark starts: the first windows show in a few seconds ...")
    screen = Screen(app, sys.stdout, options.seconds)
    app.run(
        master=options.master,
        # Nobody wants to wait for a demonstration that is over before a good compiler pays.
        config={JAVA_OPTIONS: QUICK_START},
        report="none",
        interval_s=_TERMINAL_INTERVAL_S if sys.stdout.isatty() else _LOG_INTERVAL_S,
        on_progress=screen.show,
        debug=options.debug,
    )


class Screen:
    """Shows the windows in the topic that the app writes, and ends the app in time."""

    def __init__(self, app: "App", out: TextIO, seconds: float | None) -> None:
        from moldau.streams.progress_view import LiveLines

        self._app = app
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
        self._live.show(screen_lines(clicks, progress, elapsed_s, self._app.bootstrap))
        if clicks and self._first_s is None:
            self._first_s = elapsed_s
        if self._first_s is None or self._seconds is None:
            return
        if elapsed_s - self._first_s >= self._seconds:
            self._app.stop()


def _say(text: str) -> None:
    print(f"moldau demo: {text}", file=sys.stderr, flush=True)
