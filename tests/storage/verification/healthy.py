"""A healthy data directory on a simulated disk, to be damaged, and the findings of a check."""

from functools import cache

from moldau.config.topic import LogConfig
from moldau.record.compression import Codec
from moldau.record.control import ControlType, end_txn_batch
from moldau.record.header import BatchHeader, iter_headers
from moldau.record.records import BatchBuilder
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk import checkpoint
from moldau.storage.log.partition_log import PartitionLog
from moldau.storage.log.producer_state import AppendOrigin
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.log_dir_check import LogDirsCheck, Target, TopicFacts
from tests.storage.log_making import DIRECTORY, START_MS, TOPIC_PARTITION, new_log

LOG_DIR = "/data"
TOPIC_ID = bytes(range(16))
META = checkpoint.MetaProperties(1, "cluster", 1, bytes(range(1, 17)))
CONFIG = LogConfig(segment_bytes=2500, index_interval_bytes=300, file_delete_delay_ms=0)
FIRST_LOG = f"{DIRECTORY}/00000000000000000000.log"


@cache
def _healthy(was_clean: bool) -> SimulatedDisk:
    disk = SimulatedDisk()
    log = new_log(disk, CONFIG)
    write_sample(log, epoch=3)
    log.flush()
    flushed = log.recovery_point
    write_sample(log, epoch=5)
    if was_clean:
        log.flush()
    finish(disk, log, was_clean=was_clean, recovery_point=None if was_clean else flushed)
    return disk


def healthy(*, was_clean: bool = True) -> SimulatedDisk:
    """A copy of a directory with one partition: all codecs, transactions, several segments.

    Without ``was_clean`` the broker was killed: half of the log was not flushed.
    """
    return _healthy(was_clean).fork()


def write_sample(log: PartitionLog, epoch: int) -> None:
    """Batches of each codec, an aborted transaction within a committed one, and plain batches."""
    for codec in Codec:
        builder = BatchBuilder(codec=codec)
        for number in range(5):
            builder.append(START_MS + number, b"k%d" % number, b"value " * 20, [("h", b"x")])
        log.append_as_leader(builder.build(), epoch, START_MS)
    write_in_transaction(log, 7, epoch)
    write_in_transaction(log, 8, epoch)
    end_transaction(log, 8, ControlType.ABORT, epoch)
    write_in_transaction(log, 7, epoch)
    end_transaction(log, 7, ControlType.COMMIT, epoch)
    for number in range(20):
        builder = BatchBuilder()
        builder.append(START_MS + 10 * number, None, b"x" * 100)
        log.append_as_leader(builder.build(), epoch, START_MS)
    log.update_high_watermark(log.log_end_offset)


def write_in_transaction(log: PartitionLog, producer_id: int, epoch: int) -> None:
    producer = log.producers.entry(producer_id)
    sequence = 0 if producer is None else producer.next_sequence
    builder = BatchBuilder(
        producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )
    builder.append(START_MS, b"k", b"uncommitted")
    log.append_as_leader(builder.build(), epoch, START_MS)


def end_transaction(log: PartitionLog, producer_id: int, kind: ControlType, epoch: int) -> None:
    marker = end_txn_batch(kind, 1, producer_id, 0, START_MS)
    log.append_as_leader(marker, epoch, START_MS, origin=AppendOrigin.COORDINATOR)


def finish(
    disk: SimulatedDisk,
    log: PartitionLog,
    *,
    was_clean: bool = True,
    recovery_point: int | None = None,
) -> None:
    """Stop, and write the files around the log as a broker does."""
    end, start = log.log_end_offset, log.log_start_offset
    if was_clean:
        log.close()
        checkpoint.write_clean_shutdown(disk, LOG_DIR, 1)
    else:
        log.leader_epochs.flush()
    point = end if recovery_point is None else recovery_point
    for name, offset in (
        (checkpoint.RECOVERY_POINT_CHECKPOINT, point),
        (checkpoint.HIGH_WATERMARK_CHECKPOINT, point),
        (checkpoint.LOG_START_OFFSET_CHECKPOINT, start),
    ):
        checkpoint.write_offsets(disk, f"{LOG_DIR}/{name}", {TOPIC_PARTITION: offset})
    checkpoint.write_meta_properties(disk, LOG_DIR, META)
    checkpoint.write_partition_metadata(disk, DIRECTORY, TOPIC_ID)


def verify(
    disk: SimulatedDisk,
    *targets: Target,
    topics: dict[str, TopicFacts] | None = None,
    options: Options | None = None,
    tally: Tally | None = None,
) -> list[Finding]:
    chosen = targets or (Target(LOG_DIR),)
    check = LogDirsCheck(disk, chosen, options or Options(), tally or Tally(), topics)
    return list(check.run())


def damages(disk: SimulatedDisk) -> list[Finding]:
    return [each for each in verify(disk) if each.severity is Severity.DAMAGE]


def logs(disk: SimulatedDisk) -> list[str]:
    return [f"{DIRECTORY}/{n}" for n in disk.list_dir(DIRECTORY) if n.endswith(".log")]


def batches(disk: SimulatedDisk, path: str = FIRST_LOG) -> list[tuple[int, BatchHeader]]:
    return list(iter_headers(disk.read_bytes(path)))


def flip(disk: SimulatedDisk, path: str, position: int, mask: int = 1) -> None:
    byte = disk.read_bytes(path)[position]
    disk.damage(path, position, bytes([byte ^ mask]))
