"""Writes snapshots of the metadata: after a number of bytes, after a time, and at a stop.

A snapshot stands for the log before it, which is then deleted; the node starts faster, and a node
that has fallen behind gets the snapshot instead of the records.
"""

import asyncio
import logging
from typing import Final

from moldau.broker.metadata_publisher import MetadataPublisher
from moldau.broker.quorum_store import QuorumStore
from moldau.config.broker import BrokerConfig

logger = logging.getLogger(__name__)

# If more of the log follows the last snapshot, one is written at a stop, for a faster start.
_LONG_TAIL_BYTES: Final = 1024 * 1024


class SnapshotGenerator:
    """Decides when this node writes a snapshot."""

    def __init__(
        self, config: BrokerConfig, store: QuorumStore, publisher: MetadataPublisher
    ) -> None:
        self._max_bytes = config.metadata_log_max_record_bytes_between_snapshots
        self._store = store
        self._publisher = publisher
        publisher.when_advanced(self._on_advanced)

    def _on_advanced(self) -> None:
        if self._store.bytes_since_snapshot >= self._max_bytes:
            # Not now: those who wait for a commit have priority.
            asyncio.get_running_loop().call_soon(self.maybe_snapshot)

    def maybe_snapshot(self, *, in_background: bool = True) -> None:
        """Write a snapshot if there were changes since the last, and delete what it replaces."""
        if self._publisher.transaction_offset >= 0 or self._store.bytes_since_snapshot == 0:
            return
        self._store.bytes_since_snapshot = 0
        self._store.write_snapshot(self._publisher.latest, in_background=in_background)

    def stop(self) -> None:
        """Write a snapshot if the next start would have much to replay."""
        if self._store.bytes_since_snapshot > _LONG_TAIL_BYTES:
            try:
                self.maybe_snapshot(in_background=False)
            except OSError as error:
                # The next start replays the log, as after a crash.
                logger.warning("no snapshot was written: %s", error)
