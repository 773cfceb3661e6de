"""What a node does with records of the quorum's leader that its disk does not take."""

import asyncio
import errno
import random
from collections.abc import Callable

from moldau.broker.first_start import format_if_empty
from moldau.broker.leader_change import voters_written_down
from moldau.broker.metadata_snapshot import batches_of
from moldau.broker.quorum_log_changes import QuorumLogChanges
from moldau.broker.quorum_store import QuorumStore
from moldau.clock import ManualClock
from moldau.config.broker import BrokerConfig
from moldau.metadata.framing import encode_record
from moldau.protocol.records.metadata import NoOpRecord
from moldau.raft import effects as do
from moldau.raft import messages as say
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet
from moldau.record.control import control_batch
from moldau.simulator.disk import SimulatedDisk

CONFIG = BrokerConfig.from_properties({"log.dirs": "/data"})
EPOCH = 3


class Changing:
    """A metadata log, the reports about it, and how often a flush was asked for."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        format_if_empty(CONFIG, self.disk, random.Random(1))
        self.store = QuorumStore(CONFIG, self.disk, ManualClock(), random.Random(1), None)
        self.store.open()
        self.reports: list[say.Message] = []
        self.flushes = 0
        self.changes = QuorumLogChanges(
            1, self.store, ManualClock(), self._request_flush, self.reports.append
        )

    def _request_flush(self) -> None:
        self.flushes += 1

    def fetched(self, records: bytes) -> None:
        self.changes.perform(do.AppendRecords(records, True))


def voters(offset: int) -> bytes:
    voter = Voter(1, endpoints=(VoterEndpoint("CONTROLLER", "localhost", 9093),))
    records = voters_written_down(1, VoterSet.of(voter))
    return control_batch(records, 0, base_offset=offset, leader_epoch=EPOCH)


def nothing(offset: int, count: int) -> bytes:
    record = encode_record(NoOpRecord(), 30)
    made = batches_of(
        [record] * count, base_offset=offset, epoch=EPOCH, timestamp_ms=1000, max_records=1
    )
    return b"".join(batch for batch, _ in made)


def on_a_loop(scenario: Callable[[], None]) -> None:
    async def run() -> None:
        scenario()

    asyncio.run(run())


def test_records_that_were_written_before_the_disk_was_full_count_and_are_flushed() -> None:
    made = Changing()
    on_a_loop(lambda: made.fetched(nothing(0, 1)))
    # Batches that are alike are written at once, and the control batch after them by itself.
    alike = nothing(1, 9)
    made.disk.capacity = made.disk.used_bytes() + len(alike) + 10

    on_a_loop(lambda: made.fetched(alike + voters(10)))

    assert made.store.log.log_end_offset == 10
    assert made.reports == [say.LogAppended(), say.LogAppended()]
    assert made.flushes == 2


def test_records_of_which_none_was_written_are_fetched_again_later() -> None:
    made = Changing()
    made.disk.fail_next("append", "*.log", errno.ENOSPC)

    on_a_loop(lambda: made.fetched(nothing(0, 3)))

    assert made.store.log.log_end_offset == 0
    assert (made.reports, made.flushes) == ([], 0)
