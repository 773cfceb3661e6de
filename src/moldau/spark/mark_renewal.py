"""Keeps the mark of a query from being forgotten while the query runs, also one that is idle.

A coordinator forgets an offset that was not committed anew for ``offsets.retention.minutes``. What
a query writes commits its mark anew; one that has nothing to write does it by the clock, from a
thread beside it. A query that does not run cannot: what becomes of it is said in ``batch_marker``.
"""

import sys
import threading
from typing import TYPE_CHECKING, Final

from moldau.client.connection import ConnectionFailed
from moldau.errors import ApiError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from moldau.spark.transactional_sink import TransactionalWriter

# Often enough for what is usual, which is days.
LONGEST_S: Final = 1800
# So often within the retention: some may fail, and the coordinator looks only now and then.
_TIMES: Final = 4


def renewal_interval_s(retention_minutes: int | None) -> int:
    """How often a mark is renewed that the coordinator keeps for so long (None: not known)."""
    if retention_minutes is None:
        return LONGEST_S
    return min(LONGEST_S, retention_minutes * 60 // _TIMES)


class MarkRenewal(threading.Thread):
    """Renews the mark of a query when it starts and while it runs, for as long as it does."""

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
            # The query has failed, or Spark is gone; who waits for the query hears of it.
            return
        finally:
            self._writer.close()
