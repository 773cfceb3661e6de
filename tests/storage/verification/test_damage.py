"""Every kind of damage, one at a time, is found and reported with its place and kind."""

import struct

import pytest

from moldau.record.compression import Codec, compress
from moldau.record.control import ControlType, control_batch
from moldau.record.header import (
    BATCH_HEADER_SIZE,
    BatchHeader,
    encode_batch,
    iter_headers,
    read_header,
)
from moldau.record.records import BatchBuilder, encode_record
from moldau.simulator.disk import SimulatedDisk
from moldau.storage.disk import checkpoint
from moldau.storage.verification.findings import Finding, Severity
from moldau.storage.verification.log_dir_check import Target, TopicFacts
from tests.storage.log_making import DIRECTORY, START_MS, TOPIC_PARTITION, new_log
from tests.storage.verification.healthy import (
    FIRST_LOG,
    LOG_DIR,
    META,
    TOPIC_ID,
    batches,
    finish,
    flip,
    healthy,
    logs,
    verify,
)

RECOVERY_POINT = f"{LOG_DIR}/{checkpoint.RECOVERY_POINT_CHECKPOINT}"
EPOCHS = f"{DIRECTORY}/{checkpoint.LEADER_EPOCH_CHECKPOINT}"


def only(disk: SimulatedDisk, *targets: Target, **options: object) -> Finding:
    """The one finding there must be."""
    (finding,) = verify(disk, *targets, **options)  # type: ignore[arg-type]
    return finding


# -- batches


def test_a_bad_batch_is_named_with_what_follows_and_what_to_do() -> None:
    disk = healthy()
    (start, header), (next_start, following) = batches(disk)[2:4]
    flip(disk, FIRST_LOG, start + 70)
    finding = only(disk)
    assert finding[:2] == (Severity.DAMAGE, FIRST_LOG)
    assert (finding.position, finding.offset) == (start, header.base_offset)
    assert "checksum" in finding.problem
    assert f"offset {following.base_offset} at position {next_start}" in finding.follows
    assert "replica or a backup" in finding.remedy


def test_several_bad_batches_are_all_found() -> None:
    disk = healthy()
    chosen = [start for start, _ in batches(disk)[1::3]]
    for start in chosen:
        flip(disk, FIRST_LOG, start + BATCH_HEADER_SIZE)
    assert [each.position for each in verify(disk)] == chosen


def test_a_length_that_is_wrong_costs_only_its_batch() -> None:
    disk = healthy()
    (start, _), (_, following) = batches(disk)[2:4]
    disk.damage(FIRST_LOG, start + 8, struct.pack(">i", 500))
    finding = only(disk)
    assert finding.position == start
    assert f"from offset {following.base_offset}" in finding.follows


def test_a_batch_within_a_record_is_not_taken_for_one_of_the_log() -> None:
    """Who mirrors a log puts whole batches into values: they are skipped with their batch."""
    disk = SimulatedDisk()
    log = new_log(disk)
    for _ in range(3):
        inner = BatchBuilder(base_offset=log.log_end_offset + 5)
        inner.append(START_MS, b"k", b"v")
        outer = BatchBuilder()
        outer.append(START_MS, None, b"x" * 50 + inner.build() + b"x" * 50)
        log.append_as_leader(outer.build(), 0, START_MS)
    log.flush()
    finish(disk, log)
    (start, _), (next_start, following) = batches(disk)[1:3]
    flip(disk, FIRST_LOG, start + BATCH_HEADER_SIZE + 20)
    finding = only(disk)
    assert f"offset {following.base_offset} at position {next_start}" in finding.follows


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"record_count": 4}, "bytes follow its 4 records"),
        ({"record_count": 6, "last_offset_delta": 5}, "5 whole records, not 6"),
        ({"record_count": 9}, "claims 9 records"),
        ({"last_offset_delta": 3}, "claims 5 records for offsets 0 to 3"),
        ({"max_timestamp": START_MS + 5}, "but its header says"),
        ({"attributes": 1}, "gzip data is damaged"),
        ({"attributes": 6}, "compression codec is 6"),
        ({"base_timestamp": 2**62}, "out of range"),
    ],
)
def test_a_batch_that_was_written_wrongly_is_found(changes: dict[str, int], problem: str) -> None:
    """Its checksum is right: what was written is what is there."""
    disk = SimulatedDisk()
    log = new_log(disk)
    for _ in range(2):
        builder = BatchBuilder()
        for number in range(5):
            builder.append(START_MS + number, b"k", b"v")
        log.append_as_leader(builder.build(), 0, START_MS)
    log.flush()
    finish(disk, log)
    data = disk.read_bytes(FIRST_LOG)
    header = read_header(data, 0)
    for name, value in changes.items():
        setattr(header, name, value)
    disk.damage(FIRST_LOG, 0, encode_batch(header, data[BATCH_HEADER_SIZE : header.size_bytes]))
    found = [each for each in verify(disk) if each.path == FIRST_LOG]
    assert problem in found[0].problem
    assert (found[0].position, found[0].offset) == (0, 0)


@pytest.mark.parametrize(
    ("deltas", "is_sound"), [((0, 2, 4), True), ((0, 4, 2), False), ((0, 9), False)]
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_offsets_in_a_batch_ascend_up_to_its_last(
    deltas: tuple[int, ...], is_sound: bool, codec: Codec
) -> None:
    disk = SimulatedDisk()
    log = new_log(disk)
    finish(disk, log)
    payload = b"".join(encode_record(delta, 0, b"k", b"v", ()) for delta in deltas)
    header = BatchHeader(0, 0, 0, 2, 0, int(codec), 4, START_MS, START_MS, -1, -1, -1, len(deltas))
    disk.open(FIRST_LOG).append([encode_batch(header, compress(codec, payload))])
    checkpoint.write_offsets(disk, RECOVERY_POINT, {TOPIC_PARTITION: 5})
    problems = [each.problem for each in verify(disk) if each.path == FIRST_LOG]
    assert [("has offset" in problem) for problem in problems] == ([] if is_sound else [True])


# -- the end of the log


def test_a_torn_end_after_a_crash_is_a_note() -> None:
    disk = healthy(was_clean=False)
    path = logs(disk)[-1]
    start, header = batches(disk, path)[-1]
    disk.open(path).truncate(start + header.size_bytes - 3)
    finding = only(disk)
    assert finding[:2] == (Severity.NOTE, path)
    assert (finding.position, finding.offset) == (start, header.base_offset)
    assert f"{header.size_bytes - 3} bytes of a write that was cut short" in finding.problem
    assert "cut at the next start" in finding.follows
    checkpoint.write_clean_shutdown(disk, LOG_DIR, 1)
    assert Severity.DAMAGE in {each.severity for each in verify(disk) if each.path == path}


def test_zeros_at_the_end_after_a_crash_are_a_note() -> None:
    disk = healthy(was_clean=False)
    path = logs(disk)[-1]
    size = disk.size(path)
    disk.open(path).append([bytes(5000)])
    finding = only(disk)
    assert (finding.severity, finding.position) == (Severity.NOTE, size)
    assert "zeros where a batch should begin" in finding.problem


def test_a_torn_end_that_was_flushed_is_damage() -> None:
    disk = healthy(was_clean=False)
    path = logs(disk)[-1]
    end = batches(disk, path)[-1][1].next_offset
    checkpoint.write_offsets(disk, RECOVERY_POINT, {TOPIC_PARTITION: end})
    disk.open(path).truncate(disk.size(path) - 3)
    finding = only(disk)
    assert (finding.severity, finding.path) == (Severity.DAMAGE, path)
    assert "no readable batch follows" in finding.follows


def test_what_recovery_would_cut_with_a_bad_batch_is_damage() -> None:
    disk = healthy(was_clean=False)
    path = logs(disk)[-1]
    start, _ = batches(disk, path)[-2]
    flip(disk, path, start + 70)
    finding = only(disk)
    assert (finding.severity, finding.position) == (Severity.DAMAGE, start)
    assert "the next start truncates the log here" in finding.follows


def test_whole_batches_that_are_gone_are_missed_by_the_checkpoints() -> None:
    disk = healthy()
    path = logs(disk)[-1]
    start, header = batches(disk, path)[-1]
    disk.open(path).truncate(start)
    by_path = {each.path: each for each in verify(disk)}
    assert f"the log ends at offset {header.base_offset}, but everything before offset" in (
        by_path[DIRECTORY].problem
    )


def test_batches_that_came_after_a_clean_stop_are_noticed() -> None:
    disk = healthy()
    path = logs(disk)[-1]
    data = disk.read_bytes(path)
    start, header = batches(disk, path)[-1]
    header.base_offset += 1
    disk.open(path).append([encode_batch(header, data[start + BATCH_HEADER_SIZE :])])
    assert any("when it was closed" in each.problem for each in verify(disk))


def test_a_start_offset_behind_the_end_is_damage() -> None:
    disk = healthy()
    path = f"{LOG_DIR}/{checkpoint.LOG_START_OFFSET_CHECKPOINT}"
    checkpoint.write_offsets(disk, path, {TOPIC_PARTITION: 10_000})
    assert "before its start offset 10000" in only(disk).problem


# -- segments


def test_a_segment_that_is_gone_is_missed_unless_the_topic_is_compacted() -> None:
    disk = healthy()
    second, third = logs(disk)[1:3]
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
        disk.remove(second.replace(".log", suffix), missing_ok=True)
    finding = only(disk)
    assert (finding.severity, finding.path, finding.position) == (Severity.DAMAGE, third, 0)
    assert "offsets are missing" in finding.problem
    assert verify(disk, topics={"orders": TopicFacts(TOPIC_ID, True)}) == []
    cleaned = f"{LOG_DIR}/{checkpoint.CLEANER_OFFSET_CHECKPOINT}"
    checkpoint.write_offsets(disk, cleaned, {TOPIC_PARTITION: 5})
    assert verify(disk) == []


def test_segments_that_overlap_are_damage() -> None:
    disk = healthy()
    second = logs(disk)[1]
    base = int(second.rpartition("/")[2].removesuffix(".log"))
    for suffix in (".log", ".index", ".timeindex"):
        path = second.replace(".log", suffix)
        disk.rename(path, path.replace(f"{base:020d}", f"{base - 1:020d}"))
    assert any("ends at" in each.problem and each.offset == base - 1 for each in verify(disk))


def test_a_base_offset_that_jumps_and_comes_back_is_that_batchs_fault() -> None:
    disk = healthy()
    start, header = batches(disk)[1]
    disk.damage(FIRST_LOG, start, struct.pack(">q", header.base_offset + 64))
    finding = only(disk)
    assert finding.position == start
    assert f"offset {header.base_offset + 64} where {header.base_offset} is due" in finding.problem


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_an_index_that_is_gone_is_missed(suffix: str) -> None:
    disk = healthy()
    path = FIRST_LOG.replace(".log", suffix)
    disk.remove(path)
    found = [each for each in verify(disk) if each.path == path]
    assert [each.problem for each in found] == ["the file is missing"]
    assert "rebuild it" in found[0].follows


def test_a_time_index_without_the_largest_time_is_damage() -> None:
    disk = healthy()
    path = FIRST_LOG.replace(".log", ".timeindex")
    disk.open(path).truncate(12)
    finding = only(disk)
    assert (finding.path, finding.position) == (path, 12)
    assert "the largest timestamp of the segment is" in finding.problem


def test_an_aborted_transaction_that_the_index_forgot_is_damage() -> None:
    disk = healthy()
    (path, *_) = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".txnindex")]
    disk.remove(f"{DIRECTORY}/{path}")
    finding = only(disk)
    assert "no entry for the transaction of producer 8" in finding.problem
    assert "read committed" in finding.follows


def test_an_index_full_of_nonsense_is_reported_briefly() -> None:
    disk = healthy()
    path = FIRST_LOG.replace(".log", ".index")
    disk.open(path).append([b"\x7f" * 8000])
    found = verify(disk)
    assert {each.path for each in found} == {path}
    assert len(found) <= 5
    assert "more of its entries are wrong" in found[-1].problem


def test_indexes_that_recovery_builds_anew_are_only_notes() -> None:
    disk = healthy(was_clean=False)
    path = logs(disk)[-1].replace(".log", ".index")
    disk.open(path).append([b"\x7f" * 8])
    assert {(each.path, each.severity) for each in verify(disk)} == {(path, Severity.NOTE)}


# -- leader epochs


def test_a_batch_of_another_epoch_is_damage() -> None:
    disk = healthy()
    start, header = batches(disk)[3]
    disk.damage(FIRST_LOG, start + 12, struct.pack(">i", 4))
    finding = only(disk)
    assert (finding.position, finding.offset) == (start, header.base_offset)
    assert "leader epoch 4, where leader-epoch-checkpoint says 3" in finding.problem


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], "names no epoch"),
        ([(3, 0), (5, 10_000)], "beyond the end of the log"),
        ([(3, 0), (2, 5)], "does not follow"),
    ],
)
def test_an_epoch_file_that_does_not_fit_is_damage(
    entries: list[tuple[int, int]], problem: str
) -> None:
    disk = healthy()
    checkpoint.write_leader_epochs(disk, EPOCHS, entries)
    assert any(problem in each.problem for each in verify(disk) if each.path == EPOCHS)


def test_epochs_that_the_file_does_not_know_yet_are_no_damage_after_a_crash() -> None:
    disk = healthy(was_clean=False)
    checkpoint.write_leader_epochs(disk, EPOCHS, [(3, 0)])
    assert verify(disk) == []


# -- the files around


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (EPOCHS, b"0\n9\n3 0\n"),
        (RECOVERY_POINT, b"0\n1\norders 0 many\n"),
        (RECOVERY_POINT, b"7\n0\n"),
        (f"{DIRECTORY}/{checkpoint.PARTITION_METADATA}", b"version: 0\ntopic_id: x\n"),
        (f"{LOG_DIR}/{checkpoint.META_PROPERTIES}", b"version=1\nnode.id=1\n"),
    ],
)
def test_a_text_file_that_cannot_be_read_is_damage(path: str, content: bytes) -> None:
    disk = healthy()
    disk.write_atomically(path, content)
    found = [each for each in verify(disk) if each.path == path]
    assert [each.severity for each in found] == [Severity.DAMAGE]
    assert path not in found[0].problem


def test_the_topic_id_must_be_the_clusters() -> None:
    disk = healthy()
    finding = only(disk, topics={"orders": TopicFacts(bytes(15) + b"\7", False)})
    assert finding.path == f"{DIRECTORY}/{checkpoint.PARTITION_METADATA}"
    assert "cluster's metadata says" in finding.problem


def test_a_partition_of_no_topic_is_a_note() -> None:
    finding = only(healthy(), topics={})
    assert (finding.severity, finding.path) == (Severity.NOTE, DIRECTORY)
    assert "-stray" in finding.follows


def test_a_checkpoint_of_a_partition_that_is_not_there_is_a_note() -> None:
    disk = healthy()
    offsets = checkpoint.read_offsets(disk, RECOVERY_POINT)
    others = {TOPIC_PARTITION._replace(partition=number): 1 for number in range(1, 6)}
    checkpoint.write_offsets(disk, RECOVERY_POINT, {**offsets, **others})
    finding = only(disk)
    assert (finding.severity, finding.path) == (Severity.NOTE, RECOVERY_POINT)
    assert "orders-1, orders-2, orders-3, ..." in finding.problem


def second_directory(disk: SimulatedDisk, properties: checkpoint.MetaProperties) -> list[Finding]:
    disk.make_dirs("/other")
    checkpoint.write_meta_properties(disk, "/other", properties)
    return verify(disk, Target(LOG_DIR), Target("/other"))


def test_directories_of_one_broker_fit_together() -> None:
    other = META._replace(directory_id=bytes(range(2, 18)))
    assert second_directory(healthy(), other) == []
    (finding,) = second_directory(healthy(), other._replace(cluster_id="another"))
    assert "cluster.id is another, but cluster in" in finding.problem
    (finding,) = second_directory(healthy(), other._replace(node_id=2))
    assert "node.id is 2, but 1 in" in finding.problem
    (finding,) = second_directory(healthy(), META)
    assert "directory.id" in finding.problem


def test_a_partition_that_is_in_two_directories_is_damage() -> None:
    disk = healthy()
    disk.make_dirs("/other/orders-0")
    checkpoint.write_meta_properties(disk, "/other", META._replace(directory_id=bytes(16)))
    found = verify(disk, Target(LOG_DIR), Target("/other"))
    assert ("/other/orders-0", Severity.DAMAGE) in [(each.path, each.severity) for each in found]


def test_a_directory_that_was_never_formatted_is_damage() -> None:
    disk = healthy()
    disk.remove(f"{LOG_DIR}/{checkpoint.META_PROPERTIES}")
    assert "missing" in only(disk).problem
    assert verify(disk, Target(LOG_DIR, frozenset(["orders-0"]))) == []


def test_leftovers_are_notes() -> None:
    disk = healthy()
    names = ("00000000000000000000.log.deleted", "00000000000000000007.log.cleaned", "x.log.swap")
    for name in names:
        disk.open(f"{DIRECTORY}/{name}", create=True)
    for suffix in ("-delete", "-stray"):
        disk.make_dirs(f"{LOG_DIR}/orders-0.0123456789abcdef0123456789abcdef{suffix}")
    disk.open(f"{DIRECTORY}/00000000000000009999.index", create=True)
    found = verify(disk)
    assert {each.severity for each in found} == {Severity.NOTE}
    assert len(found) == 6


# -- snapshots


def test_a_producer_snapshot_that_knows_the_future_is_damage() -> None:
    disk = healthy()
    (*_, newest) = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".snapshot")]
    early = f"{DIRECTORY}/00000000000000000001.snapshot"
    disk.rename(f"{DIRECTORY}/{newest}", early)
    finding = only(disk)
    assert finding.path == early
    assert "but the snapshot was taken at 1" in finding.problem


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_torn_producer_snapshot_is_damage_only_after_a_clean_stop(was_clean: bool) -> None:
    disk = healthy(was_clean=was_clean)
    (*_, newest) = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".snapshot")]
    disk.open(f"{DIRECTORY}/{newest}").truncate(7)
    expected = Severity.DAMAGE if was_clean else Severity.NOTE
    assert only(disk).severity is expected


def kraft_snapshot() -> list[bytes]:
    header = control_batch([(ControlType.SNAPSHOT_HEADER, b"")], 0, base_offset=0, leader_epoch=1)
    records = BatchBuilder(base_offset=1, leader_epoch=1)
    records.append(0, None, b"record")
    footer = control_batch([(ControlType.SNAPSHOT_FOOTER, b"")], 0, base_offset=2, leader_epoch=1)
    return [header, records.build(), footer]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (slice(0, 3), None),
        (slice(0, 2), "footer"),
        (slice(1, 3), "offset 1 where 0 is due"),
        (slice(0, 0), "header"),
    ],
)
def test_a_metadata_snapshot_has_a_beginning_and_an_end(parts: slice, problem: str | None) -> None:
    disk = healthy()
    disk.write_atomically(f"{LOG_DIR}/bootstrap.checkpoint", b"".join(kraft_snapshot()[parts]))
    problems = [each.problem for each in verify(disk)]
    assert len(problems) == (0 if problem is None else 1)
    assert problem is None or problem in problems[0]


def test_every_changed_byte_of_a_metadata_snapshot_is_found() -> None:
    data = b"".join(kraft_snapshot())
    disk = healthy()
    path = f"{LOG_DIR}/bootstrap.checkpoint"
    # Its leader epochs are the only bytes that nothing vouches for.
    epochs = {start + at for start, _ in iter_headers(data) for at in range(12, 16)}
    for position in range(len(data)):
        changed = bytearray(data)
        changed[position] ^= 4
        disk.write_atomically(path, bytes(changed))
        assert bool(verify(disk)) == (position not in epochs), position
