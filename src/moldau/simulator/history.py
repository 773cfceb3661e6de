"""What the clients of a simulation know for certain, and what contradicts it.

A fact is written down when a client hears it: a record was acknowledged at an offset, a record was
read at an offset, an offset was committed. Each new fact must agree with the older ones, and at the
end the cluster must agree with all of them (``invariants``).

A request without an answer may have been carried out, now or at any later time: what it asked for
is written down as possible.
"""

from typing import NamedTuple

from moldau.ids import TopicPartition
from moldau.simulator.world import World


class GroupPartition(NamedTuple):
    """A partition as one group sees it."""

    group_id: str
    topic_partition: TopicPartition


class TopicFacts:
    """A topic of the admin clients, each of which has its own topics and one request at a time."""

    def __init__(self, name: str, partitions: int) -> None:
        self.name = name
        # As acknowledged.
        self.exists = False
        self.partitions = partitions
        self.configs: dict[str, str] = {}
        # What requests without an answer may still cause.
        self.may_be_created = False
        self.may_be_deleted = False
        self.possible_partitions: set[int] = set()
        self.possible_configs: dict[str, set[str]] = {}


class History:
    """The facts of one simulation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.sent: dict[TopicPartition, dict[bytes, None]] = {}
        self.acknowledged: dict[TopicPartition, dict[bytes, int]] = {}
        self.read: dict[TopicPartition, dict[int, bytes]] = {}
        self.committed: dict[GroupPartition, int] = {}
        self.owners: dict[tuple[GroupPartition, int], str] = {}
        self.producer_ids: dict[int, None] = {}
        self.topics: dict[str, TopicFacts] = {}
        self._latest_owner: dict[GroupPartition, str] = {}
        self._possible_commits: dict[GroupPartition, int] = {}
        self._doubtful_commits: dict[GroupPartition, int] = {}

    # --- records ---

    def will_send(self, topic_partition: TopicPartition, value: bytes) -> None:
        self.sent.setdefault(topic_partition, {})[value] = None

    def was_acknowledged(self, topic_partition: TopicPartition, value: bytes, offset: int) -> None:
        """``offset`` is -1 if the broker only says that it has the record already."""
        self.acknowledged.setdefault(topic_partition, {})[value] = offset
        if offset >= 0:
            self._agree(topic_partition, offset, value, "acknowledged")

    def was_read(self, topic_partition: TopicPartition, offset: int, value: bytes) -> None:
        if value not in self.sent.get(topic_partition, {}):
            self._violated(f"{topic_partition} offset {offset} has {value!r}, which nobody sent")
        self._agree(topic_partition, offset, value, "read")

    def _agree(self, topic_partition: TopicPartition, offset: int, value: bytes, how: str) -> None:
        known = self.read.setdefault(topic_partition, {})
        if known.setdefault(offset, value) != value:
            self._violated(
                f"{topic_partition} offset {offset} had {known[offset]!r}, and now {value!r} is "
                f"{how} there"
            )

    def known_end(self, topic_partition: TopicPartition) -> int:
        """The offset after the last record that was acknowledged or read."""
        return max(self.read.get(topic_partition, ()), default=-1) + 1

    def has_producer_id(self, producer_id: int) -> None:
        if producer_id in self.producer_ids:
            self._violated(f"the producer id {producer_id} was given to two producers")
        self.producer_ids[producer_id] = None

    # --- groups ---

    def owns(self, partition: GroupPartition, member_epoch: int, member: str) -> None:
        """A member begins to work on a partition in an epoch of the group."""
        other = self.owners.setdefault((partition, member_epoch), member)
        if other != member:
            self._violated(
                f"{member} and {other} both own {partition.topic_partition} of "
                f"{partition.group_id} in epoch {member_epoch}"
            )
        if self._latest_owner.get(partition) != member:
            self._latest_owner[partition] = member
            # What others have sent before is refused from now on: it names an older epoch.
            self._doubtful_commits.pop(partition, None)

    def will_commit(self, partition: GroupPartition, offset: int) -> None:
        self._possible_commits[partition] = max(offset, self._possible_commits.get(partition, -1))

    def has_committed(self, partition: GroupPartition, offset: int) -> None:
        self.committed[partition] = max(offset, self.committed.get(partition, -1))

    def may_have_committed(self, partition: GroupPartition, offset: int) -> None:
        """A commit without an answer: it may arrive later, even after the next one."""
        known = self._doubtful_commits.get(partition, offset)
        self._doubtful_commits[partition] = min(offset, known)

    def least_commit(self, partition: GroupPartition) -> int:
        """The smallest offset that the group can find for a partition; -1 for none."""
        committed = self.committed.get(partition, -1)
        return min(committed, self._doubtful_commits.get(partition, committed))

    def found_commit(self, partition: GroupPartition, offset: int, at_least: int) -> None:
        """A member reads a committed offset; ``at_least`` was known before it asked."""
        if offset < at_least:
            self._violated(f"{_name(partition)} is at {offset}, but {at_least} was committed")
        if offset > self._possible_commits.get(partition, -1):
            self._violated(f"{_name(partition)} is at {offset}, which nobody has committed")

    def _violated(self, what: str) -> None:
        self._world.surprise("history", what)


def _name(partition: GroupPartition) -> str:
    return f"{partition.topic_partition} of {partition.group_id}"
