"""Reads an offset range of one partition, with the next request always in flight.

Unlike a consumer, a job knows both ends of the range it reads. So there is nothing to wait for,
and the next request is sent as soon as a response has arrived: the broker reads and sends while
the caller decodes.

Rules this module keeps:

* Every response is returned once, in order, and positions only increase.
* If the leader moves or the connection breaks, the leader is looked up and asked again from the
  same position, for up to the timeout of the cluster.
* A missing offset is an error (OFFSET_OUT_OF_RANGE) that names the available range.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from moldau.client.cluster import Cluster, raise_for
from moldau.client.connection import Connection, ConnectionFailed
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.record.header import iter_headers

_FETCH_KEY: Final = 1
_FIRST_WITH_TOPIC_IDS: Final = 13
_PATIENCE_S: Final = 2.0


class FetchSettings(NamedTuple):
    """The parameters of the fetch requests."""

    read_committed: bool = True
    min_bytes: int = 1
    # The largest response, unless a single batch is larger.
    max_bytes: int = 4 << 20
    max_wait_ms: int = 500


class Fetched(NamedTuple):
    """One response: batches from ``position`` on; the first may begin before it."""

    position: int
    # Where the next response begins.
    following: int
    data: PartitionData
    batches: memoryview


class RangeReader:
    """Reads one range at a time, with exclusive use of the cluster's connections."""

    def __init__(self, cluster: Cluster, settings: FetchSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        # The request in flight, if there is one.
        self._asked: Connection | None = None

    def read(self, partition: TopicPartition, start: int, end: int) -> Iterator[Fetched]:
        """The batches with offsets from ``start`` to ``end``; the outer batches may extend beyond.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE if an offset of the range does not exist, or another
                error of the broker.
            ConnectionFailed: the leader cannot be reached.
        """
        position = start
        deadline_s = time.monotonic() + self._cluster.timeout_s
        try:
            while position < end:
                data = self._cluster.retrying(
                    lambda at=position: self._take(partition, at),  # type: ignore[misc]
                    [partition.topic],
                    # The topic may have been recreated since it was looked up.
                    patience_s=_PATIENCE_S,
                )
                assert isinstance(data.records, bytes | memoryview | None), "part of the frame"
                batches = memoryview(data.records or b"")
                following = position
                for _, header in iter_headers(batches):
                    following = max(following, header.next_offset)
                if following == position:
                    self._check_there_is_more(partition, position, end, data, deadline_s)
                    continue
                if following < end:
                    # Errors are handled when the response is read.
                    with suppress(ApiError, ConnectionFailed):
                        self._ask(partition, following)
                yield Fetched(position, following, data, batches)
                position = following
                deadline_s = time.monotonic() + self._cluster.timeout_s
        finally:
            # An unread response would be taken for the response to the next request.
            if self._asked is not None:
                self._asked.close()
                self._asked = None

    def _take(self, partition: TopicPartition, position: int) -> PartitionData:
        """The response to the request in flight, or to one that is sent now."""
        if self._asked is None:
            self._ask(partition, position)
        connection, self._asked = self._asked, None
        assert connection is not None
        response = connection.receive(FetchResponse)
        what = f"{partition} at offset {position}"
        raise_for(response.error_code, None, what)
        data = response.responses[0].partitions[0]
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise self._out_of_range(partition, position)
        raise_for(data.error_code, None, what)
        return data

    def _ask(self, partition: TopicPartition, position: int) -> None:
        settings = self._settings
        connection = self._cluster.connection(self._cluster.leader_of(partition))
        topic = FetchTopic(
            partitions=[
                FetchPartition(
                    partition=partition.partition,
                    fetch_offset=position,
                    partition_max_bytes=settings.max_bytes,
                )
            ]
        )
        if connection.version_of(_FETCH_KEY) >= _FIRST_WITH_TOPIC_IDS:
            topic.topic_id = self._cluster.topic(partition.topic).topic_id
        else:
            topic.topic = partition.topic
        connection.post(
            FetchRequest(
                max_wait_ms=settings.max_wait_ms,
                min_bytes=settings.min_bytes,
                max_bytes=settings.max_bytes,
                isolation_level=int(settings.read_committed),
                topics=[topic],
            )
        )
        self._asked = connection

    def _check_there_is_more(
        self,
        partition: TopicPartition,
        position: int,
        end: int,
        data: PartitionData,
        deadline_s: float,
    ) -> None:
        """The response was empty: retry for a while, the rest may still become readable.

        A transaction may be open, or a new leader may not know the high watermark yet.
        """
        if time.monotonic() < deadline_s:
            return
        if data.high_watermark < end:
            raise self._out_of_range(partition, position)
        message = (
            f"{partition} returns no records from offset {position} on, although it ends at "
            f"{data.high_watermark}: a transaction has been open since {data.last_stable_offset}"
        )
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, message)

    def _out_of_range(self, partition: TopicPartition, position: int) -> ApiError:
        first = list_offsets(self._cluster, {partition: EARLIEST})[partition].offset
        end = list_offsets(self._cluster, {partition: LATEST})[partition].offset
        message = f"{partition} has no offset {position}: it begins at {first} and ends at {end}"
        return ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
