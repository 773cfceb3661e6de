"""Random date patterns and regular expressions, as Java reads them and as ours are read.

Java is asked through the transforms that use them. What is refused by name counts as neither equal
nor wrong, but most must not be refused.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import SinkRecord
from moldau.connect.plugins import Plugins
from moldau.connect.transforms.date_format import DateFormat, DateFormatError
from tests.compat.clients.programs import UnavailableError
from tests.compat.connect_java import call_record, calls, plain_record

CONVERTER = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
CASES = 4_000
NOW_MS = 1_700_000_000_000
CUTOVER_MS = -12_219_292_800_000

LETTERS = "GyMdkHmsSEDahKzZXLuyMdHmsSyMdHms"
SEPARATORS = ("-", "/", " ", ":", ".", "", "", "'T'", "''", ", ", "'o''c'")
WORDS = (
    "", "0", "12", "2024", "-5", "Jan", "january", "MON", "AM", "pm", "UTC", "GMT", "+0130",
    "-08:00", "Z", " ", "99", "٣", "GMT+1:30", "AD", "BC", "x",
)  # fmt: skip

ATOMS = (
    "a", "b", "ab", "o", "r", ".", "-", "_", r"\.", r"\d", r"\w", r"\W", r"\s", r"\S", r"\D",
    r"\b", "^", "$", r"\A", r"\z", r"\Z", "[ab]", "[^ab]", "[a-z]", "[a-z&&[^b]]", "[a-c[x-z]]",
    "[^a&&b]", r"[\w&&[^a]]", "[a&&]", "[&&a]", "[]a]", "[^]a]", "[a-]", "[-a]", r"[a\-z]",
    r"[\d.]", r"[\[\]]", r"[\p{Alpha}_]", r"\p{L}", r"\P{L}", r"\p{Lower}", r"\p{IsAlphabetic}",
    r"\pL", r"\h", r"\R", r"\x61", r"\u0061", r"\x{61}", r"\0141", r"\cA", r"\Qa.b\E", r"\1",
    r"\2", r"\k<n>", r"\q", r"\e", "}", "]", "{", "(?i)", "(?-i)", "(?i:A)", "(?u)", "(?s).",
    "(?=a)", "(?!b)", "(?<=a)", "(?<!b)", "#", "&", "&&", r"\#", r"\-", r"[a-\d]", "[z-a]", "\\",
    "[", "[a", r"\p{", r"\x6", r"[\Qa-z]\E]", "[a-z&&b-d&&c]", "[a[b]&&[b]]", "[^a[b]]",
    "[^[ab]&&[b]]", r"\v", r"\V", r"\H",
)  # fmt: skip
QUANTIFIERS = (
    "", "", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{1}", "{1,}", "{0,2}",
    "{2,1}", "{1,2}+", "{,2}", "**",
)  # fmt: skip
TOPICS = ("a", "b", "ab", "aab", "orders", "a.b", "A", "AB", "a-b", "x_1", "abab", "[", "a1", "bb")


def compare(
    program_dir: Path, name: str, asked: list[tuple[dict[str, str], SinkRecord]]
) -> Counter[str]:
    """Ask both sides; gives how many were equal, refused by both, and refused by ours only."""
    try:
        answers = calls(
            program_dir,
            (
                {"op": "transform", "class": name, "config": config, "record": call_record(record)}
                for config, record in asked
            ),
        )
    except UnavailableError as reason:
        pytest.skip(str(reason))
    seen: Counter[str] = Counter()
    for (config, record), theirs in zip(asked, answers, strict=True):
        transform = Plugins().transform(name)()
        try:
            transform.configure(config)
            mine = {"record": plain_record(transform.apply(record))}
        except ConnectError as error:
            seen["both refuse" if "error" in theirs else f"ours refuses: {_reason(error)}"] += 1
            continue
        assert mine == theirs, f"{config} of {record}"
        seen["equal"] += 1
    return seen


def _reason(error: ConnectError) -> str:
    return f"{error} {error.__cause__}"


def _millis(rng: random.Random) -> int:
    near_cutover = CUTOVER_MS + rng.randrange(-(10**9), 10**9)
    return rng.choice(
        (rng.randrange(4 * 10**12), rng.randrange(-(10**14), 2 * 10**14), near_cutover)
    )


def _date_pattern(rng: random.Random) -> str:
    pattern = ""
    for _ in range(rng.randrange(1, 7)):
        letter = rng.choice(LETTERS)
        pattern += letter * rng.choice((1, 2, 2, 3, 4, 5))
        pattern += rng.choice(SEPARATORS)
    return pattern + rng.choice(("",) * 9 + ("w", "W", "F", "YYYY ww", "q", "'"))


def _damaged(rng: random.Random, text: str) -> str:
    """A text, as it is or with something changed in it."""
    place = rng.randrange(len(text) + 1)
    match rng.randrange(8):
        case 0:
            return text + rng.choice(WORDS)
        case 1:
            return rng.choice((" ", "")) + text.lower()
        case 2:
            return text[:place] + rng.choice("0123456789-+ :aZ") + text[place + 1 :]
        case 3:
            return text[:place] + text[place + 1 :]
        case 4:
            return "".join(rng.choice(WORDS) + rng.choice("- /:") for _ in range(4))
    return text


def test_dates_are_written_and_read_as_by_java(program_dir: Path) -> None:
    rng = random.Random(17)
    asked = []
    for _ in range(CASES // 4):
        pattern = _date_pattern(rng)
        values: list[Any] = [_millis(rng)]
        try:
            written = DateFormat(pattern, NOW_MS)
            values += [_damaged(rng, written.format(_millis(rng))) for _ in range(3)]
        except DateFormatError:
            pass
        for value in values:
            target = "unix" if isinstance(value, str) else "string"
            config = {"target.type": target, "format": pattern}
            asked.append((config, SinkRecord("topic", 0, value=value)))

    seen = compare(program_dir, CONVERTER, asked)
    others = {reason: count for reason, count in seen.items() if reason.startswith("ours refuses")}
    assert seen["equal"] > len(asked) / 2, seen
    known = ("counts weeks", "names no date")
    assert all(any(words in reason for words in known) for reason in others), others


def _regex(rng: random.Random, depth: int = 2) -> str:
    made = ""
    for _ in range(rng.randrange(1, 4)):
        atom = rng.choice(ATOMS)
        if depth and rng.random() < 0.3:
            opening = rng.choice(("(", "(?:", "(?<n>", "(?>", "(?i:", "(?=", "(?<m>"))
            atom = f"{opening}{_regex(rng, depth - 1)})"
        made += atom + rng.choice(QUANTIFIERS)
    return made + (f"|{_regex(rng, 0)}" if rng.random() < 0.15 else "")


def test_regular_expressions_match_and_replace_as_those_of_java(program_dir: Path) -> None:
    rng = random.Random(18)
    asked = []
    for _ in range(CASES // 4):
        regex = _regex(rng)
        regex = rng.choice((regex, regex, f"(.*){regex}", f"{regex}.*"))
        for topic in rng.sample(TOPICS, 4):
            replacement = rng.choice(("$1", "<$0>", "${n}", "x", "$2", "\\$", "$"))
            asked.append(({"regex": regex, "replacement": replacement}, SinkRecord(topic, 0)))

    seen = compare(program_dir, ROUTER, asked)
    refused = sum(count for reason, count in seen.items() if reason.startswith("ours refuses"))
    assert seen["equal"] > len(asked) / 6, seen
    assert refused < len(asked) / 50, seen
