"""The rows about a metadata quorum: three controllers and a broker, each a process of its own.

The controllers keep Kafka's time-outs of elections. A client of the broker asks for a topic when
the active controller has been killed: the answer comes from the next one.
"""

import statistics
import struct
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tools import wire
from tools.brokers import HOST
from tools.clusters import APACHE, MOLDAU, Cluster, eventually, separate_members

from benchmarks.many_rows import wait_for_leader
from benchmarks.rows import Figures
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionData,
    TopicData,
)

FAILOVER: Final = "new active controller after kill -9, three controllers"
LARGE_TOPIC: Final = "topic of 1,000 partitions, three controllers"
ROWS: Final = (FAILOVER, LARGE_TOPIC)
TARGETS: Final[dict[str, Sequence[tuple[str, str, float]]]] = {
    FAILOVER: [("failover_s", "at most", 1.0)],
    LARGE_TOPIC: [("create_s", "at most", 1.0)],
}
KILLS: Final = 3
PARTITIONS: Final = 1000
PATIENCE_S: Final = 120.0
_METADATA: Final = "__cluster_metadata"
_DESCRIBE: Final = DescribeQuorumRequest([TopicData(_METADATA, [PartitionData(0)])])


def clusters(folder: Path) -> dict[str, Cluster]:
    return {
        name: Cluster(folder / f"quorum-{name}", separate_members(3, 1, kind))
        for name, kind in (("moldau", MOLDAU), ("kafka", APACHE))
    }


def measure(row: str, cluster: Cluster) -> Figures:
    return _failover(cluster) if row == FAILOVER else _large_topic(cluster)


def _failover(cluster: Cluster) -> Figures:
    """The median time from kill -9 to the answer that a topic is created."""
    times = []
    for _ in range(KILLS):
        killed = cluster.nodes[_described(cluster).leader_id]
        with wire.RawConnection(HOST, cluster.brokers[0].port, PATIENCE_S) as connection:
            killed.kill()
            began = time.monotonic()
            _create(connection, 1)
            times.append(time.monotonic() - began)
        killed.start()
        eventually("every voter has caught up", lambda: _has_caught_up(cluster), PATIENCE_S)
    return {"failover_s": statistics.median(times)}


def _large_topic(cluster: Cluster) -> Figures:
    """The time until a topic of a thousand partitions is created, and its last one has a leader."""
    broker = cluster.brokers[0]
    with wire.RawConnection(HOST, broker.port, PATIENCE_S) as connection:
        began = time.monotonic()
        name = _create(connection, PARTITIONS)
        wait_for_leader(broker, name, PARTITIONS - 1)
    return {"create_s": time.monotonic() - began}


def _create(connection: wire.RawConnection, partitions: int) -> str:
    name = uuid.uuid4().hex
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    response = _send(connection, CreateTopicsRequest([topic], int(PATIENCE_S * 1000)), 7)
    [created] = response.topics
    # A broker may ask twice, if a controller dies before its answer.
    if created.error_code not in (0, 36):
        raise RuntimeError(f"topic {name} was not created: {created}")
    return name


def _described(cluster: Cluster) -> Any:
    with wire.RawConnection(HOST, cluster.brokers[0].port, PATIENCE_S) as connection:
        response = _send(connection, _DESCRIBE, 2)
    partition = response.topics[0].partitions[0]
    if response.error_code or partition.error_code:
        raise RuntimeError(f"the quorum has no leader: {response}")
    return partition


def _has_caught_up(cluster: Cluster) -> bool:
    partition = _described(cluster)
    ends = [voter.log_end_offset for voter in partition.current_voters]
    return min(ends) >= partition.high_watermark > 0


def _send(connection: wire.RawConnection, request: Message, version: int) -> Any:
    key = request.API_KEY
    frame = encode_request_header(key, version, 1, "bench") + request.encode(version)
    response = bytes(connection.call(struct.pack(">i", len(frame)) + frame))
    _, position = decode_response_header(response, key, version)
    return APIS[key].response_class().decode(response, position, version)[0]
