"""``sasl.jaas.config`` is parsed as in Kafka; error messages contain no secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.client.jaas import parse_jaas

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_module_and_its_options_are_read() -> None:
    module = parse_jaas(f'{MODULE} required username="alice" password="alice-secret";')
    assert module.name == "PlainLoginModule"
    assert module.options == {"username": "alice", "password": "alice-secret"}


def test_lines_comments_and_both_quotes_are_understood() -> None:
    text = f"""{MODULE} REQUIRED // who
        username='alice' /* and
        what */ password="it's // no comment; a=b"
        tokenauth=true
        ;
    """
    assert parse_jaas(text).options == {
        "username": "alice",
        "password": "it's // no comment; a=b",
        "tokenauth": "true",
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"a\"b", 'a"b'),
        (r"a\\b", "a\\b"),
        (r"tab\tnewline\n", "tab\tnewline\n"),
        (r"\101\7", "A\7"),
        (r"\8\q", "8q"),
    ],
)
def test_a_backslash_escapes_in_quotes(written: str, meant: str) -> None:
    assert parse_jaas(f'{MODULE} required password="{written}";').options["password"] == meant


@given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])))
def test_any_password_can_be_written(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    assert parse_jaas(f'{MODULE} required password="{escaped}";').options["password"] == password


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "a login module is expected first"),
        (f'{MODULE} username="alice";', "then the word required"),
        (f'{MODULE} required username="alice"', "does not end with a semicolon"),
        (f"{MODULE} required; {MODULE} required;", "a client has one login module"),
        (f"{MODULE} required password;", 'must be written as name="value"'),
        (f"{MODULE} required password=;", 'must be written as name="value"'),
        (f'{MODULE} required "password"="a";', 'must be written as name="value"'),
        (f"{MODULE} required password=s3cr3t word;", 'must be written as name="value"'),
        (f"{MODULE} required password=s3cr3t@word;", "must be quoted"),
        (f'{MODULE} required password="s3cr3t;', "must be quoted"),
        ("s3cr3t", "a login module is expected first"),
    ],
)
def test_what_is_wrong_is_told_without_the_password(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as raised:
        parse_jaas(text)
    assert "s3cr3t" not in str(raised.value)
    assert "word;" not in str(raised.value)


def test_a_module_that_is_printed_shows_no_password() -> None:
    assert "s3cr3t" not in repr(parse_jaas(f'{MODULE} required password="s3cr3t";'))
