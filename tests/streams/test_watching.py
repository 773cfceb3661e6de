"""When a query that does not end by itself has nothing more to read."""

from types import SimpleNamespace
from typing import Any

from moldau.streams.watching import is_idle


def after(*rows: int) -> Any:
    """A query of Spark's that has run batches of so many rows."""
    return SimpleNamespace(recentProgress=[{"numInputRows": count} for count in rows])


def test_a_query_is_idle_when_a_batch_found_nothing() -> None:
    assert not is_idle(after())
    assert not is_idle(after(2, 1))
    assert is_idle(after(2, 1, 0))
    assert not is_idle(after(2, 0, 1))


def test_the_first_batch_may_be_an_empty_one_of_the_run_before() -> None:
    assert not is_idle(after(0))
    assert not is_idle(after(0, 3))
    assert is_idle(after(0, 0))
