"""Crashes between any two disk operations of a transaction.

It has two partitions and the offset of a group. Wherever the broker was stopped between the first
partition that was added and the record that says that all markers are written: after a restart
the transaction has one outcome everywhere, an outcome that was answered is that one, and the last
stable offset goes on to the end.
"""

import asyncio
from typing import Any, Final

import pytest

from moldau.clock import ManualClock
from moldau.errors import ErrorCode
from moldau.ids import OFFSETS_TOPIC
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.record.records import decode_all
from moldau.simulator.disk import (
    KeepRule,
    PowerCut,
    SimulatedDisk,
    keep_everything,
    keep_nothing,
)
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.producing import fetch_request
from tests.broker.simulated import SimulatedBroker
from tests.broker.transacting import topics_of
from tests.broker.transactional import transactional

NAME: Final = "tx"
TOPIC: Final = "t"
PARTITIONS: Final = (0, 1)
SETTINGS: Final = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
FLUSHED: Final = {**SETTINGS, "log.flush.interval.messages": "1"}
# What the device keeps, and with which settings nothing may be lost by that.
KINDS: Final[dict[str, tuple[KeepRule, dict[str, str]]]] = {
    "process": (keep_everything, SETTINGS),
    "power": (keep_nothing, FLUSHED),
}
POLLS: Final = 10_000
# The values in both partitions, and the offset of the group.
COMMITTED: Final = [[b"1", b"2"], [b"1", b"2"], [b"2"]]
ABORTED: Final = [[b"1"], [b"1"], [b"1"]]


class Life:
    """One run of the broker, and the producer that uses it."""

    def __init__(self, disk: SimulatedDisk, settings: dict[str, str], protocol: int) -> None:
        self.disk = disk
        self.broker = SimulatedBroker(disk, ManualClock(), settings)
        self.protocol = protocol
        self.producer = (-1, -1)

    async def start(self) -> "Life":
        await self.broker.node.start()
        return self

    async def prepare(self) -> None:
        """Create all topics, so that only the transaction itself is left to write."""
        await self.broker.create(TOPIC, len(PARTITIONS))
        for key_type in (0, 1):
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[NAME])
            await self.broker.send(request, 6)
        await self.initialize()

    async def initialize(self) -> None:
        """Take over the id, which aborts what is open."""
        request = InitProducerIdRequest(NAME, 60_000)
        for _ in range(POLLS):
            answer = await self.broker.send(request, 5)
            if not answer.error_code:
                self.producer = (answer.producer_id, answer.producer_epoch)
                return
            assert ErrorCode(answer.error_code).retriable, ErrorCode(answer.error_code)
            await asyncio.sleep(0)
        raise AssertionError("the id cannot be taken over")

    async def carry_out(self, value: bytes, offset: int, *, is_commit: bool) -> bool:
        """A whole transaction; returns whether its end was acknowledged."""
        for request, version in self._requests(value, offset, is_commit):
            try:
                answer = await self.broker.send(request, version)
            except PowerCut:
                return False
            # Answers that are written into a closed connection: the machine is off.
            if self.disk.is_cut and not isinstance(request, EndTxnRequest):
                return False
        return bool(answer.error_code == ErrorCode.NONE)

    def _requests(self, value: bytes, offset: int, is_commit: bool) -> list[tuple[Any, int]]:
        producer_id, epoch = self.producer
        data = [
            PartitionProduceData(
                index=index, records=transactional(producer_id, 0, value, epoch=epoch)
            )
            for index in PARTITIONS
        ]
        produce = ProduceRequest(NAME, -1, 1000, [TopicProduceData(TOPIC, partition_data=data)])
        place = TxnOffsetCommitRequestPartition(0, offset)
        offsets = TxnOffsetCommitRequest(
            NAME, NAME, *self.producer, topics=[TxnOffsetCommitRequestTopic(TOPIC, [place])]
        )
        end = EndTxnRequest(NAME, *self.producer, is_commit)
        if self.protocol == 2:
            return [(produce, 12), (offsets, 5), (end, 5)]
        partitions = topics_of(*((TOPIC, index) for index in PARTITIONS))
        return [
            (AddPartitionsToTxnRequest([], NAME, *self.producer, partitions), 3),
            (produce, 11),
            (AddOffsetsToTxnRequest(NAME, *self.producer, NAME), 4),
            (offsets, 4),
            (end, 4),
        ]

    async def outcomes(self) -> list[list[bytes | None]]:
        """What is committed in each of the three places."""
        request = offsets_request(NAME, TOPIC, [0])
        request.require_stable = True
        (group,) = (await self.broker.send(request, 9)).groups
        place = group.topics[0].partitions[0]
        assert (group.error_code, place.error_code) == (0, 0), group
        committed = place.committed_offset
        found = [await self._read_committed(index) for index in PARTITIONS]
        return [*found, [] if committed < 0 else [b"%d" % committed]]

    async def _read_committed(self, index: int) -> list[bytes | None]:
        found: list[bytes | None] = []
        skipped: set[int] = set()
        offset = 0
        # A response ends with its segment.
        while True:
            request = fetch_request(TOPIC, offset, index, isolation_level=1)
            data = (await self.broker.send(request, 12)).responses[0].partitions[0]
            assert data.error_code == 0
            if not data.records:
                return found
            aborted = {(each.producer_id, each.first_offset) for each in data.aborted_transactions}
            for header, records in decode_all(bytes(data.records)):
                offset = header.last_offset + 1
                if header.is_control:
                    skipped.discard(header.producer_id)
                elif (header.producer_id, header.base_offset) in aborted:
                    skipped.add(header.producer_id)
                if not header.is_control and header.producer_id not in skipped:
                    found += [record.value for record in records]

    async def until_stable(self) -> None:
        """Return when nothing is open any more: markers may wait for the device after the reply."""
        for _ in range(POLLS):
            if self._is_stable():
                return
            await asyncio.sleep(0)
        raise AssertionError("a transaction stays open")

    def _is_stable(self) -> bool:
        replicas = self.broker.node.broker.replicas
        places = ((TOPIC, 0), (TOPIC, 1), (OFFSETS_TOPIC, 0))
        logs = [replicas.partition(*place).log for place in places]
        return all(log.last_stable_offset == log.log_end_offset for log in logs)


async def _prepared(settings: dict[str, str], protocol: int) -> SimulatedDisk:
    disk = SimulatedDisk(seed=1)
    life = await Life(disk, settings, protocol).start()
    await life.prepare()
    await life.broker.node.stop()
    return disk


async def _interrupted(
    disk: SimulatedDisk, kind: str, protocol: int, moment: int, *, is_commit: bool
) -> bool:
    """Cut a transaction short, restart and look; returns whether it was cut."""
    keep, settings = KINDS[kind]
    life = await Life(disk, settings, protocol).start()
    await life.initialize()
    # What comes only once after a start is behind it then.
    assert await life.carry_out(b"1", 1, is_commit=True)
    await life.initialize()
    disk.cut_power_after(moment)
    is_answered = await life.carry_out(b"2", 2, is_commit=is_commit)
    was_cut = disk.is_cut
    disk.crash(keep)
    again = await Life(disk, settings, protocol).start()
    await again.initialize()
    await again.until_stable()
    outcomes = await again.outcomes()
    assert outcomes in (COMMITTED, ABORTED)
    if is_answered or not is_commit:
        assert (outcomes == COMMITTED) == is_commit
    assert await again.carry_out(b"3", 3, is_commit=True)
    await again.until_stable()
    assert await again.outcomes() == [[*outcomes[0], b"3"], [*outcomes[1], b"3"], [b"3"]]
    await again.broker.node.stop()
    return was_cut


@pytest.mark.parametrize("is_commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("protocol", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_at_any_write_of_a_transaction_leaves_one_outcome(
    kind: str, protocol: int, is_commit: bool
) -> None:
    async def scenario() -> None:
        prepared = await _prepared(KINDS[kind][1], protocol)
        moment = 0
        while await _interrupted(
            prepared.fork(seed=moment), kind, protocol, moment, is_commit=is_commit
        ):
            moment += 1
        assert moment > 5

    asyncio.run(scenario())
