"""What a running query tells of itself, as the five numbers that people look at.

Spark reports each micro-batch, and while nothing comes now and then that nothing came. A
``Meter`` follows these reports of one query: how many records a second, how many are still to be
read, how far event time has come, and how large the state is. It reads no clock and asks nobody.
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
    """One query at one moment; None is what Spark has not told (yet)."""

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
    # For how long brokers have been away, and what came of asking them; None if they answer.
    away_s: float | None = None
    away_reason: str | None = None

    def without_brokers(self, away_s: float, reason: str) -> "QueryProgress":
        """The same while brokers are away: what there is to read is not known then."""
        return replace(self, lag=None, records_per_s=0.0, away_s=away_s, away_reason=reason)

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


class Meter:
    """Follows the reports of one query."""

    def __init__(self, query: str, started_s: float) -> None:
        self._query = query
        self._seen = ""
        self._records = 0
        self._late = 0
        # When a report was last seen, how long it took to come, and the rate until then.
        self._reported_s = started_s
        self._span_s = 0.0
        self._rate = 0.0

    def observe(self, reports: Sequence[Report], now_s: float) -> QueryProgress:
        """How the query is doing, by its latest ``reports``: those seen before, and newer ones."""
        # Spark's timestamps are ISO 8601 with as many digits each: in the order of their text.
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
            # A batch takes its time, but this is silence.
            self._rate = 0.0


def lag_of(report: Report) -> int | None:
    """Records that were there and not read when the batch was planned; None if no source says."""
    sources = report.get("sources") or ()
    known = [(offsets_in(each["endOffset"]), offsets_in(each["latestOffset"])) for each in sources]
    lags = [count_new(end, latest) for end, latest in known if latest]
    return sum(lags) if lags else None


def watermark_of(report: Report) -> int | None:
    """How far event time has come, in milliseconds; None before the first record."""
    text = (report.get("eventTime") or {}).get("watermark")
    if not text:
        return None
    moment_ms = round(datetime.fromisoformat(text).timestamp() * 1000)
    return moment_ms or None


def offsets_in(encoded: object) -> Offsets:
    """A position of our source, as reports and checkpoints have it; nothing of another's."""
    try:
        decoded = json.loads(encoded) if isinstance(encoded, str) else encoded
        return decode_offset(decoded).offsets if isinstance(decoded, Mapping) else {}
    except (AttributeError, TypeError, ValueError):
        return {}


def _total(operators: Sequence[Report], name: str) -> int | None:
    """Over all stateful operators; None for a query without any."""
    return sum(int(each.get(name) or 0) for each in operators) if operators else None


def _late_records(report: Report) -> int:
    """Records that came after their window was closed."""
    return _total(report.get("stateOperators") or (), "numRowsDroppedByWatermark") or 0
