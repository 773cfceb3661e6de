"""Compares the logs that the replicas of a partition have on disk, batch by batch."""

import struct
from collections.abc import Sequence
from pathlib import Path

from tools.clusters import ClusterNode

from moldau.record.header import BatchHeader, read_header

_HEADER = struct.Struct(">qi")


def batches(folder: Path) -> dict[int, bytes]:
    """Every batch of the log in ``folder``, by base offset."""
    found = {}
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        position = 0
        while position + _HEADER.size <= len(data):
            base_offset, length = _HEADER.unpack_from(data, position)
            if length <= 0:
                break
            end = position + _HEADER.size + length
            found[base_offset] = data[position:end]
            position = end
    return found


def batch_at(folder: Path, offset: int) -> BatchHeader:
    """The header of the batch that has ``offset`` in the log in ``folder``."""
    for batch in batches(folder).values():
        header = read_header(batch, 0)
        if header.base_offset <= offset <= header.last_offset:
            return header
    raise AssertionError(f"no batch in {folder} has offset {offset}")


def described(header: BatchHeader) -> str:
    """What tells batches apart: who sent them, and to which leader."""
    return (
        f"offsets {header.base_offset} to {header.last_offset}, leader epoch "
        f"{header.partition_leader_epoch}, producer {header.producer_id} epoch "
        f"{header.producer_epoch}, sequence {header.base_sequence}, timestamp "
        f"{header.base_timestamp}"
    )


def differences(nodes: Sequence[ClusterNode], topic: str, partitions: int) -> list[str]:
    """Batches that one replica has and another has not, or has otherwise.

    For a topic whose producers are done and whose replicas are all in sync, so that everything is
    below the high watermark; the nodes must have been stopped.
    """
    found = []
    for partition in range(partitions):
        logs = {node: batches(node.directory / f"{topic}-{partition}") for node in nodes}
        first, *others = logs
        for other in others:
            for offset in sorted(logs[first].keys() | logs[other].keys()):
                if logs[first].get(offset) != logs[other].get(offset):
                    pair = f"{first.kind} and {other.kind}"
                    found.append(f"{topic}-{partition}: {pair} differ at offset {offset}")
                    break
    return found
