"""Delta tables on a real disk, read back with deltalake."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.schema import struct
from moldau.connect.data.struct import Struct
from moldau.connect.engine.sink_start import Log, starting_offsets
from moldau.connect.engine_api import ConnectorSpec
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, order, record

deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
from moldau.connect.connectors.lake import tables  # noqa: E402
from moldau.connect.connectors.lake.delta import DeltaLakeTable, DeltaSink  # noqa: E402

ORDERS = TopicPartition("orders", 0)


def start(path: Path, **options: str) -> Driven:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return Driven(DeltaSink, {"path": f"{path}/${{topic}}", "topics": "orders", **named})


def rows(path: Path, table: str = "orders") -> list[dict[str, Any]]:
    found = deltalake.DeltaTable(str(path / table)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def ids(path: Path, table: str = "orders") -> list[int]:
    return [row["id"] for row in rows(path, table)]


def make(path: Path, schema: pa.Schema, **options: Any) -> None:
    deltalake.DeltaTable.create(
        str(path / "orders"), deltalake.Schema.from_arrow(schema), **options
    )


def test_records_and_offsets_are_in_one_commit(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0), order(1), order(0, partition=1))
    table = deltalake.DeltaTable(str(tmp_path / "orders"))
    assert table.transaction_version("sink-orders-0") == 2
    assert ids(tmp_path) == [0, 0, 1]
    sink.write(order(2))
    assert sink.offsets == {ORDERS: 3, TopicPartition("orders", 1): 1}
    assert start(tmp_path).offsets == sink.offsets
    assert ids(tmp_path) == [0, 0, 1, 2]


def test_a_crash_before_the_commit_leaves_nothing_visible(tmp_path: Path) -> None:
    start(tmp_path).stage([order(0)])
    assert ids(tmp_path) == []
    again = start(tmp_path)
    assert again.offsets == {}
    again.write(order(0))
    assert ids(tmp_path) == [0]


def test_a_crash_after_the_commit_does_not_repeat_it(tmp_path: Path) -> None:
    start(tmp_path).write(order(0), order(1))
    again = start(tmp_path)
    assert again.offsets == {ORDERS: 2}
    # The group is behind, as if the engine had not come to commit it: records come again.
    again.write(order(0), order(1), order(2))
    assert ids(tmp_path) == [0, 1, 2]


def test_a_crash_between_the_commits_of_two_tables_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = [order(0), order(1).replace(topic="other"), order(2)]
    sink = start(tmp_path)
    sink.write(order(0).replace(topic="zero", offset=0))
    with monkeypatch.context() as patch:
        patch.setattr(DeltaLakeTable, "commit", failing_at("other", DeltaLakeTable.commit))
        with pytest.raises(RetriableError):
            sink.write(*batch)
    assert ids(tmp_path) == [0, 2]
    assert ids(tmp_path, "other") == []
    again = start(tmp_path)
    again.write(*batch)
    assert ids(tmp_path) == [0, 2]
    assert ids(tmp_path, "other") == [1]
    # Which table is the furthest is not known without records: the group says where to start.
    assert start(tmp_path, topics="orders,other").offsets == {}


def test_after_a_crash_between_two_tables_reading_starts_at_the_groups_offset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offset of the table that is ahead would lose the records of the other one."""
    batch = [order(0), order(1).replace(topic="other"), order(2)]
    sink = start(tmp_path, transforms="route")
    monkeypatch.setattr(DeltaLakeTable, "commit", failing_at("other", DeltaLakeTable.commit))
    with pytest.raises(RetriableError):
        sink.write(*batch)
    monkeypatch.undo()
    again = start(tmp_path, transforms="route")
    assert again.offsets == {ORDERS: 3}
    first = starting_offsets(
        ConnectorSpec("sink", {}, {}),
        {ORDERS: Log(0, 3)},
        {ORDERS: 0},
        again.offsets,
        "earliest",
        has_parts=again.driver.has_parts,
    )[ORDERS]
    again.write(*[each for each in batch if each.offset >= first])
    assert (ids(tmp_path), ids(tmp_path, "other")) == ([0, 2], [1])
    # Without transforms, all records of a topic are in one table: what that has is enough.
    assert not start(tmp_path).driver.has_parts


def failing_at(table: str, commit: Callable[..., None]) -> Callable[..., None]:
    def fail(self: DeltaLakeTable, *arguments: Any) -> None:
        if self.name.endswith(table):
            raise RetriableError("the store is away")
        commit(self, *arguments)

    return fail


def test_a_commit_whose_answer_was_lost_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(self: DeltaLakeTable, *arguments: Any) -> None:
        commit(self, *arguments)
        raise RetriableError("no answer")

    commit = DeltaLakeTable.commit
    sink = start(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(DeltaLakeTable, "commit", lost)
        with pytest.raises(RetriableError):
            sink.write(order(0))
    sink.write(order(0))
    assert ids(tmp_path) == [0]


def test_a_worker_that_was_replaced_cannot_commit(tmp_path: Path) -> None:
    old = start(tmp_path)
    old.write(order(0))
    message = old.stage([order(1), order(2)])
    start(tmp_path).write(order(1))
    with pytest.raises(ConnectError, match=r"another worker has written .* at offset 2"):
        old.driver.commit([message], {ORDERS: 3}, 1)
    assert ids(tmp_path) == [0, 1]


def test_two_workers_that_create_the_table_do_not_both_write(tmp_path: Path) -> None:
    first, second = start(tmp_path), start(tmp_path)
    messages = first.stage([order(0)]), second.stage([order(0), order(1)])
    first.driver.commit([messages[0]], {ORDERS: 1}, 0)
    with pytest.raises(ConnectError, match="another worker"):
        second.driver.commit([messages[1]], {ORDERS: 2}, 0)
    assert ids(tmp_path) == [0]


def test_two_workers_with_a_new_partition_do_not_both_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One commits just after the other has named the partition, and before that one commits."""
    first, second = start(tmp_path), start(tmp_path)
    message, other = first.stage([order(0)]), second.stage([order(0), order(1)])
    alterer = type(deltalake.DeltaTable(str(tmp_path / "orders")).alter)
    name_partitions = alterer.set_table_properties

    def then_the_other_commits(self: Any, *arguments: Any, **options: Any) -> None:
        monkeypatch.undo()
        name_partitions(self, *arguments, **options)
        second.driver.commit([other], {ORDERS: 2}, 0)

    monkeypatch.setattr(alterer, "set_table_properties", then_the_other_commits)
    with pytest.raises(ConnectError, match="another worker"):
        first.driver.commit([message], {ORDERS: 1}, 0)
    assert ids(tmp_path) == [0, 1]


def test_a_commit_of_others_in_between_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = start(tmp_path)
    sink.write(order(0))
    refresh = DeltaLakeTable.refresh
    done: list[int] = []

    def then_others_write(self: DeltaLakeTable) -> None:
        refresh(self)
        if not done:
            done.append(1)
            table = deltalake.DeltaTable(str(tmp_path / "orders"))
            table.alter.set_table_properties({"delta.appendOnly": "true"})

    monkeypatch.setattr(DeltaLakeTable, "refresh", then_others_write)
    sink.write(order(1))
    assert done
    assert ids(tmp_path) == [0, 1]


def test_endless_conflicts_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(self: DeltaLakeTable, *arguments: Any) -> None:
        raise tables.CommitConflictError("changed")

    sink = start(tmp_path)
    monkeypatch.setattr(DeltaLakeTable, "commit", conflict)
    with pytest.raises(RetriableError, match="changed by others in each of 10 tries"):
        sink.write(order(0))


def test_new_fields_become_columns(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0))
    sink.write(order(1, price=2.5), order(2))
    assert rows(tmp_path) == [
        {"id": 0, "item": "item 0", "price": None},
        {"id": 1, "item": "item 1", "price": 2.5},
        {"id": 2, "item": "item 2", "price": None},
    ]


def test_new_fields_inside_structs_become_columns(tmp_path: Path) -> None:
    narrow = struct("in", {"a": schemas.INT32})
    wide = struct("in", {"a": schemas.INT32, "b": schemas.OPTIONAL_STRING})
    sink = start(tmp_path)
    for offset, inner in enumerate((narrow, wide, narrow)):
        schema = struct("out", {"id": schemas.INT64, "in": inner})
        value = Struct(schema, {"id": offset, "in": Struct(inner, {"a": 1})})
        sink.write(record(value, schema, offset=offset))
    assert [row["in"] for row in rows(tmp_path)] == [{"a": 1, "b": None}] * 3


def test_a_missing_column_is_a_bad_record_where_tables_are_left_alone(tmp_path: Path) -> None:
    sink = start(tmp_path, auto_evolve="false")
    sink.write(order(0))
    bad: list[str] = []
    sink.write(order(1, price=1.0), order(2), bad=bad)
    assert ids(tmp_path) == [0, 2]
    assert len(bad) == 1
    assert "has no column for price (double): add it" in bad[0]


def test_a_missing_table_is_a_bad_record_where_none_is_to_be_created(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"record orders-0@0: .*set auto\.create=true"):
        start(tmp_path, auto_create="false").write(order(0))


def test_a_narrower_column_takes_values_that_fit(tmp_path: Path) -> None:
    make(tmp_path, pa.schema([("id", pa.int16()), ("item", pa.string())]))
    bad: list[str] = []
    start(tmp_path).write(order(1), order(70_000), order(2), bad=bad)
    assert ids(tmp_path) == [1, 2]
    assert len(bad) == 1
    assert "record orders-0@70000: column id of table" in bad[0]


def test_a_column_of_another_kind_is_a_bad_record(tmp_path: Path) -> None:
    make(tmp_path, pa.schema([("id", pa.int64()), ("item", pa.int64())]))
    with pytest.raises(DataError, match=r"column item of table .* is int64, but the records have"):
        start(tmp_path).write(order(1))


def test_null_where_the_table_needs_a_value_is_a_bad_record(tmp_path: Path) -> None:
    fields = [pa.field("id", pa.int64()), pa.field("item", pa.string(), nullable=False)]
    make(tmp_path, pa.schema(fields))
    bad: list[str] = []
    start(tmp_path).write(order(1, item=None), order(2), bad=bad)
    assert ids(tmp_path) == [2]
    assert "column item of table" in bad[0]


def test_progress_counts_where_nothing_is_written(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0))
    sink.write(record(None, offset=1))
    assert start(tmp_path).offsets == {ORDERS: 2}
    assert ids(tmp_path) == [0]


def test_tables_with_rules_that_we_do_not_keep_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("item", pa.string())])
    make(tmp_path / "parts", schema, partition_by=["item"])
    make(tmp_path / "rules", schema)
    table = deltalake.DeltaTable(str(tmp_path / "rules" / "orders"))
    table.alter.add_constraint({"positive": "id > 0"})
    for folder, message in (("parts", "partitioned by item"), ("rules", "constraints.positive")):
        config = {"path": f"{tmp_path}/{folder}/${{topic}}", "topics": "orders"}
        [problem] = DeltaSink.validate(config)
        assert problem.name == "path"
        assert message in problem.message
        with pytest.raises(ConnectError, match=message):
            start(tmp_path / folder)


def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConnectError, match="file/orders"):
        start(tmp_path / "file").write(order(0))


def test_a_topic_that_leads_elsewhere_is_a_bad_record(tmp_path: Path) -> None:
    bad: list[str] = []
    start(tmp_path / "lake").stage([order(0).replace(topic="../up")], bad)
    assert "topic '../up' cannot be part of the path" in bad[0]
    assert not (tmp_path / "up").exists()
