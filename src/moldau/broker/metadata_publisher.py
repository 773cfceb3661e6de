"""Turns committed metadata records into images, and tells listeners about each change.

Every node has one. A broker or a standby controller reads the records from its log; the active
controller has replayed its own records already when it decided, and passes on the results
(``expect``), so that nothing is replayed twice.

Rules this module keeps:

* Only what is committed is published: an image never has to be taken back.
* Listeners are called in the order of the log, each time with an image and the delta that led
  to it, also if the image came from a snapshot.
* Records are replayed a few at a time, and the event loop runs in between: neither a client nor
  an election waits for a long log.
* An image is replaced only if something in it changed. ``offset`` is how far the log is
  replayed; NoOpRecords and control records move only that.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from moldau.broker.background import take_some
from moldau.broker.metadata_snapshot import ControlState, metadata_records
from moldau.broker.quorum_listener import QuorumListener
from moldau.broker.quorum_store import QuorumStore
from moldau.metadata.delta import MetadataDelta, MetadataError
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.image_diff import delta_between
from moldau.metadata.loader import MetadataLoader
from moldau.protocol.message import Message
from moldau.protocol.primitives import MalformedMessage
from moldau.raft.log_view import SnapshotId
from moldau.record.header import BatchHeader, CorruptBatch
from moldau.record.records import decode_records

logger = logging.getLogger(__name__)

# A turn of the loop takes ``STEPS_PER_TURN`` steps: a few milliseconds.
_RECORDS_PER_STEP: Final = 5

MetadataListener = Callable[[MetadataImage, MetadataDelta], None]


class OwnChange(NamedTuple):
    """One batch that this node has written as the active controller, and what it changes."""

    image: MetadataImage
    delta: MetadataDelta
    # The transaction that is open after the batch; -1 if there is none.
    transaction_offset: int


class MetadataPublisher(QuorumListener):
    """The committed metadata of one node. To be used on one event loop."""

    def __init__(
        self, store: QuorumStore, on_failure: Callable[[BaseException], None] | None = None
    ) -> None:
        """``on_failure`` is called if a committed record cannot be replayed."""
        self._store = store
        self._when_failed = on_failure
        self._listeners: list[MetadataListener] = []
        self._when_advanced: list[Callable[[], None]] = []
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []
        self.image = EMPTY_IMAGE
        # The last image that was built, even if it differs from ``image`` only in its offset.
        self._last = EMPTY_IMAGE
        # Everything before this offset is replayed and published.
        self.next_offset = 0
        self._high_watermark = 0
        self._loader = MetadataLoader()
        self._snapshot: SnapshotId | None = None
        self._is_replaying = False
        # Set while this node is the active controller.
        self._own: deque[OwnChange] | None = None
        # Where the metadata transaction began that is open at ``offset``; -1 if there is none. The
        # loader may be past its end already, and the image is not: a snapshot of it would have
        # the end of the transaction after it, and not the records before.
        self.transaction_offset = -1
        self._failure: BaseException | None = None

    @property
    def offset(self) -> int:
        """The offset of the last record that is replayed and published; -1 before the first."""
        return self.next_offset - 1

    @property
    def latest(self) -> MetadataImage:
        """The image, with the offset, epoch and time of the last batch of metadata records."""
        return self.image._replace(
            offset=self._last.offset, epoch=self._last.epoch, timestamp_ms=self._last.timestamp_ms
        )

    def add_listener(self, listener: MetadataListener) -> None:
        """Call ``listener(image, delta)`` for every change from now on, in order."""
        self._listeners.append(listener)

    def when_advanced(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after every advance of ``offset``, when the listeners are done."""
        self._when_advanced.append(callback)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Return when ``condition`` holds; it is checked whenever more is published.

        Raises:
            MetadataError: a committed record cannot be replayed.
        """
        while not condition():
            if self._failure is not None:
                raise self._failure
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((condition, turn))
            await turn

    # What the quorum reports

    def on_snapshot(self, snapshot: SnapshotId) -> None:
        """The log now continues ``snapshot``: load it if it is ahead of the image."""
        if snapshot.end_offset > self.next_offset:
            self._snapshot = snapshot
            self._go_on()

    def on_committed(self, high_watermark: int) -> None:
        """Everything before ``high_watermark`` is committed: publish it."""
        self._high_watermark = max(high_watermark, self._high_watermark)
        if self._own is None:
            self._go_on()
        else:
            self._publish_own(self._own)

    def on_failure(self, error: BaseException) -> None:
        """Nothing will be published any more: ``error`` goes to all who wait."""
        self._failure = self._failure or error
        self._wake()

    # Replaying the log

    def _go_on(self) -> None:
        """Replay what is new, unless that is under way."""
        if not self._is_replaying and self._own is None and self._failure is None:
            self._is_replaying = True
            self._advance(self._replay_all())

    def _advance(self, steps: Iterator[None]) -> None:
        try:
            is_over = take_some(steps)
        except Exception as error:
            self._is_replaying = False
            logger.critical("the metadata cannot be replayed: %s", error)
            self.on_failure(error)
            if self._when_failed is not None:
                self._when_failed(error)
            return
        if is_over:
            self._is_replaying = False
        else:
            asyncio.get_running_loop().call_soon(self._advance, steps)

    def _replay_all(self) -> Iterator[None]:
        # Each round has a fixed end: a log that keeps growing must not delay the next image.
        while self._own is None and (
            self._snapshot is not None or self.next_offset < self._high_watermark
        ):
            if self._snapshot is not None:
                yield from self._replay_snapshot(self._snapshot)
            else:
                yield from self._replay_log(self._high_watermark)

    def _replay_snapshot(self, snapshot: SnapshotId) -> Iterator[None]:
        control = ControlState()
        loader = MetadataLoader()
        for records in self._store.snapshots.batches(snapshot, control):
            yield from _add(loader, 0, snapshot.epoch, -1, records)
        loader.add_offsets(snapshot.end_offset - 1, snapshot.epoch, control.last_log_timestamp_ms)
        if self._snapshot == snapshot:
            self._snapshot = None
        image, _ = loader.take()
        self._loader = loader
        self.transaction_offset = loader.transaction_offset
        self._publish(image, delta_between(self.image, image), snapshot.end_offset)

    def _replay_log(self, end_offset: int) -> Iterator[None]:
        loader = self._loader
        for header, data in self._store.batches(self.next_offset, end_offset):
            try:
                yield from _replay_batch(loader, header, data)
            except (MetadataError, MalformedMessage, CorruptBatch) as error:
                raise self._store.unreadable(header.base_offset, str(error)) from error
            if self._snapshot is not None:
                # It replaces the rest, and the log may be gone.
                return
        image, delta = loader.take()
        self.transaction_offset = loader.transaction_offset
        self._publish(image, delta, end_offset)

    # Leading

    def lead(self) -> MetadataImage:
        """This node is the active controller from now on: returns the image it starts with."""
        assert self._own is None
        assert self._snapshot is None, "not everything before the epoch is replayed"
        self._own = deque()
        return self.latest

    def expect(self, change: OwnChange) -> None:
        """The active controller wrote a batch: publish the change when it is committed."""
        assert self._own is not None
        self._own.append(change)

    def follow(self) -> None:
        """This node no longer leads: forget what is not committed, and read from the log."""
        if self._own is None:
            return
        latest = self.latest
        self._own = None
        self._loader = MetadataLoader(latest)
        if self.transaction_offset >= 0:
            # The records of the open transaction are not in the image: read them again.
            self.next_offset = self.transaction_offset
        self._go_on()

    def _publish_own(self, own: deque[OwnChange]) -> None:
        while own and own[0].image.offset < self._high_watermark:
            change = own.popleft()
            self.transaction_offset = change.transaction_offset
            self._publish(change.image, change.delta, change.image.offset + 1)
            if self._own is not own:
                return
        if self.next_offset < self._high_watermark:
            # What is not the controller's are control records of the quorum.
            self._advanced(self._high_watermark)

    # Publishing

    def _publish(self, image: MetadataImage, delta: MetadataDelta, next_offset: int) -> None:
        self._last = image
        if not delta.is_empty:
            self.image = image
            for listener in self._listeners:
                try:
                    listener(image, delta)
                except Exception:
                    logger.exception("a listener failed on the metadata of offset %d", image.offset)
        self._advanced(next_offset)

    def _advanced(self, next_offset: int) -> None:
        self.next_offset = next_offset
        for callback in self._when_advanced:
            callback()
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for condition, turn in waiting:
            if turn.done():
                continue
            if self._failure is not None:
                turn.set_exception(self._failure)
            elif condition():
                turn.set_result(None)
            else:
                self._waiting.append((condition, turn))


def _replay_batch(loader: MetadataLoader, header: BatchHeader, data: bytes) -> Iterator[None]:
    epoch, timestamp_ms = header.partition_leader_epoch, header.max_timestamp
    if header.is_control:
        loader.add_offsets(header.last_offset, epoch, timestamp_ms)
        yield
        return
    batch = decode_records(data)
    for first in range(0, len(batch), _RECORDS_PER_STEP):
        some = metadata_records(batch[first : first + _RECORDS_PER_STEP])
        loader.add_batch(header.base_offset + first, epoch, timestamp_ms, some)
        yield


def _add(
    loader: MetadataLoader, offset: int, epoch: int, timestamp_ms: int, records: list[Message]
) -> Iterator[None]:
    for first in range(0, len(records), _RECORDS_PER_STEP):
        some = records[first : first + _RECORDS_PER_STEP]
        loader.add_batch(offset + first, epoch, timestamp_ms, some)
        yield
