"""The requests of a follower to the leaders of its partitions.

A replica fetcher does not ask for the versions of its peer: the version of a request follows from
metadata.version, which every broker of the cluster supports.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.metadata_cache import MetadataCache
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse, ReplicaState
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.replica.followed_partitions import PlannedFetch

if TYPE_CHECKING:
    from moldau.network.outbound import Outbound

LATEST: Final = -1
EARLIEST: Final = -2
# From this version on a follower says which incarnation of its broker it is (KIP-903).
_FIRST_WITH_REPLICA_EPOCH: Final = 15

# The versions from a level of metadata.version on, the highest first, as in Kafka.
_FETCH_VERSIONS: Final = ((27, 18), (21, 17), (19, 16), (10, 15), (9, 14), (0, 13))
_LIST_OFFSETS_VERSIONS: Final = ((29, 11), (25, 10), (21, 9), (9, 8), (0, 7))


def fetch_version(metadata_version: int) -> int:
    return next(version for level, version in _FETCH_VERSIONS if metadata_version >= level)


def list_offsets_version(metadata_version: int) -> int:
    return next(version for level, version in _LIST_OFFSETS_VERSIONS if metadata_version >= level)


class LeaderRequests:
    """Builds the requests of one broker, and reads the responses."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        configs: DynamicConfig,
        metadata: MetadataCache,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._configs = configs
        self._metadata = metadata

    async def fetch(self, outbound: "Outbound", planned: PlannedFetch) -> FetchResponse:
        """Raises Disconnected."""
        config = self._configs.broker
        version = fetch_version(self._metadata.image.metadata_version)
        request = FetchRequest(
            max_wait_ms=config.replica_fetch_wait_max_ms if planned.is_complete else 0,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=planned.session_id,
            session_epoch=planned.session_epoch,
            topics=planned.topics,
            forgotten_topics_data=planned.forgotten,
        )
        if version >= _FIRST_WITH_REPLICA_EPOCH:
            request.replica_state = ReplicaState(self._broker_id, self._broker_epoch())
        else:
            request.replica_id = self._broker_id
        response = await outbound.send(request, version)
        assert isinstance(response, FetchResponse)
        return response

    async def offsets(
        self, outbound: "Outbound", topic_partition: TopicPartition, leader_epoch: int
    ) -> tuple[int, int]:
        """Where the leader's log begins and ends.

        Raises:
            Disconnected: there is no answer.
            ApiError: the leader refused it.
        """
        # The end first: a log that grows between the two has no end before its beginning.
        end = await self._offset(outbound, topic_partition, leader_epoch, LATEST)
        start = await self._offset(outbound, topic_partition, leader_epoch, EARLIEST)
        return start, end

    async def _offset(
        self,
        outbound: "Outbound",
        topic_partition: TopicPartition,
        leader_epoch: int,
        timestamp: int,
    ) -> int:
        asked = ListOffsetsPartition(
            partition_index=topic_partition.partition,
            current_leader_epoch=leader_epoch,
            timestamp=timestamp,
        )
        topic = ListOffsetsTopic(name=topic_partition.topic, partitions=[asked])
        request = ListOffsetsRequest(replica_id=self._broker_id, topics=[topic])
        version = list_offsets_version(self._metadata.image.metadata_version)
        response = await outbound.send(request, version)
        assert isinstance(response, ListOffsetsResponse)
        answer = response.topics[0].partitions[0]
        if answer.error_code:
            raise ApiError(ErrorCode(answer.error_code))
        return answer.offset
