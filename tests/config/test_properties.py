"""Java's properties files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.config.properties import (
    decode_properties,
    format_properties,
    parse_properties,
)


def test_a_file_as_kafka_ships_it_is_read() -> None:
    text = """
# a comment
! another one
process.roles=broker,controller
  node.id = 1
listeners : PLAINTEXT://:9092
log.dirs /var/lib/moldau
empty=
alone
"""
    assert parse_properties(text) == {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": "PLAINTEXT://:9092",
        "log.dirs": "/var/lib/moldau",
        "empty": "",
        "alone": "",
    }


def test_a_backslash_at_the_end_joins_the_next_line_without_its_indentation() -> None:
    assert parse_properties("log.dirs=/a,\\\n    /b,\\\n    /c\nx=1") == {
        "log.dirs": "/a,/b,/c",
        "x": "1",
    }


def test_an_even_number_of_backslashes_does_not_join() -> None:
    assert parse_properties("a=b\\\\\nc=d") == {"a": "b\\", "c": "d"}


def test_escapes_stand_for_what_they_do_in_java() -> None:
    assert parse_properties("a\\ b\\:c=\\u00e9\\t\\x\\n") == {"a b:c": "é\tx\n"}


def test_the_last_of_two_values_counts() -> None:
    assert parse_properties("a=1\na=2\r\n") == {"a": "2"}


def test_a_damaged_unicode_escape_is_named() -> None:
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        parse_properties("a=\\u12")


def test_trailing_space_belongs_to_the_value() -> None:
    assert parse_properties("a=b ") == {"a": "b "}


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.dictionaries(_TEXT.filter(bool), _TEXT))
def test_what_is_written_is_read_back(settings: dict[str, str]) -> None:
    assert parse_properties(format_properties(settings)) == settings


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_a_file_that_java_reads_need_not_be_utf_8(encoding: str) -> None:
    data = "# für Zürich\nnode.id=1\n".encode(encoding)
    assert decode_properties(data).startswith("# für Zürich\n")
