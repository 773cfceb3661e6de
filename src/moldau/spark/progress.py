"""Publishes the progress of a stream as committed offsets of a consumer group.

The checkpoint is authoritative; a query that restarts ignores the group. The commits are for
monitoring: `moldau groups describe` and every other Kafka tool show the lag.
"""

import sys

from moldau.client.cluster import Cluster
from moldau.client.connection import ConnectionFailed
from moldau.client.group_admin import GroupAdmin
from moldau.errors import ApiError
from moldau.spark.errors import PipelineError
from moldau.spark.offsets import Offsets


class GroupProgress:
    """Commits offsets for a group that has no members."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self._groups = GroupAdmin(cluster)
        self._group_id = group_id
        self._committed: Offsets = {}

    def commit(self, offsets: Offsets) -> None:
        """Commit the offsets that have changed.

        An unavailable coordinator does not fail the query: the next commit includes these offsets.

        Raises:
            PipelineError: the group has active members, or the user is not authorized.
        """
        moved = {
            partition: offset
            for partition, offset in offsets.items()
            if self._committed.get(partition) != offset
        }
        if not moved:
            return
        try:
            self._groups.alter_offsets(self._group_id, moved)
        except ApiError as error:
            if not error.code.retriable:
                raise PipelineError(f"option groupId={self._group_id}: {error}") from None
            self._warn(error)
        except ConnectionFailed as error:
            self._warn(error)
        else:
            self._committed.update(moved)

    def _warn(self, error: Exception) -> None:
        print(f"moldau: progress of group {self._group_id} not committed: {error}", file=sys.stderr)
