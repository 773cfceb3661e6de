"""Keeps the mark of a query from expiring while the query runs, even if it is idle.

A coordinator expires an offset that is not committed again within ``offsets.retention.minutes``.
Each batch commits the mark; in between, a background thread commits it periodically. For a query
that does not run see ``batch_marker``.
"""

import sys
import threading
from typing import TYPE_CHECKING, Final

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from moldau.spark.transactional_sink import TransactionalWriter

# Often enough for the usual retention, which is days.
LONGEST_S: Final = 1800
# Renewals per retention period: some may fail, and the coordinator checks only periodically.
_TIMES: Final = 4


def renewal_interval_s(retention_minutes: int | None) -> int:
    """The interval between renewals for a retention (None: unknown)."""
    if retention_minutes is None:
        return LONGEST_S
    return min(LONGEST_S, retention_minutes * 60 // _TIMES)


class MarkRenewal(threading.Thread):
    """Renews the mark of a query at its start and periodically until it ends."""

    def __init__(self, writer: "TransactionalWriter", query: "StreamingQuery") -> None:
        super().__init__(name="moldau-mark", daemon=True)
        self._writer = writer
        self._query = query

    def run(self) -> None:
        query_id = self._query.id
        try:
            interval_s = renewal_interval_s(self._writer.retention_minutes(query_id))
            while True:
                try:
                    self._writer.renew_mark(query_id)
                except (ApiError, ConnectionFailed) as error:
                    print(f"moldau: mark of {query_id} not renewed: {error}", file=sys.stderr)
                # Returns early, and with True, when the query has ended.
                if self._query.awaitTermination(interval_s):
                    return
        except Exception:
            # The query has failed, or Spark is gone; the caller that waits for the query gets it.
            return
        finally:
            self._writer.close()
