"""Compacted topics on a complete broker: refused records, cleaning, checkpoints."""

import asyncio
import random
import subprocess
import sys

from moldau.broker.log_cleaning import LogCleaning
from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.cleaner.cleaning_process import ProcessWork
from moldau.storage.cleaner.cleaning_work import LocalWork
from moldau.storage.disk.checkpoint import CLEANER_OFFSET_CHECKPOINT, read_offsets
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.partition_log import PartitionLog
from tests.broker.batches import batch
from tests.broker.producing import produce_request
from tests.broker.simulated import SimulatedBroker
from tests.storage.cleaner.log_cleaning import last_values, records_of

SMALL = {"cleanup_policy": "compact", "internal_segment_bytes": "400"}
CHECKPOINT = f"/disk/{CLEANER_OFFSET_CHECKPOINT}"
BROKER_RESOURCE = 4


async def produce(broker: SimulatedBroker, topic: str, key: bytes | None, value: bytes) -> int:
    """Produce one record; returns the error code."""
    request = produce_request(topic, batch(value, key=key, timestamp=1000))
    response = await broker.send(request, 12)
    return int(response.responses[0].partition_responses[0].error_code)


async def fill(broker: SimulatedBroker, topic: str, rounds: int = 8) -> None:
    for round_ in range(rounds):
        for key in (b"a", b"b"):
            assert await produce(broker, topic, key, b"%d" % round_) == 0


async def clean(broker: SimulatedBroker) -> None:
    """Let the cleaner search for dirty logs and clean them."""
    cleaning = broker.node.cleaning
    cleaning.look()
    # Polled in every turn of the loop: the cleaner has no event to wait for.
    while cleaning.cleaner is not None and cleaning.cleaner.in_progress:  # noqa: ASYNC110
        await asyncio.sleep(0)


def log_of(broker: SimulatedBroker, topic: str) -> PartitionLog:
    logs = broker.node.logs.all_logs()
    return next(log for log in logs if log.topic_partition.topic == topic)


def test_a_compacted_topic_takes_no_record_without_a_key() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(), ManualClock())
        await broker.node.start()
        await broker.create("t", cleanup_policy="compact,delete")
        assert await produce(broker, "t", None, b"x") == ErrorCode.INVALID_RECORD
        assert await produce(broker, "t", b"", b"x") == 0
        assert log_of(broker, "t").log_end_offset == 1
        await broker.node.stop()

    asyncio.run(scenario())


def test_a_compacted_topic_is_cleaned_and_the_place_is_remembered() -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(), ManualClock()
        broker = SimulatedBroker(disk, clock)
        await broker.node.start()
        await broker.create("t", **SMALL)
        await fill(broker, "t")
        before = len(records_of(log_of(broker, "t")))
        await clean(broker)
        log = log_of(broker, "t")
        active = log.segments.active.base_offset
        assert log.cleaner_checkpoint == active > 0
        assert len(records_of(log)) < before
        assert last_values(log) == {b"a": b"7", b"b": b"7"}
        assert read_offsets(disk, CHECKPOINT) == {log.topic_partition: active}
        await broker.node.stop()

        again = SimulatedBroker(disk, clock)
        await again.node.start()
        assert log_of(again, "t").cleaner_checkpoint == active
        await again.node.stop()

    asyncio.run(scenario())


def test_a_topic_that_is_deleted_leaves_no_place_to_its_namesake() -> None:
    async def scenario() -> None:
        disk, clock = SimulatedDisk(), ManualClock()
        broker = SimulatedBroker(disk, clock)
        await broker.node.start()
        await broker.create("t", **SMALL)
        await fill(broker, "t")
        await clean(broker)
        log = log_of(broker, "t")
        broker.node.logs.delete(log.topic_partition)
        new = broker.node.logs.get_or_create(log.topic_partition, log.config)
        assert new.cleaner_checkpoint == -1
        assert read_offsets(disk, CHECKPOINT) == {}
        await broker.node.stop()

    asyncio.run(scenario())


def test_the_cleaner_can_be_turned_off() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(), ManualClock(), {"log.cleaner.enable": "false"})
        await broker.node.start()
        assert broker.node.cleaning.is_idle
        await broker.node.stop()

    asyncio.run(scenario())


def test_settings_of_the_cleaner_can_be_changed_while_it_runs() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(), ManualClock())
        await broker.node.start()
        await broker.create("t", **SMALL)
        await fill(broker, "t")
        # A ratio that no log can reach.
        config = AlterableConfig(name="log.cleaner.min.cleanable.ratio", value="1.0")
        resource = AlterConfigsResource(
            resource_type=BROKER_RESOURCE, resource_name="", configs=[config]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        response = await broker.send(request, 1)
        assert response.responses[0].error_code == 0
        await clean(broker)
        assert log_of(broker, "t").cleaner_checkpoint == -1
        await broker.node.stop()

    asyncio.run(scenario())


def test_only_a_large_log_on_a_real_disk_is_worth_a_process() -> None:
    small, large = 1 << 20, 1 << 30

    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(), ManualClock())
        await broker.node.start()
        assert isinstance(broker.node.cleaning.work_for(large), LocalWork)
        configs = broker.node.broker.configs
        on_real_disk = LogCleaning(
            broker.node.logs, configs, RealDisk(), ManualClock(), random.Random(1)
        )
        assert isinstance(on_real_disk.work_for(small), LocalWork)
        assert isinstance(on_real_disk.work_for(large), ProcessWork)
        await broker.node.stop()

    asyncio.run(scenario())


def test_a_broker_with_nothing_to_clean_does_not_load_the_cleaner() -> None:
    async def scenario() -> None:
        broker = SimulatedBroker(SimulatedDisk(), ManualClock())
        await broker.node.start()
        await broker.create("t", cleanup_policy="compact")
        await produce(broker, "t", b"a", b"1")
        await clean(broker)
        assert broker.node.cleaning.cleaner is None
        await broker.node.stop()

    asyncio.run(scenario())
    program = (
        "import sys, moldau.broker.node\n"
        "kernel = ('moldau.storage.cleaner.log_cleaner', 'moldau.record.offset_map')\n"
        "sys.exit(any(name in sys.modules for name in kernel))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
