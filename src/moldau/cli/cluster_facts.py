"""The topics in the metadata log of a data directory, read without a broker.

They tell whether a partition's topic still exists, with which id, and whether compaction explains
gaps in its offsets. The log itself may be damaged or absent: then nothing is known, and what could
not be read is a finding.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.broker.metadata_snapshot import (
    CorruptSnapshot,
    decode_snapshot,
    metadata_records,
    parse_snapshot_name,
    snapshot_name,
)
from moldau.ids import METADATA_TOPIC
from moldau.metadata.delta import MetadataError
from moldau.metadata.image import CLUSTER_DEFAULT, TOPIC_RESOURCE, MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.protocol.primitives import MalformedMessage
from moldau.raft.log_view import SnapshotId
from moldau.raft.quorum_state import decode_quorum_state
from moldau.record.header import CorruptBatch, crc_is_valid, iter_headers
from moldau.record.records import decode_records
from moldau.storage.disk.disk import Disk
from moldau.storage.verification.findings import Finding, Severity
from moldau.storage.verification.log_dir_check import TopicFacts

_QUORUM_STATE: Final = "quorum-state"
_REMEDY: Final = "restore the file from another controller or a backup"


class ClusterFacts(NamedTuple):
    """``topics`` is None if there is no metadata log, or it cannot be read to its end."""

    topics: Mapping[str, TopicFacts] | None
    findings: list[Finding]


class _Unreadable(Exception):  # noqa: N818
    """The structure of the log is damaged; the check of its segments reports that."""


def read_cluster_facts(disk: Disk, log_dirs: Sequence[str]) -> ClusterFacts:
    """Read the metadata log in the first of ``log_dirs`` that has one."""
    for log_dir in log_dirs:
        directory = os.path.join(log_dir, f"{METADATA_TOPIC}-0")
        if disk.is_dir(directory):
            findings = _check_quorum_state(disk, directory)
            image, problem = _read_image(disk, directory)
            if problem is not None:
                findings.append(problem)
            return ClusterFacts(None if image is None else _topics(image), findings)
    return ClusterFacts(None, [])


def _check_quorum_state(disk: Disk, directory: str) -> list[Finding]:
    path = os.path.join(directory, _QUORUM_STATE)
    if not disk.exists(path):
        return []
    try:
        decode_quorum_state(disk.read_bytes(path))
    except ValueError as error:
        follows = "the controller does not start, because it does not know whom it voted for"
        return [
            Finding(Severity.DAMAGE, path, str(error), follows=follows, remedy=_REMEDY),
        ]
    return []


def _read_image(disk: Disk, directory: str) -> tuple[MetadataImage | None, Finding | None]:
    """The state of the cluster, or the finding about a record that cannot be applied."""
    path = directory
    loader = MetadataLoader()
    try:
        snapshot, path = _load_snapshot(disk, directory, loader)
        for name in disk.list_dir(directory):
            if name.endswith(".log"):
                path = os.path.join(directory, name)
                _replay(disk.read_bytes(path), snapshot.end_offset, loader)
    except (CorruptSnapshot, _Unreadable):
        return None, None
    except (MalformedMessage, MetadataError) as error:
        return None, Finding(
            Severity.DAMAGE,
            path,
            f"a metadata record cannot be applied: {error}",
            follows="a node that replays the log stops there",
            remedy=_REMEDY,
        )
    return loader.take()[0], None


def _load_snapshot(disk: Disk, directory: str, loader: MetadataLoader) -> tuple[SnapshotId, str]:
    ids = map(parse_snapshot_name, disk.list_dir(directory))
    found = sorted(each for each in ids if each is not None)
    if not found:
        return SnapshotId(0, 0), directory
    newest = found[-1]
    path = os.path.join(directory, snapshot_name(newest))
    records = decode_snapshot(disk.read_bytes(path), path).records
    first = newest.end_offset - len(records)
    loader.add_batch(first, newest.epoch, -1, records)
    return newest, path


def _replay(data: bytes, from_offset: int, loader: MetadataLoader) -> None:
    end = 0
    try:
        for position, header in iter_headers(data):
            end = position + header.size_bytes
            if not crc_is_valid(data, position, header):
                raise _Unreadable
            if header.is_control or header.last_offset < from_offset:
                continue
            records = metadata_records(decode_records(data, position))
            loader.add_batch(header.base_offset, header.partition_leader_epoch, -1, records)
    except CorruptBatch as error:
        raise _Unreadable from error
    if end != len(data):
        raise _Unreadable


def _topics(image: MetadataImage) -> dict[str, TopicFacts]:
    default = image.configs.get(CLUSTER_DEFAULT, {}).get("log.cleanup.policy", "")
    return {
        name: TopicFacts(
            topic.id,
            "compact" in image.config(TOPIC_RESOURCE, name).get("cleanup.policy", default),
        )
        for name, topic in image.topics_by_name.items()
    }
