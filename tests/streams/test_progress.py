"""The numbers of a query's progress, from Spark's reports."""

import json
from typing import Any

from moldau.ids import TopicPartition
from moldau.streams.progress import Meter, QueryProgress, lag_of, offsets_in, watermark_of


def report(second: int, records: int, **fields: Any) -> dict[str, Any]:
    """A report of Spark, as PySpark hands it out."""
    return {
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        "batchId": second,
        "numInputRows": records,
        "durationMs": {"triggerExecution": 250},
        "eventTime": {},
        "stateOperators": [],
        "sources": [],
        **fields,
    }


def source(end: dict[str, int], latest: dict[str, int] | None) -> dict[str, str]:
    latest_offset = None if latest is None else {"clicks": latest}
    return {"endOffset": json.dumps({"clicks": end}), "latestOffset": json.dumps(latest_offset)}


def test_before_the_first_batch_nothing_is_known() -> None:
    assert Meter("q", started_s=0.0).observe([], now_s=1.0) == QueryProgress("q")


def test_the_rate_is_that_since_the_last_report() -> None:
    meter = Meter("q", started_s=10.0)
    reports = [report(1, 100), report(2, 300)]
    assert meter.observe(reports, now_s=12.0).records_per_s == 200.0
    reports.append(report(3, 50))
    later = meter.observe(reports, now_s=12.5)
    assert (later.records, later.records_per_s, later.batch_id) == (450, 100.0, 3)


def test_a_report_that_was_seen_counts_once() -> None:
    meter = Meter("q", started_s=0.0)
    reports = [report(1, 100)]
    meter.observe(reports, now_s=1.0)
    assert meter.observe(reports, now_s=2.0).records == 100


def test_the_rate_stays_while_a_batch_may_be_under_way_and_falls_in_silence() -> None:
    meter = Meter("q", started_s=0.0)
    reports = [report(1, 100)]
    rates = [meter.observe(reports, now_s).records_per_s for now_s in (4.0, 8.0, 12.0, 12.1)]
    assert rates == [25.0, 25.0, 25.0, 0.0]
    reports.append(report(2, 30))
    assert meter.observe(reports, now_s=14.0).records_per_s == 3.0


def test_the_lag_is_what_was_there_and_not_read() -> None:
    behind = source({"0": 10, "1": 5}, latest={"0": 25, "1": 5, "2": 2})
    assert lag_of(report(1, 0, sources=[behind, source({"0": 1}, {"0": 2})])) == 18
    assert lag_of(report(1, 0, sources=[source({"0": 10}, latest=None)])) is None
    assert lag_of(report(1, 0)) is None


def test_positions_of_other_sources_are_passed_by() -> None:
    assert offsets_in('{"logOffset":3}') == {}
    assert offsets_in("7") == {}
    assert offsets_in("null") == {}
    assert offsets_in(None) == {}
    assert offsets_in({"clicks": {"0": 3}, "#initial": True}) == {TopicPartition("clicks", 0): 3}


def test_the_watermark_is_unknown_until_a_record_has_come() -> None:
    assert watermark_of(report(1, 0)) is None
    unset = {"watermark": "1970-01-01T00:00:00.000Z"}
    assert watermark_of(report(1, 0, eventTime=unset)) is None
    moved = {"watermark": "2026-01-01T00:00:01.500Z"}
    assert watermark_of(report(1, 0, eventTime=moved)) == 1_767_225_601_500


def test_state_is_summed_over_the_operators_and_late_records_over_time() -> None:
    def operator(rows: int, late: int) -> dict[str, int]:
        return {"numRowsTotal": rows, "memoryUsedBytes": 1000, "numRowsDroppedByWatermark": late}

    meter = Meter("q", started_s=0.0)
    reports = [report(1, 9, stateOperators=[operator(5, late=1), operator(7, late=0)])]
    first = meter.observe(reports, now_s=1.0)
    assert (first.state_rows, first.state_bytes, first.late_records) == (12, 2000, 1)
    reports.append(report(2, 9, stateOperators=[operator(2, late=2), operator(0, late=0)]))
    second = meter.observe(reports, now_s=2.0)
    assert (second.state_rows, second.late_records) == (2, 3)
    assert Meter("q", started_s=0.0).observe([report(1, 9)], now_s=1.0).state_rows is None
