"""Connect workers as processes that are asked over REST: what tests and benchmarks both need."""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tools.brokers import HOST, environment_elsewhere, free_port, kafka_dir

STOP_LIMIT_S = 120.0


def plugin_jar(name: str) -> Path | None:
    """A jar of Apache Kafka that is a plugin, not one of its libraries, such as connect-file."""
    places = [
        *(kafka_dir() / "libs").glob(f"{name}-*.jar"),
        *(Path.home() / ".m2/repository/org/apache/kafka" / name).glob("4.3*/*.jar"),
    ]
    return places[0] if places else None


class WorkerProcess:
    """A worker. Use as a context manager."""

    limit_s = 240.0

    def __init__(self, log_path: Path) -> None:
        self.port = free_port()
        self.url = f"http://{HOST}:{self.port}"
        self.log_path = log_path
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None, "it is known after the start"
        return self.process.pid

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return environment_elsewhere()

    def launch(self) -> Self:
        """Start the process, and return at once."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment(),
                cwd=self.log_path.parent,
            )
        return self

    def start(self) -> Self:
        """Start the process, and return when it says that it is healthy."""
        self.launch()
        self.wait(lambda: self.status_of("GET", "/health") == 200, "healthy")
        return self

    def wait(self, condition: Callable[[], bool], what: str = "done", step_s: float = 0.1) -> None:
        """Until something is so, as long as the process lives."""
        deadline_s = time.monotonic() + self.limit_s
        while not condition():
            assert self.process is not None
            if self.process.poll() is not None:
                raise RuntimeError(f"the worker has ended:\n{self.log_tail()}")
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"not {what} within {self.limit_s:g} s:\n{self.log_tail()}")
            time.sleep(step_s)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON of an answer; status 0 if there is none."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                content = answer.read()
                return answer.status, json.loads(content) if content else None
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, None

    def status_of(self, method: str, path: str, body: Any = None) -> int:
        return self.ask(method, path, body)[0]

    def log_tail(self) -> str:
        return self.log_path.read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """As kill -9: it has no time to say anything to anyone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
