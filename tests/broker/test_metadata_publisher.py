"""Committed records become images, in order and a few at a time; nothing else does."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from moldau.broker.first_start import format_if_empty
from moldau.broker.metadata_publisher import MetadataPublisher, OwnChange
from moldau.broker.metadata_snapshot import batches_of
from moldau.broker.quorum_store import QuorumStore
from moldau.broker.snapshot_generator import SnapshotGenerator
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.metadata.delta import MetadataDelta, MetadataError, apply
from moldau.metadata.framing import encode_record
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
    TopicRecord,
)
from moldau.raft.log_view import SnapshotId
from moldau.record.control import control_batch
from moldau.simulator.disk import SimulatedDisk

EPOCH = 3


class Publishing:
    """A log, the publisher that reads it, and what its listeners were told."""

    def __init__(self, disk: SimulatedDisk | None = None) -> None:
        self.disk = disk = disk or SimulatedDisk()
        config = BrokerConfig.from_properties({"log.dirs": "/data"})
        format_if_empty(config, disk, random.Random(1))
        self.store = QuorumStore(config, disk, ManualClock(), random.Random(1), None)
        self.store.open()
        self.config = config
        self.failures: list[BaseException] = []
        self.publisher = MetadataPublisher(self.store, self.failures.append)
        self.seen: list[tuple[MetadataImage, MetadataDelta]] = []
        self.publisher.add_listener(lambda image, delta: self.seen.append((image, delta)))

    @property
    def end_offset(self) -> int:
        return self.store.log.log_end_offset

    def write(self, *records: Message, epoch: int = EPOCH) -> int:
        """Append one batch; returns the end of the log."""
        values = [encode_record(record, 30) for record in records]
        [(batch, _)] = batches_of(
            values, base_offset=self.end_offset, epoch=epoch, timestamp_ms=1000, max_records=10_000
        )
        self.store.append(batch)
        return self.end_offset

    def commit(self) -> None:
        self.publisher.on_committed(self.end_offset)

    @property
    def producer_ids(self) -> list[int]:
        return [image.next_producer_id for image, _ in self.seen]


def ids(number: int) -> ProducerIdsRecord:
    return ProducerIdsRecord(next_producer_id=number)


def topics(count: int) -> Sequence[Message]:
    return [
        TopicRecord(name=f"topic-{number}", topic_id=number.to_bytes(16, "big"))
        for number in range(1, count + 1)
    ]


def run(body: Callable[[Publishing], Awaitable[object]]) -> Publishing:
    async def live() -> Publishing:
        publishing = Publishing()
        await asyncio.wait_for(body(publishing), 120)
        return publishing

    return asyncio.run(live())


def test_what_is_on_disk_is_published_only_when_it_is_committed() -> None:
    async def body(it: Publishing) -> None:
        first = it.write(ids(1000))
        it.write(ids(2000))
        assert it.seen == []
        it.publisher.on_committed(first)
        assert it.producer_ids == [1000]
        assert it.publisher.offset == 0
        it.commit()
        assert it.producer_ids == [1000, 2000]

    run(body)


def test_a_small_commit_is_published_in_the_same_turn_and_a_large_one_in_several() -> None:
    async def body(it: Publishing) -> None:
        it.write(*topics(3000))
        it.commit()
        assert it.seen == []
        turns = 0
        while it.publisher.offset < it.end_offset - 1:
            await asyncio.sleep(0)
            turns += 1
        assert turns >= 5
        # One image for all of it, with everything in its delta.
        [(image, delta)] = it.seen
        assert len(image.topics_by_name) == len(delta.created_topics) == 3000

    run(body)


def test_a_log_that_keeps_growing_does_not_hold_back_the_image() -> None:
    async def body(it: Publishing) -> None:
        it.write(*topics(600))
        it.commit()
        for number in range(1, 30):
            it.write(*[ids(number * 1000 + each) for each in range(300)])
            it.commit()
            await asyncio.sleep(0)
            if it.seen:
                break
        assert it.seen, "the commits that follow do not count for the first image"
        assert it.publisher.offset < it.end_offset - 1
        await it.publisher.wait_until(lambda: it.publisher.next_offset == it.end_offset)

    run(body)


def test_no_op_and_control_records_move_only_the_offset() -> None:
    async def body(it: Publishing) -> None:
        it.write(ids(1000))
        it.commit()
        image = it.publisher.image
        it.write(NoOpRecord(), epoch=EPOCH + 1)
        batch = control_batch(
            [(2, b"\0\0\0\0\0\0\0\0")], 2000, base_offset=it.end_offset, leader_epoch=EPOCH + 2
        )
        it.store.append(batch)
        it.commit()
        assert it.publisher.image is image
        assert len(it.seen) == 1
        assert it.publisher.offset == 2
        latest = it.publisher.latest
        assert (latest.offset, latest.epoch, latest.timestamp_ms) == (2, EPOCH + 2, 2000)
        assert latest.has_same_content(image)

    run(body)


def test_a_transaction_is_published_when_it_ends() -> None:
    async def body(it: Publishing) -> None:
        it.write(BeginTransactionRecord(name="t"), ids(1000))
        it.commit()
        assert (it.seen, it.publisher.transaction_offset) == ([], 0)
        it.write(EndTransactionRecord())
        it.commit()
        assert (it.producer_ids, it.publisher.transaction_offset) == ([1000], -1)

    run(body)


def test_a_snapshot_during_a_replay_does_not_lose_the_beginning_of_a_transaction() -> None:
    """What is replayed may be past the end of a transaction while the image is still inside it."""

    async def body(it: Publishing) -> None:
        generator = SnapshotGenerator(it.config, it.store, it.publisher)
        it.write(BeginTransactionRecord(name="t"), ids(1000))
        it.commit()
        it.write(EndTransactionRecord())
        it.write(*topics(1000))
        it.commit()
        assert it.seen == [], "the end of the transaction is replayed, but not published"
        generator.maybe_snapshot()
        await it.publisher.wait_until(lambda: it.publisher.next_offset == it.end_offset)

        it.store.close()
        after = Publishing(it.disk)
        after.publisher.on_snapshot(after.store.newest_snapshot)
        after.commit()
        await after.publisher.wait_until(lambda: after.publisher.next_offset == it.end_offset)
        assert after.publisher.image.has_same_content(it.publisher.image)

    run(body)


def test_a_record_that_contradicts_the_image_stops_publishing_with_its_place() -> None:
    async def body(it: Publishing) -> None:
        it.write(ids(1000))
        it.write(TopicRecord(name="a", topic_id=b"\1" * 16))
        it.write(TopicRecord(name="a", topic_id=b"\2" * 16))
        it.publisher.on_committed(1)
        waiting = asyncio.ensure_future(it.publisher.wait_until(lambda: it.publisher.offset >= 2))
        await asyncio.sleep(0)
        it.commit()
        with pytest.raises(MetadataError, match=r"offset 2 of .*exists already"):
            await waiting
        assert len(it.failures) == 1
        assert it.producer_ids == [1000]

    run(body)


def test_a_snapshot_is_published_as_a_change_of_the_image() -> None:
    async def body(it: Publishing) -> None:
        old, stays = topics(2)
        it.write(old, stays, ids(1000))
        it.commit()
        records: list[Message] = [
            FeatureLevelRecord(name="metadata.version", feature_level=30),
            stays,
            TopicRecord(name="new", topic_id=b"\7" * 16),
            ConfigRecord(resource_type=4, resource_name="", name="x", value="1"),
        ]
        image, _ = apply(EMPTY_IMAGE, records, offset=99, epoch=8, timestamp_ms=7)
        it.store.write_snapshot(image)
        it.publisher.on_snapshot(SnapshotId(100, 8))
        await it.publisher.wait_until(lambda: it.publisher.offset == 99)
        published, delta = it.seen[-1]
        assert published.has_same_content(image)
        assert (published.offset, published.epoch, published.timestamp_ms) == (99, 8, 7)
        assert [topic.name for topic in delta.deleted_topics.values()] == ["topic-1"]
        assert list(delta.created_topics.values()) == ["new"]
        assert list(delta.changed_configs) == [(4, "")]
        assert delta.base is it.seen[0][0]

    run(body)


def test_a_snapshot_behind_the_image_is_ignored() -> None:
    async def body(it: Publishing) -> None:
        it.write(ids(1000))
        it.commit()
        it.publisher.on_snapshot(SnapshotId(1, EPOCH))
        await asyncio.sleep(0)
        assert it.producer_ids == [1000]
        assert it.failures == []

    run(body)


class Leading:
    """Writes as the active controller does: replayed at once, published when committed."""

    def __init__(self, it: Publishing) -> None:
        self._it = it
        self.image = it.publisher.lead()

    def write(self, *records: Message, transaction_offset: int = -1) -> None:
        end_offset = self._it.write(*records)
        plain = [record for record in records if not isinstance(record, _MARKERS)]
        if transaction_offset >= 0:
            plain = []
        image, delta = apply(self.image, plain, end_offset - 1, EPOCH, 1000)
        self.image = image
        self._it.publisher.expect(OwnChange(image, delta, transaction_offset))


_MARKERS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


def test_own_changes_are_published_as_they_were_decided_and_not_replayed() -> None:
    async def body(it: Publishing) -> None:
        it.write(ids(1000))
        it.commit()
        leading = Leading(it)
        leading.write(ids(2000))
        assert it.producer_ids == [1000]
        it.commit()
        assert it.seen[-1][0] is leading.image

    run(body)


def test_what_was_not_committed_is_forgotten_with_the_leadership() -> None:
    async def body(it: Publishing) -> None:
        leading = Leading(it)
        leading.write(ids(1000))
        it.publisher.on_committed(1)
        leading.write(ids(2000))
        it.publisher.follow()
        # The new leader has other plans for the offset.
        it.store.log.truncate_to(1)
        it.write(ids(3000), epoch=EPOCH + 1)
        it.commit()
        assert it.producer_ids == [1000, 3000]

    run(body)


@pytest.mark.parametrize("is_aborted", [False, True])
def test_a_transaction_of_the_old_leader_can_be_ended_by_the_new_one(is_aborted: bool) -> None:
    async def body(it: Publishing) -> None:
        leading = Leading(it)
        leading.write(ids(1000))
        leading.write(BeginTransactionRecord(name="t"), ids(2000), transaction_offset=1)
        it.commit()
        it.publisher.follow()
        assert it.publisher.transaction_offset == 1
        it.write(
            AbortTransactionRecord(reason="failover") if is_aborted else EndTransactionRecord(),
            epoch=EPOCH + 1,
        )
        it.commit()
        assert it.producer_ids == ([1000] if is_aborted else [1000, 2000])

    run(body)


def test_callbacks_come_after_the_listeners() -> None:
    async def body(it: Publishing) -> None:
        told: list[Any] = []
        it.publisher.when_advanced(lambda: told.append((it.publisher.offset, len(it.seen))))
        it.write(ids(1000))
        it.commit()
        it.write(NoOpRecord())
        it.commit()
        assert told == [(0, 1), (1, 1)]

    run(body)
