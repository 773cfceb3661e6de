"""What the shell offers at the cursor."""

import pytest

from moldau.sql.completion import Names, complete, named_topics

NAMES = Names(
    topics=lambda: ["orders", "order-lines", "logs"],
    columns=lambda topic: {"orders": ["_key", "_offset", "value"]}.get(topic, []),
    fields=lambda topic: {"orders": ["customer", "address.city"]}.get(topic, []),
    functions=lambda: ["count", "coalesce", "current_timestamp"],
)


def offered(before: str, after: str = "") -> list[str]:
    return [each.text for each in complete(before, after, NAMES)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("SELECT * FROM ", "", ["orders", "`order-lines`", "logs"]),
        ("SELECT * FROM or", "", ["orders", "`order-lines`"]),
        ("SELECT * FROM `or", "", ["`orders`", "`order-lines`"]),
        ("SELECT * FROM STREAM l", "", ["logs"]),
        ("INSERT INTO l", "", ["logs"]),
        ("SELECT _o", " FROM orders", ["_offset"]),
        ("SELECT value:", " FROM orders", ["customer", "address.city"]),
        ("SELECT value:cu", " FROM orders", ["customer"]),
        ("SELECT value:customer::", " FROM orders", None),
        ("SEL", "", ["SELECT"]),
        ("sel", "", ["select"]),
        ("SELECT 'FROM ", "", []),
        ("SELECT coal", "", ["coalesce"]),
    ],
)
def test_the_words_before_the_cursor_say_what_fits(
    before: str, after: str, expected: list[str] | None
) -> None:
    found = offered(before, after)
    if expected is None:
        assert "string" in found
    else:
        assert found == expected


def test_a_completion_replaces_what_was_typed() -> None:
    (found,) = complete("SELECT * FROM `order-l", "", NAMES)
    assert (found.text, found.length) == ("`order-lines`", len("`order-l"))


def test_topics_are_found_in_the_text() -> None:
    text = "SELECT * FROM STREAM a JOIN `b.c` ON x WHERE 'FROM d' AND y"
    assert named_topics(text) == ["a", "b.c"]
