"""Reads the metadata logs of the nodes of a cluster, and compares them batch by batch."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.clusters import ClusterNode

from moldau.broker.metadata_snapshot import decode_snapshot, metadata_records, parse_snapshot_name
from moldau.metadata.image import MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.protocol.records.metadata import TopicRecord
from moldau.record.header import read_header
from moldau.record.records import decode_records
from tests.cluster import partition_logs


def _directory(node: ClusterNode) -> Path:
    return node.directory / "__cluster_metadata-0"


def batches(node: ClusterNode) -> dict[int, bytes]:
    """Every batch of a node's metadata log, by base offset."""
    return partition_logs.batches(_directory(node))


def different_batches(nodes: Sequence[ClusterNode]) -> list[str]:
    """Offsets at which two nodes have different batches."""
    merged: dict[int, tuple[Path, bytes]] = {}
    found = []
    for node in nodes:
        for offset, data in batches(node).items():
            path, known = merged.setdefault(offset, (node.directory, data))
            if known != data:
                found.append(f"offset {offset}: {node.directory} differs from {path}")
    return found


def image_of(node: ClusterNode) -> MetadataImage:
    """The metadata on a node's disk: its newest snapshot, and the log behind it."""
    loader = MetadataLoader()
    end_offset = 0
    names = [path.name for path in _directory(node).glob("*.checkpoint")]
    snapshots = [found for found in map(parse_snapshot_name, names) if found is not None]
    if snapshots:
        end_offset, epoch = max(snapshots)
        path = _directory(node) / f"{end_offset:020}-{epoch:010}.checkpoint"
        records = decode_snapshot(path.read_bytes(), str(path)).records
        loader.add_batch(end_offset - len(records), epoch, 0, records)
    for base_offset, data in batches(node).items():
        header = read_header(data, 0)
        if base_offset >= end_offset and not header.is_control:
            loader.add_batch(base_offset, 0, 0, metadata_records(decode_records(data)))
    return loader.take()[0]


def created_twice(node: ClusterNode) -> list[str]:
    """Names of topics that a node's log creates more than once."""
    names = Counter(
        record.name
        for data in batches(node).values()
        if not read_header(data, 0).is_control
        for record in metadata_records(decode_records(data))
        if isinstance(record, TopicRecord)
    )
    return [name for name, count in names.items() if count > 1]
