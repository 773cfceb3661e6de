"""Parquet files in an object store: a crash between any two requests, and two workers at once.

The store is kept in memory; ``test_s3`` has the same sink on a server.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

from moldau.connect.connectors.lake import objects
from moldau.connect.connectors.lake.journal import state_folder
from moldau.connect.connectors.lake.parquet import ParquetSink
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, ends, order

ORDERS = TopicPartition("orders", 0)
JOURNAL = f"{state_folder('sink')}/journal.json"
BATCH = [order(0), order(1, partition=1)]
# Two temporary files, the journal, and for each file a copy and a removal.
STEPS = 7


class CrashError(BaseException):
    """The process ends here."""


class Store:
    """Requests that change something are counted, and can be made to fail."""

    def __init__(self) -> None:
        self.inner = MemoryStore()
        self.changes = 0
        # Called before and after each change, with its number, its name and its path.
        self.before: Callable[[int, str, str], None] = lambda *_: None
        self.after: Callable[[int, str, str], None] = lambda *_: None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        return self._changing(name, method) if name in ("put", "copy", "delete") else method

    def _changing(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: str, *more: Any, **options: Any) -> Any:
            number, self.changes = self.changes, self.changes + 1
            self.before(number, name, path)
            answer = method(path, *more, **options)
            self.after(number, name, path)
            return answer

        return change

    def crash_after(self, steps: int) -> None:
        def crash(number: int, name: str, path: str) -> None:
            if number >= steps:
                raise CrashError

        self.changes, self.before = 0, crash

    def go_on(self) -> None:
        self.before = self.after = lambda *_: None

    def paths(self, prefix: str) -> list[str]:
        return sorted(each["path"] for some in self.inner.list(prefix) for each in some)

    def ids(self) -> list[int]:
        found = []
        for path in self.paths("orders"):
            data = bytes(self.inner.get(path).bytes())
            found += pq.read_table(pa.BufferReader(data))["id"].to_pylist()
        return sorted(found)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store()
    monkeypatch.setattr(objects, "from_url", lambda *_, **__: made)
    return made


def start() -> Driven:
    return Driven(ParquetSink, {"path": "s3://lake"})


def write_from(sink: Driven) -> None:
    """What the engine does after a start: it reads on from the stored offsets."""
    stored = sink.offsets or {}
    left = [each for each in BATCH if each.offset >= min(stored.get(at, 0) for at in ends([each]))]
    if left:
        sink.write(*left)


@pytest.mark.parametrize("steps", range(STEPS + 1))
def test_a_crash_between_any_two_requests_leaves_all_of_a_batch_or_nothing(
    store: Store, steps: int
) -> None:
    sink = start()
    store.crash_after(steps)
    if steps < STEPS:
        with pytest.raises(CrashError):
            sink.write(*BATCH)
    else:
        sink.write(*BATCH)
        assert store.changes == STEPS
    store.go_on()
    again = start()
    assert bool(again.offsets) is (steps > 2)
    write_from(again)
    assert store.ids() == [0, 1]
    assert store.paths(state_folder("sink")) == [JOURNAL]


@pytest.mark.parametrize("steps", range(STEPS))
def test_a_crash_while_a_crash_is_repaired_is_repaired_by_the_next_start(
    store: Store, steps: int
) -> None:
    for repaired in range(STEPS):
        store.inner = MemoryStore()
        store.go_on()
        sink = start()
        store.crash_after(steps)
        with pytest.raises(CrashError):
            sink.write(*BATCH)
        store.crash_after(repaired)
        with contextlib.suppress(CrashError):
            write_from(start())
        store.go_on()
        again = start()
        write_from(again)
        assert store.ids() == [0, 1]
        assert store.paths(state_folder("sink")) == [JOURNAL]


@pytest.mark.parametrize("lost", range(2, STEPS))
def test_a_commit_is_not_done_twice_where_an_answer_is_lost(store: Store, lost: int) -> None:
    sink = start()

    def lose(number: int, name: str, path: str) -> None:
        if number == lost:
            raise GenericError("connection reset")

    store.changes, store.after = 0, lose
    message = sink.stage(BATCH)
    with pytest.raises(RetriableError, match="connection reset"):
        sink.driver.commit([message], ends(BATCH), 0)
    sink.driver.commit([message], ends(BATCH), 0)
    assert store.ids() == [0, 1]
    assert store.paths(state_folder("sink")) == [JOURNAL]


def test_a_task_whose_answer_is_lost_leaves_no_object(store: Store) -> None:
    sink = start()

    def lose(number: int, name: str, path: str) -> None:
        if name == "put":
            raise GenericError("connection reset")

    store.after = lose
    with pytest.raises(RetriableError, match="connection reset"):
        sink.stage(BATCH)
    assert store.paths(state_folder("sink")) == [JOURNAL]


def test_a_worker_that_is_replaced_while_it_commits_writes_nothing(store: Store) -> None:
    old = start()
    message = old.stage(BATCH)
    others: list[Driven] = []

    def replace(number: int, name: str, path: str) -> None:
        # Between reading the journal and replacing it.
        if path == JOURNAL:
            store.go_on()
            others.append(start())

    store.before = replace
    with pytest.raises(ConnectError, match="another worker writes to"):
        old.driver.commit([message], ends(BATCH), 0)
    assert store.ids() == []
    others[0].write(*BATCH)
    assert store.ids() == [0, 1]


def test_a_start_sees_what_is_committed_while_it_takes_over(store: Store) -> None:
    old = start()
    message = old.stage(BATCH)

    def commit(number: int, name: str, path: str) -> None:
        if path == JOURNAL:
            store.go_on()
            old.driver.commit([message], ends(BATCH), 0)

    store.before = commit
    new = start()
    assert new.offsets == ends(BATCH)
    assert store.ids() == [0, 1]
    assert store.paths(state_folder("sink")) == [JOURNAL]


def test_moves_that_a_replaced_worker_repeats_change_nothing(store: Store) -> None:
    """It had committed, but was away before it moved the files; the other one moves them."""
    old = start()
    message = old.stage(BATCH)
    others: list[Driven] = []

    def replace(number: int, name: str, path: str) -> None:
        if name == "copy":
            store.go_on()
            others.append(start())
            others[0].write(order(1), order(2, partition=1))

    store.before = replace
    old.driver.commit([message], ends(BATCH), 0)
    assert store.ids() == [0, 1, 1, 2]
    with pytest.raises(ConnectError, match="another worker writes to"):
        old.write(order(1))


def test_offsets_come_from_the_footers_where_the_journal_is_gone(store: Store) -> None:
    start().write(order(0), order(4), order(9, partition=1))
    store.inner.delete(JOURNAL)
    assert start().offsets == {ORDERS: 5, TopicPartition("orders", 1): 10}


def test_a_file_of_another_connector_is_not_overwritten(store: Store) -> None:
    start().write(order(0))
    with pytest.raises(ConnectError, match="already exists: another connector writes"):
        Driven(ParquetSink, {"path": "s3://lake", "name": "second"}).write(order(0))


def test_a_store_that_ignores_conditions_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = store.inner

    class Careless:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        def put(self, path: str, data: Any, **options: Any) -> Any:
            return inner.put(path, data)

    monkeypatch.setattr(objects, "from_url", lambda *_, **__: Careless())
    with pytest.raises(ConnectError, match="ignores If-Match"):
        start()
