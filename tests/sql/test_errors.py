"""An error is one line, the line of the statement, and carets under the words at fault."""

from moldau.sql.errors import Span, SqlError, nearest, show_error


def test_carets_are_under_the_word() -> None:
    error = SqlError("there is no topic ordesr", "did you mean orders?", Span(14, 20))
    assert show_error(error, "SELECT * FROM ordesr LIMIT 1").splitlines() == [
        "there is no topic ordesr: did you mean orders?",
        "  SELECT * FROM ordesr LIMIT 1",
        "                ^^^^^^",
    ]


def test_only_the_line_of_the_word_is_shown() -> None:
    statement = "SELECT *\nFROM\tordesr\nLIMIT 1"
    start = statement.index("ordesr")
    shown = show_error(SqlError("no", "", Span(start, start + 6)), statement)
    assert shown.splitlines() == ["no", "  FROM\tordesr", "      \t^^^^^^"]


def test_wide_characters_count_twice() -> None:
    statement = "SELECT '東京', x"
    start = statement.index("x")
    lines = show_error(SqlError("no", "", Span(start, start + 1)), statement).splitlines()
    assert lines[2] == " " * (2 + len("SELECT '") + 4 + len("', ")) + "^"


def test_an_error_at_the_end_has_a_caret_behind_the_last_word() -> None:
    lines = show_error(SqlError("too early", "", Span(9, 10)), "SELECT 1,").splitlines()
    assert lines[2] == " " * 11 + "^"


def test_an_error_without_a_place_is_one_line() -> None:
    assert show_error(SqlError("no broker", "start one"), "SELECT 1") == "no broker: start one"


def test_the_nearest_name_is_found_in_any_case() -> None:
    assert nearest("ORDESR", ["orders", "logs"]) == "orders"
    assert nearest("xyz", ["orders", "logs"]) is None
