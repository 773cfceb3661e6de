"""The commands of a page of the documentation, run as an operator would run them.

A page names machines (``kafka-1``, ...), ports and directories. Here each machine is an address of
the loopback interface and a directory. In a block of commands, ``# on kafka-1`` or ``# on kafka-1,
kafka-2`` says where those below it run; a block of text after it is what the last one prints.
"""

import contextlib
import io
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from tools.brokers import free_port

from moldau.cli.cluster_processes import READY
from moldau.cli.main import main
from moldau.ids import new_uuid, uuid_to_str

DOCS: Final = Path(__file__).parents[2] / "docs"
LIMIT_S: Final = 180
_BLOCK: Final = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_UNTIL: Final = re.compile(r"until (.*); do sleep 1; done")
_LOCAL: Final = ("storage", "cluster status")


class PageCommand(NamedTuple):
    """A command, the machines it runs on (none: anywhere), and what it prints if that is shown."""

    text: str
    machines: tuple[str, ...] = ()
    shown: str | None = None


def page_commands(text: str) -> list[PageCommand]:
    """The commands of all ``sh`` blocks, in order."""
    found: list[PageCommand] = []
    for kind, body in _BLOCK.findall(text):
        if kind == "text":
            found[-1] = found[-1]._replace(shown=body)
        if kind != "sh":
            continue
        machines: tuple[str, ...] = ()
        for line in body.replace("\\\n", " ").splitlines():
            if line.startswith("# on "):
                machines = tuple(re.findall(r"kafka-\d", line))
            elif line.strip() and not line.startswith("#"):
                found.append(PageCommand(line, machines))
    return found


def page_properties(text: str) -> list[str]:
    """The contents of all ``properties`` blocks, in order."""
    return [body for kind, body in _BLOCK.findall(text) if kind == "properties"]


class Machines:
    """Use as a context manager: every node that was started is killed at its end."""

    def __init__(self, directory: Path, names: Sequence[str]) -> None:
        self.directory = directory
        directory.mkdir()
        self.addresses = {name: f"127.0.0.{name[-1]}" for name in names}
        self.ports = dict(
            zip(("9092", "9093"), _free_ports(list(self.addresses.values())), strict=True)
        )
        self.bootstrap = ",".join(f"{name}:9092" for name in names[:3])
        # What a page writes in capitals, such as CLUSTER_ID.
        self.values: dict[str, str] = {}
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}

    def make_ids(self, names: Sequence[str]) -> None:
        """Choose what the page has by these names, as ``moldau storage random-uuid`` does."""
        rng = random.SystemRandom()
        self.values.update({name: uuid_to_str(new_uuid(rng)) for name in names})

    def write(self, machine: str, path: str, text: str) -> None:
        target = Path(self.local(path, machine))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.local(text, machine))

    def run(self, command: PageCommand) -> None:
        """Run it on each of its machines.

        Raises:
            AssertionError: it fails, or prints something else than the page shows.
        """
        for machine in command.machines or ("",):
            self._run(command, machine)
        if command.text.startswith("moldau start "):
            # Together: a single controller is not ready before there is a majority.
            for machine in command.machines:
                self._wait_until_ready(machine)

    def _run(self, command: PageCommand, machine: str) -> None:
        text = command.text
        waits = _UNTIL.fullmatch(text)
        expected = 1 if text.endswith("# exit code 1") else 0
        words = shlex.split(waits[1] if waits else text, comments=True)
        if words[:2] == ["moldau", "start"]:
            self._start(machine, words[2])
        elif words[0] == "kill":
            self._kill(machine, signal.SIGKILL if "-9" in words else signal.SIGTERM)
        elif words[0] == "moldau":
            limit_s = LIMIT_S if waits or command.shown else 0
            self._ask(words[1:], machine, expected, command.shown, limit_s)
        else:
            subprocess.run([self.local(word, machine) for word in words], check=True)

    def _ask(
        self, words: list[str], machine: str, expected: int, shown: str | None, limit_s: float
    ) -> None:
        arguments = [self.local(word, machine) for word in words]
        if not " ".join(words).startswith(_LOCAL):
            arguments += ["--bootstrap-server", self.local(self.bootstrap, machine)]
        deadline_s = time.monotonic() + limit_s
        while True:
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                code = main(arguments)
            printed = self._as_on_the_page(out.getvalue())
            if code == expected and (shown is None or _is_shown(shown, printed)):
                return
            if time.monotonic() > deadline_s:
                raise AssertionError(f"{' '.join(words)} on {machine}: exit code {code}\n{printed}")

    def _start(self, machine: str, properties: str) -> None:
        assert machine not in self._nodes, f"{machine} runs already"
        log_path = self.directory / machine / "node.log"
        command = [sys.executable, "-m", "moldau", "start", self.local(properties, machine)]
        with log_path.open("wb") as log:
            self._nodes[machine] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
            )

    def _wait_until_ready(self, machine: str) -> None:
        log_path = self.directory / machine / "node.log"
        deadline_s = time.monotonic() + LIMIT_S
        while not any(line.startswith(READY) for line in log_path.read_text().splitlines()):
            assert self._nodes[machine].poll() is None, log_path.read_text()
            assert time.monotonic() < deadline_s, log_path.read_text()
            os.sched_yield()

    def _kill(self, machine: str, number: signal.Signals) -> None:
        node = self._nodes.pop(machine)
        node.send_signal(number)
        code = node.wait(LIMIT_S)
        log = (self.directory / machine / "node.log").read_text()
        assert code == (0 if number is signal.SIGTERM else -number), log

    def local(self, text: str, machine: str) -> str:
        """What the page writes, with the addresses, ports and directories of this test."""
        for name, value in self.values.items():
            text = text.replace(name, value)
        for name, address in self.addresses.items():
            text = text.replace(name, address)
        for port, free in self.ports.items():
            text = text.replace(f":{port}", f":{free}")
        return re.sub(r"/(?=(etc|var|backup)/)", f"{self.directory / machine}/", text)

    def _as_on_the_page(self, text: str) -> str:
        for name, address in self.addresses.items():
            text = text.replace(address, name)
        for port, free in self.ports.items():
            text = text.replace(f":{free}", f":{port}")
        return text

    def __enter__(self) -> Self:
        for machine in self.addresses:
            (self.directory / machine / "backup").mkdir(parents=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for node in self._nodes.values():
            node.kill()
            node.wait()
        if error is None:
            shutil.rmtree(self.directory)


def _is_shown(shown: str, printed: str) -> bool:
    """Compare without the padding of columns, which depends on the length of addresses.

    If the last line of ``shown`` is ``...``, more may follow.
    """
    expected = [line.split() for line in shown.splitlines()]
    lines = [line.split() for line in printed.splitlines()]
    if expected[-1] == ["..."]:
        expected.pop()
        del lines[len(expected) :]
    return lines == expected


def _free_ports(addresses: Sequence[str]) -> list[str]:
    """Two ports that nobody uses at any of these addresses."""
    found: list[str] = []
    while len(found) < 2:
        port = free_port()
        with contextlib.ExitStack() as held:
            try:
                for address in addresses:
                    held.enter_context(socket.create_server((address, port)))
            except OSError:
                continue
        found.append(str(port))
    return found
