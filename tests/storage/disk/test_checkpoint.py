"""The text files of a log directory, byte for byte as Apache Kafka 4.3 writes and reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.ids import TopicPartition, uuid_from_str
from moldau.simulator.disk import SimulatedDisk, keep_nothing
from moldau.storage.disk.checkpoint import (
    CorruptCheckpoint,
    MetaProperties,
    has_clean_shutdown,
    read_clean_shutdown,
    read_leader_epochs,
    read_meta_properties,
    read_offsets,
    read_partition_metadata,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_leader_epochs,
    write_meta_properties,
    write_offsets,
    write_partition_metadata,
)

TOPIC_ID = "ZOPyZeF1Qi6gy7aPDDpf2A"


def disk_with(path: str, text: str | bytes) -> SimulatedDisk:
    disk = SimulatedDisk()
    disk.make_dirs("/data")
    disk.write_atomically(path, text if isinstance(text, bytes) else text.encode())
    return disk


def test_offsets_are_written_one_partition_a_line() -> None:
    disk = SimulatedDisk()
    offsets = {TopicPartition("idem", 0): 7500, TopicPartition("__transaction_state", 48): 0}
    write_offsets(disk, "/c", offsets)
    assert disk.read_bytes("/c") == b"0\n2\nidem 0 7500\n__transaction_state 48 0\n"
    assert read_offsets(disk, "/c") == offsets


@given(
    st.dictionaries(
        st.builds(
            TopicPartition,
            st.text("abcXYZ019._-", min_size=1, max_size=20),
            st.integers(0, 2**31 - 1),
        ),
        st.integers(-1, 2**63 - 1),
        max_size=8,
    )
)
def test_offsets_are_read_as_they_were_written(offsets: dict[TopicPartition, int]) -> None:
    disk = SimulatedDisk()
    write_offsets(disk, "/c", offsets)
    assert read_offsets(disk, "/c") == offsets


@pytest.mark.parametrize("text", ["", "0\n", "0\n0\n"])
def test_an_empty_checkpoint_has_no_offsets(text: str) -> None:
    # Apache Kafka creates its checkpoint files empty.
    assert read_offsets(disk_with("/c", text), "/c") == {}


def test_a_missing_checkpoint_has_no_offsets() -> None:
    assert read_offsets(SimulatedDisk(), "/c") == {}
    assert read_leader_epochs(SimulatedDisk(), "/c") == []


@pytest.mark.parametrize(
    "text, problem",
    [
        ("1\n0\n", "version 1 is unknown"),
        ("x\n0\n", "line 1: 'x' is not a number"),
        ("0\n2\na 0 1\n", "has 1 entries but says 2"),
        ("0\n1\na 0 1\nb 0 1\n", "has 2 entries but says 1"),
        ("0\n1\na 0\n", "line 3 is 'a 0': want TOPIC PARTITION OFFSET"),
        ("0\n1\na 0 1_0\n", "line 3: '1_0' is not a number"),
        ("0\n1\na 4294967296 1\n", "out of range"),
        (b"\xff\xfe\n", "is not text"),
        (b"\0\0\0\0\0\0\0\0", "not a number"),
    ],
)
def test_a_damaged_checkpoint_names_the_file_and_the_problem(
    text: str | bytes, problem: str
) -> None:
    with pytest.raises(CorruptCheckpoint) as corrupt:
        read_offsets(disk_with("/data/c", text), "/data/c")
    assert str(corrupt.value).startswith("/data/c: ")
    assert problem in str(corrupt.value)


def test_leader_epochs_are_written_one_epoch_a_line() -> None:
    disk = SimulatedDisk()
    write_leader_epochs(disk, "/e", [(0, 0), (2, 7500)])
    assert disk.read_bytes("/e") == b"0\n2\n0 0\n2 7500\n"
    assert read_leader_epochs(disk, "/e") == [(0, 0), (2, 7500)]


@pytest.mark.parametrize("entry", ["1", "1 2 3", "-1 0", "0 -5", "a 0"])
def test_damaged_leader_epochs_are_reported(entry: str) -> None:
    with pytest.raises(CorruptCheckpoint, match="line 3"):
        read_leader_epochs(disk_with("/e", f"0\n1\n{entry}\n"), "/e")


def test_the_topic_id_is_kept_in_the_partition() -> None:
    disk = SimulatedDisk()
    disk.make_dirs("/t-0")
    write_partition_metadata(disk, "/t-0", uuid_from_str(TOPIC_ID))
    assert disk.read_bytes("/t-0/partition.metadata") == (
        b"version: 0\ntopic_id: ZOPyZeF1Qi6gy7aPDDpf2A"
    )
    assert read_partition_metadata(disk, "/t-0") == uuid_from_str(TOPIC_ID)


def test_a_partition_without_the_file_has_no_topic_id() -> None:
    assert read_partition_metadata(SimulatedDisk(), "/t-0") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "version: 0",
        f"topic_id: {TOPIC_ID}\nversion: 0",
        f"version: -1\ntopic_id: {TOPIC_ID}",
        "version: 0\ntopic_id: tooshort",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        "version: 0\ntopic_id:",
    ],
)
def test_damaged_partition_metadata_is_reported(text: str) -> None:
    with pytest.raises(CorruptCheckpoint, match=r"/partition\.metadata: "):
        read_partition_metadata(disk_with("/partition.metadata", text), "/")


def test_meta_properties_of_apache_kafka_are_read() -> None:
    text = (
        "#\n#Sun Nov 15 21:29:39 UTC 2026\nnode.id=1\ndirectory.id=4REll-wzIhUnHutAdmijvA\n"
        "version=1\ncluster.id=kh0roAi7T6u9AmxB8RrWhA\n"
    )
    assert read_meta_properties(disk_with("/meta.properties", text), "/") == MetaProperties(
        1, "kh0roAi7T6u9AmxB8RrWhA", 1, uuid_from_str("4REll-wzIhUnHutAdmijvA")
    )


def test_meta_properties_of_the_first_version_may_lack_everything() -> None:
    assert read_meta_properties(disk_with("/meta.properties", "#\n"), "/") == MetaProperties(
        0, None, None, None
    )
    text = "version=0\nbroker.id=7\ncluster.id=abc\n"
    assert read_meta_properties(disk_with("/meta.properties", text), "/") == MetaProperties(
        0, "abc", 7, None
    )


@given(
    st.builds(
        MetaProperties,
        st.just(1),
        st.text("abc=:#! \\é9", min_size=1).filter(lambda text: text == text.strip()),
        st.integers(0, 2**31 - 1),
        st.none() | st.binary(min_size=16, max_size=16),
    )
)
def test_meta_properties_are_read_as_they_were_written(properties: MetaProperties) -> None:
    disk = SimulatedDisk()
    write_meta_properties(disk, "/", properties)
    assert read_meta_properties(disk, "/") == properties


def test_a_directory_that_was_never_formatted_has_no_meta_properties() -> None:
    assert read_meta_properties(SimulatedDisk(), "/") is None


@pytest.mark.parametrize(
    "text, problem",
    [
        ("version=2\ncluster.id=a\nnode.id=1\n", "version=2 is unknown"),
        ("version=1\nnode.id=1\n", "cluster.id is missing"),
        ("version=1\ncluster.id=a\n", "node.id is missing"),
        ("version=1\ncluster.id=a\nnode.id=x\n", "node.id=x is not a number"),
        ("version=1\ncluster.id=a\nnode.id=1\ndirectory.id=zz\n", "directory.id"),
    ],
)
def test_damaged_meta_properties_are_reported(text: str, problem: str) -> None:
    with pytest.raises(CorruptCheckpoint, match=problem):
        read_meta_properties(disk_with("/meta.properties", text), "/")


def test_a_clean_stop_leaves_a_mark_with_the_brokers_epoch() -> None:
    disk = SimulatedDisk()
    assert not has_clean_shutdown(disk, "/")
    write_clean_shutdown(disk, "/", 174)
    assert disk.read_bytes("/.kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":174}'
    disk.crash(keep_nothing, lose_names=True)
    assert has_clean_shutdown(disk, "/")
    assert read_clean_shutdown(disk, "/") == 174


def test_a_removed_mark_does_not_come_back_after_a_crash() -> None:
    for seed in range(10):
        disk = SimulatedDisk(seed)
        write_clean_shutdown(disk, "/", 174)
        remove_clean_shutdown(disk, "/")
        remove_clean_shutdown(disk, "/")
        disk.crash(keep_nothing, lose_names=True)
        assert not has_clean_shutdown(disk, "/")
        assert read_clean_shutdown(disk, "/") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"brokerEpoch":null}'])
def test_a_mark_without_an_epoch_is_still_a_mark(text: str) -> None:
    # Older brokers left the file empty.
    disk = disk_with("/.kafka_cleanshutdown", text)
    assert has_clean_shutdown(disk, "/")
    assert read_clean_shutdown(disk, "/") is None
