"""Routers of topics, predicates, and Java's regular expressions."""

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import ConnectError, DataError
from moldau.connect.data.headers import Header
from moldau.connect.transforms.java_regex import JavaRegexError, compile_pattern
from tests.connect.transforms.making import predicate, record, transform


def routed(regex: str, replacement: str, topic: str) -> str:
    result = transform("RegexRouter", regex=regex, replacement=replacement).apply(
        record(topic=topic)
    )
    assert result is not None
    return result.topic


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "expected"),
    [
        ("(.*)-(.*)", "$2.$1", "a-b", "b.a"),
        ("(?<env>[a-z]+)_.*", "${env}", "prod_orders", "prod"),
        ("orders", "x", "orders-eu", "orders-eu"),
        # The whole topic must match, but the first occurrence is what is replaced.
        ("a|ab", "x", "ab", "xb"),
        ("(a)b?", "$12", "ab", "a2"),
        ("(a)?b", "<$1>", "b", "<>"),
        (".*", r"\$1\\", "a", "$1\\"),
        (r"\Qa.b\E", "x", "a.b", "x"),
        (r"\Qa.b\E", "x", "acb", "acb"),
        ("[a-z&&[^x]]+", "y", "abc", "y"),
        ("[a-z&&[^x]]+", "y", "axc", "axc"),
        ("a(?i)b|c", "y", "C", "y"),
        (r"\p{Upper}+", "y", "AB", "y"),
        ("a*+a", "y", "aaa", "aaa"),
    ],
)
def test_topics_are_routed_as_java_replaces(
    regex: str, replacement: str, topic: str, expected: str
) -> None:
    assert routed(regex, replacement, topic) == expected


@pytest.mark.parametrize(
    ("replacement", "message", "java_class"),
    [
        ("$2", "no group 2, only 1", "java.lang.IndexOutOfBoundsException"),
        ("${x}", "no group x", "java.lang.IllegalArgumentException"),
        ("$", "a $ at the end names no group", "java.lang.IllegalArgumentException"),
        ("\\", "a backslash at the end", "java.lang.IllegalArgumentException"),
    ],
)
def test_a_wrong_replacement_is_an_error_of_the_record_that_matches(
    replacement: str, message: str, java_class: str
) -> None:
    with pytest.raises(ConnectError) as caught:
        routed("(a)", replacement, "a")
    assert message in str(caught.value)
    assert caught.value.java_class == java_class
    assert routed("(a)", replacement, "b") == "b"


@pytest.mark.parametrize(
    "regex", ["(", "a)", "a{", "a{,2}", "[a", r"\q", "*", r"(?x)a", r"\p{Sc}", r"\G"]
)
def test_a_pattern_that_cannot_be_read_is_refused(regex: str) -> None:
    with pytest.raises(JavaRegexError):
        compile_pattern(regex)
    with pytest.raises(ConfigError, match=r"regex cannot be .*: not a regular expression: "):
        transform("RegexRouter", regex=regex, replacement="x")


def test_the_time_of_a_record_is_put_into_its_topic() -> None:
    made = transform("TimestampRouter", timestamp_format="yyyy-MM")
    result = made.apply(record())
    assert result is not None
    assert result.topic == "orders-2023-11"
    with pytest.raises(DataError, match="a record of orders, partition 3 has none"):
        made.apply(record(timestamp_ms=None))


def test_a_pattern_that_java_does_not_know_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"timestamp\.format cannot be yyyy-bb: the letter b"):
        transform("TimestampRouter", timestamp_format="yyyy-bb")


def test_predicates_answer() -> None:
    matches = predicate("TopicNameMatches", pattern="ord.*")
    assert matches.test(record())
    assert not matches.test(record(topic="my-orders"))
    has = predicate("HasHeaderKey", name="h")
    assert has.test(record(headers=[Header("h", None, None)]))
    assert not has.test(record())
    assert predicate("RecordIsTombstone").test(record(None))
    assert not predicate("RecordIsTombstone").test(record(0))


def test_predicates_refuse_what_they_cannot_use() -> None:
    with pytest.raises(ConfigError, match="name cannot be empty"):
        predicate("HasHeaderKey", name="")
    with pytest.raises(ConfigError, match="pattern is required"):
        predicate("TopicNameMatches")
