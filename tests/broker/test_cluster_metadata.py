"""The metadata log on a disk that loses unflushed data, fails and fills up."""

import asyncio
import errno
import json
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import pytest

from moldau.broker.cluster_metadata import ClusterMetadata
from moldau.broker.first_start import format_if_empty
from moldau.broker.format import FormatError
from moldau.broker.leader_change import voters_written_down
from moldau.broker.metadata_snapshot import (
    MAX_BATCH_BYTES,
    CorruptSnapshot,
    decode_snapshot,
    encode_snapshot,
    parse_snapshot_name,
)
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.controller.context import DecisionContext
from moldau.controller.outcome import decided
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.delta import MetadataDelta, MetadataError
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.records.metadata import (
    BeginTransactionRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
)
from moldau.raft.messages import FetchRequest, ReplicaKey
from moldau.raft.voters import Voter, VoterSet
from moldau.record.control import control_batch
from moldau.record.header import iter_headers
from moldau.record.records import BatchBuilder
from moldau.simulator.disk import SimulatedDisk, keep_everything, keep_nothing
from moldau.simulator.disk_faults import PowerCut
from moldau.storage.disk.checkpoint import remove_clean_shutdown, write_clean_shutdown

METADATA = "/data/__cluster_metadata-0"
LOG = f"{METADATA}/00000000000000000000.log"
CLIENTS = [Listener("PLAINTEXT", "localhost", 9092)]
CONTROLLERS = [Listener("CONTROLLER", "localhost", 9093)]


def node(**settings: str) -> BrokerConfig:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "log.dirs": "/data",
    }
    properties.update({name.replace("_", "."): value for name, value in settings.items()})
    return BrokerConfig.from_properties(properties)


class InlineExecutor:
    """Runs work immediately, and counts it."""

    def __init__(self) -> None:
        self.submitted = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any) -> Any:
        self.submitted += 1
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def open_log(
    disk: SimulatedDisk, config: BrokerConfig | None = None, executor: Any = None, seed: int = 1
) -> ClusterMetadata:
    config = config or node()
    format_if_empty(config, disk, random.Random(seed))
    log = ClusterMetadata(config, disk, ManualClock(), random.Random(seed), executor)
    log.load()
    return log


def run(
    disk: SimulatedDisk,
    body: Callable[[ClusterMetadata], Awaitable[object]],
    *,
    stop: bool = True,
    **options: Any,
) -> ClusterMetadata:
    """Start a node on ``disk``, run ``body``, and by default stop the node."""

    async def live() -> ClusterMetadata:
        log = open_log(disk, **options)
        await log.start(CONTROLLERS)
        await log.register(CLIENTS)
        remove_clean_shutdown(disk, "/data")
        await body(log)
        if stop:
            await log.leave()
            await log.stop()
            write_clean_shutdown(disk, "/data", log.lifecycle.broker_epoch)
        return log

    return asyncio.run(live())


async def nothing(log: ClusterMetadata) -> None:
    """Just start and stop."""


def topic_records(log: ClusterMetadata, name: str, partitions: int = 1) -> list[Message]:
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted])
    outcome = decided(log.runtime.controller.decide(request, 7, DecisionContext(), 0))
    assert outcome.response.topics[0].error_code == 0, outcome.response
    return outcome.records


async def create(log: ClusterMetadata, *names: str) -> None:
    for name in names:
        await log.runtime.append(topic_records(log, name))


def topics_on(disk: SimulatedDisk) -> list[str]:
    return list(image_on(disk).topics_by_name)


def image_on(disk: SimulatedDisk, config: BrokerConfig | None = None) -> MetadataImage:
    """What a node that starts on ``disk`` finds."""
    return run(disk, nothing, stop=False, config=config, seed=99).image


def test_the_first_start_leads_bootstraps_and_registers() -> None:
    disk = SimulatedDisk()
    log = run(disk, nothing, stop=False)
    image = log.image
    assert image.features == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert image.brokers[1].is_active
    assert image.brokers[1].epoch == log.lifecycle.broker_epoch == 13
    assert [point.name for point in image.brokers[1].endpoints] == ["PLAINTEXT"]
    assert [point.name for point in image.controllers[1].endpoints] == ["CONTROLLER"]
    assert image.config(4, "") == {"min.insync.replicas": "1"}
    state = json.loads(disk.read_bytes(f"{METADATA}/quorum-state"))
    assert (state["leaderId"], state["leaderEpoch"], state["data_version"]) == (1, 1, 1)
    assert disk.read_bytes(f"{METADATA}/leader-epoch-checkpoint") == b"0\n1\n1 0\n"
    metadata = disk.read_bytes(f"{METADATA}/partition.metadata")
    assert metadata == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_the_first_batches_are_those_of_apache_kafka() -> None:
    disk = SimulatedDisk()
    run(disk, nothing, stop=False)
    headers = [header for _, header in iter_headers(disk.read_bytes(LOG))]
    # Leader change with the voters; bootstrap records; controller; broker; unfenced, uncordoned.
    described = [(h.base_offset, h.record_count, h.is_control) for h in headers]
    assert described == [
        (0, 3, True),
        (3, 9, False),
        (12, 1, False),
        (13, 1, False),
        (14, 2, False),
    ]
    assert [h.size_bytes for h in headers][:2] == [174, 330]
    assert {h.partition_leader_epoch for h in headers} == {1}


def test_what_was_created_is_there_after_a_restart() -> None:
    disk = SimulatedDisk()
    run(disk, lambda log: create(log, "river", "lake"))
    log = run(disk, nothing, stop=False, seed=2)
    assert list(log.image.topics_by_name) == ["river", "lake"]
    partition = log.image.partition("river", 0)
    assert partition is not None
    # Given up at the stop, elected at the start: the leader epoch has increased by two.
    assert (partition.leader, partition.leader_epoch) == (1, 2)
    assert partition.leader_recovery_state == 0
    assert log.image.epoch == 2


def test_random_numbers_may_repeat_after_a_restart() -> None:
    disk = SimulatedDisk()
    run(disk, lambda log: create(log, "river"), stop=False)
    log = run(disk, lambda log: create(log, "lake"), stop=False)
    assert len(log.image.topics_by_id) == 2


@pytest.mark.parametrize("keep", [keep_nothing, keep_everything])
def test_an_acknowledged_change_survives_a_crash(keep: Any) -> None:
    disk = SimulatedDisk()

    async def die(log: ClusterMetadata) -> None:
        await create(log, "river")
        disk.crash(keep, lose_names=True)

    run(disk, die, stop=False)
    log = run(disk, nothing, stop=False, seed=2)
    assert list(log.image.topics_by_name) == ["river"]
    partition = log.image.partition("river", 0)
    assert partition is not None
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (1, (1,), 0)


def test_the_power_may_go_before_any_operation() -> None:
    acknowledged: list[str] = []

    async def two_topics(log: ClusterMetadata) -> None:
        for name in ("river", "lake"):
            await create(log, name)
            acknowledged.append(name)
        log.snapshots.maybe_snapshot()

    for operations in range(1000):
        disk = SimulatedDisk(seed=operations)
        disk.cut_power_after(operations)
        acknowledged.clear()
        try:
            run(disk, two_topics)
        except PowerCut:
            is_over = False
        else:
            is_over = True
        disk.crash(lose_names=True)
        log = run(disk, lambda log: create(log, "sea"), stop=False, seed=2)
        found = list(log.image.topics_by_name)
        assert found[: len(acknowledged)] == acknowledged
        assert found[-1] == "sea"
        if is_over:
            assert operations > 40
            return
    raise AssertionError("the node never got to its end")


def test_changes_of_one_turn_of_the_loop_share_a_flush() -> None:
    executor = InlineExecutor()
    counted: list[int] = []

    async def many(log: ClusterMetadata) -> None:
        before = executor.submitted
        await asyncio.gather(*(create(log, f"topic-{number}") for number in range(20)))
        counted.append(executor.submitted - before)

    log = run(SimulatedDisk(), many, stop=False, executor=executor)
    assert len(log.image.topics_by_name) == 20
    assert counted == [1]


def test_listeners_see_every_change_in_order_and_only_when_it_is_durable() -> None:
    disk = SimulatedDisk()
    seen: list[tuple[int, list[str]]] = []

    def listener(image: MetadataImage, delta: MetadataDelta) -> None:
        assert LOG not in disk.unsynced()
        assert image.offset > delta.base.offset
        seen.append((image.offset, list(delta.created_topics.values())))

    async def three(log: ClusterMetadata) -> None:
        log.publisher.add_listener(listener)
        await asyncio.gather(log.runtime.append(topic_records(log, "river")), create(log, "lake"))
        await create(log, "sea")

    run(disk, three, stop=False)
    assert [names for _, names in seen] == [["river"], ["lake"], ["sea"]]
    assert seen == sorted(seen)


def test_a_listener_that_fails_does_not_hold_up_the_others() -> None:
    seen: list[int] = []

    def bad(image: MetadataImage, delta: MetadataDelta) -> None:
        raise ValueError("no")

    async def body(log: ClusterMetadata) -> None:
        log.publisher.add_listener(bad)
        log.publisher.add_listener(lambda image, delta: seen.append(image.offset))
        await create(log, "river")

    run(SimulatedDisk(), body, stop=False)
    assert len(seen) == 1


def test_a_full_disk_refuses_a_change_and_takes_it_when_there_is_room() -> None:
    disk = SimulatedDisk()

    async def body(log: ClusterMetadata) -> None:
        records = topic_records(log, "river")
        disk.fail_next("append", LOG, errno.ENOSPC)
        with pytest.raises(ApiError) as caught:
            await log.runtime.append(records)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "river" not in log.runtime.controller.image.topics_by_name
        await create(log, "river")

    run(disk, body)
    assert topics_on(disk) == ["river"]


@pytest.mark.parametrize("executor", [None, InlineExecutor()])
def test_after_a_failed_flush_nothing_is_changed_any_more(executor: Any) -> None:
    disk = SimulatedDisk()

    async def body(log: ClusterMetadata) -> None:
        before = log.image
        disk.fail_next("fsync", LOG, errno.EIO)
        with pytest.raises(ApiError) as caught:
            await create(log, "river")
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(ApiError):
            await create(log, "lake")
        assert log.image is before

    run(disk, body, executor=executor)


def test_a_snapshot_stands_for_the_log_before_it() -> None:
    disk = SimulatedDisk()

    async def body(log: ClusterMetadata) -> None:
        await create(log, "river")
        log.snapshots.maybe_snapshot()
        log.snapshots.maybe_snapshot()

    log = run(disk, body, stop=False)
    [name] = [n for n in disk.list_dir(METADATA) if (parse_snapshot_name(n) or (0, 0))[0] > 0]
    assert parse_snapshot_name(name) == (log.image.offset + 1, 1)
    contents = decode_snapshot(disk.read_bytes(f"{METADATA}/{name}"), name)
    assert contents.voters is not None
    assert contents.kraft_version == 1
    # Only the snapshot is left, as after fetching it from another node.
    for other in disk.list_dir(METADATA):
        if other not in (name, "partition.metadata"):
            disk.remove(f"{METADATA}/{other}")
    again = run(disk, lambda log: create(log, "lake"), stop=False, seed=2)
    assert list(again.image.topics_by_name) == ["river", "lake"]
    assert again.image.epoch == 1 + 1
    assert again.lifecycle.broker_epoch > log.image.offset


def test_snapshots_come_by_size_and_old_ones_go() -> None:
    disk = SimulatedDisk()
    config = node(
        metadata_log_max_record_bytes_between_snapshots="1000",
        metadata_max_retention_bytes="10000",
        metadata_log_segment_bytes="8388608",
    )

    async def body(log: ClusterMetadata) -> None:
        for number in range(200):
            record = ConfigRecord(
                resource_type=4, resource_name="", name="x", value=f"{number}" * 60
            )
            await log.runtime.append([record])

    run(disk, body, config=config)
    names = [name for name in disk.list_dir(METADATA) if name.endswith(".checkpoint")]
    assert 1 <= len(names) <= 3
    image = image_on(disk, config)
    assert image.config(4, "")["x"] == "199" * 60


@pytest.mark.parametrize(("count", "value_size"), [(12_000, 1), (400, 30_000)])
def test_a_change_too_large_for_a_batch_is_one_transaction(count: int, value_size: int) -> None:
    disk = SimulatedDisk()
    seen: list[int] = []
    many: list[Message] = [
        ConfigRecord(resource_type=4, resource_name="", name=f"n{number}", value="v" * value_size)
        for number in range(count)
    ]

    async def body(log: ClusterMetadata) -> None:
        log.publisher.add_listener(lambda image, delta: seen.append(len(image.config(4, ""))))
        await log.runtime.append(many)

    run(disk, body, stop=False)
    assert seen == [count + 1]
    sizes = [header.size_bytes for _, header in iter_headers(disk.open(LOG).pread(1 << 26, 0))]
    # Kafka's raft client accepts no larger ones.
    assert max(sizes) <= MAX_BATCH_BYTES
    assert len(image_on(disk).config(4, "")) == count + 1


def test_a_transaction_that_found_no_room_is_aborted_by_the_next_change() -> None:
    disk = SimulatedDisk()
    many: list[Message] = [
        ConfigRecord(resource_type=4, resource_name="", name=f"n{number}", value="v" * 30_000)
        for number in range(400)
    ]

    async def body(log: ClusterMetadata) -> None:
        before = log.image.config(4, "")
        # There is space for the first of two batches.
        disk.capacity = MAX_BATCH_BYTES + 1_000_000
        with pytest.raises(ApiError):
            await log.runtime.append(many)
        assert disk.size(LOG) > 1_000_000
        disk.capacity = None
        image = await log.runtime.append([ProducerIdsRecord(next_producer_id=5000)])
        assert (image.next_producer_id, image.config(4, "")) == (5000, before)

    run(disk, body, stop=False)
    assert image_on(disk).next_producer_id == 5000


def test_an_unfinished_transaction_is_aborted_by_the_next_leader() -> None:
    disk = SimulatedDisk()

    async def body(log: ClusterMetadata) -> None:
        records = [BeginTransactionRecord(name="half"), ProducerIdsRecord(next_producer_id=5000)]
        await log.runtime.append(records)
        assert log.image.next_producer_id == -1

    run(disk, body, stop=False)
    log = run(disk, nothing, stop=False, seed=2)
    assert log.image.next_producer_id == -1
    assert log.runtime.controller.state.transaction_offset == -1
    assert log.image.metadata_version == 30


def test_an_epoch_never_comes_again_even_if_quorum_state_is_lost() -> None:
    disk = SimulatedDisk()
    run(disk, nothing)
    disk.remove(f"{METADATA}/quorum-state")
    log = run(disk, nothing, stop=False, seed=2)
    assert log.image.epoch == 2


def test_a_static_quorum_keeps_the_old_quorum_state() -> None:
    disk = SimulatedDisk()
    config = node(
        controller_quorum_voters="1@localhost:9093", controller_quorum_bootstrap_servers=""
    )
    run(disk, lambda log: create(log, "river"), config=config)
    state = json.loads(disk.read_bytes(f"{METADATA}/quorum-state"))
    assert state["data_version"] == 0
    assert state["currentVoters"] == [{"voterId": 1}]
    assert next(h.record_count for _, h in iter_headers(disk.read_bytes(LOG))) == 1
    log = run(disk, nothing, config=config, stop=False, seed=2)
    assert list(log.image.topics_by_name) == ["river"]


def test_a_voter_among_others_leads_nobody_and_publishes_nothing_without_them() -> None:
    disk = SimulatedDisk()
    run(disk, lambda log: create(log, "river"))
    voters = VoterSet.of(*(Voter(number) for number in (1, 2, 3)))
    data = encode_snapshot(
        [],
        metadata_version=30,
        epoch=0,
        last_log_timestamp_ms=0,
        wall_ms=0,
        kraft_version=1,
        voters=voters,
    )
    for name in disk.list_dir(METADATA):
        if name.endswith(".log"):
            # The same log, as if it had been written by a quorum of three.
            batch = control_batch(
                voters_written_down(1, voters), 0, base_offset=end_of(disk), leader_epoch=2
            )
            disk.open(f"{METADATA}/{name}").append([batch])
    disk.write_atomically(f"{METADATA}/00000000000000000000-0000000000.checkpoint", data)

    async def alone() -> None:
        log = open_log(disk, seed=2)
        log.raft.start(CONTROLLERS)
        for _ in range(100):
            await asyncio.sleep(0)
        assert not log.raft.is_leader
        assert not log.runtime.is_active
        # On this disk there is a topic, but nobody says that it is committed.
        assert log.image.topics_by_name == {}
        with pytest.raises(ApiError) as caught:
            await log.runtime.append([])
        assert caught.value.code == ErrorCode.NOT_CONTROLLER
        log.close()

    asyncio.run(alone())


def end_of(disk: SimulatedDisk) -> int:
    return max(header.next_offset for _, header in iter_headers(disk.read_bytes(LOG)))


def test_new_endpoints_of_the_voter_are_written_down() -> None:
    disk = SimulatedDisk()
    run(disk, nothing)

    async def elsewhere() -> None:
        log = open_log(disk, seed=2)
        await log.start([Listener("CONTROLLER", "elsewhere", 7777)])
        await log.register(CLIENTS)
        await log.leave()
        await log.stop()

    asyncio.run(elsewhere())
    counts = [h.record_count for _, h in iter_headers(disk.read_bytes(LOG)) if h.is_control]
    assert counts == [3, 3]


def test_a_damaged_snapshot_is_named_with_the_remedy() -> None:
    disk = SimulatedDisk()

    async def body(log: ClusterMetadata) -> None:
        await create(log, "river")
        log.snapshots.maybe_snapshot()

    run(disk, body)
    [name] = [n for n in disk.list_dir(METADATA) if (parse_snapshot_name(n) or (0, 0))[0] > 0]
    disk.damage(f"{METADATA}/{name}", 200, b"\xff\xff")
    with pytest.raises(CorruptSnapshot, match=rf"{name} is damaged.*Restore the file"):
        open_log(disk)
    disk.remove(f"{METADATA}/{name}")
    assert topics_on(disk) == ["river"]


def test_a_record_that_cannot_be_read_is_named_with_its_place() -> None:
    disk = SimulatedDisk()
    run(disk, nothing)
    end_offset = max(header.next_offset for _, header in iter_headers(disk.read_bytes(LOG)))
    builder = BatchBuilder(base_offset=end_offset)
    builder.append(0, None, b"\x07 no frame of a record")
    disk.open(LOG).append([builder.build()])
    with pytest.raises(MetadataError, match=rf"offset {end_offset} of {METADATA} cannot be read"):
        image_on(disk)


def test_a_gap_between_snapshot_and_log_is_not_passed_over() -> None:
    disk = SimulatedDisk()
    run(disk, nothing)
    disk.rename(LOG, f"{METADATA}/00000000000000000500.log")
    for name in disk.list_dir(METADATA):
        if name.endswith((".index", ".timeindex", ".snapshot")):
            disk.remove(f"{METADATA}/{name}")
    data = bytearray(disk.read_bytes(f"{METADATA}/00000000000000000500.log"))
    for position, header in list(iter_headers(bytes(data))):
        data[position : position + 8] = (header.base_offset + 500).to_bytes(8, "big")
    disk.write_atomically(f"{METADATA}/00000000000000000500.log", bytes(data))
    with pytest.raises(MetadataError, match="no records between offset 0"):
        open_log(disk)


def test_a_directory_that_was_not_formatted_is_refused() -> None:
    log = ClusterMetadata(node(), SimulatedDisk(), ManualClock(), random.Random(1))
    with pytest.raises(FormatError, match="moldau storage format"):
        log.load()


def test_bootstrap_records_without_a_file_are_the_latest_version() -> None:
    disk = SimulatedDisk()
    format_if_empty(node(), disk, random.Random(1))
    disk.remove("/data/bootstrap.checkpoint")
    log = run(disk, nothing, stop=False)
    assert log.image.features == {"metadata.version": 30}
    assert FeatureLevelRecord.RECORD_KEY == 12


def test_damaged_bootstrap_records_are_named_with_the_remedy() -> None:
    disk = SimulatedDisk()
    format_if_empty(node(), disk, random.Random(1))
    disk.damage("/data/bootstrap.checkpoint", 100, b"\xff\xff")

    async def start() -> None:
        async with asyncio.timeout(120):
            await open_log(disk).start(CONTROLLERS)

    with pytest.raises(CorruptSnapshot, match=r"bootstrap.checkpoint is damaged.*Restore the file"):
        asyncio.run(start())


def test_a_fetch_of_less_than_nothing_does_not_stop_the_controller() -> None:
    async def body(log: ClusterMetadata) -> None:
        raft = log.raft
        replica = ReplicaKey(9, b"9" * 16)
        request = FetchRequest(replica, raft.leader_epoch, 1, raft.leader_epoch, max_bytes=-1)
        assert (await raft.ask(request)).error is ErrorCode.UNKNOWN_SERVER_ERROR
        await create(log, "river")

    run(SimulatedDisk(), body)


def test_an_append_may_end_the_term_and_takes_the_decision_with_it() -> None:
    async def body(log: ClusterMetadata) -> None:
        records = topic_records(log, "river")
        before = log.image
        append = log.raft.append

        def append_and_resign(batch: bytes, epoch: int) -> int:
            # As when the quorum notices with the next step that nobody follows any more.
            offset = append(batch, epoch)
            log.raft.resign(epoch)
            return offset

        log.raft.append = append_and_resign  # type: ignore[method-assign]
        with pytest.raises(ApiError) as caught:
            await log.runtime.append(records)
        assert caught.value.code == ErrorCode.NOT_CONTROLLER
        assert not log.runtime.is_active
        assert log.image is before

    run(SimulatedDisk(), body, stop=False)


def test_whoever_waits_for_a_commit_is_told_that_the_term_has_ended() -> None:
    async def body(log: ClusterMetadata) -> None:
        waiting = asyncio.ensure_future(log.runtime.append(topic_records(log, "river")))
        await asyncio.sleep(0)
        log.raft.resign(log.raft.leader_epoch)
        with pytest.raises(ApiError, match="no longer the active controller"):
            await waiting
        with pytest.raises(ApiError, match="No controller appears to be active"):
            await log.runtime.append([])

    run(SimulatedDisk(), body, stop=False)
