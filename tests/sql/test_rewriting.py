"""Positions in a rewritten statement lead back to what the user wrote."""

from hypothesis import given
from hypothesis import strategies as st

from moldau.sql.errors import Span
from moldau.sql.rewriting import Replacement, Rewritten, from_java, rewrite


def test_a_part_is_replaced_and_the_rest_finds_its_place() -> None:
    text = "SELECT a FROM t VERSION AS OF 3 WHERE b"
    clause = Span(14, 31)
    changed = rewrite(text, [Replacement(clause, "`t@1` AS `t`")])
    assert changed.text == "SELECT a FROM `t@1` AS `t` WHERE b"
    assert changed.back(Span(7, 8)) == Span(7, 8)
    last = changed.text.index("b")
    assert text[slice(*changed.back(Span(last, last + 1)))] == "b"
    inside = changed.text.index("AS")
    assert changed.back(Span(inside, inside + 2)) == clause


@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=4), st.text("XYZ", max_size=6))))
def test_what_was_not_replaced_is_found_again(pieces: list[tuple[str, str]]) -> None:
    """Pieces alternate: one that stays, one that is replaced."""
    original, replacements, stays = "", [], []
    for kept, new in pieces:
        stays.append(Span(len(original), len(original) + len(kept)))
        original += kept + "?"
        replacements.append(Replacement(Span(len(original) - 1, len(original)), new))
    changed = rewrite(original, replacements)
    position = 0
    for span, (kept, new) in zip(stays, pieces, strict=True):
        assert changed.text[position : position + len(kept)] == kept
        assert changed.back(Span(position, position + len(kept))) == span
        position += len(kept) + len(new)


def test_nothing_replaced_is_the_same_place() -> None:
    assert Rewritten("abc", "abc").back(Span(1, 2)) == Span(1, 2)


def test_java_counts_characters_outside_the_basic_plane_twice() -> None:
    text = "SELECT '😀' x"
    units = len("SELECT '😀' ".encode("utf-16-le")) // 2
    assert text[slice(*from_java(text, units, units))] == "x"
