"""The order in which a processor gets the records of a key, and their timestamps."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed (pip install 'moldau[spark]')")

from moldau.streams.keyed_processor import micros_of, moment_of
from moldau.streams.serdes import STRING
from moldau.streams.windows import session
from tests.streams.flows import Flow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Half past two in summer time; an hour later it is half past two again.
FIRST = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


@pytest.fixture
def prague(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    assert before is not None
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Prague")
        time.tzset()
        spark.conf.set("spark.sql.session.timeZone", "Europe/Prague")
        yield
    spark.conf.set("spark.sql.session.timeZone", before)
    time.tzset()


@pytest.mark.usefixtures("prague")
def test_records_keep_their_order_when_summer_time_ends(flow: Flow) -> None:
    minutes = {"c": 59, "b": 40, "d": 65, "a": 0}
    seconds = {name: FIRST.timestamp() + 60 * each for name, each in minutes.items()}
    rows = [("k", name, second) for name, second in seconds.items()]
    joined = flow.stream("names", rows, value=STRING).group_by_key()
    [out] = flow.run(joined.reduce(lambda before, new: f"{before},{new}"))
    assert out == ("k", "a,b,c,d", seconds["d"])


@pytest.mark.usefixtures("prague")
def test_records_of_a_session_keep_their_order_when_summer_time_ends(flow: Flow) -> None:
    minutes = {"c": 59, "b": 40, "d": 65, "a": 0}
    rows = [("k", name, FIRST.timestamp() + 60 * each) for name, each in minutes.items()]
    ends = [("z", "z", FIRST.timestamp() + 86_400)]
    sessions = flow.stream("names", rows, ends, value=STRING).group_by_key()
    sessions = sessions.windowed_by(session("2 hours", grace="0 seconds"))
    out = flow.run(sessions.reduce(lambda before, new: f"{before},{new}"))
    assert out[0].value == "a,b,c,d"


@pytest.mark.usefixtures("prague")
def test_what_older_versions_have_kept_is_the_same_moment() -> None:
    for minutes in (0, 40, 59, 65):
        moment = FIRST + timedelta(minutes=minutes)
        kept = datetime.fromtimestamp(moment.timestamp())
        assert moment_of(kept) == moment
        assert micros_of(moment_of(micros_of(kept))) == micros_of(moment)
