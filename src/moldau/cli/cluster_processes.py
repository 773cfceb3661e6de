"""The processes of a cluster: started together, killed, paused, stopped in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from moldau.cli.cluster_layout import ClusterNode
from moldau.cli.errors import CommandError

START_TIMEOUT_S: Final = 60.0
# A node finishes requests for at most 30 s, and flushes.
STOP_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.01
STARTING: Final = "starting"
READY: Final = "Moldau is ready on "


class NodeProcess:
    """One node of the cluster, whether its process runs or not."""

    def __init__(self, node: ClusterNode) -> None:
        self.node = node
        self.is_paused = False
        self.is_ready = False
        self._process: subprocess.Popen[bytes] | None = None
        # Why the process ended, if we ended it.
        self._ending: str | None = None
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self.is_running and self._process is not None else None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def state(self) -> str:
        if self._process is None:
            return "not started"
        code = self._process.poll()
        if code is None:
            if self.is_paused:
                return "paused"
            return self._ending or ("running" if self.is_ready else STARTING)
        if self._ending is not None:
            return {"stopping": "stopped"}.get(self._ending, self._ending)
        return f"failed ({code})"

    def start(self) -> None:
        """Start the process. It ends with this one, even if this one is killed.

        To be called by the main thread: the kernel tells children of the end of a thread.
        """
        self.is_paused = self.is_ready = False
        self._ending = None
        command = [sys.executable, "-m", "moldau", "start", str(self.node.properties_path)]
        with open(self.node.log_path, "ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*command, "--parent", str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal is for this process, which stops them in order.
                process_group=0,
            )

    def check_ready(self) -> bool:
        """Whether it has said that it is ready, in its log."""
        if not self.is_ready and self.is_running:
            self.is_ready = any(line.startswith(READY) for line in self._log_lines())
        return self.is_ready

    def kill(self) -> None:
        self._send(signal.SIGKILL, "killed")
        self._wait(STOP_TIMEOUT_S)

    def pause(self) -> None:
        if self._send(signal.SIGSTOP, None):
            self.is_paused = True

    def resume(self) -> None:
        if self._send(signal.SIGCONT, None):
            self.is_paused = False

    def terminate(self) -> None:
        """Ask it to stop; a paused one is continued for that."""
        self._send(signal.SIGTERM, "stopping")
        if self.is_paused:
            self.resume()

    def has_ended(self, timeout_s: float) -> bool:
        return self._wait(timeout_s)

    def failure(self) -> str:
        """The last thing it wrote."""
        lines = self._log_lines()
        return lines[-1].removeprefix("moldau: ") if lines else "it wrote nothing"

    def _log_lines(self) -> list[str]:
        with open(self.node.log_path, "rb") as log:
            log.seek(self._log_start)
            text = log.read().decode("utf-8", "replace")
        return [line for line in text.splitlines() if line.strip()]

    def _send(self, number: signal.Signals, ending: str | None) -> bool:
        if self._process is None or not self.is_running:
            return False
        self._ending = ending or self._ending
        self._process.send_signal(number)
        return True

    def _wait(self, timeout_s: float) -> bool:
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True


class ClusterProcesses:
    """The processes of all nodes, by node id."""

    def __init__(self, nodes: Sequence[ClusterNode]) -> None:
        self.nodes = {node.node_id: NodeProcess(node) for node in nodes}

    def add(self, node: ClusterNode) -> NodeProcess:
        added = NodeProcess(node)
        self.nodes[node.node_id] = added
        return added

    @property
    def pids(self) -> dict[int, int | None]:
        return {node_id: process.pid for node_id, process in self.nodes.items()}

    def start(self, is_cancelled: Callable[[], bool] = lambda: False) -> None:
        """Start all at the same time, and return when each is ready, or when cancelled.

        Raises:
            CommandError: one of them does not start; then none is left running.
        """
        try:
            for process in self.nodes.values():
                process.start()
            wait_until_ready(list(self.nodes.values()), is_cancelled)
        except BaseException:
            self.kill()
            raise

    def stop(self, is_urgent: Callable[[], bool] = lambda: False) -> list[int]:
        """Stop in controlled order; returns the ids of those that had to be killed.

        Brokers hand over their partitions first, while all controllers are there. Nodes that are
        also controllers come next, together: the last one would have nobody to hand over to.
        ``is_urgent`` is asked again and again; once it is true, the rest is killed.
        """
        killed = []
        for group in stop_order(self.nodes.values()):
            for process in group:
                process.terminate()
            deadline_s = time.monotonic() + STOP_TIMEOUT_S
            for process in group:
                while not process.has_ended(_POLL_S):
                    if is_urgent() or time.monotonic() > deadline_s:
                        process.kill()
                        killed.append(process.node.node_id)
        return killed

    def kill(self) -> None:
        for process in self.nodes.values():
            process.kill()


def stop_order(processes: Iterable[NodeProcess]) -> list[list[NodeProcess]]:
    """Groups of nodes that are stopped together: brokers, then combined nodes, then controllers."""
    groups: list[list[NodeProcess]] = [[], [], []]
    for process in processes:
        config = process.node.config
        groups[config.is_controller + (not config.is_broker)].append(process)
    return [group for group in groups if group]


def wait_until_ready(
    processes: Sequence[NodeProcess], is_cancelled: Callable[[], bool] = lambda: False
) -> None:
    """Return when all are ready, or when cancelled. Raises CommandError if one fails."""
    deadline_s = time.monotonic() + START_TIMEOUT_S
    waiting = list(processes)
    while waiting and not is_cancelled():
        waiting = [process for process in waiting if not process.check_ready()]
        for process in waiting:
            name = f"node {process.node.node_id}"
            where = f"its log is {process.node.log_path}"
            if not process.is_running:
                raise CommandError(f"{name} did not start: {process.failure()} ({where})")
            if time.monotonic() > deadline_s:
                raise CommandError(f"{name} is not ready after {START_TIMEOUT_S:g} s ({where})")
        time.sleep(_POLL_S)
