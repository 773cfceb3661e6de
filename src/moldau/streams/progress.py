"""The progress of a running query: rate, lag, watermark and state size.

Spark reports each micro-batch, and while idle periodically that there is none. A ``Meter``
evaluates these reports of one query: records per second, records still to be read, the event time
reached, and the size of the state. It does no I/O and reads no clock.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from moldau.spark.offsets import Offsets, count_new, decode_offset

Report = Mapping[str, Any]


@dataclass(frozen=True)
class QueryProgress:
    """The progress of one query; None is a value that Spark has not reported (yet)."""

    query: str
    batch_id: int | None = None
    records: int = 0
    records_per_s: float = 0.0
    lag: int | None = None
    watermark_ms: int | None = None
    state_rows: int | None = None
    state_bytes: int | None = None
    late_records: int = 0
    batch_ms: int | None = None
    # How long brokers have been unavailable, and the error; None if they answer.
    away_s: float | None = None
    away_reason: str | None = None

    def without_brokers(self, away_s: float, reason: str) -> "QueryProgress":
        """The same while brokers are unavailable: the lag is unknown then."""
        return replace(self, lag=None, records_per_s=0.0, away_s=away_s, away_reason=reason)

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


class Meter:
    """Evaluates the reports of one query."""

    def __init__(self, query: str, started_s: float) -> None:
        self._query = query
        self._seen = ""
        self._records = 0
        self._late = 0
        # When the last report was seen, the time between the last two, and the rate in it.
        self._reported_s = started_s
        self._span_s = 0.0
        self._rate = 0.0

    def observe(self, reports: Sequence[Report], now_s: float) -> QueryProgress:
        """The progress of the query from its latest ``reports``, which may include earlier ones."""
        # Spark's timestamps are ISO 8601 of equal length: they sort as text.
        new = [each for each in reports if str(each.get("timestamp", "")) > self._seen]
        self._count(new, now_s)
        if not reports:
            return QueryProgress(self._query)
        last = reports[-1]
        self._seen = max(self._seen, str(last.get("timestamp", "")))
        operators = last.get("stateOperators") or ()
        return QueryProgress(
            self._query,
            batch_id=int(last["batchId"]),
            records=self._records,
            records_per_s=self._rate,
            lag=lag_of(last),
            watermark_ms=watermark_of(last),
            state_rows=_total(operators, "numRowsTotal"),
            state_bytes=_total(operators, "memoryUsedBytes"),
            late_records=self._late,
            batch_ms=(last.get("durationMs") or {}).get("triggerExecution"),
        )

    def _count(self, new: Sequence[Report], now_s: float) -> None:
        since_s = now_s - self._reported_s
        if new:
            records = sum(int(each.get("numInputRows") or 0) for each in new)
            self._records += records
            self._late += sum(_late_records(each) for each in new)
            self._rate = records / since_s if since_s > 0 else 0.0
            self._span_s = since_s
            self._reported_s = now_s
        elif since_s > 2 * self._span_s:
            # Much longer than a batch: the query is idle.
            self._rate = 0.0


def lag_of(report: Report) -> int | None:
    """The unread records when the batch was planned; None if no source reports them."""
    sources = report.get("sources") or ()
    known = [(offsets_in(each["endOffset"]), offsets_in(each["latestOffset"])) for each in sources]
    lags = [count_new(end, latest) for end, latest in known if latest]
    return sum(lags) if lags else None


def watermark_of(report: Report) -> int | None:
    """The watermark in milliseconds; None before the first record."""
    text = (report.get("eventTime") or {}).get("watermark")
    if not text:
        return None
    moment_ms = round(datetime.fromisoformat(text).timestamp() * 1000)
    return moment_ms or None


def offsets_in(encoded: object) -> Offsets:
    """A position of our source in a report or checkpoint; empty for other sources."""
    try:
        decoded = json.loads(encoded) if isinstance(encoded, str) else encoded
        return decode_offset(decoded).offsets if isinstance(decoded, Mapping) else {}
    except (AttributeError, TypeError, ValueError):
        return {}


def _total(operators: Sequence[Report], name: str) -> int | None:
    """The sum over all stateful operators; None for a query without any."""
    return sum(int(each.get(name) or 0) for each in operators) if operators else None


def _late_records(report: Report) -> int:
    """Records that arrived after their window was closed."""
    return _total(report.get("stateOperators") or (), "numRowsDroppedByWatermark") or 0
