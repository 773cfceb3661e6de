"""The progress of a sink in its group ``connect-NAME``.

The group's offsets follow those of a target that stores its own. They also tell whether a topic is
still the one whose offsets the target has: brokers delete the offsets of a group with the topic. So
a target's offset without one of the group means that the topic was deleted (``sink_start`` refuses
it). For that the group has an offset of each partition *before* its first record is in the target.

A group without members loses offsets that are not committed for ``offsets.retention.minutes``. The
offsets of idle partitions are therefore committed again now and then, as long as the sink runs.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Final

from moldau.client.cluster import Cluster
from moldau.client.connection import ConnectionFailed
from moldau.client.group_admin import GroupAdmin
from moldau.connect.engine.failures import Stopping
from moldau.errors import ApiError
from moldau.ids import TopicPartition

_log = logging.getLogger(__name__)

_RENEWAL_S: Final = 900.0


class SinkProgress:
    """The offsets of one group, as read at the start and committed since. Thread-safe."""

    def __init__(self, cluster: Cluster, group_id: str, stopping: threading.Event) -> None:
        """Nothing is committed once ``stopping`` is set."""
        self._cluster = cluster
        self._groups = GroupAdmin(cluster)
        self._group_id = group_id
        self._stopping = stopping
        self._lock = threading.Lock()
        self._committed: dict[TopicPartition, int] = {}
        self._renewed_s = time.monotonic()

    def read(self) -> dict[TopicPartition, int]:
        """What the group has."""
        found = self._groups.offsets(self._group_id)
        return {partition: each.offset for partition, each in found.items()}

    def begin(self, committed: Mapping[TopicPartition, int]) -> None:
        """The group has these offsets of partitions that are read."""
        self._committed = dict(committed)

    def new(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those of which the group has no offset."""
        return [each for each in partitions if each not in self._committed]

    def announce(self, partitions: Iterable[TopicPartition]) -> None:
        """Before the first record of a new partition is written: it is read from its beginning."""
        new = dict.fromkeys(self.new(partitions), 0)
        if new:
            self.commit(new)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Raises Stopping if the connector is to stop, also while the brokers are away."""

        def alter() -> None:
            if self._stopping.is_set():
                raise Stopping(f"group {self._group_id}: its connector is being stopped")
            self._groups.alter_offsets(self._group_id, offsets)

        with self._lock:
            self._cluster.retrying(alter)
            self._committed.update(offsets)

    def renew(self, now_s: float) -> None:
        """Commit again, if it is time, so that nothing expires. An error is only logged."""
        if now_s - self._renewed_s < _RENEWAL_S:
            return
        self._renewed_s = now_s
        # A batch that is being committed renews them too.
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._committed and not self._stopping.is_set():
                self._groups.alter_offsets(self._group_id, self._committed)
        except (ApiError, ConnectionFailed) as error:
            _log.warning("group %s: offsets are not renewed: %s", self._group_id, error)
        finally:
            self._lock.release()
