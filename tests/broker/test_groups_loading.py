"""Loading ``__consumer_offsets``, with everything that other brokers may have written there."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from moldau.broker.coordinator_loading import CHUNK_RECORDS
from moldau.broker.group_loading import GroupLoader
from moldau.clock import ManualClock
from moldau.coordinator.outcome import CoordinatorRecord
from moldau.errors import ErrorCode
from moldau.group_coordinator.records import (
    encode_record,
    offset_commit_record,
    offset_tombstone,
)
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.records.group_coordinator import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.records import BatchBuilder
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.log.verification import NOT_REQUIRED
from tests.broker.grouping import fetch_request
from tests.broker.simulated import SimulatedBroker
from tests.broker.transactional import MARKERS_VERSION, errors_of, markers

NOW_MS = 1_700_000_000_000
Append = Callable[[bytes], Any]


def offsets_batch(offsets: dict[str, int | None], **fields: Any) -> bytes:
    """Commits of group ``g`` for partition 0 of the topics; None deletes the offset."""
    batch = BatchBuilder(**fields)
    for topic, offset in offsets.items():
        record = offset_tombstone("g", topic, 0)
        if offset is not None:
            record = offset_commit_record(
                "g",
                topic,
                0,
                offset=offset,
                leader_epoch=-1,
                metadata="",
                commit_timestamp_ms=NOW_MS,
            )
        batch.append(NOW_MS, *encode_record(record))
    return batch.build()


def transaction(producer_id: int, offsets: dict[str, int | None]) -> bytes:
    return offsets_batch(
        offsets,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )


def marker(producer_id: int, kind: ControlType) -> bytes:
    return end_txn_batch(kind, 0, producer_id, 0, NOW_MS)


def loaded_from(
    write: Callable[[Append], None],
    *,
    stable: bool = False,
    damage: Callable[[SimulatedDisk, str], None] | None = None,
    tail: Callable[[PartitionLog], None] | None = None,
    ends: Sequence[tuple[int, bool]] = (),
) -> Any:
    """The state of group ``g`` after a broker has loaded the log that ``write`` wrote.

    ``tail`` may change the end of the log, and ``damage`` corrupt its file. ``ends`` are the
    producers whose transactions end after the log was loaded, and whether they commit.
    """

    async def scenario() -> Any:
        disk, clock = SimulatedDisk(seed=1), ManualClock(NOW_MS)
        first = SimulatedBroker(disk, clock)
        await first.node.start()
        await first.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
        broker = first.node.broker
        partition = broker.replicas.partition(OFFSETS_TOPIC, broker.groups.partition_for("g"))
        write(
            lambda data: partition.append(
                data, -1, NOW_MS, AppendOrigin.COORDINATOR, guard=NOT_REQUIRED
            )
        )
        if tail is not None:
            tail(partition.log)
        path = partition.log.segments.first.log.path
        await first.node.stop()
        if damage is not None:
            damage(disk, path)

        second = SimulatedBroker(disk, clock)
        await second.node.start()
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        request = fetch_request("g", "a", [0])
        if not stable:
            request.groups[0].topics = None
        request.require_stable = stable
        group: Any = None
        while group is None or group.error_code == loading:
            await asyncio.sleep(0)
            (group,) = (await second.send(request, 9)).groups
        for producer_id, is_commit in ends:
            topics = {OFFSETS_TOPIC: [partition.topic_partition.partition]}
            end = markers(producer_id, topics, is_commit=is_commit)
            assert set(errors_of(await second.send(end, MARKERS_VERSION)).values()) == {0}
        if ends:
            (group,) = (await second.send(request, 9)).groups
        await second.node.stop()
        return group

    return asyncio.run(scenario())


def offsets_of(group: Any) -> dict[str, int]:
    assert group.error_code == 0, ErrorCode(group.error_code).name
    return {topic.name: topic.partitions[0].committed_offset for topic in group.topics}


def test_the_last_commit_counts() -> None:
    def write(append: Append) -> None:
        for number in range(2000):
            append(offsets_batch({"a": number, "b": 2 * number}))

    assert offsets_of(loaded_from(write)) == {"a": 1999, "b": 3998}


def test_what_was_taken_back_is_gone_unless_it_came_again() -> None:
    def write(append: Append) -> None:
        append(offsets_batch({"a": 1, "b": 2}))
        append(offsets_batch({"a": None, "b": None}))
        append(offsets_batch({"b": 3}))

    assert offsets_of(loaded_from(write)) == {"b": 3}


@pytest.mark.parametrize(
    ("kind", "expected"), [(ControlType.COMMIT, {"a": 5}), (ControlType.ABORT, {"a": 1})]
)
def test_offsets_of_a_transaction_count_if_it_was_committed(
    kind: ControlType, expected: dict[str, int]
) -> None:
    def write(append: Append) -> None:
        append(offsets_batch({"a": 1}))
        append(transaction(7, {"a": 5}))
        append(marker(7, kind))

    assert offsets_of(loaded_from(write)) == expected


def test_an_open_transaction_makes_an_offset_unstable() -> None:
    def write(append: Append) -> None:
        append(offsets_batch({"a": 1}))
        append(transaction(7, {"a": 5}))

    assert offsets_of(loaded_from(write)) == {"a": 1}
    group = loaded_from(write, stable=True)
    assert group.topics[0].partitions[0].error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


COMMIT, ABORT = ControlType.COMMIT, ControlType.ABORT


def test_a_plain_commit_that_came_later_outlasts_the_marker() -> None:
    def write(append: Append) -> None:
        append(transaction(7, {"a": 5}))
        append(offsets_batch({"a": 9}))
        append(marker(7, COMMIT))

    assert offsets_of(loaded_from(write)) == {"a": 9}


def test_a_tombstone_that_came_later_takes_the_pending_offset_along() -> None:
    def write(append: Append) -> None:
        append(offsets_batch({"a": 1, "b": 1}))
        append(transaction(7, {"a": 5}))
        append(offsets_batch({"a": None}))
        append(marker(7, COMMIT))

    assert offsets_of(loaded_from(write)) == {"b": 1}


def test_of_two_transactions_the_later_record_counts_not_the_later_marker() -> None:
    def write(append: Append) -> None:
        append(transaction(7, {"a": 5}))
        append(transaction(8, {"a": 6}))
        append(marker(8, COMMIT))
        append(marker(7, COMMIT))

    assert offsets_of(loaded_from(write)) == {"a": 6}


def test_of_one_transaction_the_last_offset_counts() -> None:
    def write(append: Append) -> None:
        append(transaction(7, {"a": 5}))
        append(transaction(7, {"a": 6}))
        append(marker(7, COMMIT))

    assert offsets_of(loaded_from(write)) == {"a": 6}


@pytest.mark.parametrize(("plain_first", "expected"), [(True, 5), (False, 9)])
def test_the_order_is_kept_for_transactions_that_end_after_the_load(
    plain_first: bool, expected: int
) -> None:
    def write(append: Append) -> None:
        if plain_first:
            append(offsets_batch({"a": 9}))
        append(transaction(7, {"a": 5}))
        if not plain_first:
            append(offsets_batch({"a": 9}))

    assert offsets_of(loaded_from(write)) == {"a": 9}
    assert offsets_of(loaded_from(write, ends=[(7, True)])) == {"a": expected}
    assert offsets_of(loaded_from(write, ends=[(7, False)])) == {"a": 9}


def test_open_transactions_of_one_offset_end_in_any_order() -> None:
    def write(append: Append) -> None:
        append(transaction(8, {"a": 5}))
        append(transaction(7, {"a": 6}))

    assert offsets_of(loaded_from(write, ends=[(7, True), (8, True)])) == {"a": 6}
    assert offsets_of(loaded_from(write, ends=[(8, True), (7, True)])) == {"a": 6}


def test_a_log_whose_tail_was_compacted_away_is_loaded() -> None:
    def write(append: Append) -> None:
        append(offsets_batch({"a": 1}))

    def tail(log: PartitionLog) -> None:
        log.skip_to(1000)

    assert offsets_of(loaded_from(write, tail=tail)) == {"a": 1}


def test_records_of_the_future_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    def write(append: Append) -> None:
        batch = BatchBuilder()
        batch.append(NOW_MS, b"\x7f\x00something", b"\x00\x00else")
        batch.append(NOW_MS, b"", b"no type")
        append(batch.build())
        append(offsets_batch({"a": 1}))

    assert offsets_of(loaded_from(write)) == {"a": 1}
    assert "a record of the unknown type 32512 in __consumer_offsets-" in caplog.text


def test_a_record_that_contradicts_itself_disturbs_no_other_group(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def write(append: Append) -> None:
        member = MemberMetadata(member_id="m", group_instance_id="static")
        twin = MemberMetadata(member_id="n", group_instance_id="static")
        value = GroupMetadataValue(protocol_type="consumer", members=[member, twin])
        record = CoordinatorRecord(GroupMetadataKey("strange"), value)
        batch = BatchBuilder()
        batch.append(NOW_MS, *encode_record(record))
        append(batch.build())
        append(offsets_batch({"a": 1}))

    assert offsets_of(loaded_from(write)) == {"a": 1}
    assert "cannot be replayed and is skipped: CoordinatorRecord(GroupMetadataKey(" in caplog.text


def test_a_log_that_makes_no_sense_has_no_coordinator_and_disturbs_no_other() -> None:
    def write(append: Append) -> None:
        batch = BatchBuilder()
        batch.append(NOW_MS, b"\x00\x02\x7fnonsense", b"\x00\x00else")
        append(batch.build())

    assert loaded_from(write).error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("byte", [3, 8, 16, 30, 70])
def test_of_a_damaged_log_everything_else_is_read(
    byte: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A byte of the offset, the length, the magic, the time or the records of one batch."""
    first, second = offsets_batch({"a": 1}), offsets_batch({"a": 2, "b": 2})
    many: dict[str, int | None] = {f"t{number}": number for number in range(2000)}

    def write(append: Append) -> None:
        append(first)
        append(second)
        append(offsets_batch({"c": 3}))
        append(offsets_batch(many))
        append(offsets_batch({"d": 4}))

    def damage(disk: SimulatedDisk, path: str) -> None:
        position = disk.read_bytes(path).index(second[61:]) - 61 + byte
        flipped = disk.read_bytes(path)[position] ^ 0x40
        disk.damage(path, position, bytes([flipped]))

    found = offsets_of(loaded_from(write, damage=damage))
    assert found == {"a": 1, "c": 3, **many, "d": 4}
    assert "are damaged and skipped" in caplog.text


def test_very_many_pending_offsets_are_loaded_in_several_turns_and_freed() -> None:
    """Others are served in between; and the shard keeps its loader, but not what that has read."""
    many = 3 * CHUNK_RECORDS

    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(seed=1), ManualClock(NOW_MS))
        await broker.node.start()
        await broker.send(FindCoordinatorRequest(coordinator_keys=["g"]), 6)
        groups = broker.node.broker.groups
        partition = broker.node.broker.replicas.partition(OFFSETS_TOPIC, groups.partition_for("g"))
        for producer_id in range(2):
            offsets: dict[str, int | None] = {f"{producer_id}-{i}": i for i in range(many)}
            data = transaction(producer_id, offsets)
            origin = AppendOrigin.COORDINATOR
            partition.append(data, -1, NOW_MS, origin, guard=NOT_REQUIRED)
            partition.append(offsets_batch({"0-0": 5}), -1, NOW_MS, origin)
        shard = CountingShard()
        loader = GroupLoader(partition, shard, 1 << 20)  # type: ignore[arg-type]
        loading = asyncio.create_task(loader.load())
        most = 0
        while not loading.done():
            before = shard.replayed
            await asyncio.sleep(0)
            most = max(most, shard.replayed - before)
        assert shard.replayed == 2 * many + 1
        assert 0 < most <= CHUNK_RECORDS
        assert (loader._offsets, loader._open_transactions) == ({}, {})
        await broker.node.stop()

    asyncio.run(scenario())


class CountingShard:
    replayed = 0

    def replay(self, *record: object) -> None:
        self.replayed += 1
