"""Runs the processes of a cluster in this terminal, or without one, until a signal or ``q``."""

import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from moldau.cli import terminal_keys
from moldau.cli.cluster_directory import ClusterDirectory, describe
from moldau.cli.cluster_layout import ClusterNode, bootstrap_servers
from moldau.cli.cluster_ports import ReservedPorts
from moldau.cli.cluster_processes import STARTING, ClusterProcesses
from moldau.cli.cluster_view import NodeRow, screen_lines
from moldau.cli.cluster_watch import MetadataWatch, ProcessUsage, ProcessWatch
from moldau.cli.errors import CommandError
from moldau.cli.output import plural

_REDRAW_S: Final = 0.5
_USAGE_S: Final = 2.0
_TICK_S: Final = 0.1


class StopSignals:
    """Counts the signals that ask to stop; the second one asks to hurry."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def is_stopping(self) -> bool:
        return self.count > 0

    @property
    def is_urgent(self) -> bool:
        return self.count > 1

    @contextmanager
    def caught(self) -> Iterator[None]:
        before = {}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A command started by nohup ignores SIGHUP, and goes on doing so.
            if signal.getsignal(number) is not signal.SIG_IGN or number is signal.SIGINT:
                before[number] = signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A closed terminal may say so more than once; only Ctrl-C and SIGTERM can hurry.
        self.count = max(self.count, 1) if number == signal.SIGHUP else self.count + 1


class ClusterRun:
    """One run of a cluster, from its start to its stop."""

    def __init__(
        self,
        directory: ClusterDirectory,
        nodes: list[ClusterNode],
        ports: ReservedPorts,
        add_node: Callable[[], ClusterNode],
        *,
        is_json: bool,
    ) -> None:
        self._directory = directory
        self._ports = ports
        self._add_node = add_node
        self._is_json = is_json
        self._signals = StopSignals()
        self._processes = ClusterProcesses(nodes)
        is_shown = sys.stdout.isatty() and not terminal_keys.is_in_background()
        self._has_table = is_shown and not is_json
        self._message = ""
        self._selected = 0
        self._restarting: list[int] = []
        self._seen_states: dict[int, str] = {}
        self._wants_stop = False

    def run(self) -> int:
        """Start the nodes, serve, stop them; returns the exit code."""
        with self._signals.caught():
            started_s = time.monotonic()
            if self._has_table:
                nodes = plural(len(self._processes.nodes), "node")
                print(f"moldau cluster: starting {nodes} ...", flush=True)
            # Who looks or stops now must know whom to ask.
            self._directory.write_running(
                self._nodes(), {}, dict.fromkeys(self._processes.nodes, STARTING)
            )
            try:
                self._processes.start(lambda: self._signals.is_stopping)
            except BaseException:
                self._directory.remove_running()
                raise
            try:
                if not self._signals.is_stopping:
                    self._directory.all_have_started()
                    self._tell_ready(time.monotonic() - started_s)
                    self._serve()
            finally:
                self._stop()
        return 1 if self._has_failed() else 0

    # -- serving

    def _serve(self) -> None:
        if not self._has_table:
            while not self._is_over():
                self._tick()
                time.sleep(_TICK_S)
            return
        watch = MetadataWatch(self._answering)
        watch.start()
        try:
            if terminal_keys.can_read_keys():
                with terminal_keys.single_keys() as descriptor:
                    self._show(watch, descriptor)
            else:
                self._show(watch, None)
        finally:
            watch.stop()

    def _show(self, watch: MetadataWatch, keys: int | None) -> None:
        from moldau.streams.progress_view import LiveLines

        screen = LiveLines(sys.stdout)
        usage = ProcessWatch()
        samples: dict[int, ProcessUsage | None] = {}
        next_usage_s = next_draw_s = 0.0
        while not self._is_over():
            now_s = time.monotonic()
            if now_s >= next_usage_s:
                next_usage_s = now_s + _USAGE_S
                samples = {pid: usage.sample(pid) for pid in self._processes.pids.values() if pid}
            if now_s >= next_draw_s:
                next_draw_s = now_s + _REDRAW_S
                screen.show(self._lines(watch, samples, has_keys=keys is not None))
            self._tick()
            if keys is None:
                time.sleep(_TICK_S)
                continue
            for key in terminal_keys.read_keys(keys, _TICK_S):
                self._press(key)
                next_draw_s = 0.0
        self._message = "stopping (Ctrl-C kills instead) ..."
        screen.show(self._lines(watch, samples, has_keys=False))

    def _lines(
        self, watch: MetadataWatch, samples: dict[int, ProcessUsage | None], *, has_keys: bool
    ) -> list[str]:
        rows = [
            NodeRow(each.node, each.state, each.pid, samples.get(each.pid or 0))
            for each in self._processes.nodes.values()
        ]
        return screen_lines(
            bootstrap_servers([each.node for each in self._processes.nodes.values()]),
            rows,
            watch.latest,
            selected=self._selected if has_keys else None,
            message=self._message,
            width=shutil.get_terminal_size().columns,
        )

    def _answering(self) -> str:
        """The brokers that can be expected to answer."""
        return bootstrap_servers(
            [
                each.node
                for each in list(self._processes.nodes.values())
                if each.is_ready and each.is_running and not each.is_paused
            ]
        )

    def _is_over(self) -> bool:
        if self._wants_stop or self._signals.is_stopping:
            return True
        # Without keys nobody can start a node again.
        return not self._has_table and not any(self._processes.pids.values())

    def _tick(self) -> None:
        """Continue restarts, and notice what has become of the processes."""
        for node_id in list(self._restarting):
            process = self._processes.nodes[node_id]
            if not process.is_running:
                self._restarting.remove(node_id)
                process.start()
        states = {}
        for node_id, process in self._processes.nodes.items():
            process.check_ready()
            states[node_id] = state = process.state
            if state.startswith("failed") and self._seen_states.get(node_id) != state:
                log = process.node.log_path
                self._say(f"node {node_id} {state}: {process.failure()} (its log is {log})")
        if states != self._seen_states:
            self._seen_states = states
            self._directory.write_running(self._nodes(), self._processes.pids, states)

    def _say(self, text: str) -> None:
        self._message = text
        if not self._has_table:
            print(f"moldau cluster: {text}", file=sys.stderr, flush=True)

    # -- keys

    def _press(self, key: str) -> None:
        ids = list(self._processes.nodes)
        if key == terminal_keys.UP:
            self._selected = max(0, self._selected - 1)
        elif key == terminal_keys.DOWN:
            self._selected = min(len(ids) - 1, self._selected + 1)
        elif key.isdigit() and 0 < int(key) <= len(ids):
            self._selected = int(key) - 1
        elif key == "q":
            self._wants_stop = True
        elif key == "a":
            self._add()
        elif key in ("k", "p", "r"):
            self._act(key, ids[self._selected])

    def _act(self, key: str, node_id: int) -> None:
        process = self._processes.nodes[node_id]
        if key == "r":
            process.terminate()
            self._restarting.append(node_id)
            self._message = f"restarting node {node_id}"
        elif not process.is_running:
            self._message = f"node {node_id} is not running; r starts it"
        elif key == "k":
            process.kill()
            self._message = f"killed node {node_id} (SIGKILL); r starts it again"
        elif process.is_paused:
            process.resume()
            self._message = f"resumed node {node_id}"
        else:
            process.pause()
            self._message = f"paused node {node_id} (SIGSTOP); p resumes it"

    def _add(self) -> None:
        try:
            node = self._add_node()
            self._ports.reserve(node)
            self._directory.format([node])
        except CommandError as error:
            self._message = str(error)
            return
        self._processes.add(node).start()
        self._message = (
            f"node {node.node_id} joins; 'moldau partitions reassign' moves partitions to it"
        )

    # -- beginning and end

    def _tell_ready(self, took_s: float) -> None:
        nodes = self._nodes()
        document = describe(nodes, self._processes.pids, cluster_id=self._directory.cluster_id)
        self._tick()
        bootstrap = document["bootstrap_servers"]
        if self._is_json:
            print(json.dumps({**document, "ready_ms": round(took_s * 1000)}), flush=True)
        elif not self._has_table:
            count = plural(sum(node.config.is_broker for node in nodes), "broker")
            print(
                f"Moldau is ready on {bootstrap}: {count} in {took_s:.1f} s, data in "
                f"{self._directory.path} (Ctrl-C stops it)",
                flush=True,
            )
        else:
            self._message = f"ready in {took_s:.1f} s, data in {self._directory.path}"

    def _stop(self) -> None:
        killed = self._processes.stop(lambda: self._signals.is_urgent)
        self._directory.remove_running()
        if killed:
            ids = ", ".join(map(str, killed))
            print(f"moldau cluster: killed node {ids}, which had not stopped", file=sys.stderr)
        elif self._has_table:
            print("stopped")

    def _has_failed(self) -> bool:
        return any(each.state.startswith("failed") for each in self._processes.nodes.values())

    def _nodes(self) -> list[ClusterNode]:
        return [each.node for each in self._processes.nodes.values()]
