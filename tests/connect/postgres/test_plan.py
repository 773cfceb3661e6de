"""What a start does, how far the slot is confirmed, and options that are refused."""

import pytest

from moldau.connect.config.definition import ConfigError
from moldau.connect.connectors.postgres import settings
from moldau.connect.connectors.postgres.catalog import Slot
from moldau.connect.connectors.postgres.plan import Confirmations, Plan, plan
from moldau.connect.connectors.postgres.position import Position
from moldau.connect.connectors.postgres.problems import unsupported
from moldau.connect.connectors.postgres.topics import Topics
from moldau.connect.data.errors import ConnectError

CONFIG = {"topic.prefix": "srv", "database.dbname": "shop"}
SLOT = Slot("pgoutput", "shop", False, None, 100, 90, "reserved")
LOST = SLOT._replace(wal_status="lost")
DONE = Position(100, is_snapshot=True)
HALF = Position(100, is_snapshot=True, is_complete=False)
SNAPSHOT, STREAM, REST = Plan.SNAPSHOT, Plan.STREAM, Plan.REST


@pytest.mark.parametrize(
    ("mode", "position", "slot", "wanted"),
    [
        ("initial", None, None, SNAPSHOT),
        ("initial", None, SLOT, SNAPSHOT),
        ("initial", HALF, SLOT, SNAPSHOT),
        ("initial", DONE, SLOT, STREAM),
        ("always", DONE, SLOT, SNAPSHOT),
        ("always", DONE, None, SNAPSHOT),
        ("initial_only", None, None, SNAPSHOT),
        ("initial_only", DONE, None, REST),
        ("never", None, None, STREAM),
        ("no_data", None, SLOT, STREAM),
        ("no_data", DONE, SLOT, STREAM),
        ("when_needed", DONE, LOST, SNAPSHOT),
        ("when_needed", DONE, SLOT, STREAM),
    ],
)
def test_a_start_reads_rows_or_the_log(
    mode: str, position: Position | None, slot: Slot | None, wanted: Plan
) -> None:
    parsed = settings.parse({**CONFIG, "snapshot.mode": mode})
    assert plan(parsed, position, slot) is wanted


@pytest.mark.parametrize(("slot", "how"), [(None, "does not exist"), (LOST, "has lost its log")])
def test_a_lost_slot_is_never_passed_over(slot: Slot | None, how: str) -> None:
    with pytest.raises(ConnectError, match=f"{how}.*0/64.*new snapshot.*when_needed"):
        plan(settings.parse(CONFIG), DONE, slot)


def test_a_slot_of_another_plugin_or_database_is_refused() -> None:
    parsed = settings.parse(CONFIG)
    with pytest.raises(ConnectError, match="wal2json, not pgoutput"):
        plan(parsed, None, SLOT._replace(plugin="wal2json"))
    with pytest.raises(ConnectError, match="belongs to database other, not shop"):
        plan(parsed, None, SLOT._replace(database="other"))


def test_only_what_is_durable_is_confirmed() -> None:
    progress = Confirmations()
    progress.reached(10)
    assert progress.lsn == 10
    progress.sent({"lsn": 12})
    progress.reached(20)
    progress.sent({"lsn": 22})
    progress.reached(30)
    assert (progress.lsn, progress.is_waiting) == (10, True)
    progress.durable({"lsn": 12})
    assert progress.lsn == 20
    # Durable up to the middle of a poll: the transactions before it.
    progress.durable({"lsn": 21, "lsn_commit": 15})
    assert progress.lsn == 20
    progress.durable({"lsn": 22})
    assert (progress.lsn, progress.is_waiting) == (30, False)
    progress.reached(40)
    assert progress.lsn == 40


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("slot.name", "Bad-Name", "lower-case letters"),
        ("plugin.name", "wal2json", "pgoutput"),
        ("table.include.list", "a(", "no regular expression"),
        ("snapshot.mode", "sometimes", "initial"),
        ("skipped.operations", "x", "c, u, d and t"),
        ("message.key.columns", "t", "table:column"),
        ("database.port", "0", "cannot be 0: it must not be less than 1"),
    ],
)
def test_options_are_refused_with_what_would_be_right(
    option: str, value: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        settings.parse({**CONFIG, option: value})
    assert option in str(caught.value)
    assert message in str(caught.value)


def test_include_and_exclude_lists_do_not_go_together() -> None:
    both = {"table.include.list": "a", "table.exclude.list": "b"}
    with pytest.raises(ConfigError, match=r"table\.exclude\.list"):
        settings.parse({**CONFIG, **both})


def test_passwords_are_not_shown() -> None:
    parsed = settings.parse({**CONFIG, "database.password": "s3cret"})
    assert "s3cret" not in repr(parsed)
    assert parsed.connection["password"] == "s3cret"


def test_options_of_debezium_that_are_not_supported_are_named() -> None:
    config = {
        **CONFIG,
        "provide.transaction.metadata": "true",
        "read.only": "false",
        "column.mask.with.5.chars": "a.b.c",
        "max.queue.size": "1000",
    }
    found = {problem.name for problem in unsupported(config)}
    assert found == {"provide.transaction.metadata", "column.mask.with.5.chars"}


def test_topics_have_no_character_that_kafka_refuses() -> None:
    topics = Topics("srv")
    assert topics.of_table("public", "Odd Näme") == "srv.public.Odd_N_me"
    assert topics.heartbeat == "__debezium-heartbeat.srv"
    assert topics.messages == "srv.message"
