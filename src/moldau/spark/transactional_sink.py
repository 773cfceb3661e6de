"""The driver's part of exactly-once writes: one transaction for each micro-batch.

Spark's checkpoint defines the rows of a micro-batch, and a failed batch is repeated with the same
rows. So each row is written exactly once if each batch is: the transaction makes its rows visible
atomically, together with a mark that the batch is written (``batch_marker``). If Spark repeats a
marked batch it is computed, to update the query's state, but not written.

The driver owns the transactions. The first one of a run takes over the transactional id: open
transactions of a dead run are aborted, and its late requests are fenced. Consumers see only
committed rows if they read with ``isolation.level=read_committed``.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from moldau.client.connection import ConnectionFailed
from moldau.client.transactions import TransactionIdentity, Transactions, supports_transactions
from moldau.errors import ApiError, ErrorCode
from moldau.spark.batch_marker import BatchMarker, Step, name_of, next_step
from moldau.spark.checkpoint_note import CheckpointNote
from moldau.spark.encoding import layout_of
from moldau.spark.errors import PipelineError, pipeline_errors, shortened
from moldau.spark.sink_options import SinkOptions
from moldau.spark.transactional_write import write_in_transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_ID: Final = "sql.streaming.queryId"


class TransactionalWriter:
    """Writes micro-batches in one transaction after the other, and tracks which are written."""

    def __init__(self, options: SinkOptions, note: CheckpointNote) -> None:
        """Must be called before the query starts: reads what the last run left unfinished."""
        self._options = options
        self._note = note
        self._unfinished = note.unfinished_batch()
        self._cluster = options.client.cluster()
        self._transactions = Transactions(self._cluster)
        self._identity: TransactionIdentity | None = None
        self._marker: BatchMarker | None = None
        self._written: int | None = None
        # After a failed transaction it is not known which batches are written.
        self._has_failed = False
        # Batches are written by Spark's thread, the mark is renewed by another one.
        self._lock = threading.Lock()

    def check_cluster(self) -> None:
        """Detect before the first batch what cannot work.

        Raises:
            PipelineError: the cluster does not support transactions.
            ApiError: the topic does not exist.
        """
        if not supports_transactions(self._cluster):
            where = self._options.client.bootstrap
            raise PipelineError(
                f"the broker at {where} has no transactions, which exactly once needs: upgrade it, "
                'or write with format("moldau"), at least once'
            )
        if self._options.topic is not None:
            layout_of(self._cluster, self._options.topic)

    def write(self, rows: "DataFrame", batch_id: int) -> None:
        """Write one micro-batch unless it is already written (Spark's ``foreachBatch``)."""
        with self._lock, spark_errors(), pipeline_errors():
            query_id = rows.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
            assert query_id is not None, "a micro-batch belongs to a query"
            if self._has_failed:
                raise PipelineError(
                    f"another run has taken over {name_of(query_id)}: two must not write the same "
                    "query; end one of them, and start the other again"
                )
            self._take_over(query_id)
            has_begun = self._note.exists()
            is_repeated = batch_id == self._unfinished
            step = next_step(batch_id, self._written, has_begun=has_begun, is_repeated=is_repeated)
            if step is Step.SKIP:
                # The batch must be computed, or the next one would not find its state.
                rows.write.format("noop").mode("overwrite").save()
                return
            # In this order: if the note exists there must be a mark, and the mark is committed
            # before the batch, so that it shows whether a failed batch was written.
            if self._written is None:
                self._in_transaction(batch_id, None)
            if not has_begun:
                self._note.make()
            self._in_transaction(batch_id + 1, rows)

    def renew_mark(self, query_id: str) -> None:
        """Commit the mark unchanged, so that the coordinator does not expire it."""
        with self._lock:
            if self._has_failed:
                return
            self._take_over(query_id)
            if self._written is None:
                return
            try:
                self._in_transaction(self._written, None)
            except (ApiError, ConnectionFailed) as error:
                # The mark is unchanged whether or not this was committed. The next call takes over
                # and reads it again, unless another run has taken over.
                if isinstance(error, ConnectionFailed) or error.code.retriable:
                    self._identity = None
                    self._has_failed = False
                raise

    def retention_minutes(self, query_id: str) -> int | None:
        """How long the coordinator keeps a mark that is not renewed; None if unknown.

        A user who may write is not necessarily authorized to describe broker configs.
        """
        with self._lock:
            try:
                return self._marker_of(query_id).retention_minutes()
            except (ApiError, ConnectionFailed):
                return None

    def close(self) -> None:
        with self._lock:
            self._cluster.close()

    def _take_over(self, query_id: str) -> None:
        if self._identity is not None:
            return
        # In this order: once the mark is read, no other run can change it.
        identity = self._begin(TransactionIdentity(name_of(query_id)))
        self._written = self._marker_of(query_id).read()
        self._identity = identity

    def _marker_of(self, query_id: str) -> BatchMarker:
        if self._marker is None:
            self._marker = BatchMarker(self._cluster, name_of(query_id), self._options.topic)
        return self._marker

    def _next(self, identity: TransactionIdentity) -> TransactionIdentity:
        return self._transactions.next(identity, self._options.producing.transaction_timeout_ms)

    def _begin(self, identity: TransactionIdentity) -> TransactionIdentity:
        timeout_ms = self._options.producing.transaction_timeout_ms
        try:
            return self._transactions.begin(identity, timeout_ms)
        except ApiError as error:
            if error.code is not ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                raise
            raise PipelineError(
                f"option kafka.transaction.timeout.ms={timeout_ms} is above what the brokers "
                "allow (transaction.max.timeout.ms): set it lower"
            ) from None

    def _in_transaction(self, written: int, rows: "DataFrame | None") -> None:
        """Write ``rows`` and the mark ``written`` (the number of batches), both or neither."""
        assert self._identity is not None
        assert self._marker is not None
        assert not self._has_failed
        # Until EndTxn is acknowledged the transaction may or may not be committed: only a run
        # that takes over and reads the mark again can know.
        self._has_failed = True
        identity = self._next(self._identity)
        try:
            if rows is not None:
                write_in_transaction(rows, self._options, identity, self._writers(rows))
            self._marker.add(self._transactions, identity, written)
        except BaseException:
            self._abort(identity)
            raise
        self._identity = self._transactions.end(identity, is_committed=True)
        self._written = written
        self._has_failed = False

    def _abort(self, identity: TransactionIdentity) -> None:
        try:
            self._transactions.end(identity, is_committed=False)
        except (ApiError, ConnectionFailed) as error:
            # The next run aborts it, or the coordinator after the transaction timeout.
            print(f"moldau: {identity.transactional_id} not aborted: {error}", file=sys.stderr)

    def _writers(self, rows: "DataFrame") -> int:
        parallel = rows.sparkSession.sparkContext.defaultParallelism
        if self._options.topic is None:
            return parallel
        return max(1, min(parallel, layout_of(self._cluster, self._options.topic).partition_count))


@contextmanager
def spark_errors() -> Iterator[None]:
    """Shorten Spark's errors within a batch to one line, before Spark wraps them again."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise shortened(error) from error
