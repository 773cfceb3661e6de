"""Statements for PostgreSQL: which question marks are signs for values."""

import pytest

from moldau.connect.connectors.jdbc.postgresql import for_psycopg


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a = ? AND b > ?", "a = %s AND b > %s"),
        ("tags ?? 'x' AND a = ?", "tags ? 'x' AND a = %s"),
        ("a LIKE '%?' AND b = ?", "a LIKE '%%?' AND b = %s"),
        ("a = 'it''s ?' AND b = ?", "a = 'it''s ?' AND b = %s"),
        ("a = E'it\\'s ?' AND b = ?", "a = E'it\\'s ?' AND b = %s"),
        ('"odd?" = ?', '"odd?" = %s'),
        ("-- isn't it?\na = ? AND b = 'x'", "-- isn't it?\na = %s AND b = 'x'"),
        ("/* isn't it? /* ? */ * ? */ a = ?", "/* isn't it? /* ? */ * ? */ a = %s"),
        ("a = $$isn't it?$$ AND b = ?", "a = $$isn't it?$$ AND b = %s"),
        ("a = $q$ $$?$$ 50% $q$ AND b = ?", "a = $q$ $$?$$ 50%% $q$ AND b = %s"),
        ("a - -b / c * ? % 5", "a - -b / c * %s %% 5"),
        ("price$ = ? AND cost$ = ?", "price$ = %s AND cost$ = %s"),
    ],
)
def test_comments_and_texts_are_left_as_they_are(statement: str, expected: str) -> None:
    assert for_psycopg(statement, has_values=True).decode() == expected


def test_without_values_only_operators_change() -> None:
    statement = "a ?? 'b' AND c LIKE '%' -- what??"
    assert for_psycopg(statement).decode() == "a ? 'b' AND c LIKE '%' -- what??"
