"""The commands of docs/connectors.md, run in order with a broker and a worker of their own."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tools.brokers import free_port

from moldau.client import Consumer
from tests.cli.pages import DOCS, page_commands
from tests.running import RunningBroker

PAGE = (DOCS / "connectors.md").read_text()
LIMIT_S = 240
WORKER = "moldau connect worker connect-distributed.properties"


def block(first_line: str) -> str:
    """The block of the page that starts with this comment."""
    found = re.search(rf"```\w+\n(# {re.escape(first_line)}\n.*?)```", PAGE, re.DOTALL)
    assert found is not None, first_line
    return found[1]


def shell(command: str, folder: Path, rest: str) -> str:
    """Run a command of the page; returns what it prints."""
    if command.startswith("moldau "):
        command = f"{sys.executable} -m {command} --url {rest}"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.2)


def healthy(rest: str) -> bool:
    try:
        with urllib.request.urlopen(f"{rest}/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def is_copied(path: Path) -> bool:
    return path.exists() and path.read_text() == "one\ntwo\n"


def values(bootstrap: str, topic: str) -> list[bytes | None]:
    with Consumer(bootstrap) as consumer:
        consumer.assign(dict.fromkeys(consumer.partitions_of(topic), 0))
        return [record.value for record in consumer.poll(timeout_s=1)]


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    commands = [each.text for each in page_commands(PAGE)]
    first, *others = commands
    assert first == WORKER
    assert len(others) >= 12
    rest = f"http://localhost:{free_port()}"
    with RunningBroker(tmp_path / "data") as broker:
        bootstrap = broker.bootstrap
        settings = block("connect-distributed.properties").replace("localhost:9092", bootstrap)
        (tmp_path / "connect-distributed.properties").write_text(f"{settings}listeners={rest}\n")
        (tmp_path / "counting.py").write_text(block("counting.py"))
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        with subprocess.Popen(
            [sys.executable, "-m", *WORKER.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        ) as worker:
            try:
                wait_for("the worker is healthy", lambda: healthy(rest))
                for command in others:
                    if command.startswith("moldau connect pause"):
                        wait_for("both lines are copied", lambda: is_copied(tmp_path / "out.txt"))
                    shell(command, tmp_path, rest)
                options = ["connector.class=counting.Counting", "topic=numbers", "until=250"]
                given = " ".join(f"--config {each}" for each in options)
                shell(f"moldau connect create counting {given}", tmp_path, rest)
                wait_for("250 numbers", lambda: _count(bootstrap) == 250)
                assert values(bootstrap, "numbers")[0] == b"number 0"
                worker.send_signal(signal.SIGTERM)
                assert worker.wait(timeout=LIMIT_S) == 0
            finally:
                if worker.poll() is None:
                    os.killpg(worker.pid, signal.SIGKILL)


def _count(bootstrap: str) -> int:
    try:
        return len(values(bootstrap, "numbers"))
    except Exception:
        # The topic is not there yet.
        return -1
