"""Iceberg tables in a catalog of SQLite, read back with PyIceberg."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from moldau.connect.config.definition import ConfigError
from moldau.connect.data import logical
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.schema import Schema, Type, struct
from moldau.connect.data.struct import Struct
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, order, record

pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.transforms import IdentityTransform

from moldau.connect.connectors.lake.iceberg import IcebergSink, IcebergTable

ORDERS = TopicPartition("orders", 0)
PLAIN = pa.schema([("id", pa.int64()), ("item", pa.string())])


def catalog_options(path: Path) -> dict[str, str]:
    return {
        "type": "sql",
        "uri": f"sqlite:///{path}/catalog.db",
        "warehouse": f"file://{path}/warehouse",
    }


def catalog(path: Path) -> Catalog:
    return load_catalog("iceberg", **catalog_options(path))


def config(path: Path, **options: str) -> dict[str, str]:
    return {
        "topics": "orders",
        "iceberg.tables": "shop.${topic}",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        **{f"iceberg.catalog.{name}": value for name, value in catalog_options(path).items()},
        **{name.replace("__", "."): value for name, value in options.items()},
    }


def start(path: Path, **options: str) -> Driven:
    return Driven(IcebergSink, config(path, **options))


def make(path: Path, schema: pa.Schema, **options: Any) -> Any:
    made = catalog(path)
    made.create_namespace_if_not_exists("shop")
    return made.create_table("shop.orders", schema, **options)


def rows(path: Path, table: str = "shop.orders") -> list[dict[str, Any]]:
    found = catalog(path).load_table(table).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def ids(path: Path, table: str = "shop.orders") -> list[int]:
    return [row["id"] for row in rows(path, table)]


def test_records_and_offsets_are_in_one_snapshot(tmp_path: Path) -> None:
    sink = start(tmp_path)
    sink.write(order(0), order(1))
    sink.write(order(0, partition=1))
    assert ids(tmp_path) == [0, 0, 1]
    snapshot = catalog(tmp_path).load_table("shop.orders").current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    stored = snapshot.summary.additional_properties["moldau.connect.offsets.sink"]
    assert stored == '[["orders", 0, 2], ["orders", 1, 1]]'
    assert start(tmp_path).offsets == {ORDERS: 2, TopicPartition("orders", 1): 1}


def test_offsets_are_found_behind_snapshots_of_others(tmp_path: Path) -> None:
    start(tmp_path).write(order(0))
    table = catalog(tmp_path).load_table("shop.orders")
    table.append(pa.table({"id": [100], "item": ["other"]}, schema=PLAIN))
    sink = start(tmp_path)
    assert sink.offsets == {ORDERS: 1}
    sink.write(order(1))
    assert ids(tmp_path) == [0, 1, 100]


def test_a_crash_before_or_after_the_commit_doubles_nothing(tmp_path: Path) -> None:
    start(tmp_path).stage([order(0)])
    assert ids(tmp_path) == []
    start(tmp_path).write(order(0), order(1))
    again = start(tmp_path)
    assert again.offsets == {ORDERS: 2}
    again.write(order(0), order(1), order(2))
    assert ids(tmp_path) == [0, 1, 2]


def test_a_commit_whose_answer_was_lost_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(self: IcebergTable, *arguments: Any) -> None:
        commit(self, *arguments)
        raise RetriableError("no answer")

    commit = IcebergTable.commit
    sink = start(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(IcebergTable, "commit", lost)
        with pytest.raises(RetriableError):
            sink.write(order(0))
    sink.write(order(0))
    assert ids(tmp_path) == [0]


def test_a_commit_of_others_in_between_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = start(tmp_path)
    sink.write(order(0))
    between(monkeypatch, lambda: append_other(tmp_path))
    sink.write(order(1))
    assert ids(tmp_path) == [0, 1, 100]


def append_other(path: Path) -> None:
    table = catalog(path).load_table("shop.orders")
    table.append(pa.table({"id": [100], "item": ["other"]}, schema=PLAIN))


def between(monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Do something once, when a sink has read a table and is about to commit."""
    refresh = IcebergTable.refresh
    done: list[int] = []

    def then_act(self: IcebergTable) -> None:
        refresh(self)
        if not done:
            done.append(1)
            act()

    monkeypatch.setattr(IcebergTable, "refresh", then_act)


def test_two_workers_that_commit_at_the_same_moment_do_not_both_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = start(tmp_path)
    old.write(order(0))
    message = old.stage([order(1), order(2)])
    new = start(tmp_path)
    between(monkeypatch, lambda: new.write(order(1)))
    with pytest.raises(ConnectError, match=r"another worker has written to table shop\.orders"):
        old.driver.commit([message], {ORDERS: 3}, 1)
    assert ids(tmp_path) == [0, 1]


def test_new_fields_become_columns_and_columns_grow(tmp_path: Path) -> None:
    make(tmp_path, pa.schema([("id", pa.int32())]))
    sink = start(tmp_path)
    sink.write(order(5_000_000_000, price=2.5))
    sink.write(order(5_000_000_001))
    assert rows(tmp_path) == [
        {"id": 5_000_000_000, "item": "item 5000000000", "price": 2.5},
        {"id": 5_000_000_001, "item": "item 5000000001", "price": None},
    ]


def test_a_narrower_column_takes_values_that_fit_where_tables_are_left_alone(
    tmp_path: Path,
) -> None:
    make(tmp_path, pa.schema([("id", pa.int32()), ("item", pa.string())]))
    bad: list[str] = []
    sink = start(tmp_path, **{"iceberg.tables.evolve-schema-enabled": "false"})
    sink.write(order(1), order(5_000_000_000), order(2, price=1.0), bad=bad)
    assert ids(tmp_path) == [1]
    assert len(bad) == 2
    assert "column id of table shop.orders" in bad[0]
    assert "table shop.orders has no column for price" in bad[1]


def test_a_required_column_needs_a_value(tmp_path: Path) -> None:
    fields = [pa.field("id", pa.int64()), pa.field("item", pa.string(), nullable=False)]
    make(tmp_path, pa.schema(fields))
    bad: list[str] = []
    start(tmp_path).write(order(1, item=None), order(2), bad=bad)
    assert ids(tmp_path) == [2]
    assert "column item of table shop.orders needs a value" in bad[0]


def test_a_column_of_another_kind_is_a_bad_record(tmp_path: Path) -> None:
    make(tmp_path, pa.schema([("id", pa.int64()), ("item", pa.int64())]))
    with pytest.raises(DataError, match=r"record orders-0@1: column item of table shop\.orders"):
        start(tmp_path).write(order(1))


def test_partitioned_tables_are_written(tmp_path: Path) -> None:
    table = make(tmp_path, PLAIN)
    with table.update_spec() as update:
        update.add_field("item", IdentityTransform())
    start(tmp_path).write(order(0, item="a"), order(1, item="b"), order(2, item="a"))
    assert ids(tmp_path) == [0, 1, 2]
    plan = catalog(tmp_path).load_table("shop.orders").scan(row_filter="item = 'a'").plan_files()
    assert [task.file.record_count for task in plan] == [2]


def test_every_type_can_be_written(tmp_path: Path) -> None:
    inner = struct("in", {"a": schemas.INT8, "at": logical.OPTIONAL_TIMESTAMP})
    schema = struct(
        "all",
        {
            "id": schemas.INT16,
            "time": logical.OPTIONAL_TIME,
            "price": logical.decimal_schema(2, is_optional=True),
            "list": Schema(Type.ARRAY, value_schema=inner),
            "map": Schema(Type.MAP, key_schema=schemas.STRING, value_schema=inner),
        },
    )
    value = Struct(inner, {"a": 1})
    made = Struct(schema, {"id": 1, "list": [value], "map": {"k": value}})
    start(tmp_path).write(record(made, schema))
    nested = {"a": 1, "at": None}
    assert rows(tmp_path) == [
        {"id": 1, "time": None, "price": None, "list": [nested], "map": [("k", nested)]}
    ]


@pytest.mark.parametrize(
    ("options", "has_parts"),
    [
        ({"iceberg.tables": "shop.a"}, False),
        ({"iceberg.tables": "shop.a", "transforms": "route"}, False),
        ({"iceberg.tables": "shop.${topic}"}, False),
        ({"iceberg.tables": "shop.${topic}", "transforms": "route"}, True),
        ({"iceberg.tables": "shop.a,shop.b"}, True),
        ({"iceberg.tables": "shop.a", "iceberg.tables.route-field": "item"}, False),
        ({"iceberg.tables": "shop.a,shop.b", "iceberg.tables.route-field": "item"}, True),
        (
            {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "item"},
            True,
        ),
    ],
)
def test_records_of_one_partition_may_go_to_several_tables(
    options: dict[str, str], has_parts: bool, tmp_path: Path
) -> None:
    """Each has offsets of its own then, and none says where reading has to start."""
    assert start(tmp_path, **options).driver.has_parts is has_parts


def test_records_go_to_the_tables_of_their_route(tmp_path: Path) -> None:
    sink = start(
        tmp_path,
        **{
            "iceberg.tables": "shop.a,shop.b",
            "iceberg.tables.route-field": "item",
            "iceberg.table.shop.a.route-regex": "a.*",
            "iceberg.table.shop.b.route-regex": ".*b",
        },
    )
    batch = [order(0, item="a"), order(1, item="b"), order(2, item="ab"), order(3, item=None)]
    sink.write(*batch)
    # After a crash before the group's offset moved, all come again.
    start(tmp_path, **{key: sink.config[key] for key in sink.config if "iceberg" in key}).write(
        *batch
    )
    assert ids(tmp_path, "shop.a") == [0, 2]
    assert ids(tmp_path, "shop.b") == [1, 2]


def test_a_record_can_name_its_table(tmp_path: Path) -> None:
    options = {
        "iceberg.tables": "",
        "iceberg.tables.dynamic-enabled": "true",
        "iceberg.tables.route-field": "item",
    }
    bad: list[str] = []
    start(tmp_path, **options).write(order(0, item="Shop.X"), order(1, item="nowhere"), bad=bad)
    assert ids(tmp_path, "shop.x") == [0]
    assert "'nowhere' has no namespace" in bad[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iceberg.tables": ""}, "name at least one table"),
        ({"iceberg.tables": "orders"}, r"as namespace\.table"),
        ({"iceberg.tables.dynamic-enabled": "true"}, "set iceberg.tables.route-field"),
        ({"iceberg.table.shop.a.route-regex": "("}, "no regular expression"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        start(tmp_path, **options)
    assert IcebergSink.validate(config(tmp_path, **options))


def test_validation_names_what_is_not_supported_and_what_is_missing(tmp_path: Path) -> None:
    options = {
        "iceberg.tables.upsert-mode-enabled": "true",
        "iceberg.table.shop.a.id-columns": "id",
        "iceberg.tables.auto-create-enabled": "false",
    }
    problems = IcebergSink.validate(config(tmp_path, **options))
    assert {problem.name for problem in problems} == {
        "iceberg.tables.upsert-mode-enabled",
        "iceberg.table.shop.a.id-columns",
        "iceberg.tables",
    }
    assert IcebergSink.validate(config(tmp_path)) == []


def test_a_catalog_that_cannot_be_used_is_named_at_validation(tmp_path: Path) -> None:
    for options in ({"type": "nothing"}, {"type": "rest", "uri": "http://127.0.0.1:1/"}):
        named = {f"iceberg.catalog.{key}": value for key, value in options.items()}
        [problem] = IcebergSink.validate(config(tmp_path, **named))
        assert problem.name == "iceberg.catalog"
        assert "Iceberg catalog: " in problem.message
