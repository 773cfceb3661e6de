"""``moldau demo``: what it shows, what it produces, and one whole run."""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from moldau.cli.demo_clicks import PAGES, make_clicks
from moldau.cli.demo_view import Window, screen_lines, window_lines
from moldau.spark.errors import PipelineError
from moldau.spark.session import require_spark
from moldau.streams.progress import QueryProgress

NOON_MS = 1_767_268_800_000


def test_windows_are_shown_newest_first_with_a_bar_for_each_page() -> None:
    clicks = {
        Window(NOON_MS, "/"): 20,
        Window(NOON_MS + 10_000, "/"): 5,
        Window(NOON_MS + 10_000, "/search"): 10,
    }
    assert window_lines(clicks) == [
        "clicks in the ten seconds from 12:00:10 UTC",
        f"  /search      10  {'█' * 20}",
        f"  /             5  {'█' * 10}",
        "",
        "clicks in the ten seconds from 12:00:00 UTC",
        f"  /            20  {'█' * 40}",
        "",
    ]


def test_only_the_latest_windows_are_shown() -> None:
    clicks = {Window(NOON_MS + 10_000 * number, "/"): 1 for number in range(5)}
    shown = [line for line in window_lines(clicks) if line.startswith("clicks")]
    assert [line.split()[-2] for line in shown] == ["12:00:40", "12:00:30", "12:00:20"]


def test_the_view_fits_a_terminal_of_80_by_24() -> None:
    clicks = {
        Window(NOON_MS + 10_000 * number, page): 123_456 + number
        for number in range(5)
        for page in PAGES
    }
    progress = QueryProgress(
        "to-page-views",
        batch_id=12_345,
        records=12_345_678,
        records_per_s=1000.4,
        lag=1234,
        watermark_ms=NOON_MS,
        state_rows=15,
        state_bytes=2_500_000,
    )
    lines = screen_lines(clicks, [progress], 1234.0, "127.0.0.1:55555", height=24)
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("clicks") for line in lines) == 2
    # More where there is room, and never none.
    assert len(screen_lines(clicks, [progress], 1234.0, "127.0.0.1:55555", height=50)) == 26
    smallest = screen_lines(clicks, [progress], 1234.0, "127.0.0.1:55555", height=5)
    assert sum(line.startswith("clicks") for line in smallest) == 1


def test_before_the_first_window_the_view_says_so() -> None:
    lines = screen_lines({}, [QueryProgress("to-1")], 3.0, "127.0.0.1:9", height=24)
    assert lines[:4] == [
        "moldau demo: running for 3 s (Ctrl-C stops it)",
        "broker on 127.0.0.1:9",
        "",
        "waiting for the first window ...",
    ]
    assert lines[-1].startswith("to-1")


def test_visitors_look_more_than_they_buy_and_a_few_are_late() -> None:
    clicks = list(make_clicks(random.Random(7), NOON_MS, 5000))
    pages = [json.loads(click.value)["page"] for click in clicks]
    assert set(pages) == set(PAGES)
    assert pages.count("/") > pages.count("/checkout")
    late = [click for click in clicks if click.timestamp_ms < NOON_MS]
    assert 50 < len(late) < 150
    assert all(click.timestamp_ms > NOON_MS - 3000 for click in late)


def require_java() -> None:
    try:
        require_spark()
    except PipelineError as reason:
        pytest.skip(str(reason))


def demo_directories(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name.startswith("moldau-demo")]


def test_the_whole_demonstration_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    require_java()
    demo = subprocess.Popen(
        [sys.executable, "-m", "moldau.cli", "demo", "--master", "local[2]"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert demo.stdout is not None
        shown = ""
        while "/checkout" not in shown:
            line = demo.stdout.readline()
            assert line, demo.communicate()[1]
            shown += line
        assert "clicks in the ten seconds from" in shown
        # As Ctrl-C does.
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate(timeout=120)
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.communicate()
    assert demo.returncode == 0, said
    assert [line.partition(": ")[0] for line in said.splitlines()] == ["moldau demo"] * 4
    assert said.endswith("moldau demo: stopped; the broker and all its data are removed\n")
    assert demo_directories(tmp_path) == []


@pytest.mark.parametrize("moment", ["Spark is starting", "clicks in the ten seconds from"])
def test_a_closed_terminal_ends_the_demonstration_and_leaves_nothing_behind(
    tmp_path: Path, moment: str
) -> None:
    require_java()
    terminal, inside = os.openpty()
    demo = subprocess.Popen(
        [sys.executable, "-m", "moldau.cli", "demo", "--master", "local[2]"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
        # The terminal of the session is the one whose end sends SIGHUP.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # type: ignore[arg-type, return-value]
    )
    os.close(inside)
    try:
        shown = b""
        while moment.encode() not in shown:
            shown += os.read(terminal, 4096)
        assert demo_directories(tmp_path)
        os.close(terminal)
        demo.wait(timeout=120)
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
            demo.wait()
    assert demo_directories(tmp_path) == []
