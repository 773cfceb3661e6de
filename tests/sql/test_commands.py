"""SHOW TOPICS, SUGGEST SCHEMA FOR, and columns of an INSERT."""

import pytest

from moldau.sql.commands import Help, ShowTopics, SuggestSchema, command
from moldau.sql.errors import Span, SqlError
from moldau.sql.inserting import check_columns, value_columns

SPAN = Span(0, 1)


def test_commands_are_known_by_their_words() -> None:
    assert command("show  topics") == ShowTopics()
    assert command("SHOW TOPICS LIKE 'o*'") == ShowTopics("o*")
    assert command("help") == Help()
    assert command("SELECT 1") is None
    found = command("SUGGEST SCHEMA FOR logs.app-1")
    assert isinstance(found, SuggestSchema)
    assert found.topic == "logs.app-1"
    quoted = command("SUGGEST SCHEMA FOR `logs.app-1`")
    assert isinstance(quoted, SuggestSchema)
    assert quoted.topic == "logs.app-1"


@pytest.mark.parametrize("statement", ["SHOW TOPICS orders", "SUGGEST", "SUGGEST SCHEMA orders"])
def test_half_a_command_is_explained(statement: str) -> None:
    with pytest.raises(SqlError):
        command(statement)


def test_a_pattern_selects_topics() -> None:
    assert ShowTopics("a*|b").matching(["ab", "b", "c"]) == ["ab", "b"]


def test_the_value_is_made_of_the_columns_that_are_not_metadata() -> None:
    assert value_columns(["_key", "_partition", "a", "b", "_OFFSET"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "named", "wrong"),
    [
        (["a", "b"], ["_key", "_offset"], "_offset is given by the broker"),
        (["a"], ["_key", "value"], "2 columns are named, and there are 1 values"),
        (["a", "A"], [], "column a is there twice"),
        (["col1"], [], "the values have no names"),
        (["_key"], [], "there is no column for the value"),
    ],
)
def test_columns_that_make_no_record_are_refused(
    columns: list[str], named: list[str], wrong: str
) -> None:
    with pytest.raises(SqlError, match=wrong):
        check_columns(columns, named, SPAN)


def test_columns_that_make_a_record_pass() -> None:
    check_columns(["_key", "_offset", "value"], [], SPAN)
    check_columns(["col1", "col2"], ["_key", "value"], SPAN)
