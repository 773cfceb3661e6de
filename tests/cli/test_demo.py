"""``moldau demo``: what it shows, what it produces, and one whole run."""

import json
import os
import random
import signal
import subprocess
import sys
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


def test_before_the_first_window_the_view_says_so() -> None:
    lines = screen_lines({}, [QueryProgress("to-1")], 3.0, "127.0.0.1:9")
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


def test_the_whole_demonstration_runs_and_leaves_nothing_behind(tmp_path: Path) -> None:
    try:
        require_spark()
    except PipelineError as reason:
        pytest.skip(str(reason))
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
    assert said.endswith("moldau demo: stopped, and everything removed\n")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("moldau-demo")]
