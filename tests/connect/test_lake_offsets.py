"""Offsets that tables of a lake store can be changed by the user of a connector that is stopped."""

from pathlib import Path

import pytest

from moldau.connect.connector import SinkConnector
from moldau.connect.connector_offsets import reset_target
from moldau.ids import TopicPartition
from tests.connect.lake.driving import Driven, order

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)


def delta(path: Path) -> tuple[type[SinkConnector], dict[str, str]]:
    pytest.importorskip("deltalake", reason="deltalake is not installed")
    from moldau.connect.connectors.lake.delta import DeltaSink

    return DeltaSink, {"path": f"{path}/${{topic}}", "topics": "orders"}


def iceberg(path: Path) -> tuple[type[SinkConnector], dict[str, str]]:
    pytest.importorskip("pyiceberg", reason="pyiceberg is not installed")
    from moldau.connect.connectors.lake.iceberg import IcebergSink

    return IcebergSink, {
        "topics": "orders",
        "iceberg.tables": "shop.${topic}",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.catalog.type": "sql",
        "iceberg.catalog.uri": f"sqlite:///{path}/catalog.db",
        "iceberg.catalog.warehouse": f"file://{path}/warehouse",
    }


@pytest.mark.parametrize("lake", [delta, iceberg])
def test_offsets_are_set_and_reset(lake: object, tmp_path: Path) -> None:
    assert callable(lake)
    kind, options = lake(tmp_path)
    config = {"name": "sink", **options}
    sink = Driven(kind, config)
    sink.write(order(0), order(1), order(0, partition=1))
    assert sink.offsets == {ORDERS: 2, OTHERS: 1}
    assert kind.alter_offsets(config, {ORDERS: 1, TopicPartition("else", 3): 7})
    again = Driven(kind, config)
    assert again.offsets == {ORDERS: 1, OTHERS: 1}
    # The topic was created again: what is at these offsets now is written.
    assert kind.alter_offsets(config, {ORDERS: None, OTHERS: None})
    again = Driven(kind, config)
    assert again.offsets == {ORDERS: 0, OTHERS: 0}
    again.write(order(0), order(1))
    assert again.offsets == {ORDERS: 2, OTHERS: 0}


def test_offsets_of_several_tables_are_reset(tmp_path: Path) -> None:
    """Each of them would leave out what is at the same offsets of a topic that was made again."""
    kind, options = iceberg(tmp_path)
    config = {"name": "sink", **options, "iceberg.tables": "shop.a,shop.b"}
    sink = Driven(kind, config)
    sink.write(order(0), order(1))
    assert Driven(kind, config).offsets == {ORDERS: 2}
    assert reset_target(kind, config)
    again = Driven(kind, config)
    assert again.offsets == {ORDERS: 0}
    staged = again.stage([order(0)])
    assert sorted(each.table for each in staged) == ["shop.a", "shop.b"]


@pytest.mark.parametrize("lake", [delta, iceberg])
def test_offsets_are_set_where_topics_are_named_by_a_pattern(lake: object, tmp_path: Path) -> None:
    assert callable(lake)
    kind, options = lake(tmp_path)
    del options["topics"]
    config = {"name": "sink", **options, "topics.regex": "ord.*"}
    sink = Driven(kind, config)
    sink.write(order(0), order(1))
    assert sink.stage([order(1)]) != []
    (staged,) = Driven(kind, config).stage([order(1)])
    assert (staged.files, staged.partitions) == ([], frozenset())
    assert kind.alter_offsets(config, {ORDERS: 1})
    assert len(Driven(kind, config).stage([order(0), order(1)])) == 1
    # To reset them, it has to be said which topics there are.
    assert reset_target(kind, config, [ORDERS])
    (staged,) = Driven(kind, config).stage([order(0)])
    assert staged.seen == {ORDERS: 0}


def in_one_table(options: dict[str, str]) -> dict[str, str]:
    """The same place, but one table for all topics."""
    return {name: value.replace("${topic}", "all") for name, value in options.items()}


@pytest.mark.parametrize("lake", [delta, iceberg])
@pytest.mark.parametrize("is_divided", [True, False])
def test_offsets_are_found_and_reset_where_topics_are_named_by_a_pattern(
    lake: object, is_divided: bool, tmp_path: Path
) -> None:
    """Also if the group has none: so it is seen that a topic was deleted and created again."""
    assert callable(lake)
    kind, options = lake(tmp_path)
    del options["topics"]
    config = {"name": "sink", "topics.regex": "ord.*", **options}
    if not is_divided:
        config = in_one_table(config)
    assert Driven(kind, config, ["orders"]).offsets == {}
    Driven(kind, config, ["orders"]).write(order(0), order(1))
    assert Driven(kind, config, ["orders", "ordinary"]).offsets == {ORDERS: 2}
    assert reset_target(kind, config, [], ["orders"])
    assert Driven(kind, config, ["orders"]).offsets == {ORDERS: 0}


@pytest.mark.parametrize("lake", [delta, iceberg])
def test_tasks_tell_which_offsets_they_found(lake: object, tmp_path: Path) -> None:
    """Of a topic that there was not at the start, and whose records are all left out."""
    assert callable(lake)
    kind, options = lake(tmp_path)
    Driven(kind, options).write(order(0), order(1))
    del options["topics"]
    sink = Driven(kind, {**options, "topics.regex": "ord.*"})
    assert sink.offsets == {}
    assert sink.driver.found_offsets([sink.stage([order(0)])]) == {ORDERS: 2}
    assert sink.driver.found_offsets([[]]) == {}


def test_a_repeated_batch_that_ends_earlier_does_not_move_a_table_back(tmp_path: Path) -> None:
    """The bounds of a batch depend on all partitions, and may be others after a crash."""
    kind, options = delta(tmp_path)
    # Transforms may divide a topic among tables, so reading starts at the group's offsets.
    config = {**options, "transforms": "route"}
    Driven(kind, config).write(order(0), order(1), order(2))
    again = Driven(kind, config)
    again.write(order(0), order(1))
    assert again.offsets == {ORDERS: 3}
    last = Driven(kind, config)
    last.write(order(2), order(3))
    import deltalake

    rows = deltalake.DeltaTable(str(tmp_path / "orders")).to_pyarrow_table()
    assert sorted(rows.column("id").to_pylist()) == [0, 1, 2, 3]
