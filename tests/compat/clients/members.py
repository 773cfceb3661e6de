"""Members of consumer groups, each a process of its own, so that it can be killed and paused.

A member says what happens to it, a JSON object per line: ``{"assigned": [0, 2]}`` whenever its
partitions change, ``{"records": [[partition, offset], ...]}`` for what it read, before it commits
that, and ``{"left": true}`` when it has left because its stdin was closed.
"""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.compat.clients.programs import build_go, build_java, build_node

HERE = Path(__file__).resolve().parent
PATIENCE_S = 180.0
SESSION_MS = 4000
HEARTBEAT_MS = 500

# What a broker must be told to take such short sessions, whatever the protocol.
BROKER_SETTINGS = {
    # Records that tests date back are not to go in the middle of one.
    "log.retention.ms": "-1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
    # Transactions that take too long are aborted soon.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


class Kind(NamedTuple):
    """A library and the way it takes part; prints as the name of a test."""

    library: str
    protocol: str = "classic"
    assignor: str | None = None

    def __str__(self) -> str:
        return "-".join(filter(None, self))


class Member:
    """A running member, and what it has said."""

    def __init__(self, name: str, command: Sequence[str], log_path: Path) -> None:
        self.name = name
        self.assigned: frozenset[int] = frozenset()
        self.records: list[tuple[int, int]] = []
        self.repeated: list[tuple[int, int]] = []
        self.has_left = False
        self._last: dict[int, int] = {}
        self._log_path = log_path
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def close_stdin(self) -> None:
        """Have it leave; ``wait`` waits until it has."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait(self) -> None:
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        assert self.has_left, f"{self} did not leave:\n{self.log()}"
        self.assigned = frozenset()

    def leave(self) -> None:
        self.close_stdin()
        self.wait()

    def kill(self) -> None:
        """kill -9; it says nothing to anybody."""
        self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE_S)
        self.assigned = frozenset()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        return self._log_path.read_text(errors="replace")[-2000:]

    def __str__(self) -> str:
        state = "running" if self.is_running else "ended"
        return f"{self.name} ({state}, {sorted(self.assigned)}, {len(self.records)} records)"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if "assigned" in event:
                now = frozenset(event["assigned"])
                # From here on it may read again what it read before it lost the partition.
                for gained in now - self.assigned:
                    self._last.pop(gained, None)
                self.assigned = now
            for partition, offset in event.get("records", ()):
                if offset <= self._last.get(partition, -1):
                    self.repeated.append((partition, offset))
                self._last[partition] = offset
                self.records.append((partition, offset))
            self.has_left = self.has_left or "left" in event


class MemberFactory:
    """Builds the programs once, starts members, and ends those that a test left running."""

    def __init__(self, build_dir: Path, log_dir: Path) -> None:
        self.build_dir = build_dir
        self.log_dir = log_dir
        self._commands: dict[str, list[str]] = {}
        self._started: list[Member] = []

    def start(
        self,
        kind: Kind,
        bootstrap: str,
        group: str,
        topic: str,
        *,
        assignor: str | None = None,
        instance: str | None = None,
        session_ms: int = SESSION_MS,
    ) -> Member:
        """Start a member; UnavailableError where this machine lacks what it needs."""
        options = {
            "bootstrap": bootstrap,
            "group": group,
            "topic": topic,
            "protocol": kind.protocol,
            "assignor": assignor or kind.assignor,
            "instance": instance,
            "session_ms": session_ms,
            "heartbeat_ms": HEARTBEAT_MS,
        }
        given = {name: value for name, value in options.items() if value is not None}
        command = [*self._command(kind.library), json.dumps(given)]
        number = len(self._started)
        log_path = self.log_dir / f"member-{number}-{kind}.log"
        member = Member(f"{kind} {number}", command, log_path)
        self._started.append(member)
        return member

    def end_all(self) -> None:
        for member in self._started:
            if member.is_running:
                member.resume()
                member.kill()
        self._started.clear()

    def _command(self, library: str) -> list[str]:
        if library not in self._commands:
            self._commands[library] = self._build(library)
        return self._commands[library]

    def _build(self, library: str) -> list[str]:
        if library == "java":
            command = build_java(self.build_dir, "Member")
            # Members live for seconds: compile little, and leave the memory to the others.
            return [command[0], "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *command[1:]]
        if library in ("franz-go", "sarama"):
            program = next(
                (c[0] for name, c in self._commands.items() if name in ("franz-go", "sarama")), ""
            )
            return [program or build_go(self.build_dir), "member", library]
        if library == "kafkajs":
            return build_node(self.build_dir, "member.js")
        return [sys.executable, str(HERE / "member.py"), library]


def wait_for(holds: Callable[[], bool], state: Callable[[], object]) -> None:
    """Wait until it holds; ``state`` tells how things are if it does not."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not come to hold in {PATIENCE_S} s: {state()}")
        time.sleep(0.02)


def wait_until_shared(members: Sequence[Member], partitions: int) -> None:
    """Until every partition is some member's, no partition is two members', and none has none."""

    def is_shared() -> bool:
        owned = [partition for member in members for partition in member.assigned]
        everybody = all(member.assigned for member in members)
        return everybody and sorted(owned) == list(range(partitions))

    def told() -> str:
        return "\n".join(f"{member}\n{member.log()}" for member in members)

    wait_for(is_shared, told)
