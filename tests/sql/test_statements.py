"""Cutting input into statements: what is in strings, names and comments ends nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.sql.statements import (
    Kind,
    is_complete,
    parts_of,
    quoted,
    shown,
    split,
    statements,
    tokens,
    words,
)

ODD = st.text(st.sampled_from(list("ab;'\"`\\-/* \n.r:")), max_size=40)


@given(ODD)
def test_the_tokens_together_are_the_text(text: str) -> None:
    assert "".join(each.text for each in tokens(text)) == text


@given(ODD)
def test_no_statement_has_a_semicolon_that_ends_one(text: str) -> None:
    for statement in statements(text):
        assert not any(each.text == ";" for each in words(statement))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' ;", ["SELECT ';'"]),
        ("SELECT 'it\\'s;' ; x", ["SELECT 'it\\'s;'", "x"]),
        ("SELECT r'\\'; SELECT 2", ["SELECT r'\\'", "SELECT 2"]),
        ("SELECT `a;b`;", ["SELECT `a;b`"]),
        ("-- a; b\nSELECT 1 -- c;\n;", ["SELECT 1"]),
        ("/* a; /* b; */ c; */ SELECT 1;", ["SELECT 1"]),
        (";;\n;", []),
        ("SELECT\n  1\n;", ["SELECT\n  1"]),
    ],
)
def test_input_is_cut_at_semicolons(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


def test_the_rest_is_what_no_semicolon_ends() -> None:
    assert split("SELECT 1; SELECT") == (["SELECT 1"], " SELECT")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done\n", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT 1; SELECT", False),
        ("", False),
        (";", False),
    ],
)
def test_enter_ends_the_input_after_a_semicolon(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


def test_a_string_without_its_end_is_open() -> None:
    assert [each.is_open for each in words("SELECT 'abc")] == [False, True]


def test_names_are_quoted_only_if_needed() -> None:
    assert shown("orders") == "orders"
    assert shown("logs.app-1") == "`logs.app-1`"
    assert quoted("a`b") == "`a``b`"
    assert parts_of("`logs.app-1`.x") == ["logs.app-1", "x"]
    assert words("`a``b`")[0].name == "a`b"
    assert words("`a``b`")[0].kind is Kind.QUOTED
