"""The small text files in a log directory.

A log directory has four maps of partitions to offsets, its identity (``meta.properties``), and the
clean-shutdown marker. Every partition has a file with the topic id and one with the leader epochs.
The formats are Apache Kafka's, so that each broker can start on the directories of the other.

Every file is replaced atomically, so a reader finds either the old contents or the new ones. A
damaged file was therefore written by something else or lost by the device; it is reported with the
file, the line and what was expected there.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moldau.ids import NO_UUID, TopicPartition, uuid_from_str, uuid_to_str
from moldau.storage.disk.disk import Disk

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT: Final = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT: Final = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"

_CHECKPOINT_VERSION: Final = 0
_MAX_INT32: Final = 2**31 - 1
_MAX_INT64: Final = 2**63 - 1


class CorruptCheckpoint(Exception):  # noqa: N818
    """A damaged file: which file, which line, and what was expected."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class MetaProperties(NamedTuple):
    """The identity of a directory. Version 1 always has a cluster id and a node id."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None


# -- offsets of partitions


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """The offsets in a file; empty if the file is missing or empty.

    Raises:
        CorruptCheckpoint: the file is damaged.
    """
    offsets: dict[TopicPartition, int] = {}
    for number, line in _read_entries(disk, path):
        fields = line.split()
        if len(fields) != 3:
            raise CorruptCheckpoint(path, f"line {number} is {line!r}: want TOPIC PARTITION OFFSET")
        partition = _parse_int(path, number, fields[1], _MAX_INT32)
        offsets[TopicPartition(fields[0], partition)] = _parse_int(path, number, fields[2])
    return offsets


def write_offsets(
    disk: Disk, path: str, offsets: Mapping[TopicPartition, int], sync: bool = True
) -> None:
    lines = [f"{tp.topic} {tp.partition} {offset}" for tp, offset in offsets.items()]
    _write_entries(disk, path, lines, sync)


# -- leader epochs


def read_leader_epochs(disk: Disk, path: str) -> list[tuple[int, int]]:
    """Pairs of epoch and start offset; empty if there is no file.

    Raises:
        CorruptCheckpoint: the file is damaged.
    """
    epochs: list[tuple[int, int]] = []
    for number, line in _read_entries(disk, path):
        fields = line.split()
        if len(fields) != 2:
            raise CorruptCheckpoint(path, f"line {number} is {line!r}: want EPOCH START_OFFSET")
        epoch = _parse_int(path, number, fields[0], _MAX_INT32)
        start_offset = _parse_int(path, number, fields[1])
        if epoch < 0 or start_offset < 0:
            raise CorruptCheckpoint(path, f"line {number} is {line!r}: neither may be negative")
        epochs.append((epoch, start_offset))
    return epochs


def write_leader_epochs(
    disk: Disk, path: str, epochs: Iterable[tuple[int, int]], sync: bool = True
) -> None:
    _write_entries(disk, path, [f"{epoch} {offset}" for epoch, offset in epochs], sync)


# -- partition.metadata


def read_partition_metadata(disk: Disk, directory: str) -> bytes | None:
    """The topic id of the partition in ``directory``; None if there is no file.

    Raises:
        CorruptCheckpoint: the file is damaged.
    """
    path = os.path.join(directory, PARTITION_METADATA)
    lines = _read_lines(disk, path)
    if lines is None:
        return None
    fields = [line.split() for line in lines[:2]]
    if [field[:1] for field in fields] != [["version:"], ["topic_id:"]] or any(
        len(field) != 2 for field in fields
    ):
        raise CorruptCheckpoint(path, f"holds {lines!r}: want 'version: 0' and 'topic_id: ID'")
    # Newer versions are accepted too: Kafka guarantees these two lines.
    if _parse_int(path, 1, fields[0][1], _MAX_INT32) < 0:
        raise CorruptCheckpoint(path, f"version {fields[0][1]} is unknown")
    try:
        topic_id = uuid_from_str(fields[1][1])
    except ValueError as error:
        raise CorruptCheckpoint(path, f"line 2: {error}") from None
    if topic_id == NO_UUID:
        raise CorruptCheckpoint(path, "the topic id is all zero")
    return topic_id


def write_partition_metadata(
    disk: Disk, directory: str, topic_id: bytes, sync: bool = True
) -> None:
    text = f"version: 0\ntopic_id: {uuid_to_str(topic_id)}"
    path = os.path.join(directory, PARTITION_METADATA)
    disk.write_atomically(path, text.encode("ascii"), sync)


# -- meta.properties


def read_meta_properties(disk: Disk, log_dir: str) -> MetaProperties | None:
    """The contents of ``meta.properties``; None if the directory is not formatted.

    Raises:
        CorruptCheckpoint: the file is damaged or has an unknown version.
    """
    path = os.path.join(log_dir, META_PROPERTIES)
    lines = _read_lines(disk, path)
    if lines is None:
        return None
    values = _parse_properties("\n".join(lines))
    version = _required_int(path, values, "version") if "version" in values else 0
    if version not in (0, 1):
        raise CorruptCheckpoint(path, f"version={version} is unknown: want 0 or 1")
    id_name = "broker.id" if version == 0 else "node.id"
    node_id: int | None = None
    if version == 1 or id_name in values:
        node_id = _required_int(path, values, id_name)
    cluster_id = values.get("cluster.id")
    if version == 1 and cluster_id is None:
        raise CorruptCheckpoint(path, "cluster.id is missing")
    directory_id: bytes | None = None
    if "directory.id" in values:
        try:
            directory_id = uuid_from_str(values["directory.id"])
        except ValueError as error:
            raise CorruptCheckpoint(path, f"directory.id: {error}") from None
    return MetaProperties(version, cluster_id, node_id, directory_id)


def write_meta_properties(disk: Disk, log_dir: str, properties: MetaProperties) -> None:
    values: dict[str, str] = {"version": str(properties.version)}
    if properties.cluster_id is not None:
        values["cluster.id"] = properties.cluster_id
    if properties.node_id is not None:
        values["broker.id" if properties.version == 0 else "node.id"] = str(properties.node_id)
    if properties.directory_id is not None:
        values["directory.id"] = uuid_to_str(properties.directory_id)
    lines = ["#\n"] + [f"{name}={_escape(values[name])}\n" for name in sorted(values)]
    path = os.path.join(log_dir, META_PROPERTIES)
    disk.write_atomically(path, "".join(lines).encode("utf-8"))


# -- .kafka_cleanshutdown


def write_clean_shutdown(disk: Disk, log_dir: str, broker_epoch: int) -> None:
    """Record that every log in the directory was closed cleanly.

    With the broker epoch the controller can distinguish a clean shutdown from an unclean one, which
    may have lost records (KIP-966).
    """
    write_broker_epoch(disk, os.path.join(log_dir, CLEAN_SHUTDOWN), broker_epoch)


def has_clean_shutdown(disk: Disk, log_dir: str) -> bool:
    return disk.exists(os.path.join(log_dir, CLEAN_SHUTDOWN))


def read_clean_shutdown(disk: Disk, log_dir: str) -> int | None:
    """The epoch of the broker that shut down; None without a marker or an epoch in it."""
    return read_broker_epoch(disk, os.path.join(log_dir, CLEAN_SHUTDOWN))


def write_broker_epoch(disk: Disk, path: str, broker_epoch: int, sync: bool = True) -> None:
    text = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
    disk.write_atomically(path, text.encode("ascii"), sync)


def read_broker_epoch(disk: Disk, path: str) -> int | None:
    """The epoch in a file; None without the file, or if it has none."""
    import json

    try:
        content = json.loads(disk.read_bytes(path))
    except (FileNotFoundError, ValueError):
        return None
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    return epoch if isinstance(epoch, int) else None


def remove_clean_shutdown(disk: Disk, log_dir: str) -> None:
    """Remove the marker durably: a crash must not leave that of an earlier shutdown."""
    path = os.path.join(log_dir, CLEAN_SHUTDOWN)
    if disk.exists(path):
        disk.remove(path, missing_ok=True)
        disk.sync_dir(log_dir)


# -- the common text format: version, number of entries, one entry per line


def _read_lines(disk: Disk, path: str) -> list[str] | None:
    try:
        data = disk.read_bytes(path)
    except FileNotFoundError:
        return None
    try:
        return data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(path, f"is not text: {error}") from None


def _read_entries(disk: Disk, path: str) -> list[tuple[int, str]]:
    """Line numbers and lines of the entries. A file without an entry count is empty."""
    lines = _read_lines(disk, path)
    if not lines:
        return []
    version = _parse_int(path, 1, lines[0], _MAX_INT32)
    if version != _CHECKPOINT_VERSION:
        raise CorruptCheckpoint(path, f"version {version} is unknown: want {_CHECKPOINT_VERSION}")
    if len(lines) == 1:
        return []
    expected = _parse_int(path, 2, lines[1], _MAX_INT32)
    entries = list(enumerate(lines[2:], start=3))
    if len(entries) != expected:
        raise CorruptCheckpoint(path, f"has {len(entries)} entries but says {expected}")
    return entries


def _write_entries(disk: Disk, path: str, lines: list[str], sync: bool) -> None:
    text = "\n".join([str(_CHECKPOINT_VERSION), str(len(lines)), *lines, ""])
    disk.write_atomically(path, text.encode("utf-8"), sync)


def _parse_int(path: str, number: int, text: str, limit: int = _MAX_INT64) -> int:
    digits = text[1:] if text[:1] == "-" else text
    if not (digits.isascii() and digits.isdigit()):
        raise CorruptCheckpoint(path, f"line {number}: {text!r} is not a number")
    value = int(text)
    if not -limit - 1 <= value <= limit:
        raise CorruptCheckpoint(path, f"line {number}: {text} is out of range")
    return value


def _required_int(path: str, values: Mapping[str, str], name: str) -> int:
    text = values.get(name)
    if text is None:
        raise CorruptCheckpoint(path, f"{name} is missing")
    try:
        return int(text)
    except ValueError:
        raise CorruptCheckpoint(path, f"{name}={text} is not a number") from None


def _parse_properties(text: str) -> dict[str, str]:
    """Parse the subset of Java's properties format used here: comments and escaped characters."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        name, _, value = line.partition("=")
        values[_unescape(name.rstrip())] = _unescape(value.lstrip())
    return values


def _escape(value: str) -> str:
    return "".join("\\" + char if char in "\\=:#! " else char for char in value)


def _unescape(value: str) -> str:
    result: list[str] = []
    escaped = False
    for char in value:
        if char == "\\" and not escaped:
            escaped = True
            continue
        result.append(char)
        escaped = False
    return "".join(result)
