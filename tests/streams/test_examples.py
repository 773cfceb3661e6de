"""The examples, in test mode: they produce the output that they show."""

import runpy
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import moldau.examples
from moldau.examples import clickstream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = round(NOON.timestamp() * 1000)


def at(second: float) -> datetime:
    return datetime.fromtimestamp(NOON.timestamp() + second, UTC)


def test_clicks_are_counted_in_windows_of_ten_seconds(spark: "SparkSession") -> None:
    def click(page: str | None, second: float) -> tuple[str, dict[str, str | None], datetime]:
        return ("ann", {"user": "ann", "page": page}, at(second))

    rows = [click("/", 0), click("/", 3), click("/search", 9.9), click(None, 5), click("/", 10)]
    written = clickstream.app.test({"clicks": rows})
    assert sorted(written["page-views"]) == [
        (("/", NOON_MS), 2),
        (("/", NOON_MS + 10_000), 1),
        (("/search", NOON_MS), 1),
    ]


def test_a_click_that_is_too_late_is_not_counted(spark: "SparkSession") -> None:
    # Spark lets the watermark of one batch close windows in the next, and drops from the one after.
    seconds = [1, 30, 31, 2]
    rows = [("ann", {"user": "ann", "page": "/"}, at(second)) for second in seconds]
    written = clickstream.app.test({"clicks": rows}, rows_per_batch=1)
    latest = dict(written["page-views"])
    assert latest == {("/", NOON_MS): 1, ("/", NOON_MS + 30_000): 2}


def test_orders_get_company_and_city_and_cities_their_sums(spark: "SparkSession") -> None:
    from moldau.examples import orders

    customers = [
        ("c1", {"company": "Ann", "city": "Brno"}),
        ("c1", {"company": "Ann & Co", "city": "Prague"}),
        ("c2", {"company": "Bob", "city": "Prague"}),
    ]
    bought = [
        ("o1", {"customer": "c1", "amount": 10.0}),
        ("o2", {"customer": "c2", "amount": 5.5}),
        ("o3", {"customer": "c9", "amount": 1.0}),
    ]
    written = orders.app.test({"customers": customers, "orders": bought})
    enriched = dict(written["enriched-orders"])
    assert enriched["o1"] == {
        "customer": "c1",
        "company": "Ann & Co",
        "city": "Prague",
        "amount": 10.0,
    }
    # Spark leaves fields out that are null.
    assert enriched["o3"] == {"customer": "c9", "amount": 1.0}
    assert dict(written["city-revenue"]) == {"Prague": 15.5}


def test_a_trial_and_a_large_payment_within_a_minute_are_an_alert(spark: "SparkSession") -> None:
    from moldau.examples import fraud

    def payment(card: str, amount: float, second: int) -> tuple[str, dict[str, object], datetime]:
        return (card, {"amount": amount, "shop": f"shop of {card}"}, at(second))

    rows = [
        payment("stolen", 0.5, 0),
        payment("stolen", 900.0, 30),
        payment("slow", 0.5, 0),
        payment("rich", 900.0, 10),
        # Lets more than a minute pass.
        payment("rich", 901.0, 120),
        payment("slow", 900.0, 130),
    ]
    written = fraud.app.test({"payments": rows}, rows_per_batch=4)
    assert sorted(written["alerts"], key=lambda row: row[0]) == [
        ("slow", {"alert": "all clear", "shop": "shop of slow", "amount": 0.5}),
        ("stolen", {"alert": "fraud", "shop": "shop of stolen", "amount": 900.0}),
    ]


def test_an_example_that_is_imported_does_not_run() -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")
    folder = Path(moldau.examples.__file__).parent
    files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(files) == 3
    for path in files:
        assert runpy.run_path(str(path))["app"].describe()
