"""What the nodes of a running cluster do: their memory and CPU time, and what they lead.

The metadata is asked for by a thread, because a broker that is paused does not answer, and the keys
of the terminal must work meanwhile.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from moldau.client.admin import Admin
from moldau.client.cluster import TopicMetadata

_REQUEST_TIMEOUT_S: Final = 2.0
_INTERVAL_S: Final = 1.0
# A cluster with many partitions is asked less often, so that asking costs little.
_MAX_SHARE: Final = 0.05


class Leaderships(NamedTuple):
    """The active controller, and for each node how many partitions it leads."""

    controller_id: int | None
    leaders: Mapping[int, int]
    # Partitions by their leader, of which some replicas are not in the ISR.
    under_replicated: Mapping[int, int]
    offline: int


class ProcessUsage(NamedTuple):
    """Memory, and the share of one CPU since the sample before."""

    rss_bytes: int
    cpu: float | None


def leaderships(controller_id: int | None, topics: Sequence[TopicMetadata]) -> Leaderships:
    """Count the partitions of each leader."""
    leaders: dict[int, int] = {}
    under: dict[int, int] = {}
    offline = 0
    for topic in topics:
        for partition in topic.partitions:
            if partition.leader < 0:
                offline += 1
                continue
            leaders[partition.leader] = leaders.get(partition.leader, 0) + 1
            if len(partition.isr) < len(partition.replicas):
                under[partition.leader] = under.get(partition.leader, 0) + 1
    return Leaderships(controller_id, leaders, under, offline)


def ask(bootstrap: str, timeout_s: float = _REQUEST_TIMEOUT_S) -> Leaderships:
    """Ask the brokers in ``bootstrap``."""
    with Admin(bootstrap, timeout_s=timeout_s) as admin:
        quorum = admin.nodes.describe_quorum()
        return leaderships(quorum.leader_id, admin.list_topics(include_internal=True))


class MetadataWatch:
    """Asks again and again; ``latest`` is the last answer, None if nobody answers."""

    def __init__(self, bootstrap: Callable[[], str]) -> None:
        """``bootstrap`` names the brokers that should answer; empty if there are none."""
        self.latest: Leaderships | None = None
        self._bootstrap = bootstrap
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metadata-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            # CPU time: seconds of waiting for a broker that is paused or gone cost nothing, and
            # after them the answer is soon outdated.
            started_s = time.thread_time()
            bootstrap = self._bootstrap()
            try:
                self.latest = ask(bootstrap) if bootstrap else None
            except Exception:
                # Whatever the reason, the table shows that nothing is known.
                self.latest = None
            took_s = time.thread_time() - started_s
            self._ended.wait(max(_INTERVAL_S, took_s / _MAX_SHARE if self.latest else 0))


class ProcessWatch:
    """Reads /proc; where there is none, nothing is known."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[float, float]] = {}

    def sample(self, pid: int | None) -> ProcessUsage | None:
        if pid is None:
            return None
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return None
        # The name of the process may contain blanks; fields are counted from its end.
        fields = stat.rpartition(")")[2].split()
        used_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        now_s = time.monotonic()
        before = self._seen.get(pid)
        self._seen[pid] = (now_s, used_s)
        cpu = None
        if before is not None and now_s > before[0]:
            cpu = max(0.0, (used_s - before[1]) / (now_s - before[0]))
        return ProcessUsage(pages * os.sysconf("SC_PAGE_SIZE"), cpu)
