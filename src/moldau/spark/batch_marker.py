"""Which micro-batches of a query are written: a number that is committed together with them.

The number is kept where a transaction can reach it, as an offset of a consumer group that has no
members. The group is named after Spark's id of the query, which stands in the checkpoint: a new
checkpoint is a new query, begins at batch 0 and has no mark. Offset *n* says that the batches
before *n* are written, and it is committed in the same transaction as the last of them.

The coordinator forgets offsets that were not committed anew for ``offsets.retention.minutes``. A
query that runs renews its mark; for one that did not for too long there is a note in the
checkpoint, made before the first batch is written: note but no mark means that the mark is gone,
and with it the knowledge whether the last batch was written.

Rules this module keeps:

* A batch that is marked is not written again, and no batch is left out.
* Where that cannot be known, nothing is written, and the error says what can be done.
"""

from enum import Enum
from typing import Final

from moldau.client.cluster import Cluster
from moldau.client.coordinators import Coordinators
from moldau.client.group_offsets import CommittedOffset, fetch
from moldau.client.transactions import TransactionIdentity, Transactions
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError

# Where rows name their topics themselves there is none to keep the mark under; this one is in
# every cluster with groups.
_ALWAYS_THERE: Final = "__consumer_offsets"
_REMEDY: Final = (
    "compare the end of the topic with the source, and start with a new checkpoint and "
    "startingOffsets behind what was written"
)


class Step(Enum):
    """What is to be done with a micro-batch."""

    WRITE = "write"
    SKIP = "skip"


def name_of(query_id: str) -> str:
    """The group of a query's mark, and the transactional id that it is written under."""
    return f"moldau-spark-{query_id}"


def next_step(batch_id: int, written: int | None, *, has_begun: bool) -> Step:
    """Whether batch ``batch_id`` is to be written, if the first ``written`` ones are.

    ``written`` is None if there is no mark, and ``has_begun`` says whether there must be one.

    Raises:
        PipelineError: mark and checkpoint do not belong together.
    """
    if written is None:
        if batch_id == 0 and not has_begun:
            return Step.WRITE
        raise PipelineError(
            f"the mark of batch {batch_id} is gone: whether it was written is not known. The query "
            "stood still for longer than offsets.retention.minutes, its group was deleted, or the "
            f"checkpoint is that of a query that was not written exactly once: {_REMEDY}"
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

    def add(self, transactions: Transactions, identity: TransactionIdentity, written: int) -> None:
        """Make the mark part of a transaction."""
        offsets = {self._partition: CommittedOffset(written, metadata="batches written")}
        transactions.commit_offsets(identity, self._name, offsets)
