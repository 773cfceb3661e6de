"""Which micro-batches of a query are written: a number that is committed together with them.

The number is kept where a transaction can reach it, as an offset of a consumer group that has no
members. The group is named after Spark's id of the query, which stands in the checkpoint: a new
checkpoint is a new query, begins at batch 0 and has no mark. Offset *n* says that the batches
before *n* are written, and it is committed in the same transaction as the last of them.

The coordinator forgets offsets that were not committed anew for ``offsets.retention.minutes``. A
query that runs renews its mark (``mark_renewal``). For one that stood still for longer the
checkpoint has the answer if its last batch was ended: the next one is new and cannot have been
written. A batch that was begun before this run and not ended may have been, and without the mark
nobody knows. Only of the first batch of all a note in the checkpoint, made before anything is
written, says that it was not.

Rules this module keeps:

* A batch that is marked is not written again, and no batch is left out.
* Where that cannot be known, nothing is written, and the error says what can be done.
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

# Where rows name their topics themselves there is none to keep the mark under; this one is in
# every cluster with groups.
_ALWAYS_THERE: Final = "__consumer_offsets"
_REMEDY: Final = (
    "compare the end of the topic with the source, and start with a new checkpoint and "
    "startingOffsets behind what was written"
)
RETENTION: Final = "offsets.retention.minutes"


class Step(Enum):
    """What is to be done with a micro-batch."""

    WRITE = "write"
    SKIP = "skip"


def name_of(query_id: str) -> str:
    """The group of a query's mark, and the transactional id that it is written under."""
    return f"moldau-spark-{query_id}"


def next_step(batch_id: int, written: int | None, *, has_begun: bool, is_repeated: bool) -> Step:
    """Whether batch ``batch_id`` is to be written, if the first ``written`` ones are.

    ``written`` is None if there is no mark. ``has_begun`` says that batches may have been written
    by this query, ``is_repeated`` that this batch was begun before, and not ended.

    Raises:
        PipelineError: mark and checkpoint do not belong together.
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
        f"the checkpoint goes on with batch {batch_id}, but {written} batches are written: it is "
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
        """How many batches are written; None if nobody says so."""

        def ask() -> int | None:
            self._coordinators.forget(self._name)
            coordinator = self._coordinators.connection(self._name)
            # A transaction that is just ending counts or does not, but is waited for.
            found = fetch(self._cluster, coordinator, self._name, require_stable=True)
            return max((each.offset for each in found.values()), default=None)

        return self._cluster.retrying(ask)

    def retention_minutes(self) -> int | None:
        """For how long the coordinator keeps the mark; None if it does not say."""

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
        """Make the mark part of a transaction."""
        offsets = {self._partition: CommittedOffset(written, metadata="batches written")}
        transactions.commit_offsets(identity, self._name, offsets)
