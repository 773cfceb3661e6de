"""The mark of a query: the number of micro-batches written, committed together with them.

A transaction can include offsets, so the number is stored as a committed offset of a consumer
group without members. The group is named after Spark's query id, which is in the checkpoint: a new
checkpoint is a new query, starts at batch 0 and has no mark. Offset *n* means that the batches
before *n* are written, and it is committed in the same transaction as the last of them.

The coordinator expires offsets that are not committed again within ``offsets.retention.minutes``.
A running query renews its mark (``mark_renewal``). If a query was stopped for longer, the
checkpoint is enough if its last batch is complete: the next one is new and cannot have been
written. A batch that was started by an earlier run and not completed may have been written, and
without the mark that is unknown. For the very first batch, the absence of a note in the
checkpoint, which is created before anything is written, shows that it was not.

Rules this module keeps:

* A marked batch is not written again, and no batch is skipped.
* If that cannot be decided, nothing is written, and the error says what to do.
"""

from enum import Enum
from typing import Final

from moldau.client.admin import ResourceType
from moldau.client.cluster import Cluster, raise_for
from moldau.client.coordinators import Coordinators
from moldau.client.group_offsets import CommittedOffset, fetch
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.ids import TopicPartition
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from moldau.spark.errors import PipelineError

# The topic of the mark if each row names its own topic; every cluster with groups has it.
_ALWAYS_THERE: Final = "__consumer_offsets"
_REMEDY: Final = (
    "compare the end of the topic with the source, and start with a new checkpoint and "
    "startingOffsets after what was written"
)
RETENTION: Final = "offsets.retention.minutes"


class Step(Enum):
    """What to do with a micro-batch."""

    WRITE = "write"
    SKIP = "skip"


def name_of(query_id: str) -> str:
    """The consumer group of a query's mark, and the transactional id of its transactions."""
    return f"moldau-spark-{query_id}"


def next_step(batch_id: int, written: int | None, *, has_begun: bool, is_repeated: bool) -> Step:
    """Whether to write batch ``batch_id`` if the first ``written`` ones are written.

    ``written`` is None if there is no mark. ``has_begun``: this query may have written batches.
    ``is_repeated``: an earlier run started this batch and did not complete it.

    Raises:
        PipelineError: the mark and the checkpoint contradict each other, or the mark is gone.
    """
    if written is None:
        is_first = batch_id == 0
        if (is_first and not has_begun) or not (is_first or is_repeated):
            return Step.WRITE
        raise PipelineError(
            f"the mark of batch {batch_id} is gone: whether it was written is not known. The query "
            f"died in the middle of it and stood still for longer than {RETENTION}, its group was "
            f"deleted, or the batch was begun by a query that does not write exactly once: "
            f"{_REMEDY}"
        )
    if batch_id == written:
        return Step.WRITE
    if batch_id == written - 1:
        return Step.SKIP
    what = "an older state" if batch_id < written else "another history"
    raise PipelineError(
        f"the checkpoint continues with batch {batch_id}, but {written} batches are written: it is "
        f"{what} of the query: {_REMEDY}"
    )


class BatchMarker:
    """Reads and commits the mark of one query."""

    def __init__(self, cluster: Cluster, name: str, topic: str | None) -> None:
        self._cluster = cluster
        self._name = name
        self._partition = TopicPartition(topic or _ALWAYS_THERE, 0)
        self._coordinators = Coordinators(cluster)

    def read(self) -> int | None:
        """Return how many batches are written; None if there is no mark."""

        def ask() -> int | None:
            self._coordinators.forget(self._name)
            coordinator = self._coordinators.connection(self._name)
            # require_stable: wait for a transaction that is about to end (KIP-447).
            found = fetch(self._cluster, coordinator, self._name, require_stable=True)
            return max((each.offset for each in found.values()), default=None)

        return self._cluster.retrying(ask)

    def retention_minutes(self) -> int | None:
        """How long the coordinator keeps the mark; None if the config is not returned."""

        def ask() -> int | None:
            node_id = self._coordinators.node_id(self._name)
            broker = DescribeConfigsResource(ResourceType.BROKER, str(node_id), [RETENTION])
            request = DescribeConfigsRequest([broker])
            result = self._cluster.request(request, DescribeConfigsResponse, node_id).results[0]
            raise_for(result.error_code, result.error_message, f"broker {node_id}")
            values = [entry.value for entry in result.configs if entry.name == RETENTION]
            return int(values[0]) if values and values[0] else None

        return self._cluster.retrying(ask)

    def add(self, transactions: Transactions, identity: TransactionIdentity, written: int) -> None:
        """Add the mark to a transaction."""
        offsets = {self._partition: CommittedOffset(written, metadata="batches written")}
        transactions.commit_offsets(identity, self._name, offsets)
