"""The delivery guarantees of an app: at least once, or exactly once.

At least once uses a plain sink: a batch that fails halfway is written again. Exactly once writes
each batch in one transaction, which the brokers must support; consumers must read with
read_committed, as ``format("moldau")`` does by default.

Within the app every record counts once with either guarantee. The internal topic of a cut has a
single writer, and only the app reads it; with at least once it has a ledger that identifies
duplicates (``spark.batch_ledger``).
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from moldau.client.admin import Admin
from moldau.client.transactions import supports_transactions
from moldau.spark.errors import PipelineError
from moldau.streams.topology import APPEND

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from moldau.spark.ledger_sink import LedgerWriter


class Delivery(Enum):
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"

    @staticmethod
    def parse(text: "str | Delivery") -> "Delivery":
        """Parse ``text``; raises PipelineError if it is invalid."""
        try:
            return Delivery(text)
        except ValueError:
            known = " or ".join(each.value for each in Delivery)
            raise PipelineError(f"delivery={text!r}: {known} is expected") from None

    @property
    def uses_ledgers(self) -> bool:
        """Whether internal topics have a ledger, because there are no transactions."""
        return self is Delivery.AT_LEAST_ONCE

    def require_support(self, admin: Admin) -> None:
        """Check that the brokers support the guarantee.

        Raises:
            PipelineError: they do not support transactions.
        """
        if self is Delivery.EXACTLY_ONCE and not supports_transactions(admin.cluster):
            raise PipelineError(
                f"delivery='exactly_once' needs transactions, which the broker at "
                f"{admin.cluster.connection()} does not have: with delivery='at_least_once' a "
                "batch may be written twice after a failure"
            )


class Target:
    """Where a query writes, and with which guarantee."""

    def __init__(
        self, bootstrap: str, delivery: Delivery, options: Mapping[str, str] | None = None
    ) -> None:
        self._bootstrap = bootstrap
        self._delivery = delivery
        self._options = dict(options or {})

    def start(
        self,
        frame: "DataFrame",
        *,
        name: str,
        topic: str,
        output_mode: str,
        checkpoint: str,
        trigger: Mapping[str, Any],
        ledger: str | None = None,
    ) -> "StreamingQuery":
        """Start a query that writes ``frame`` to ``topic``; ``ledger`` is for at least once."""
        if self._delivery is Delivery.EXACTLY_ONCE:
            from moldau.spark import exactly_once

            return exactly_once(
                frame,
                checkpoint=checkpoint,
                bootstrap=self._bootstrap,
                topic=topic,
                options=self._options,
                output_mode=output_mode,
                trigger=trigger or None,
                name=name,
            )
        options = {**self._options, "kafka.bootstrap.servers": self._bootstrap, "topic": topic}
        writer = frame.writeStream.queryName(name).outputMode(output_mode)
        noting: LedgerWriter | None = None
        if ledger is not None:
            noting = _ledger_writer(frame, options, ledger)
            writer = writer.foreachBatch(noting.write)
        elif output_mode == APPEND:
            writer = writer.format("moldau").options(**options)
        else:
            # Spark allows Python sinks only in append mode. foreachBatch writes the same rows.
            writer = writer.foreachBatch(_write_with(options))
        if trigger:
            writer = writer.trigger(**trigger)
        query = writer.option("checkpointLocation", checkpoint).start()
        if noting is not None:
            noting.close_with(query)
        return query


def _ledger_writer(frame: "DataFrame", options: Mapping[str, str], ledger: str) -> "LedgerWriter":
    from moldau.spark.ledger_sink import LedgerWriter
    from moldau.spark.sink import sink_options

    writer = LedgerWriter(sink_options(options, frame.schema), ledger)
    writer.begin()
    return writer


def _write_with(options: Mapping[str, str]) -> "Callable[[DataFrame, int], None]":
    def write(rows: "DataFrame", batch_id: int) -> None:
        rows.write.format("moldau").options(**options).mode("append").save()

    return write
