"""A single flipped bit anywhere in a cleanly closed directory is detected."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.record.header import ATTRIBUTES_POSITION
from moldau.simulator.disk import SimulatedDisk
from tests.storage.log_making import DIRECTORY
from tests.storage.verification.healthy import (
    batches,
    damages,
    flip,
    healthy,
    logs,
)

bits = st.integers(0, 7).map(lambda shift: 1 << shift)


def files(disk: SimulatedDisk, *suffixes: str) -> list[str]:
    names = [name for name in disk.list_dir(DIRECTORY) if name.endswith(suffixes)]
    paths = [f"{DIRECTORY}/{name}" for name in names]
    return [path for path in paths if disk.size(path)]


@given(data=st.data(), mask=bits)
@settings(max_examples=200)
def test_a_flip_in_a_segment_is_found_at_its_batch(data: st.DataObject, mask: int) -> None:
    disk = healthy()
    path = data.draw(st.sampled_from(logs(disk)))
    position = data.draw(st.integers(0, disk.size(path) - 1))
    found = batches(disk, path)
    start, header = [each for each in found if each[0] <= position][-1]
    flip(disk, path, position, mask)
    reported = damages(disk)
    if position - start >= ATTRIBUTES_POSITION:
        # What the checksum covers: this batch and no other, and all the rest is as before.
        assert [(each.path, each.position, each.offset) for each in reported] == [
            (path, start, header.base_offset)
        ]
    else:
        assert any(each.path == path for each in reported), "base offset, length, epoch, magic, crc"


@given(data=st.data(), mask=bits)
@settings(max_examples=80)
def test_a_flip_in_an_offset_index_is_found_unless_it_is_as_true_as_before(
    data: st.DataObject, mask: int
) -> None:
    """An entry may name the last offset of a later batch, as older versions of Kafka wrote it."""
    disk = healthy()
    path = data.draw(st.sampled_from(files(disk, ".index")))
    position = data.draw(st.integers(0, disk.size(path) - 1))
    base_offset = int(path.rpartition("/")[2].partition(".")[0])
    flip(disk, path, position, mask)
    relative, place = struct.unpack_from(">ii", disk.read_bytes(path), position // 8 * 8)
    found = batches(disk, path.replace(".index", ".log"))
    is_true = place in (start for start, _ in found) and any(
        start >= place and header.last_offset == base_offset + relative for start, header in found
    )
    assert {each.path for each in damages(disk)} <= {path}
    assert is_true or damages(disk)


@given(data=st.data(), mask=bits)
@settings(max_examples=80)
def test_a_flip_in_a_transaction_index_is_found(data: st.DataObject, mask: int) -> None:
    disk = healthy()
    path = data.draw(st.sampled_from(files(disk, ".txnindex")))
    flip(disk, path, data.draw(st.integers(0, disk.size(path) - 1)), mask)
    assert {each.path for each in damages(disk)} == {path}


@given(data=st.data(), mask=bits)
@settings(max_examples=80)
def test_a_flip_in_a_time_index_is_found_unless_it_is_as_true_as_before(
    data: st.DataObject, mask: int
) -> None:
    """An entry may name any offset of the batch that has the largest timestamp."""
    disk = healthy()
    path = data.draw(st.sampled_from(files(disk, ".timeindex")))
    position = data.draw(st.integers(0, disk.size(path) - 1))
    base_offset = int(path.rpartition("/")[2].partition(".")[0])
    flip(disk, path, position, mask)
    entry = disk.read_bytes(path)[position // 12 * 12 :][:12]
    offset = base_offset + int.from_bytes(entry[8:], "big", signed=True)
    timestamp = int.from_bytes(entry[:8], "big", signed=True)
    is_true = any(
        header.base_offset <= offset <= header.last_offset and header.max_timestamp == timestamp
        for _, header in batches(disk, path.replace(".timeindex", ".log"))
    )
    assert {each.path for each in damages(disk)} == (set() if is_true else {path})


@given(data=st.data(), mask=bits)
@settings(max_examples=100)
def test_a_flip_in_a_producer_snapshot_is_found(data: st.DataObject, mask: int) -> None:
    disk = healthy()
    path = data.draw(st.sampled_from(files(disk, ".snapshot")))
    flip(disk, path, data.draw(st.integers(0, disk.size(path) - 1)), mask)
    assert {each.path for each in damages(disk)} == {path}


@given(data=st.data())
@settings(max_examples=100)
def test_bytes_that_are_gone_from_the_end_of_a_segment_are_missed(data: st.DataObject) -> None:
    disk = healthy()
    path = data.draw(st.sampled_from(logs(disk)))
    size = data.draw(st.integers(0, disk.size(path) - 1))
    disk.open(path).truncate(size)
    assert damages(disk)


@given(data=st.data())
@settings(max_examples=50)
def test_a_stretch_that_was_written_over_is_found_and_what_follows_is_still_checked(
    data: st.DataObject,
) -> None:
    disk = healthy()
    path = data.draw(st.sampled_from(logs(disk)))
    size = disk.size(path)
    position = data.draw(st.integers(0, size - 200))
    *others, (last_start, last) = batches(disk, path)
    has_whole_batch_between = any(start >= position + 200 for start, _ in others)
    stretch = disk.read_bytes(path)[position : position + 200]
    disk.damage(path, position, bytes(byte ^ 0xFF for byte in stretch))
    flip(disk, path, last_start + last.size_bytes - 1)
    positions = [each.position for each in damages(disk) if each.path == path]
    assert positions[0] is not None
    assert positions[0] <= position
    # Without a whole batch in between the two are one stretch that cannot be read.
    assert len(positions) == (2 if has_whole_batch_between else 1)
    assert positions[-1] == (last_start if has_whole_batch_between else positions[0])
