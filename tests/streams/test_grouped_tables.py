"""Tables grouped by other keys, and streams as tables, in test mode."""

from typing import TYPE_CHECKING, Any

from moldau.streams import LONG, STRING, App, Json, tumbling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_group_of_a_table_follows_rows_that_change_move_and_go(spark: "SparkSession") -> None:
    app = App("test")
    people = app.table("people", value=Json("city string, pay long"))
    cities = people.group_by(lambda value: value.city)
    cities.count().to("heads", value=LONG)
    cities.fold(
        {"pay": 0},
        lambda total, row: {"pay": total["pay"] + row["pay"]},
        lambda total, row: {"pay": total["pay"] - row["pay"]},
        "pay long",
    ).to("pay", value=Json())

    def person(name: str, city: str | None, pay: int) -> tuple[str, dict[str, Any]]:
        return (name, {"city": city, "pay": pay})

    rows = [
        person("ann", "Brno", 10),
        person("bob", "Brno", 20),
        person("eve", "Prague", 40),
        person("zoe", None, 1),
        # Stays where she is, for more.
        person("eve", "Prague", 41),
        person("ann", "Prague", 10),
        ("bob", None),
        ("nobody", None),
    ]
    written = app.test({"people": rows}, rows_per_batch=4)
    assert dict(written["heads"]) == {"Brno": 0, "Prague": 2}
    assert dict(written["pay"]) == {"Brno": {"pay": 0}, "Prague": {"pay": 51}}


def test_a_stream_becomes_a_table_that_is_looked_up(spark: "SparkSession") -> None:
    app = App("test")
    moves = app.stream("moves", value=Json("who string, city string"))
    lives = moves.map(lambda value: (value.who, value.city)).to_table()
    app.stream("letters").join(lives, lambda letter, city: city, how="left").to("posted")
    lives.to("lives", key=STRING, value=STRING)
    written = app.test(
        {
            "moves": [
                ("1", {"who": "ann", "city": "Brno"}),
                ("2", {"who": None, "city": "Nowhere"}),
                ("3", {"who": "ann", "city": "Prague"}),
                ("4", {"who": "bob", "city": "Brno"}),
                ("5", {"who": "bob", "city": None}),
            ],
            "letters": [("ann", "x"), ("bob", "x")],
        }
    )
    assert sorted(written["posted"], key=str) == [("ann", "Prague"), ("bob", None)]
    assert written["lives"] == [("ann", "Brno"), ("ann", "Prague"), ("bob", "Brno"), ("bob", None)]


def test_the_windows_of_a_table_are_grouped_each_as_a_row_of_its_own(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    app = App("test")
    clicks = app.stream("clicks").group_by_key()
    counts = clicks.windowed_by(tumbling("10 seconds", grace="1 minute")).count()
    counts.group_by(lambda window: F.unix_seconds(window.start)).fold(
        0, lambda total, count: total + count, lambda total, count: total - count, "long"
    ).to("totals", key=LONG, value=LONG)
    seconds = [("home", 1), ("cart", 2), ("home", 11), ("home", 3), ("cart", 14), ("cart", 4)]
    rows = [(page, "x", 1000 * second) for page, second in seconds]
    written = app.test({"clicks": rows}, rows_per_batch=2)
    # What a window had counted before is taken back when it has counted more.
    assert dict(written["totals"]) == {0: 4, 10: 2}
    assert max(total for _, total in written["totals"]) == 4
